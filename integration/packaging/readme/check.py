#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what README.md tells a newcomer to do: builds its first program against the installed
library, with the README's own lines of CMake, and runs it on the ensemble that the commands of
docs/zkr.md start. Builds the server of the guarded file with zkrecipes::fencing alone, and shows it
an older token. Compares the plan of docs/operations.md.

usage: check.py BUILD_DIR. (`./dev demo` and `./dev test` are what CI runs anyway.)
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
README, ZKR = (ROOT / "README.md").read_text(), (ROOT / "docs/zkr.md").read_text()
SERVERS = '"zk1:2181,zk2:2181,zk3:2181"'

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(service LANGUAGES CXX)
{lines}
set_target_properties(service PROPERTIES CXX_STANDARD 20)
"""


def block(language, containing, page=README):
    found = [b for b in re.findall(rf"```{language}\n(.*?)```", page, re.S) if containing in b]
    if len(found) != 1:
        sys.exit(f"{len(found)} {language} blocks contain {containing!r}, not one")
    return found[0]


def run(*words, **options):
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False, **options)
    if result.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}\n{result.stdout}\nFAILED with status {result.returncode}")
    return result.stdout


def build_program(work, name, code, lines):
    """A program of the README's, from the README's lines of CMake."""
    folder = work / name
    folder.mkdir()
    (folder / "service.cc").write_text(code)
    lines = lines.replace("target_link", "add_executable(service service.cc)\ntarget_link")
    (folder / "CMakeLists.txt").write_text(PROJECT.format(lines=lines))
    run("cmake", "-S", folder, "-B", folder / "out", f"-DCMAKE_PREFIX_PATH={work}/prefix")
    run("cmake", "--build", folder / "out")
    return folder / "out/service"


def put(url, token):
    request = urllib.request.Request(url, data=b"a line\n", method="PUT",
                                     headers={"Fencing-Token": str(token)})
    for _ in range(100):
        try:
            return urllib.request.urlopen(request, timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code
        except urllib.error.URLError:  # it does not listen yet
            time.sleep(0.1)
    return None


def check_guard(work):
    """The server of the guarded file: linked without ZooKeeper, it refuses an older token."""
    code = block("cpp", "httplib::Server")
    lines = block("cmake", "find_package")
    lines = lines.replace("zkrecipes::zkrecipes", "zkrecipes::fencing httplib").replace(
        "REQUIRED)", "REQUIRED COMPONENTS fencing)\nadd_library(httplib INTERFACE)\n"
        "find_package(PkgConfig REQUIRED)\n"
        "pkg_check_modules(cpp_httplib REQUIRED IMPORTED_TARGET cpp-httplib)\n"
        "TARGET_LINK_LIBRARIES(httplib INTERFACE PkgConfig::cpp_httplib)")
    server = build_program(work, "guard", code.replace("8080", 'atoi(getenv("PORT"))'), lines)
    has_zookeeper = re.search("zookeeper", run("nm", "-C", server), re.I)
    if has_zookeeper or "zkrecipes" in run("ldd", server).replace(str(work), ""):
        sys.exit("the server of the guarded file is linked with more than zkrecipes::fencing")
    run(server, "create", cwd=work)
    with socket.socket() as free:  # only now: another program may take it
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([server], cwd=work, env={**os.environ, "PORT": str(port)}) as running:
        answers = [put(f"http://127.0.0.1:{port}/report", token) for token in (7, 6, 7, "seven")]
        running.kill()
    if answers != [204, 412, 204, 400]:
        sys.exit(f"the server of the guarded file answers {answers}")


def run_commands(build, program, work):
    """The commands one after another in one shell, as typed; the program while the ensemble is
    up."""
    commands = block("sh", "zkr ensemble start", ZKR)
    assert "./dev build\n" in commands and "zkr ensemble stop\n" in commands
    commands = commands.replace("./dev build\n", "")  # what this very test runs on
    commands = commands.replace("$PWD/build/bin", str(build / "bin"))
    commands = commands.replace("zkr ensemble stop\n",
                                f"{program}\nzkr ensemble stop\ntrap - EXIT\n")
    script = "set -eux\ntrap 'zkr ensemble stop' EXIT\n" + commands
    return run("bash", "-c", script, cwd=work, env={**os.environ, "TMPDIR": str(work)})


def check_plan(build):
    """What docs/operations.md shows of a command that needs no server is what that prints."""
    page = (ROOT / "docs/operations.md").read_text()
    shows = re.compile(r"^    \$ (zkr doctor --plan .*)\n((?:    .*\n)+)", re.M)
    command, shown = shows.search(page).groups()
    printed = run(build / "bin" / command.split()[0], *command.split()[1:])
    if printed.strip() != textwrap.dedent(shown).strip():
        sys.exit(f"docs/operations.md shows of {command}\n{shown}but it prints\n{printed}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    check_plan(build)
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        run("cmake", "--install", build, "--prefix", work / "prefix")
        check_guard(work)
        code = block("cpp", "zkrecipes::Lock(")
        assert SERVERS in code
        code = "#include <cstdlib>\n" + code.replace(SERVERS, 'std::getenv("ZKR_SERVERS")')
        program = build_program(work, "first", code, block("cmake", "find_package"))
        output = run_commands(build, program, work)
    print(output)
    for expected in (r"^token [1-9]", r"^mine; write with token [1-9]"):
        if not re.search(expected, output, re.M):
            sys.exit(f"nothing in the output above looks like: {expected}")


main()
