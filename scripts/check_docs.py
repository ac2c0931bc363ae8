#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the documents say nothing that is not there. usage: check_docs.py; prints the
mistakes, exits 1 if any.

- Every relative link leads to a file, or to a heading of one.
- Every test that is named (`Suite.Test`, `Suite.*`) exists. Each row of the tables of CASES names
  one, or one of ctest's families (`family.*`), or says why not.
- CONTRIBUTING's answers, such as `lib/queue/lease/lease.cc` `Lease::token`, and the stops of a
  journey, such as `lib/queue/lease/lease.cc:Lease::token`: that file has that text, or that
  function.
- Every listing of LISTINGS stands, line for line, in one of its sources, which are compiled and
  run.
- No line is longer than 120 columns, but those of tables and with addresses.
"""
import collections
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = {"docs/testing.md"}
LISTINGS = {"docs/fencing.md": ("integration/resources/fencing_listings_test.cc",
                                "examples/fenced_http.cc")}
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
ANSWER = re.compile(r"`([\w./-]+\.\w+)` `([^`]+)`")
STOP = re.compile(r"`([\w./-]+/[\w.-]+\.(?:cc|h)):((?:\w+::)*\w+)")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
FAMILY = re.compile(r"(?:\bNAME |_test\()([a-z][\w.]*)\.\$")
NAMED = re.compile(r"`([A-Z]\w*)\.([A-Z]\w*|\*)`")
NAMED_FAMILY = re.compile(r"`([a-z][\w.]*)\.\*`")
NO_TEST = re.compile(r"see \[|Does not apply")
HEADS = ("| ---", "| case", "| kind")


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                             *patterns],
                            cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if (ROOT / name).is_file()]


@functools.cache
def text_of(name):
    return (ROOT / name).read_text()


@functools.cache
def anchors(name):
    """Of the headings, as GitHub makes them. (A line of a listing may pass for a heading: that
    does no harm.)"""
    made, seen = set(), collections.Counter()
    for heading in re.findall(r"^#+ (.*)$", text_of(name), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        made.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return made


def broken_links(name):
    for link, anchor in LINK.findall(text_of(name)):
        if "://" in link:
            continue
        there = (ROOT / name).parent / link if link else ROOT / name
        if not there.exists():
            yield f"{name}: no file {link}"
        elif anchor and there.suffix == ".md":
            if anchor not in anchors(str(there.resolve().relative_to(ROOT))):
                yield f"{name}: no heading {link}#{anchor}"


def tests():
    found = set()
    for name in files("*_test.cc"):
        for suite, test in TEST.findall(text_of(name)):
            found |= {(suite, test), (suite, "*")}
    for name in files("*CMakeLists.txt"):
        found |= {(family, "*") for family in FAMILY.findall(text_of(name))}
    return found


def wrong_tests(name, known):
    for number, line in enumerate(text_of(name).splitlines(), 1):
        named = set(NAMED.findall(line))
        if name in CASES:
            named |= {(family, "*") for family in NAMED_FAMILY.findall(line)}
        for suite, test in sorted(named - known):
            yield f"{name}:{number}: no test {suite}.{test}"
        case = name in CASES and line.startswith("| ") and not line.startswith(HEADS)
        if case and not named and not NO_TEST.search(line):
            yield f"{name}:{number}: a case without a test"


def wrong_answers(name, pattern):
    for path, quoted in pattern.findall(text_of(name)):
        text = text_of(path) if (ROOT / path).is_file() else ""
        if quoted not in text and f"{quoted.rpartition('::')[2]}(" not in text:
            yield f"{name}: {path} does not have {quoted}"


def lost_listings(name, sources):
    def lines(text):
        return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())

    run = [lines(text_of(source)) for source in sources]
    for listing in re.findall(r"```(?:cpp|sql)\n(.*?)```", text_of(name), re.DOTALL):
        if not any(lines(listing) in text for text in run):
            yield f"{name}: in none of its sources:\n{listing}"


def long_lines(name):
    for number, line in enumerate(text_of(name).splitlines(), 1):
        if len(line) > 120 and not line.startswith("|") and "://" not in line:
            yield f"{name}:{number}: {len(line)} columns"


def main():
    known, documents, wrong = tests(), files("*.md"), []
    for name in documents:
        wrong += [*broken_links(name), *wrong_tests(name, known), *wrong_answers(name, STOP),
                  *long_lines(name)]
    wrong += wrong_answers("CONTRIBUTING.md", ANSWER)
    for name, sources in LISTINGS.items():
        wrong += lost_listings(name, sources)
    print(*wrong, f"{len(documents)} documents, {len(wrong)} mistakes", sep="\n")
    return 1 if wrong else 0


sys.exit(main())
