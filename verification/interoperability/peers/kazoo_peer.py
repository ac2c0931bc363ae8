#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo as a participant: peer.h tells the protocol."""
import logging
import queue
import random
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.retry import KazooRetry

logging.basicConfig(level=logging.CRITICAL)
PATTERNS = ["-lock-", "-__READ__", "-__WRIT__", "-latch-"]


def connected(milliseconds):
    """A client that never gives up."""
    return KazooClient(hosts=sys.argv[1], timeout=int(milliseconds) / 1000,
                       connection_retry=KazooRetry(max_tries=-1, max_delay=1),
                       command_retry=KazooRetry(max_tries=-1))


out = threading.Lock()


def say(*words):
    with out:
        print(*words, flush=True)


def note(what, more=""):
    """Of the rounds: with the time, by CLOCK_MONOTONIC."""
    say(what, time.monotonic_ns(), more)


class Election:
    """Its work lasts until the release."""

    def __init__(self, path):
        self.election = client.Election(path, "kazoo")
        self.lock = self.election.lock

    def acquire(self):
        leads, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.election.run,
                                       args=(lambda: (leads.set(), self.over.wait()),),
                                       daemon=True)
        self.thread.start()
        leads.wait()

    def release(self):
        self.over.set()
        self.thread.join()

    def contenders(self):
        return self.election.contenders()


MAKERS = {
    "lock": lambda path: client.Lock(path, "kazoo"),
    "lock+patterns": lambda path: client.Lock(path, "kazoo", extra_lock_patterns=PATTERNS),
    "read": lambda path: client.ReadLock(path, "kazoo"),
    "write": lambda path: client.WriteLock(path, "kazoo"),
    "write+patterns": lambda path: client.WriteLock(path, "kazoo", extra_lock_patterns=PATTERNS),
    "election": Election,
}


def own(path):
    session = client.client_id[0]
    for child in client.get_children(path):
        stat = client.exists(path + "/" + child)
        if stat is not None and stat.ephemeralOwner == session:
            return f"{path}/{child} {stat.czxid} {session}"
    return None


def rounds(name, path):
    """Rounds until it is killed or its input ends; each with an object of its own, as after a lost
    session."""
    while True:
        note("invoke")
        recipe, held = MAKERS[name](path), False
        try:
            recipe.acquire()
            held = True
            mine = own(path)
            if mine is not None:
                note("grant", mine)
            time.sleep(random.random() / 50)
        except Exception as error:
            note("failed", "UNAVAILABLE: " + repr(error))
        if not held:
            continue
        note("release")
        try:
            recipe.release()
            note("released", "OK")
        except Exception as error:
            note("released", "UNAVAILABLE: " + repr(error))


def believe(path):
    """Looks at its lock for ever: "look TIME PLAIN TOLD", whether is_acquired says so, and whether,
    besides, no listener was told SUSPENDED or LOST since."""
    told = threading.Event()
    client.add_listener(lambda state: state != KazooState.CONNECTED and told.set() or None)
    lock = client.Lock(path, "kazoo")
    note("invoke")
    lock.acquire()
    note("grant", own(path))
    while True:
        at, plain = time.monotonic_ns(), lock.is_acquired
        say("look", at, str(plain).lower(), str(plain and not told.is_set()).lower())
        time.sleep(0.005)


def hold(path, milliseconds, who):
    """Contends for ever, and works only while it is told nothing that forbids it."""
    client = connected(milliseconds)
    lost, works = threading.Event(), False

    def hear(state):
        nonlocal works
        if works:
            what = {KazooState.LOST: "lost", KazooState.SUSPENDED: "stop"}.get(state, "go")
            note(what, f"{path} {who}")
        if works and state == KazooState.LOST:
            works = False
            lost.set()

    client.add_listener(hear)
    client.start()
    while True:
        lost.clear()
        lock = client.Lock(path, "kazoo")
        try:
            lock.acquire()
            note("grant", f"{path} {who}")
            works = True
            lost.wait()
            lock.release()
        except Exception as error:
            works = False
            note("failed", f"{path} {who} {error!r}")


def serve(name, path, tasks):
    recipe = MAKERS[name](path)
    for verb, number in iter(tasks.get, None):
        try:
            if verb == "acquire":
                recipe.acquire()
                say("granted", number)
            elif verb == "release":
                recipe.release()
                say("released", number)
            elif verb == "count":
                client.sync(path)  # its server may lag behind the other side's
                say("counted", number, len(recipe.contenders()))
            elif verb == "believe":
                believe(path)
            else:
                rounds(name, path)
        except Exception as error:
            say("failed", number, repr(error))


if sys.argv[2] == "hold":
    for contender in range(2 * int(sys.argv[4])):
        for milliseconds in sys.argv[5:]:
            lock = f"{sys.argv[3]}/{milliseconds}-{contender // 2}"
            threading.Thread(target=hold, args=(lock, milliseconds, contender), daemon=True).start()
    threading.Event().wait()
client = connected(sys.argv[2])
client.start()
say("ready")
tasks = {}
for line in sys.stdin:
    words = line.split()
    if words[0] == "make":
        tasks[words[1]] = queue.Queue()
        threading.Thread(target=serve, args=(words[2], words[3], tasks[words[1]]),
                         daemon=True).start()
    else:
        tasks[words[1]].put((words[0], words[1]))
