#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that every relative link of the documents leads to a file, or to a heading of one, and that CONTRIBUTING's answers are where it says.

usage: check_links.py [--fix]; prints what is wrong and exits 1 if there is something. An answer is a table cell such as
`lib/queue/lease.cc:42` `Lease::token`: that line of that file has that text. --fix puts the numbers right.
"""
import collections
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
ANSWER = re.compile(r"`([\w./-]+):(\d+)` `([^`]+)`")


def documents():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


@functools.cache
def anchors(document):
    """Of the headings, as GitHub makes them. (A line of a listing may pass for a heading: that does no harm.)"""
    made, seen = set(), collections.Counter()
    for heading in re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        made.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return made


def broken_links(document):
    for link, anchor in LINK.findall(document.read_text()):
        there = document.parent / link if link else document
        if "://" in link:
            continue
        if not there.exists():
            yield f"{document.relative_to(ROOT)}: no file {link}"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.resolve()):
            yield f"{document.relative_to(ROOT)}: no heading {link}#{anchor}"


def right_answer(path, line, text):
    """The number of the line that has `text`: `line` if it does; else the first; None if there is none."""
    lines = (ROOT / path).read_text().splitlines() if (ROOT / path).is_file() else []
    if line <= len(lines) and text in lines[line - 1]:
        return line
    return next((number for number, content in enumerate(lines, 1) if text in content), None)


def main():
    wrong = [complaint for document in documents() for complaint in broken_links(document)]
    page = ROOT / "CONTRIBUTING.md"
    before = after = page.read_text()
    answers = ANSWER.findall(before)
    for path, line, text in answers:
        right = right_answer(path, int(line), text)
        if right is None:
            wrong.append(f"CONTRIBUTING.md: {path} has no line with {text}")
        elif right != int(line):
            after = after.replace(f"`{path}:{line}` `{text}`", f"`{path}:{right}` `{text}`")
            if "--fix" not in sys.argv:
                wrong.append(f"CONTRIBUTING.md: {text} is in line {right} of {path}, not {line}: check_links.py --fix")
    if "--fix" in sys.argv:
        page.write_text(after)
    print(*wrong, f"{len(answers)} answers, {len(wrong)} mistakes", sep="\n")
    return 1 if wrong or not answers else 0


sys.exit(main())
