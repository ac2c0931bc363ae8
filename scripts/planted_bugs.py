#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants bugs into a copy of the tree, one after another, and reports whether what has to find
each one does.

usage: planted_bugs.py [--check] [NAME...]   (all, if none is named)

A bug is a patch, verification/mutants/NAME.patch. Its first line says what the bug is, its second
what has to find it: `Found by: explore, schedules in WEATHER` (one or both), or `Found by: PROGRAM
TEST`. The copy is build/planted, with a build folder of its own. The exit status is 1 if a bug is
not found.

  --check  only prove that each patch applies; builds nothing
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "planted"
SCHEDULES = ["zkrecipes-schedules", "--find", "--schedules", "60000"]
# Margins of leases that are left out (docs/lease.md): bugs without a patch.
MARGINS = {"no_rate_bound": ["--rate-bound", "0"], "no_ping_gap": ["--ping-gap", "1ns"]}

# A unity build compiles nine sources with the one that a bug is planted in. So for many bugs each
# source is compiled alone; for a few, the compiler cache has the unity build of `./dev`.
MANY = 10
ALONE = ("set_target_properties(zkrecipes_zk zkrecipes_session zkrecipes_queue zkrecipes_recipes "
         "PROPERTIES UNITY_BUILD OFF)\n")


class Bug:
    """A planted bug: the source that it is in, and each command that has to find it."""

    def __init__(self, name):
        self.name, self.patch, self.source = name, None, None
        if name in MARGINS:
            self.finders = [SCHEDULES + ["--weather", "edge"] + MARGINS[name]]
            return
        self.patch = ROOT / "verification" / "mutants" / f"{name}.patch"
        text = self.patch.read_text()
        self.source = re.search(r"^\+\+\+ b/(\S+)", text, re.M)[1]
        found_by = text.splitlines()[1]
        test = re.match(r"Found by: (\w+_test) (\S+)$", found_by)
        explorers = re.match(r"Found by: (?=explore|schedules)(explore)?(?:, )?"
                             r"(?:(schedules)(?: in (\w+))?)?(?=$|\.)", found_by)
        if test:
            self.finders = [[test[1], f"--gtest_filter={test[2]}"]]
        elif explorers:
            explore, schedules, weather = explorers.groups()
            self.finders = [["zkrecipes-explore", "--find"]] if explore else []
            in_weather = ["--weather", weather] if weather else []
            self.finders += [SCHEDULES + in_weather] if schedules else []
        else:
            sys.exit(f"{self.patch}: the second line has to say what finds the bug")


def apply(patch, tree, *options):
    return subprocess.run(["patch", "--batch", "--forward", "--fuzz=0", "--strip=1",
                           f"--directory={tree}", f"--input={patch}", "--reject-file=-",
                           "--no-backup-if-mismatch", *options],
                          capture_output=True, text=True)


def check(bugs):
    """Names the patches that no longer apply."""
    wrong = [(bug, done) for bug in bugs
             if bug.patch and (done := apply(bug.patch, ROOT, "--dry-run")).returncode]
    for bug, done in wrong:
        print(f"{bug.patch.relative_to(ROOT)} does not apply any more; plant the same bug again:\n"
              f"{done.stdout}")
    return not wrong


def files(tree):
    """Paths of the files of a tree, relative to it, without what git and builds put there."""
    return {path.relative_to(tree)
            for top in tree.iterdir() if not re.match(r"build|\.git$", top.name)
            for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file()}


def restore(many):
    """Makes COPY what ROOT is. Only what differs is written, so only that is compiled again."""
    COPY.mkdir(parents=True, exist_ok=True)
    here = files(ROOT)
    for gone in files(COPY) - here:
        (COPY / gone).unlink()
    for path in here:
        content, target = (ROOT / path).read_bytes(), COPY / path
        if many and path.as_posix() == "CMakeLists.txt":
            content += ALONE.encode()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod((ROOT / path).stat().st_mode)


def build(programs):
    """As `./dev build`, but for the configuring."""
    cache = {"CCACHE_BASEDIR": str(COPY), "CCACHE_NOHASHDIR": "true",
             "CCACHE_SLOPPINESS": "pch_defines,time_macros"}
    return subprocess.run(["cmake", "--build", COPY / "build", "--target", *programs],
                          capture_output=True, text=True, env=os.environ | cache)


def found(finder):
    """Whether the command finds the bug that is planted, and what it printed."""
    program = next(path for path in (COPY / "build").rglob(finder[0]) if path.is_file())
    try:
        done = subprocess.run([program, *finder[1:]], capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        return False, "not within four minutes"
    if "--find" in finder:  # they succeed if they find something
        return done.returncode == 0, done.stdout
    return "FAILED TEST" in done.stdout, done.stdout


def seek(bug):
    """Plants, builds and runs; yields (finder, whether it found the bug, what it printed)."""
    source = COPY / bug.source if bug.source else None
    before = source.read_bytes() if source else b""
    try:
        if bug.patch and (done := apply(bug.patch, COPY)).returncode:
            yield "patch", False, done.stdout
        elif (done := build([finder[0] for finder in bug.finders])).returncode:
            yield "build", False, done.stdout
        else:
            for finder in bug.finders:
                yield finder[0], *found(finder)
    finally:
        if source:
            source.write_bytes(before)


def main():
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    if options - {"--check"}:
        sys.exit(__doc__)
    every = sorted(path.stem for path in (ROOT / "verification" / "mutants").glob("*.patch"))
    bugs = [Bug(name) for name in names or every + list(MARGINS)]
    if "--check" in options:
        sys.exit(0 if check(bugs) else 1)
    restore(len(bugs) >= MANY)
    programs = {finder[0] for bug in bugs for finder in bug.finders}
    subprocess.run(["./dev", "build", *sorted(programs)], cwd=COPY, check=True)
    missed = []
    for bug in bugs:
        for finder, yes, printed in seek(bug):
            where = re.search(r"^found in schedule (\d+)", printed, re.M)
            print(f"{bug.name}: {'found' if yes else 'NOT FOUND'} by {finder}"
                  + (f", in schedule {where[1]}" if where else ""), flush=True)
            if not yes:
                print(printed[-2000:])
                missed.append(bug.name)
    print(f"{len(bugs) - len(set(missed))} of {len(bugs)} planted bugs found")
    sys.exit(1 if missed else 0)


main()
