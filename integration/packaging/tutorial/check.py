#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/tutorial.md: saves its listings, runs its commands in one shell, and looks for what
it says they print.

usage: check.py BUILD_DIR | --bare. With BUILD_DIR its library and zkr are installed instead of the
page's first commands. With --bare all is done in a bare Debian, made for it, with processes of its
own; 77 (skipped) where none can be made.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs/tutorial.md").read_text()
IN_BARE_DEBIAN = [CHECKOUT / "scripts/in_bare_debian.sh", "bookworm"]


def blocks(head):
    return re.findall(rf"```{head}\n(.*?)```", PAGE, re.S)


class Stall:
    """For how long, in seconds, the machine stood still at most: a thread looks how late it is."""

    def __enter__(self):
        self.longest, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        last = time.monotonic()
        while not self.over.wait(0.01):
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


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
    script = (f"set -ex\n{commands}cd {directory}\nset -m\ntrap '{at_end}' EXIT\n"
              + "".join(blocks("sh")[1:]) + "trap - EXIT\n")
    done = subprocess.run([*shell, "bash", "-c", script], env={**os.environ, **environment},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    wrong = [f"nothing in the output above looks like: {line}"
             for block in blocks("text") for line in block.splitlines()
             if not re.search(f"^{pattern(line)}", done.stdout, re.M)]
    return wrong + ([f"the commands ended with {done.returncode}"] if done.returncode else [])


def on_a_build(build, work):
    prefix = work / "prefix"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    save_listings(work / "steps")
    return follow("", work / "steps", [], {
        "PATH": f"{prefix}/bin:{os.environ['PATH']}", "LD_LIBRARY_PATH": f"{prefix}/lib",
        "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "TMPDIR": str(work)})


def in_a_bare(root):
    environment = {"KEEP_ROOT": str(root)}
    subprocess.run([*IN_BARE_DEBIAN, "true"], env={**os.environ, **environment}, check=True)
    save_listings(root / "steps")
    return follow("cd /src\n" + blocks("sh")[0], "/steps", IN_BARE_DEBIAN, environment)


def main():
    bare = sys.argv[1] == "--bare"
    if bare and (os.geteuid() != 0 or not shutil.which("debootstrap")):
        print("[  SKIPPED ] a bare Debian needs root and debootstrap (./dev apt-install nightly)")
        return 77
    # The page sleeps where a reader would wait: that is too short if the machine stands still.
    for _ in range(3):
        with tempfile.TemporaryDirectory() as directory, Stall() as stall:
            work = pathlib.Path(directory)
            wrong = in_a_bare(work / "root") if bare else on_a_build(sys.argv[1], work)
        print(*wrong, sep="\n")
        if not wrong or stall.longest < 0.5:
            break
    return 1 if wrong else 0


sys.exit(main())
