#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""planted_bugs.py [BUILD]: has random schedules look for each planted bug, and writes into the table of
docs/track_record.md in which schedule they found it. To be run after a change of what schedules do, or of the library."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "track_record.md"
HEAD = "| planted bug | schedule |"


def bug(command):
    """The bug that a test's `command` looks for, as the table calls it."""
    planted = re.search(r"/mutant_(\w+)", command)
    if planted:
        return planted.group(1)
    return "clock_rate_bound 0" if "rate-bound" in command else "ping_gap 1 ns"


def measure(build):
    log = subprocess.run(["ctest", "--test-dir", build, "-V", "-R", r"^schedules\.find\."], capture_output=True, text=True).stdout
    bugs = {number: bug(command) for number, command in re.findall(r"^(\d+): Test command: (.*)", log, re.M)}
    return {bugs[number]: int(where) for number, where in re.findall(r"^(\d+): found in schedule (\d+)", log, re.M)}


def main():
    found = measure(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build")
    listed = set()

    def cell(match):
        names = match.group(1).split(", ")
        listed.update(names)
        if names[0] not in found:
            return match.group(0)
        return f"| {match.group(1)} | " + f"{found[names[0]]:,} |".replace(",", " ")

    before, head, table = PAGE.read_text().partition(HEAD)
    table = re.sub(r"\| ([a-z][\w, ]*\w) \| ([\d ]+) \|", cell, table)
    PAGE.write_text(before + head + table)
    missing = set(found) - listed
    if missing:
        sys.exit(f"not in the table of {PAGE.name}: {', '.join(sorted(missing))}")


main()
