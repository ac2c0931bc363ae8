#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of kazoo's SetPartitioner, for comparison: tells what member.h says, and believes while kazoo says ACQUIRED."""
import signal
import sys
import time

from kazoo.client import KazooClient
from kazoo.recipe.partitioner import SetPartitioner
from kazoo.retry import KazooRetry

STABLE = 2  # seconds for which the members must not change before they divide anew; kazoo's default is 30


def tell(what, partition):
    print(what, time.clock_gettime_ns(time.CLOCK_BOOTTIME), partition, flush=True)


def let_go(owned, what):
    for partition in sorted(owned):
        tell(what, partition)
        tell("gave", partition)
    owned.clear()


def main():
    identity, servers, timeout = sys.argv[1], sys.argv[2], float(sys.argv[3])
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    client = KazooClient(hosts=servers, timeout=timeout, connection_retry=KazooRetry(max_tries=-1, max_delay=1))
    client.start()
    owned, partitioner = set(), None
    while not stopped:
        if partitioner is None or partitioner.failed:
            let_go(owned, "lost")
            partitioner = SetPartitioner(client, "/kazoo", [str(i) for i in range(16)], identifier=identity, time_boundary=STABLE)
        elif partitioner.release:
            let_go(owned, "asked")
            partitioner.release_set()
        elif partitioner.acquired:
            for partition in partitioner:
                tell("work" if partition in owned else "own", partition)
                owned.add(partition)
            time.sleep(0.1)
        else:
            partitioner.wait_for_acquire(timeout=0.1)
    let_go(owned, "asked")
    partitioner.finish()
    client.stop()


main()
