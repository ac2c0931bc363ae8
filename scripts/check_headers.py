#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone without a warning, and is cheap to include; all of them
together compile in C++20 and C++23, with each of the two compilers that is installed. And what a
header declares is visible in the shared library.

usage: check_headers.py INCLUDE_DIR [COMPILER FLAGS]; prints what the dearest ones cost: memory that
the compiler has at the end. It is the same in each run, and grows with the time, which depends on
what else the machine does.
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = {"g++": ["c++20", "c++23"], "clang++": ["c++20", "c++2b"]}
ALONE = ("g++", "c++20")
# What any header of ours needs of others, by the same compiler, and how many times its cost ours
# may take.
NEEDED = ["string", "functional", "absl/status/statusor.h", "absl/time/time.h"]
LIMIT = 1.27
COUNT = ["-fmem-report", "--param", "ggc-min-heapsize=4000000"]  # without a collection of garbage


def compile_headers(job):
    """(MB that the compiler has at the end, its output if it failed)"""
    compiler, standard, headers, include, flags, work = job
    name = f"{len(headers)}.{headers[-1].replace('/', '_')}.{standard}.{compiler}.cc"
    source = pathlib.Path(work) / name
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    command = [compiler, f"-std={standard}", "-fsyntax-only", *WARNINGS,
               *(COUNT if compiler == "g++" else []), "-I", str(include), *flags, str(source)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    total = re.search(r"^Total +(\d+)([kM]) ", done.stdout, re.M)
    cost = int(total[1]) / {"k": 1024, "M": 1}[total[2]] if total else float("inf")
    return cost, f"{' '.join(command)}\n{done.stdout}" if done.returncode else ""


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
        needed, _ = compile_headers((*ALONE, NEEDED, include, sys.argv[2:], work))
        jobs = [(*ALONE, [h], include, sys.argv[2:], work) for h in headers]
        jobs += [(c, s, headers, include, sys.argv[2:], work)
                 for c in compilers for s in COMPILERS[c] if (c, s) != ALONE]
        for job, (megabytes, fault) in zip(jobs, pool.map(compile_headers, jobs)):
            if fault:
                faults.append(fault)
            elif job[:2] == ALONE:
                cost[job[2][0]] = megabytes
    dear = sorted(cost, key=cost.get, reverse=True)
    most = LIMIT * needed
    faults += [f"{h} takes {cost[h]:.0f} MB to compile; {most:.0f} MB is the most: "
               f"{LIMIT} times what {', '.join(NEEDED)} take"
               for h in dear if cost[h] > most]
    if faults:
        sys.exit("\n".join(faults))
    print(f"headers: {len(headers)} compile alone, and together with {' and '.join(compilers)}; "
          f"the dearest (at most {most:.0f} MB): "
          + ", ".join(f"{h} {cost[h]:.0f} MB" for h in dear[:3]))


main()
