#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails, and names them, if tests of the last ctest run were skipped that scripts/allowed_skips.txt
does not list.

usage: check_skips.py BUILD_DIR | --self-test. CI runs the first after its tests, a test the second.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts/allowed_skips.txt"
# In gtest's list at the end of a program; the line of the test itself has its time.
SKIPPED = re.compile(r"^\[  SKIPPED \] ([A-Za-z]\S*)$", re.MULTILINE)


def allowed():
    rows = [line.split(" | ") for line in LIST.read_text().splitlines() if not line.startswith("#")]
    wrong = [row for row in rows if len(row) != 3]
    if wrong:
        sys.exit(f"{LIST}: not NAME | BUILD DIRECTORIES | WHY: {wrong[0]}")
    return rows


def forbidden(log, directory):
    """Names of the tests that were skipped in a run in `directory`, and may not be."""
    rows = [name for name, where, _ in allowed() if directory in where.split()]
    return sorted({test for test in SKIPPED.findall(log)
                   if not any(fnmatch.fnmatchcase(test, name) for name in rows)})


def check(build):
    log = (build / "Testing/Temporary/LastTest.log").read_text(errors="replace")
    wrong = forbidden(log, build.name)
    for test in wrong:
        print(f"check_skips: error: {test} was skipped, "
              f"which scripts/allowed_skips.txt does not allow in {build.name}")
    print(f"{len(set(SKIPPED.findall(log)))} tests skipped, {len(wrong)} of them without leave")
    return 1 if wrong else 0


def self_test():
    """A skip without leave is found, one with leave is not, and the list names only tests that
    exist."""
    log = ("[  SKIPPED ] DockerServersTest.Any (0 ms)\n[  PASSED  ] 2 tests.\n"
           "[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] DockerServersTest.Any\n"
           "[  SKIPPED ] Guard/Supervised.Any/isolate\n")
    assert forbidden(log, "build") == ["Guard/Supervised.Any/isolate"], forbidden(log, "build")
    assert len(forbidden(log, "build-tsan")) == 2
    sources = subprocess.run(["git", "ls-files", "*_test.cc", "*CMakeLists.txt"], cwd=ROOT,
                             capture_output=True, text=True, check=True)
    text = "".join((ROOT / file).read_text() for file in sources.stdout.split()
                   if (ROOT / file).is_file())
    for name, _, _ in allowed():
        for word in re.split(r"[./*]+", name):
            there = re.search(rf"\b{word}\b" if word else "", text)
            assert there, f"{LIST}: there is no test {name}"
    print("ok")
    return 0


sys.exit(self_test() if sys.argv[1] == "--self-test"
         else check(pathlib.Path(sys.argv[1]).resolve()))
