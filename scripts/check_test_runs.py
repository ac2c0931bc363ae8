#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that every test runs in `./dev test` or `./dev nightly`, and that CONTRIBUTING.md says
which.

usage: check_test_runs.py BUILD_DIR [--fix]; --fix writes CONTRIBUTING's table anew.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = "| tests of | only in `./dev nightly` |\n| --- | --- |\n"
VERBS = {"test": r"-LE '\^nightly\$'", "nightly": r"-L '\^nightly\$'"}  # as dev has them


def names(build, *select):
    """ctest's name of each test -> the folder that it is made in."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *select],
                           capture_output=True, text=True, check=True)
    graph = json.loads(shown.stdout)
    files, nodes = graph["backtraceGraph"]["files"], graph["backtraceGraph"]["nodes"]

    def folder(test):
        command = pathlib.Path(test["command"][0]) if test.get("command") else pathlib.Path()
        if command.is_relative_to(build) and "bin" not in command.relative_to(build).parts:
            return command.relative_to(build).parent.as_posix()
        at = nodes[test["backtrace"]] if "backtrace" in test else {}
        while "parent" in at and "Helpers" in files[at["file"]]:
            at = nodes[at["parent"]]
        made = pathlib.Path(files[at["file"]]).parent if at else ROOT
        return made.relative_to(ROOT).as_posix() if made.is_relative_to(ROOT) else "."

    return {test["name"]: folder(test) for test in graph["tests"]}


def uncompiled(build):
    """Files of tests that no program is made of."""
    listed = subprocess.run(["git", "ls-files", "*_test.cc"], cwd=ROOT, capture_output=True,
                            text=True, check=True)
    unities = " ".join(f.read_text() for f in build.rglob("Unity/*.cxx"))
    compiled = (build / "build.ninja").read_text() + unities
    return [f"{file}: is in no program" for file in listed.stdout.split()
            if (ROOT / file).is_file() and f"/{file}" not in compiled]


def table(nightly):
    rooms = collections.defaultdict(set)
    for name, room in nightly.items():
        rooms["the project" if room == "." else room].add(name)
    rows = (f"| {room} | {', '.join(f'`{name}`' for name in sorted(names))} |\n"
            for room, names in sorted(rooms.items()))
    return HEAD + "".join(rows)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    dev = (ROOT / "dev").read_text()
    wrong = [f"dev: {verb} does not select by {what}"
             for verb, what in VERBS.items() if not re.search(what, dev)]
    tests = names(build)
    every_time, nightly = names(build, "-LE", "^nightly$"), names(build, "-L", "^nightly$")
    wrong += [f"{name}: runs nowhere" for name in set(tests) - set(every_time) - set(nightly)]
    wrong += uncompiled(build)
    page = ROOT / "CONTRIBUTING.md"
    text = page.read_text()
    found = re.search(re.escape(HEAD) + r"(?:\|.*\n)*", text)
    right = table(nightly)
    if "--fix" in sys.argv and found:
        page.write_text(text.replace(found[0], right))
    elif not found or found[0] != right:
        wrong.append("CONTRIBUTING.md: the table of what runs where is not right: "
                     "check_test_runs.py BUILD --fix")
    print(*wrong, f"{len(tests)} tests: {len(every_time)} in ./dev test, "
                  f"{len(nightly)} only in ./dev nightly", sep="\n")
    return 1 if wrong else 0


sys.exit(main())
