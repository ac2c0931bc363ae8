#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that every relative link of the documents leads to a file, or to a heading of one, and that CONTRIBUTING's
answers are where it says.

usage: check_links.py; prints the mistakes, and exits 1 if there are any. An answer is a table cell such as
`lib/queue/lease.cc` `Lease::token`: that file has that text.
"""
import collections
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
ANSWER = re.compile(r"`([\w./-]+\.\w+)` `([^`]+)`")


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


def main():
    wrong = [complaint for document in documents() for complaint in broken_links(document)]
    answers = ANSWER.findall((ROOT / "CONTRIBUTING.md").read_text())
    for path, text in answers:
        if not (ROOT / path).is_file() or text not in (ROOT / path).read_text():
            wrong.append(f"CONTRIBUTING.md: {path} has no line with {text}")
    print(*wrong, f"{len(answers)} answers, {len(wrong)} mistakes", sep="\n")
    return 1 if wrong or not answers else 0


sys.exit(main())
