#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two versions of zkr queue for one lock, as while a service is upgraded one process at a time: the
oldest whose names of nodes today's share (ADR 41), built from the history, and this build's. Never
two hold it at once, it goes round in the order of the queue, and tokens grow, though holders of
each version are killed. Builds from before it are not tested, as they do not queue with today's:
they take a contender with a short name for a stranger's node, and go past it (docs/operations.md,
Upgrades). There was no release of them.

usage: two_versions.py BUILD_DIR [--old ZKR]; 77 (skipped) where the history is not there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# "Names of nodes carry 15 random characters instead of a UUID"
OLDEST = "00653f0de75fb5f2c14cbdec62df574d2eb8c92c"
PATH = "/locks/upgraded"
CONTENDERS = 8
KILLED = (2, 5)  # one of each version, while it holds
# One line is one write: what each did is in the order in which it was done.
HOLD = ('echo "begin $ZKR_FENCING_TOKEN" >> {diary}; {then}; '
        'echo "end $ZKR_FENCING_TOKEN" >> {diary}')


def build_oldest(folder):
    archive = subprocess.run(["git", "-C", ROOT, "archive", OLDEST], capture_output=True)
    if archive.returncode != 0:
        print(f"[  SKIPPED ] two_versions: commit {OLDEST[:7]} is not there, as in a shallow clone")
        sys.exit(77)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    for command in (["cmake", "-S", folder, "-B", f"{folder}/b", "-G", "Ninja",
                     "-DCMAKE_UNITY_BUILD=ON", "-DZKRECIPES_BUILD_TESTS=OFF",
                     "-DZKRECIPES_BUILD_DEMO=OFF", "-DZKRECIPES_BUILD_SHARED=OFF"],
                    ["cmake", "--build", f"{folder}/b", "--target", "zkr", "-j", "2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return f"{folder}/b/bin/zkr"


def eventually(what, reached, seconds=60):
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            sys.exit(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def queue(zkr, servers):
    said = subprocess.run([zkr, "--servers", servers, "ls", PATH, "--json"], capture_output=True,
                          text=True)
    return json.loads(said.stdout)["contenders"] if said.returncode == 0 else []


def round_of(old, new, servers, diary):
    """Each begins once the one before it is in the queue; the first holds until all are there."""
    go, running = diary.with_name("go"), []
    for i in range(CONTENDERS):
        if i == 0:
            then = f"while [ ! -e {go} ]; do sleep 0.05; done"
        else:
            then = "sleep 1000" if i in KILLED else "sleep 0.1"
        running.append(subprocess.Popen([(old, new)[i % 2], "--servers", servers,
                                         "--session-timeout", "4s", "lock", PATH, "--",
                                         "sh", "-c", HOLD.format(diary=diary, then=then)]))
        for zkr in (old, new):  # each version sees all
            eventually(f"{i + 1} in the queue of {zkr}", lambda: len(queue(zkr, servers)) == i + 1)
    go.touch()
    for i, process in enumerate(running):
        if i in KILLED:
            eventually(f"contender {i} holds", lambda: diary.read_text().count("begin") == i + 1)
            time.sleep(0.5)  # the others have time to be wrong
            with diary.open("a") as file:
                file.write("killed\n")
            process.kill()
            process.wait()
        elif process.wait(timeout=60) != 0:
            sys.exit(f"contender {i} ended with {process.returncode}")


def judge(lines):
    """What is wrong with the diary, or None."""
    holder, last = None, 0
    for line in lines:
        word, *token = line.split()
        if word == "begin":
            if holder is not None:
                return f"{token[0]} began while {holder} held"
            if int(token[0]) <= last:
                return f"token {token[0]} came after {last}"
            holder = last = int(token[0])
        elif word == "end" and int(token[0]) != holder:
            return f"{token[0]} ended, and {holder} held"
        else:
            holder = None
    begun = sum(line.startswith("begin") for line in lines)
    return None if begun == CONTENDERS else f"{begun} of {CONTENDERS} held it"


def main():
    assert judge(["begin 1", "begin 2"]) and judge(["begin 2", "end 2", "begin 1"])
    assert judge(["begin 1", "end 1"])
    new = f"{sys.argv[1]}/bin/zkr"
    with tempfile.TemporaryDirectory() as folder:
        old = sys.argv[3] if sys.argv[2:3] == ["--old"] else build_oldest(folder)
        with tempfile.TemporaryDirectory() as home:
            ensemble = ["--dir", f"{home}/servers"]
            started = subprocess.run([new, "ensemble", "start", *ensemble], check=True,
                                     stdout=subprocess.PIPE, text=True)
            servers = started.stdout.strip()
            try:
                diary = pathlib.Path(home, "diary")
                round_of(old, new, servers, diary)
                lines = diary.read_text().splitlines()
            finally:
                subprocess.run([new, "ensemble", "stop", *ensemble], check=True)
    wrong = judge(lines)
    print(*lines, wrong or "ok", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
