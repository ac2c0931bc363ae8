#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the layers of docs/design.md from the #include lines: an arrow only points down, and
machines are pure; their switches name every state. Proves that a folder is a room, too: its sources
are in the namespace of its name, and no folder has more than 40 files.

usage: check_layering.py [ROOT]; prints each offence and exits 1 if there is one.
"""
import collections
import pathlib
import re
import subprocess
import sys

# A folder may include itself, those before it, and the public headers whose sources lie at or below
# it.
LAYERS = ["lib/base",
          # A library of its own, for those who guard a resource and know no ensemble.
          "lib/fencing",
          # The rooms of lib/zk: the seam knows none of the others, and only the loop opens handles
          # of the C client.
          "lib/zk/seam", "lib/zk/tls", "lib/zk/wire", "lib/zk/c_client", "lib/zk/loop",
          "lib/session", "lib/queue", "lib/log", "lib/metrics", "recipes"]
# These stand on top of the library, and each may include those before it.
TOP = ["testing", "tools", "demo", "examples", "integration", "bench", "verification"]
# A recipe that needs more of lib/zk than its vocabulary shows that the queue lacks a feature.
RECIPES_MAY_TAKE = {"lib/zk/seam/code.h", "lib/zk/seam/path.h", "lib/zk/seam/types.h"}
# Values, without a thread, a clock, a mutex or a reactor: what a machine may include besides its
# own folder.
PURE = {"lib/base/boot_time.h", "lib/base/path.h", "lib/zk/seam/code.h",
        "lib/zk/seam/connect_pace.h", "lib/zk/seam/path.h", "lib/zk/seam/types.h",
        "zkrecipes/lease_end.h"}
PURE_FOLDERS = ("lib/session/machine/", "lib/queue/machine/", "recipes/machine/")
IMPURE_STD = {"thread", "mutex", "shared_mutex", "condition_variable", "atomic", "chrono", "random",
              "future"}
PURE_ABSL = {"absl/container/inlined_vector.h", "absl/hash/hash.h", "absl/time/time.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"[a-z_]+\Z")
# A test stands beside what it tests, but is no part of that layer.
OF_A_TEST = re.compile(r"_(test|fixture|test_\w+)\.(h|cc)\Z")


def folder_of(path):
    return next((f for f in LAYERS + TOP if path.startswith(f + "/")), None)


def public_floors(root):
    """zkrecipes/x.h -> the number of the highest layer that it needs: its source's, or that of what
    it includes."""
    floors = {}
    for floor, layer in enumerate(LAYERS):
        for source in (root / layer).rglob("*.cc"):
            first = re.search(r'#include "([^"]+)"', source.read_text())
            if first and re.fullmatch(rf"zkrecipes/(fencing/)?{source.stem}\.h", first[1]):
                floors[first[1]] = floor
    headers = {str(h.relative_to(root / "include")): h.read_text()
               for h in (root / "include/zkrecipes").rglob("*.h")}

    def floor_of(header):
        below = re.findall(r'#include "(zkrecipes/[\w/]+\.h)"', headers.get(header, ""))
        return max([floors.get(header, 0)] + [floor_of(h) for h in below])

    return {header: floor_of(header) for header in headers}


def machine_complaint(file, quote, included):
    """Why a pure machine must not include `included`, or None."""
    if quote == "<":
        return "a machine has no threads and no clock" if included in IMPURE_STD else None
    own = next(f for f in PURE_FOLDERS if file.startswith(f))
    if included in PURE or included in PURE_ABSL or included.startswith((own, "absl/strings/")):
        return None
    return "a machine is pure: it includes std, values and its own folder"


def switch_complaint(file, line):
    """A state that a machine's switch forgets would wait for ever; without a default the compiler
    names it (-Wswitch)."""
    if (file.startswith(PURE_FOLDERS) and not OF_A_TEST.search(file)
            and re.match(r"\s*default:", line)):
        return "a switch of a machine names every state"
    return None


def complaint(file, quote, included, floors):
    """Why `file` must not include `included`, or None. Both are paths from the root."""
    if re.fullmatch(r"(zookeeper/)?(zookeeper\w*|proto|recordio)\.h|zookeeper\.jute\.h", included):
        # The exceptions are the test that uses the multi-threaded client beside ours, and what the
        # library is measured by.
        others = ("lib/zk/", "integration/", "bench/")
        allowed = (file == "lib/zk/c_client/c_api.h"
                   or (file.startswith(others) and file.endswith(".cc")))
        return None if allowed else ("only lib/zk/c_client/c_api.h and sources of lib/zk and bench "
                                     "may include ZooKeeper's headers")
    inside = file.startswith("lib/zk/c_client/")
    if re.match(r"lib/zk/c_client/c_(?!client\.h)", included) and not inside:
        return ("headers named c_* may include zookeeper.h, so they stay inside lib/zk/c_client; "
                "its door is c_client.h")
    test = OF_A_TEST.search(file)
    if file.startswith(PURE_FOLDERS) and not test:
        return machine_complaint(file, quote, included)
    if included.startswith("absl/"):
        return None
    if file.startswith("include/"):
        ok = included.startswith("zkrecipes/") or (quote == "<" and STANDARD.match(included))
        return None if ok else "a public header may include only std, absl and zkrecipes/"
    if quote == "<" or included.startswith(("gtest/", "gmock/", "CLI/", "nlohmann/")):
        return None
    own = folder_of(file)
    if own == "examples" and "/" not in included:
        return None  # beside it, also in a copy
    if included.startswith("zkrecipes/"):
        high = own in LAYERS and not test and floors.get(included, 0) > LAYERS.index(own)
        return f"{included} is made above {own}" if high else None
    target = folder_of(included)
    if target is None:
        return 'includes are rooted, such as "lib/zk/seam/code.h" or "zkrecipes/lock.h"'
    if test and target == "testing":
        return None
    order = LAYERS + TOP
    if order.index(target) > order.index(own):
        return f"{own} is below {target}"
    raw = target.startswith("lib/zk/") and included not in RECIPES_MAY_TAKE
    if own == "recipes" and raw and not test:
        return "recipes never make raw ZooKeeper calls"
    return None


# In these, namespace equals folder: lib/zk/wire is zkrecipes::zk::wire.
NAMED_ROOMS = ("lib/", "tools/")
# A namespace of another room may be opened to declare its classes in advance.
FORWARD_ONLY = re.compile(r"^namespace [\w:]+ \{\n(?:(?:class|struct) \w+;\n)+\}.*\n", re.MULTILINE)
FILES_IN_A_ROOM = 40
COLLECTIONS = {"docs/adr", "verification/mutants"}


def internal_names(root):
    """The names of zkrecipes::internal that public headers declare: whichever layer defines them
    stays in that namespace."""
    texts = (h.read_text() for h in sorted((root / "include/zkrecipes").rglob("*.h")))
    blocks = re.findall(r"^namespace (?:\[\[[^]]*\]\] )?internal \{\n(.*?)^\}", "".join(texts),
                        re.DOTALL | re.MULTILINE)
    declared = r"^(?:template <.*> )?(?:class|struct) (?:\[\[[^]]*\]\] )?(\w+)"
    return set(re.findall(declared, "".join(blocks), re.MULTILINE))


def namespace_offences(file, text, internal):
    """Namespaces that `file` opens though they are neither its folder's nor those of public
    names."""
    base = next((b for b in NAMED_ROOMS if file.startswith(b)), None)
    folder = file.rpartition("/")[0]
    if base is None or folder + "/" == base:
        return
    text = FORWARD_ONLY.sub("", text)
    own = "zkrecipes::" + folder[len(base):].replace("/", "::")
    for opened in re.findall(r"^namespace (?:\[\[[^]]*\]\] )?([\w: ]+?) \{", text, re.MULTILINE):
        name = opened.replace("inline ", "")
        if name == own or name.startswith(own + "::") or not name.startswith("zkrecipes"):
            continue
        public = name == "zkrecipes" or (name == "zkrecipes::internal"
                                         and internal.intersection(re.findall(r"\w+", text)))
        if not public:
            yield f"{file}: opens namespace {name}; its folder's is {own}"


def crowded_folders(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True,
                            check=False).stdout.split()
    count = collections.Counter(f.rpartition("/")[0] for f in listed if (root / f).is_file())
    for folder, number in count.items():
        if number > FILES_IN_A_ROOM and folder not in COLLECTIONS:
            yield f"{folder}: has {number} files, and a room has at most {FILES_IN_A_ROOM}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    folders = ["include"] + LAYERS + TOP
    files = sorted(f for d in folders for f in (root / d).rglob("*") if f.suffix in (".h", ".cc"))
    floors = public_floors(root)
    internal = internal_names(root)
    rooms = list(crowded_folders(root))
    offences = 0
    for path in files:
        file = path.relative_to(root).as_posix()
        if file.startswith("integration/packaging/consumers/"):
            continue  # projects of their own
        rooms += namespace_offences(file, path.read_text(), internal)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                why = complaint(file, *match.groups(), floors)
            else:
                why = switch_complaint(file, line)
            if why:
                offences += 1
                print(f"{file}:{number}: {line.strip()}\n    {why}")
    print(*rooms, f"layering: {len(files)} files, {offences} offending lines, "
                  f"{len(rooms)} offences of rooms", sep="\n")
    return 1 if offences or rooms or not files else 0


sys.exit(main())
