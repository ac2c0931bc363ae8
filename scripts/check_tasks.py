#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ of docs/tasks.md and of the recipes' pages, each listing as the body of a
function.

usage: check_tasks.py [COMPILER]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPES = ("lock", "read_write_lock", "semaphore", "election", "group", "partitions")
LISTING = re.compile(r"```cpp\n(.*?)```", re.DOTALL)
PREAMBLE = """
#include "zkrecipes/fencing/fenced_file.h"
#include "zkrecipes/group.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/partitions.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/semaphore.h"
#include "zkrecipes/testing/in_memory_ensemble.h"
using namespace zkrecipes;
void Work(); void Step(); void Cancel(); void WaitForever();
void Follow(const std::string& who, const std::string& where);
void LogError(const absl::Status& why); bool Serve();
void SetPeers(const std::vector<Member>& peers);
void StopWhatRestsOnBeingAMember();
"""


def main():
    text = (ROOT / "docs/tasks.md").read_text()
    bodies = LISTING.findall(text)
    tasks = len(re.findall(r"^## \d+\. ", text, re.MULTILINE))
    if len(bodies) != tasks:
        sys.exit(f"docs/tasks.md: {tasks} tasks, but {len(bodies)} of them in C++")
    for name in RECIPES:
        bodies += LISTING.findall((ROOT / f"docs/{name}.md").read_text())
    functions = [f"absl::Status Task{i}(std::shared_ptr<Client> client) {{\n{body}}}\n"
                 for i, body in enumerate(bodies, 1)]
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        source.write(PREAMBLE + "\n".join(functions))
        source.flush()
        compiler = sys.argv[1] if len(sys.argv) > 1 else "c++"
        flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused",
                 f"-I{ROOT}/include"]
        done = subprocess.run([compiler, *flags, source.name], check=False)
    print(f"{tasks} tasks and {len(bodies) - tasks} other listings: "
          + ("compiled" if done.returncode == 0 else "do not compile"))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
