#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo as a peer of zkrecipes-bench, whose protocol bench/peer.h tells."""
import json
import logging
import resource
import statistics
import sys
import threading
import time

from kazoo.client import KazooClient

logging.basicConfig(level=logging.CRITICAL)


class Contestant:
    """One client with a session of its own, and one lock."""

    def __init__(self, task, suffix="", readers=False):
        session_seconds = task.get("session_ms", 40000) / 1000
        self.client = KazooClient(hosts=task["servers"], timeout=session_seconds)
        self.client.start()
        path = task["path"] + suffix
        self.write = self.client.WriteLock(path) if readers else self.client.Lock(path)
        self.read = self.client.ReadLock(path) if readers else None

    def cycle(self, shared=False):
        lock = self.read if shared else self.write
        lock.acquire()
        lock.release()

    def close(self):
        self.client.stop()
        self.client.close()


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e6, usage.ru_nvcsw


def answer(value, before, after, operations):
    return {"value": value, "cpu us": (after[0] - before[0]) / operations,
            "switches": (after[1] - before[1]) / operations}


def cycle(task):
    contestant = Contestant(task)
    for _ in range(50):
        contestant.cycle()
    before, micros = used(), []
    for _ in range(task["times"]):
        begin = time.monotonic()
        contestant.cycle()
        micros.append((time.monotonic() - begin) * 1e6)
    after = used()
    contestant.close()
    return answer(statistics.median(micros), before, after, task["times"])


def hand_over(task):
    holder, waiter = Contestant(task), Contestant(task)
    micros, granted = [], []

    def wait():
        waiter.write.acquire()
        granted.append(time.monotonic())
        waiter.write.release()

    for _ in range(task["times"]):
        holder.write.acquire()
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(task["settle_ms"] / 1000)
        begin = time.monotonic()
        holder.write.release()
        thread.join()
        micros.append((granted.pop() - begin) * 1e6)
    holder.close()
    waiter.close()
    return {"value": statistics.median(micros)}


def cycles(task):
    if task["readers"]:  # its readers and writers block each other for good: kazoo's issue 649
        return {}
    contestants = [Contestant(task, f"-{i % task['locks']}", task["readers"])
                   for i in range(task["clients"])]
    over, done = threading.Event(), [0] * len(contestants)

    def work(mine):
        turn = mine
        while not over.is_set():
            contestants[mine].cycle(task["readers"] and turn % 10 != 0)
            turn += 1
            done[mine] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(contestants))]
    for thread in threads:
        thread.start()
    time.sleep(task["warm"])
    before, done_before, begin = used(), sum(done), time.monotonic()
    time.sleep(task["seconds"])
    total, seconds, after = sum(done) - done_before, time.monotonic() - begin, used()
    over.set()
    for one in threads + contestants:
        one.join() if isinstance(one, threading.Thread) else one.close()
    return answer(total / seconds, before, after, max(1, total))


def hold(task):
    contestant = Contestant(task)
    contestant.write.acquire()
    if task["run"] == "wait":
        contestant.close()
    return {"value": 0}


RUNS = {"cycle": cycle, "hand-over": hand_over, "cycles": cycles, "hold": hold, "wait": hold}
print("{}", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(RUNS[asked["run"]](asked)), flush=True)
