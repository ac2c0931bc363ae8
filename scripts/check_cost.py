#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that an uncontended acquire and release cost no more than bench/cost.json says.

usage: check_cost.py ZKR BENCH [--fix]; --fix writes what was counted. Counted, not timed: the noise of a machine does not
change it. Instructions are those in user space of one cycle, by valgrind: a long run's less a short run's.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LIMITS = pathlib.Path(__file__).resolve().parent.parent / "bench/cost.json"
CYCLE = "uncontended cycle, median"  # a run of zkrecipes-bench
SHORT, LONG = 300, 1300  # cycles
MORE_INSTRUCTIONS = 1.05
MORE_ALLOCATIONS = 1


def bench(program, servers, entrant, cycles, prefix, *more):
    command = [*prefix, program, "--servers", servers, "--entrant", entrant, "--only", CYCLE, "--rounds", "1",
               "--scale", str(cycles / 1000), *more]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stderr


def instructions(program, servers, entrant, folder):
    def of(cycles):
        said = bench(program, servers, entrant, cycles, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/calls"])
        return int(re.search(r"Collected : (\d+)", said)[1])
    return (of(LONG) - of(SHORT)) / (LONG - SHORT)


def allocations(program, servers, entrant, folder):
    bench(program, servers, entrant, LONG, [], "--json", f"{folder}/figures")
    figures = json.loads(pathlib.Path(folder, "figures").read_text())
    return figures[CYCLE][entrant]["allocations"][0]


def count(zkr, program, entrant="ours"):
    with tempfile.TemporaryDirectory() as folder:
        ensemble = ["ensemble", "--dir", f"{folder}/servers"]
        started = subprocess.run([zkr, ensemble[0], "start", "--servers", "1", *ensemble[1:]],
                                 check=True, stdout=subprocess.PIPE, text=True)
        try:
            servers = started.stdout.strip()
            # The least of three: a reply that comes late costs another round of the loop.
            return {"instructions": round(min(instructions(program, servers, entrant, folder) for _ in range(3))),
                    "allocations": round(allocations(program, servers, entrant, folder), 1)}
        finally:
            subprocess.run([zkr, ensemble[0], "stop", *ensemble[1:]], check=True)


def main():
    zkr, program = sys.argv[1:3]
    counted = count(zkr, program)
    if "--fix" in sys.argv:
        LIMITS.write_text(json.dumps(counted, indent=1) + "\n")
    known = json.loads(LIMITS.read_text())
    print(f"a cycle: {counted}; known: {known}")
    wrong = []
    if counted["instructions"] > known["instructions"] * MORE_INSTRUCTIONS:
        wrong.append(f"more than {MORE_INSTRUCTIONS} times the instructions")
    if counted["allocations"] > known["allocations"] + MORE_ALLOCATIONS:
        wrong.append(f"more than {MORE_ALLOCATIONS} more allocation")
    print(*wrong, sep="\n", end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
