#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the layers of docs/design.md from the #include lines: an arrow only points down.

usage: check_layering.py [ROOT]; prints each offending line and exits 1 if there is one.
"""
import pathlib
import re
import sys

# A folder may include itself, those before it, and the public headers.
LAYERS = ["lib/base", "lib/zk", "lib/session", "lib/queue", "recipes"]
# These stand on top of everything.
TOP = ["testing", "tools", "demo", "examples", "explore", "integration"]
# A recipe that needs more of lib/zk than its vocabulary shows that the queue lacks a feature.
RECIPES_MAY_TAKE = {"lib/zk/code.h", "lib/zk/path.h", "lib/zk/types.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"[a-z_]+\Z")


def folder_of(path):
    return next((f for f in LAYERS + TOP if path.startswith(f + "/")), None)


def complaint(file, quote, included):
    """Why `file` must not include `included`, or None. Both are paths from the root."""
    public = file.startswith("include/")
    if re.fullmatch(r"(zookeeper/)?(zookeeper\w*|proto|recordio)\.h|zookeeper\.jute\.h", included):
        # The test that uses the multi-threaded client beside ours is the one exception.
        allowed = file == "lib/zk/c_api.h" or (file.startswith(("lib/zk/", "integration/")) and file.endswith(".cc"))
        return None if allowed else "only lib/zk/c_api.h and sources of lib/zk may include ZooKeeper's headers"
    if included.startswith("lib/zk/c_") and not re.match(r"lib/zk/(c_|[^/]*\.cc\Z)", file):
        return "headers named lib/zk/c_* may include zookeeper.h, so they stay inside lib/zk's sources"
    if included.startswith(("absl/", "zkrecipes/")):
        return None
    if public:
        ok = quote == "<" and STANDARD.match(included)
        return None if ok else "a public header may include only std, absl and zkrecipes/"
    if quote == "<" or included.startswith(("gtest/", "gmock/", "CLI/", "nlohmann/")):
        return None
    target, own = folder_of(included), folder_of(file)
    if target is None:
        return 'includes are rooted, such as "lib/zk/code.h" or "zkrecipes/lock.h"'
    if own in TOP:
        return None
    if target in TOP:
        return f"{own} is below {target}"
    if LAYERS.index(target) > LAYERS.index(own):
        return f"{own} is below {target}"
    if own == "recipes" and target == "lib/zk" and included not in RECIPES_MAY_TAKE:
        return "recipes never make raw ZooKeeper calls"
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    folders = ["include"] + LAYERS + TOP
    files = sorted(f for d in folders for f in (root / d).rglob("*") if f.suffix in (".h", ".cc"))
    offences = 0
    for path in files:
        file = path.relative_to(root).as_posix()
        if file.startswith("integration/consumers/"):
            continue  # projects of their own
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            why = match and complaint(file, *match.groups())
            if why:
                offences += 1
                print(f"{file}:{number}: {line.strip()}\n    {why}")
    print(f"layering: {len(files)} files, {offences} offending lines")
    return 1 if offences or not files else 0


sys.exit(main())
