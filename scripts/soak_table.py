#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of what soak found, a row a fault, from the result.json of each run of zkrecipes-soak.

usage: soak_table.py DIRECTORY...; searches each of them.
"""
import collections
import json
import pathlib
import sys


def results(directories):
    for directory in directories:
        for path in sorted(pathlib.Path(directory).rglob("result.json")):
            yield json.loads(path.read_text())


def seconds(microseconds):
    return f"{microseconds / 1e6:.1f}"


def median(values):
    return sorted(values)[len(values) // 2]


def spread(microseconds):
    if not microseconds:
        return "-"
    return f"{seconds(median(microseconds))} / {seconds(max(microseconds))}"


def fault_at(run, time):
    """The last that had begun: what a violation is counted under."""
    return ([fault["name"] for fault in run["faults"] if fault["from"] <= time] or ["none"])[-1]


def row(name, faults, violations):
    gaps = [fault["gap"] for fault in faults]
    firsts = [fault["first"] for fault in faults if fault["first"] is not None]
    grants = sum(fault["grants"] for fault in faults)
    return (f"| {name} | {len(faults)} | {grants:,} | {violations} | {spread(gaps)} | "
            f"{spread(firsts)} |")


def print_table(ensemble, runs):
    faults, violations = collections.defaultdict(list), collections.Counter()
    for run in runs:
        for fault in run["faults"]:
            faults[fault["name"]].append(fault)
        for violation in run["violations"]:
            violations[fault_at(run, violation["at"])] += 1
    def total(figure):
        return sum(run["figures"][figure] for run in runs)

    hours = sum(run["seconds"] for run in runs) / 3600
    print(f"{ensemble}: {len(runs)} runs, {hours:.2f} h, "
          f"{sum(len(run['faults']) for run in runs):,} faults, {total('grants'):,} grants, "
          f"{total('accepted'):,} writes accepted, {total('refused'):,} refused, "
          f"{total('losses'):,} leases lost, {sum(violations.values())} violations\n")
    print("| fault | runs | grants | violations | without a grant, s (median / longest) "
          "| first grant after its end, s |\n| --- | --- | --- | --- | --- | --- |")
    for name in sorted(faults):
        print(row(name, faults[name], violations[name]))
    print()


def main():
    by_ensemble = collections.defaultdict(list)
    for result in results(sys.argv[1:]):
        by_ensemble[result["ensemble"]].append(result)
    for ensemble, runs in sorted(by_ensemble.items(), reverse=True):
        print_table(ensemble, [run for run in runs if not run.get("disagreements")])
        for run in runs:
            if run.get("disagreements"):
                print(f"not in the table: seed {run['seed']}, "
                      "in which ZooKeeper's own servers disagreed")


if __name__ == "__main__":
    main()
