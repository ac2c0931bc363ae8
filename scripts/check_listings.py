#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that each C++ or SQL listing of a document stands, line for line, in a source that is compiled and run.

usage: check_listings.py DOCUMENT SOURCE...; space between words does not count. Prints what stands nowhere, and exits 1.
"""
import pathlib
import re
import sys


def lines_of(text):
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def main():
    document, *sources = map(pathlib.Path, sys.argv[1:])
    listings = re.findall(r"```(?:cpp|sql)\n(.*?)```", document.read_text(), re.DOTALL)
    run = [lines_of(source.read_text()) for source in sources]
    lost = [listing for listing in listings if not any(lines_of(listing) in text for text in run)]
    for listing in lost:
        print(f"{document}: in none of its sources:\n{listing}")
    print(f"{document}: {len(listings)} listings, {len(lost)} of them not run")
    return 1 if lost or not listings else 0


sys.exit(main())
