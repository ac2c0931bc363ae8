#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one of clang's analyses on every source of ours, some at a time.

usage: each_source.py [--jobs N] thread-safety|tidy [FILE...]; needs
build-analysis/compile_commands.json. Tests are left out: they pull in GoogleTest, which takes most
of the time, and the sanitizer builds compile them with clang anyway.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("lib", "recipes", "testing", "tools", "demo", "bench", "verification")


def syntax_command(entry):
    """The file's own compile command, for clang and without output."""
    words = shlex.split(entry["command"])
    if pathlib.Path(words[0]).name == "ccache":
        words = words[1:]
    words = words[1 : words.index("-o")] + words[words.index("-o") + 2 :]
    return ["clang++", *words, "-fsyntax-only", "-Wthread-safety", "-Werror"]


def command(analysis, entry):
    if analysis == "tidy":
        return ["clang-tidy", "--quiet", "-p", str(ROOT / "build-analysis"), entry["file"]]
    return syntax_command(entry)


def wanted(file, chosen):
    inside = file.is_relative_to(ROOT) and file.relative_to(ROOT).as_posix()
    if chosen:
        return inside in chosen
    return inside and inside.startswith(FOLDERS) and not inside.endswith("_test.cc")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("analysis", choices=["thread-safety", "tidy"])
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()

    database = json.loads((ROOT / "build-analysis/compile_commands.json").read_text())
    entries = {e["file"]: e for e in database if wanted(pathlib.Path(e["file"]), args.files)}
    if not entries:
        sys.exit(f"{args.analysis}: no such source in build-analysis/compile_commands.json")

    def run(entry):
        return entry, subprocess.run(
            command(args.analysis, entry), cwd=entry["directory"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(run, entries[file]) for file in sorted(entries)]
        done = concurrent.futures.as_completed(jobs)
        for number, (entry, result) in enumerate((future.result() for future in done), 1):
            name = pathlib.Path(entry["file"]).relative_to(ROOT)
            verdict = "" if result.returncode == 0 else ": FAILED"
            print(f"[{number}/{len(entries)}] {name}{verdict}", flush=True)
            if result.returncode != 0:
                failed += 1
                print(result.stdout, flush=True)
    print(f"{args.analysis}: {len(entries)} sources, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
