#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that an acquire and release cost no more than bench/cost.json says.

usage: check_cost.py ZKR BENCH [--fix] [--without-metrics]; --fix writes what was counted. Counted,
not timed: the noise of a machine does not change it. The same with listeners: the metrics, and a
log in which nothing is written. Instructions are those in user space of one uncontended cycle, by
valgrind: a long run's less a short run's. Context switches are the voluntary ones of a cycle of 32
clients that share a lock. They do depend on what else the machine does, so what is held is the
floor's in the same run, with a margin: two threads that wake each other make twice as many.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LIMITS = pathlib.Path(__file__).resolve().parent.parent / "bench/cost.json"
CYCLE = "uncontended cycle, median"  # a run of zkrecipes-bench
SHORT, LONG = 200, 800  # cycles
HEAPS = [kilobytes * 1024 for kilobytes in (128, 160, 192)]
LISTENERS = ("metrics", "log")
MORE_INSTRUCTIONS = 1.05
MORE_ALLOCATIONS = 1
CONTENDED = "32 clients on one lock"
SWITCHES_OF_FLOOR = 1.5


def bench(program, servers, entrant, cycles, prefix, *more):
    command = [*prefix, program, "--servers", servers, "--entrant", entrant, "--only", CYCLE,
               "--rounds", "1", "--scale", str(cycles / 1000), *more]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stderr


def instructions(program, servers, entrant, folder):
    """The least of three: a reply that comes late costs another round of the loop. Each with
    another end of the heap, since what is freed beside that takes 0.4 k more, by chance."""
    def of(cycles, heap):
        top_pad = f"GLIBC_TUNABLES=glibc.malloc.top_pad={heap}"
        said = bench(program, servers, entrant, cycles,
                     ["env", top_pad, "valgrind", "--tool=callgrind",
                      f"--callgrind-out-file={folder}/calls"])
        return int(re.search(r"Collected : (\d+)", said)[1])
    return round(min((of(LONG, heap) - of(SHORT, heap)) / (LONG - SHORT) for heap in HEAPS))


def allocations(program, servers, entrant, folder):
    bench(program, servers, entrant, LONG, [], "--json", f"{folder}/figures")
    figures = json.loads(pathlib.Path(folder, "figures").read_text())
    return figures[CYCLE][entrant]["allocations"][0]


def switches(program, servers, folder):
    """Ours / the floor's, the least of three."""
    command = [program, "--servers", servers, "--only", CONTENDED, "--rounds", "3",
               "--scale", "0.2", "--json", f"{folder}/figures"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    figures = json.loads(pathlib.Path(folder, "figures").read_text())[CONTENDED]
    pairs = zip(figures["ours"]["switches"], figures["floor"]["switches"])
    return min(ours / floor for ours, floor in pairs)


def count(zkr, program, entrant="ours", listeners=()):
    with tempfile.TemporaryDirectory() as folder:
        ensemble = ["ensemble", "--dir", f"{folder}/servers"]
        started = subprocess.run([zkr, ensemble[0], "start", "--servers", "1", *ensemble[1:]],
                                 check=True, stdout=subprocess.PIPE, text=True)
        try:
            servers = started.stdout.strip()
            return {"instructions": instructions(program, servers, entrant, folder),
                    "allocations": round(allocations(program, servers, entrant, folder), 1),
                    **{name: instructions(program, servers, name, folder) for name in listeners},
                    "switches of the floor's": round(switches(program, servers, folder), 2)}
        finally:
            subprocess.run([zkr, ensemble[0], "stop", *ensemble[1:]], check=True)


def main():
    zkr, program = sys.argv[1:3]
    listeners = LISTENERS[1:] if "--without-metrics" in sys.argv else LISTENERS
    counted = count(zkr, program, listeners=listeners)
    if "--fix" in sys.argv:
        kept = {name: counted[name] for name in ("instructions", "allocations", *LISTENERS)}
        LIMITS.write_text(json.dumps(kept, indent=1) + "\n")
    known = json.loads(LIMITS.read_text())
    print(f"a cycle: {counted}; known: {known}")
    wrong = []
    for name in ("instructions", *listeners):
        if counted[name] > known[name] * MORE_INSTRUCTIONS:
            wrong.append(f"more than {MORE_INSTRUCTIONS} times the instructions ({name})")
    if counted["allocations"] > known["allocations"] + MORE_ALLOCATIONS:
        wrong.append(f"more than {MORE_ALLOCATIONS} more allocation")
    if counted["switches of the floor's"] > SWITCHES_OF_FLOOR:
        wrong.append(f"more than {SWITCHES_OF_FLOOR} times the floor's context switches")
    print(*wrong, sep="\n", end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
