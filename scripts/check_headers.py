#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone without a warning, and costs a user at most 1.5 s of compile time; all of them
together do in C++20 and C++23, with each of the two compilers that is installed. And what a header declares is visible in the shared library.

usage: check_headers.py INCLUDE_DIR [COMPILER FLAGS]; prints what the dearest ones cost. On a machine with much other work
the processor's time grows, too, by up to a third; so it fails only at half as much again.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = {"g++": ["c++20", "c++23"], "clang++": ["c++20", "c++2b"]}
TIMED = ("g++", "c++20")
AIM = 1.5  # seconds of processor time
LIMIT = 1.5 * AIM
TRIES = 3  # the least of these counts


def compile_headers(job):
    """(user time in seconds, the compiler's output if it failed)"""
    compiler, standard, headers, include, flags, work = job
    source = pathlib.Path(work) / f"{len(headers)}.{headers[0].replace('/', '_')}.{standard}.{compiler}.cc"
    source.write_text("".join(f'#include "{header}"\n' for header in headers))
    command = [compiler, f"-std={standard}", "-fsyntax-only", *WARNINGS, "-I", str(include), *flags, str(source)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime, f"{' '.join(command)}\n{output}" if process.returncode else ""


def main():
    include = pathlib.Path(sys.argv[1]).resolve()
    headers = sorted(str(h.relative_to(include)) for h in include.rglob("*.h"))
    if not headers:
        sys.exit(f"no header in {include}")
    compilers = [c for c in COMPILERS if shutil.which(c)]
    faults = [f"{h}: its namespace is hidden: begin it as the others do" for h in headers
              if re.search(r"^namespace zkrecipes {", (include / h).read_text(), re.M)]
    cost = {}
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(*TIMED, [h], include, sys.argv[2:], work) for h in headers]
        jobs += [(c, s, headers, include, sys.argv[2:], work) for c in compilers for s in COMPILERS[c] if (c, s) != TIMED]
        for job, (seconds, fault) in zip(jobs, pool.map(compile_headers, jobs)):
            if fault:
                faults.append(fault)
            elif job[:2] == TIMED:
                for _ in range(TRIES - 1):
                    seconds = min(seconds, compile_headers(job)[0]) if seconds > AIM else seconds
                cost[job[2][0]] = seconds
    dear = sorted(cost, key=cost.get, reverse=True)
    faults += [f"{h} costs {cost[h]:.2f} s to compile, and {AIM} s is the aim" for h in dear if cost[h] > LIMIT]
    if faults:
        sys.exit("\n".join(faults))
    print(f"headers: {len(headers)} compile alone, and together with {' and '.join(compilers)}; the dearest (aim {AIM} s): "
          + ", ".join(f"{h} {cost[h]:.2f} s" for h in dear[:3]))


main()
