#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Members of kazoo's SetPartitioner, for comparison: tell what member.h says, and believe while
kazoo says ACQUIRED.

usage: kazoo_member.py ID SERVERS TIMEOUT [EACH PARTITIONS]; with EACH so many members, as
RunMembers of member.h
"""
import signal
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.recipe.partitioner import SetPartitioner
from kazoo.retry import KazooRetry

# Seconds for which the members must not change before they divide anew; kazoo's default is 30.
STABLE = 2


class Member:
    def __init__(self, identity, partitions, stopped, one_of_many=False):
        self.identity, self.stopped = identity, stopped
        self.partitions = [str(i) for i in range(partitions)]
        self.suffix = f" {identity}" if one_of_many else ""
        self.owned = set()

    def tell(self, what, partition):
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        print(f"{what} {now} {partition}{self.suffix}\n", end="", flush=True)

    def let_go(self, what):
        for partition in sorted(self.owned):
            self.tell(what, partition)
            self.tell("gave", partition)
        self.owned.clear()

    def run(self, servers, timeout):
        client = KazooClient(hosts=servers, timeout=timeout,
                             connection_retry=KazooRetry(max_tries=-1, max_delay=1))
        client.start()
        partitioner = None
        while not self.stopped:
            if partitioner is None or partitioner.failed:
                self.let_go("lost")
                partitioner = SetPartitioner(client, "/kazoo", self.partitions,
                                             identifier=self.identity, time_boundary=STABLE)
            elif partitioner.release:
                self.let_go("asked")
                partitioner.release_set()
            elif partitioner.acquired:
                for partition in partitioner:
                    if partition not in self.owned:
                        self.tell("own", partition)
                    elif not self.suffix:
                        self.tell("work", partition)
                    self.owned.add(partition)
                time.sleep(0.1)
            else:
                partitioner.wait_for_acquire(timeout=0.1)
        self.let_go("asked")
        partitioner.finish()
        client.stop()


def main():
    identity, servers, timeout = sys.argv[1], sys.argv[2], float(sys.argv[3])
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    if len(sys.argv) == 4:
        return Member(identity, 16, stopped).run(servers, timeout)
    each, partitions = int(sys.argv[4]), int(sys.argv[5])
    members = [Member(f"{identity}-{i}", partitions, stopped, one_of_many=True)
               for i in range(each)]
    threads = [threading.Thread(target=member.run, args=(servers, timeout)) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():  # not a join without end: it would keep the signal waiting
            thread.join(0.1)


main()
