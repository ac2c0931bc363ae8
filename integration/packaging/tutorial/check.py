#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/tutorial.md: saves its listings, runs its commands in one shell, and looks for what it says they print.

usage: check.py BUILD_DIR | --bare ROOT. With BUILD_DIR its library and zkr are installed instead of the page's first commands.
With --bare all is done in the root directory of a bare Debian, as root.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs/tutorial.md").read_text()
BARE = "env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive"


def blocks(head):
    return re.findall(rf"```{head}\n(.*?)```", PAGE, re.S)


def pattern(line):
    """A line as it may look in another run: with other numbers."""
    return re.sub(r"\d+", r"\\d+", re.escape(line))


def save_listings(directory):
    directory.mkdir()
    for name, listing in re.findall(r"`(\w+\.cc)`:\n\n```cpp\n(.*?)```", PAGE, re.S):
        (directory / name).write_text(listing)


def follow(commands, directory, shell, environment):
    """What went wrong."""
    at_end = "kill -KILL $(jobs -p) 2>/dev/null; zkr ensemble stop"
    # The shell has job control, as the reader's has.
    script = f"set -ex\n{commands}cd {directory}\nset -m\ntrap '{at_end}' EXIT\n" + "".join(blocks("sh")[1:]) + "trap - EXIT\n"
    done = subprocess.run([*shell, "bash", "-c", script], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    wrong = [f"nothing in the output above looks like: {line}" for block in blocks("text") for line in block.splitlines()
             if not re.search(f"^{pattern(line)}", done.stdout, re.M)]
    return wrong + ([f"the commands ended with {done.returncode}"] if done.returncode else [])


def on_a_build(build, work):
    prefix = work / "prefix"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    save_listings(work / "steps")
    return follow("", work / "steps", [], {
        "PATH": f"{prefix}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": f"{prefix}/lib",
        "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "TMPDIR": str(work)})


def in_a_bare(root):
    files = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True).stdout
    (root / "src").mkdir()
    packed = subprocess.run(["tar", "-C", CHECKOUT, "--null", "-T", "-", "-c"], input=files, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-C", root / "src", "-x"], input=packed, check=True)
    save_listings(root / "steps")
    return follow("cd /src\n" + blocks("sh")[0], "/steps", ["chroot", root, *BARE.split()], {})


def main():
    if sys.argv[1] == "--bare":
        wrong = in_a_bare(pathlib.Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as directory:
            wrong = on_a_build(sys.argv[1], pathlib.Path(directory))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


sys.exit(main())
