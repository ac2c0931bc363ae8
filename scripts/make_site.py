#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays out the documents as mkdocs wants them, with the API reference, for `./dev site`.
usage: make_site.py DIRECTORY

README.md becomes the first page, and docs/ the rest. A link to another file of the repository leads
to a copy of its text.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<=\]\()([^)#\s]+)((?:#[^)]*)?\))")
FENCE = r"```\w+\n(?:(?!```).*\n)*```\n"
FENCES = re.compile(rf"^{FENCE}(?:\n{FENCE})+", re.MULTILINE)
LIBRARIES = {"cpp": "zkrecipes", "java": "Curator", "python": "kazoo", "go": "etcd"}


def listed():
    run = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                         cwd=ROOT, capture_output=True, text=True, check=True)
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


def tabs(found):
    """Listings of the same task in several libraries stand one behind the other in the file, and in
    tabs on the page."""
    shown = []
    for listing in re.findall(FENCE, found[0]):
        indented = textwrap.indent(listing, "    ")
        shown.append(f'=== "{LIBRARIES[re.match(r"```(.*)", listing)[1]]}"\n\n{indented}')
    return "\n".join(shown)


def reference(out):
    """A page with a line for each header: its title, and the page that doxygen made of it."""
    lines = [f"- [{path.stem[:-3].replace('__', '_')}.h](api/{path.name})"
             for path in sorted((out / "api").glob("*_8h.md"))]
    return ("# API reference\n\nMade from the public headers. "
            "[Headers](headers.md) says what each has.\n\n" + "\n".join(lines))


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    subprocess.run([ROOT / "scripts/check_reference.sh", out], check=True)
    subprocess.run([ROOT / "scripts/reference_pages.py", out / "api"], check=True)
    files = listed()
    for path in files:
        if path.endswith(".md"):
            to = out / place(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            text = page(path, files, out)
            to.write_text(FENCES.sub(tabs, text) if path == "docs/tasks.md" else text)
    (out / "reference.md").write_text(reference(out))
    shutil.copy(ROOT / "docs/site.css", out)


main()
