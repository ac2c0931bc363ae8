#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that every test that the DOCS name exists, and that every case of the first two has one or says why not.

usage: check_testing_doc.py [ROOT]; prints what is wrong and exits 1 if there is something. `Suite.*` is any of a suite,
`explore.*` any of ctest's tests that a CMakeLists.txt makes under such a name.
"""
import pathlib
import re
import sys

FOLDERS = ("lib", "recipes", "testing", "tools", "demo", "examples", "integration", "verification")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
FAMILY = re.compile(r"(?:\bNAME |_test\()([a-z][\w.]*)\.\$")
NAME = re.compile(r"`(\w+)\.(\w+|\*)`")
FAMILY_NAME = re.compile(r"`([a-z][\w.]*)\.\*`")
ELSEWHERE = re.compile(r"\(issue \d+\)|see \[|Does not apply")
DOCS = ("docs/testing.md", "docs/peers.md", "docs/zkr.md")
HEADS = ("| ---", "| case", "| kind", "| peer test")


def tests(root):
    found = set()
    for folder in FOLDERS:
        for file in (root / folder).rglob("*_test.cc"):
            for suite, test in TEST.findall(file.read_text()):
                found |= {(suite, test), (suite, "*")}
        for file in (root / folder).rglob("CMakeLists.txt"):
            found |= {(family, "*") for family in FAMILY.findall(file.read_text())}
    return found


def complaints(doc, text, known, named):
    for number, line in enumerate(text.splitlines(), 1):
        names = {name for name in NAME.findall(line) if name[0][0].isupper()}
        names |= {(family, "*") for family in FAMILY_NAME.findall(line)}
        named |= names
        for suite, test in sorted(names - known):
            yield f"{doc}:{number}: no test {suite}.{test}"
        row = line.startswith("| ") and not line.startswith(HEADS)
        if row and doc != "docs/zkr.md" and not names and not ELSEWHERE.search(line):
            yield f"{doc}:{number}: a case without a test"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    known, wrong = tests(root), 0
    for doc in DOCS:
        named = set()
        for complaint in complaints(doc, (root / doc).read_text(), known, named):
            wrong += 1
            print(complaint)
        wrong += not named
        print(f"{doc}: {len(named)} tests named")
    return 1 if wrong else 0


sys.exit(main())
