#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that every test that docs/testing.md names exists, and that every case in it has one or says where it belongs.

usage: check_testing_doc.py [ROOT]; prints what is wrong and exits 1 if there is something. `Suite.*` is any of a suite,
`explore.*` any of ctest's tests that a CMakeLists.txt makes under such a name.
"""
import pathlib
import re
import sys

FOLDERS = ("lib", "recipes", "testing", "tools", "demo", "explore", "integration", "examples")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
FAMILY = re.compile(r"\b(?:NAME|TEST) ([a-z][\w.]*)\.\$")
NAME = re.compile(r"`(\w+)\.(\w+|\*)`")
FAMILY_NAME = re.compile(r"`([a-z][\w.]*)\.\*`")
ELSEWHERE = re.compile(r"\(issue \d+\)|see \[")


def tests(root):
    found = set()
    for folder in FOLDERS:
        for file in (root / folder).rglob("*_test.cc"):
            for suite, test in TEST.findall(file.read_text()):
                found |= {(suite, test), (suite, "*")}
        for file in (root / folder).rglob("CMakeLists.txt"):
            found |= {(family, "*") for family in FAMILY.findall(file.read_text())}
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    known, named, wrong = tests(root), set(), 0
    for number, line in enumerate((root / "docs/testing.md").read_text().splitlines(), 1):
        names = {name for name in NAME.findall(line) if name[0][0].isupper()}
        names |= {(family, "*") for family in FAMILY_NAME.findall(line)}
        named |= names
        missing = [f"no test {suite}.{test}" for suite, test in sorted(names - known)]
        row = line.startswith("| ") and not line.startswith(("| ---", "| case", "| kind", "| suite"))
        if row and not names and not ELSEWHERE.search(line):
            missing.append("a case without a test")
        for what in missing:
            wrong += 1
            print(f"docs/testing.md:{number}: {what}")
    print(f"docs/testing.md: {len(named)} tests named, {wrong} complaints")
    return 1 if wrong or not named else 0


sys.exit(main())
