#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows doxygen a public header's plain comments. usage: doxygen_filter.py HEADER; prints it, line
for line.

A comment above a declaration becomes `///`, one behind it `///<`. What a comment indents (drawings,
tables of codes) is shown as it is, and so is what looks like a command or a tag to doxygen. The
lines at the top of a file are the file's.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
BEHIND = re.compile(r"^(.*\S\s+)// (.*)$")


def word(text):
    return re.sub(r"([\\@<>#%])", r"\\\1", text) if "`" not in text else text


def block(lines):
    """The text of one comment, a line each. What is indented is shown as it is, unless it goes on
    with an item of a list."""
    shown, item = [], False
    for number, text in enumerate(lines):
        indented = text.startswith("  ") and not item
        item = text.startswith("- ") or (item and text.startswith("  "))
        after = number + 1 < len(lines) and lines[number + 1].startswith("  ") and not item
        if after and not indented:
            end = " @code{.unparsed}"
        else:
            end = " @endcode" if indented and not after else ""
        begin = "@code{.unparsed} " if indented and number == 0 else ""
        shown.append(begin + (text if indented else word(text)) + end)
    return shown


def plain(line):
    """What doxygen cannot read, in other words."""
    line = line.replace('namespace [[gnu::visibility("default")]]', "namespace")
    return line.replace("struct std::hash<", "struct hash<")


def main():
    lines = [plain(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    at, behind = 0, False
    while at < len(lines):
        end = at
        while end < len(lines) and COMMENT.match(lines[end]):
            end += 1
        if end > at:
            mark = "///<" if behind else "///"
            texts = [COMMENT.match(line)[3] for line in lines[at:end]]
            shown = [word(text) for text in texts] if behind else block(texts)
            if "SPDX" in texts[0]:
                shown[0] = f"@file {pathlib.Path(sys.argv[1]).name}"
            print(*(f"{mark} {text}" for text in shown), sep="\n")
            at, behind = end, False
            continue
        found = BEHIND.match(lines[at])
        behind = bool(found) and not found[1].strip().startswith(("}", "#"))
        print(f"{found[1]}///< {word(found[2])}" if behind else lines[at])
        at += 1


main()
