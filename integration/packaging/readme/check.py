#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what README.md tells a newcomer to do (and the plan of docs/operations.md): runs the commands of "The command",
builds the first screen's program against the installed library, with the README's own lines of CMake, and runs it on
that ensemble.

usage: check.py BUILD_DIR. (`./dev demo` and `./dev test` are what CI runs anyway.)
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(service LANGUAGES CXX)
{lines}
set_target_properties(service PROPERTIES CXX_STANDARD 20)
"""


def block(language, containing):
    found = [b for b in re.findall(rf"```{language}\n(.*?)```", README, re.S) if containing in b]
    if len(found) != 1:
        sys.exit(f"README.md: {len(found)} {language} blocks contain {containing!r}, not one")
    return found[0]


def run(*words, **options):
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{result.stdout}\nFAILED with status {result.returncode}")
    return result.stdout


def build_program(build, work):
    """The README's program, from the README's lines."""
    run("cmake", "--install", build, "--prefix", work / "prefix")
    (work / "service.cc").write_text(block("cpp", "int main"))
    lines = block("cmake", "find_package").replace("target_link", "add_executable(service service.cc)\ntarget_link")
    (work / "CMakeLists.txt").write_text(PROJECT.format(lines=lines))
    run("cmake", "-S", work, "-B", work / "out", f"-DCMAKE_PREFIX_PATH={work}/prefix")
    run("cmake", "--build", work / "out")
    return work / "out/service"


def run_commands(build, program, work):
    """The commands one after another in one shell, as typed; the program while the ensemble is up."""
    commands = block("sh", "zkr ensemble start")
    assert "./dev build\n" in commands and "zkr ensemble stop\n" in commands
    commands = commands.replace("./dev build\n", "")  # what this very test runs on
    commands = commands.replace("$PWD/build/bin", str(build / "bin"))
    commands = commands.replace("zkr ensemble stop\n", f"{program}\nzkr ensemble stop\ntrap - EXIT\n")
    script = "set -eux\ntrap 'zkr ensemble stop' EXIT\n" + commands
    return run("bash", "-c", script, cwd=work, env={**os.environ, "TMPDIR": str(work)})


def check_plan(build):
    """What docs/operations.md shows of a command that needs no server is what that prints."""
    page = (ROOT / "docs/operations.md").read_text()
    command, shown = re.search(r"^    \$ (zkr doctor --plan .*)\n((?:    .*\n)+)", page, re.M).groups()
    printed = run(build / "bin" / command.split()[0], *command.split()[1:])
    if printed.strip() != textwrap.dedent(shown).strip():
        sys.exit(f"docs/operations.md shows of {command}\n{shown}but it prints\n{printed}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    check_plan(build)
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        output = run_commands(build, build_program(build, work), work)
    print(output)
    for expected in (r"^token [1-9]", r"^mine; write with token [1-9]"):
        if not re.search(expected, output, re.M):
            sys.exit(f"nothing in the output above looks like: {expected}")


main()
