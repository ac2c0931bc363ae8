#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out the documents as mkdocs wants them, with the API reference, for `./dev site`. usage: make_site.py DIRECTORY

README.md becomes the first page, and docs/ the rest. A link to another file of the repository leads to a copy of its text.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()([^)#\s]+)((?:#[^)]*)?\))")
REFERENCE = """# API reference

Made from the comments of the public headers: [classes](api/annotated.html), [functions](api/namespacemembers_func.html),
[headers](api/files.html). [This page](headers.md) says what each header has.
"""


def listed():
    run = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in run.stdout.split("\n") if (ROOT / path).is_file()]


def place(path):
    """Where a file of the repository goes: a page, a picture, or a copy of its text."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/") and pathlib.Path(path).suffix in (".md", ".png", ".svg"):
        return path.removeprefix("docs/")
    return path if path.endswith(".md") else f"source/{path}.txt"


def page(path, files, out):
    """The page's text with links that fit; what they lead to is copied."""
    def link(found):
        target, rest = found[1], found[2]
        if "://" in target:
            return found[0]
        there = os.path.normpath(os.path.join(os.path.dirname(path), target))
        there = f"{there}/README.md" if f"{there}/README.md" in files else there
        if there not in files:  # a folder: its list; or nothing, as mkdocs will say
            goal = f"source/{there}.txt"
            inside = [name for name in files if name.startswith(f"{there}/")]
            if not inside:
                return found[0]
            (out / goal).parent.mkdir(parents=True, exist_ok=True)
            (out / goal).write_text("\n".join(inside))
        else:
            goal = place(there)
            if not there.endswith(".md"):
                (out / goal).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / there, out / goal)
        return os.path.relpath(goal, os.path.dirname(place(path))) + rest

    return LINK.sub(link, (ROOT / path).read_text())


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    subprocess.run([ROOT / "scripts/check_reference.sh", out], check=True)
    files = listed()
    for path in files:
        if path.endswith(".md"):
            to = out / place(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(page(path, files, out))
    (out / "reference.md").write_text(REFERENCE)


main()
