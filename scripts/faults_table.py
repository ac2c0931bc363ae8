#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/faults.md and its picture, from the lines of zkrecipes-everyday.

usage: faults_table.py RUNS.jsonl [--out DOCS] [--check]; prints the table, or writes it into
DOCS/faults.md, and DOCS/images/faults.svg anew. --check: exits 1 if two of ours believed at once,
or if a lease was lost where docs/lease.md lets none be lost. A machine with other work may let the
servers go on late: a run's stall counts as long as it lasted.
"""
import collections
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import plot  # noqa: E402

LIBRARIES = ["ours", "kazoo", "curator"]
NAMES = {  # as the picture has them, the mildest first
    "stop_follower": "a follower is stopped", "kill_follower": "a follower is killed",
    "drop_one": "packets of one server are dropped",
    "drop_two": "packets to two of three are dropped",
    "slow_fsync": "one server's disk is slow", "slow_fsync_all": "all servers' disks are slow",
    "slow_members": "slow links between servers", "lossy_members": "lossy links between servers",
    "stall_1": "all servers stand still for 1 s", "stall_2.5": "... for 2.5 s",
    "stall_3.5": "... for 3.5 s",
    "stop_leader": "the leader is shut down", "kill_leader": "the leader is killed",
    "rolling_restart": "rolling restart", "move": "each server moves, its name follows",
    "partition_leader": "the leader is cut off from the others",
    "stop_leader_still": "the leader is stopped",
    "stuck": "ZooKeeper commits nothing any more"}
SYNC_LIMIT = 5  # ticks: kSyncLimit of zkrecipes-everyday


def reserve(timeout):
    """How long a steady lease of the default ping gap outlives that no write is committed:
    docs/lease.md."""
    return {4: 1.2, 10: 3.1, 30: 9}.get(timeout, round(0.3 * timeout, 1))


def hung_leader(tick):
    return SYNC_LIMIT * tick / 1000


# As leaders do now and then that have stood still together with their followers, or were just
# elected: docs/report.md.
STUCK = ("all servers say that they serve, and commit nothing until they are restarted: "
         "a bug of ZooKeeper's")
# Seconds in which nothing is committed. An election: rounded up, as kazoo and Curator were idle on
# this machine.
ELECTION = 3
SLOW_SYNC = 0.4  # of each fsync, in the fault of that name
STALLS = {"stall_1": 1, "stall_2.5": 2.5, "stall_3.5": 3.5}
HUNG = ("stop_leader_still", "partition_leader")
ELECTS = ("stop_leader", "kill_leader", "rolling_restart", "lossy_members", "slow_members")


def refusal(fault, timeout, tick, lasted=0):
    """Why docs/lease.md lets a lease be lost here; empty: it does not. `lasted`: of one run, until
    all servers went on."""
    if fault == "stuck":
        return "no write is committed"
    stalls = {fault: (ELECTION, f"another leader serves after up to {ELECTION} s")
              for fault in ELECTS}
    for name in HUNG:
        stalls[name] = (hung_leader(tick) + ELECTION,
                        f"a hung leader is given up after {hung_leader(tick):g} s, "
                        f"and another serves up to {ELECTION} s later")
    for name, lasts in STALLS.items():
        stalls[name] = (max(lasts, lasted), f"a stall of {max(lasts, lasted):.3g} s")
    # A write waits for the sync that is under way, and for its own.
    stalls["slow_fsync_all"] = (4 * SLOW_SYNC,
                                f"a proof is two writes, of up to {2 * SLOW_SYNC:g} s each")
    lasts, why = stalls.get(fault, (0, ""))
    return f"{why}: a lease outlives {reserve(timeout):g} s" if lasts >= reserve(timeout) else ""


# ---- one run ------------------------------------------------------------------------------------


def spells(lines, works, rests):
    """Of one lock: the spells, (begin, end or None, who), of contenders that were told to work by
    one of `works`."""
    open_, done = {}, []
    for what, at, who in lines:
        if what in works and who not in open_:
            open_[who] = at
        elif what in rests and who in open_:
            done.append((open_.pop(who), at, who))
    return sorted(done + [(at, None, who) for who, at in open_.items()], key=lambda spell: spell[0])


def longest_idle(held, begin, end):
    """The longest time in which nobody worked."""
    longest, until = 0, begin
    for since, to, _ in held:
        if since > until:
            longest = max(longest, min(since, end) - until)
        until = max(until, end if to is None else to)
    return max(longest, end - until) / 1e9


def longest_both(held, begin, end):
    """How long two worked at once, at the longest."""
    longest = 0
    for i, (since, to, who) in enumerate(held):
        for other_since, other_to, other in held[i + 1:]:
            if other != who:
                both = min(to or end, other_to or end, end) - max(since, other_since, begin)
                longest = max(longest, both)
    return longest / 1e9


def locks_of(lines):
    locks = collections.defaultdict(list)
    for line in lines:
        words = line.split()
        if len(words) >= 4 and words[0] in ("grant", "stop", "go", "lost") and words[1].isdigit():
            locks[words[2]].append((words[0], int(words[1]), words[3]))
    return locks


def figures_of(run):
    """A row for each session timeout and library."""
    begin, end = run["begun"], run["until"]
    fault, summary = (run["fault"], run["summary"]) if run["commits"] else ("stuck", STUCK)
    rows = []
    for timeout in run["timeouts"]:
        for library in LIBRARIES:
            locks = locks_of(run["told"][library])
            mine = [lines for lock, lines in locks.items() if f"/{timeout * 1000}-" in lock]
            told = [spells(lines, ("grant", "go"), ("stop", "lost")) for lines in mine]
            asked = [spells(lines, ("grant",), ("lost",)) for lines in mine]
            lost = sum(any(to is not None and begin < to <= end for _, to, _ in held)
                       for held in asked)
            if_asked = max(longest_both(held, begin, end) for held in asked)
            rows.append({"fault": fault, "summary": summary, "tick": run["tick"],
                         "timeout": timeout, "library": library, "of": len(mine), "lost": lost,
                         "date": run["wall"],
                         "lasted": (run["ended"] - begin) / 1e9,
                         "idle": round(max(longest_idle(held, begin, end) for held in told), 2),
                         "both": round(max(longest_both(held, begin, end) for held in told), 2),
                         "both_if_asked": round(if_asked, 2)})
    return rows


# ---- all runs -----------------------------------------------------------------------------------


class Sum:
    """All runs of a fault at one session timeout, of one library."""

    def __init__(self, rows):
        self.lost, self.of = sum(row["lost"] for row in rows), sum(row["of"] for row in rows)
        self.idle = max(row["idle"] for row in rows)
        self.both = max(row["both"] for row in rows)
        self.both_if_asked = max(row["both_if_asked"] for row in rows)

    def cell(self):
        parts = [f"**{self.lost}** of {self.of}" if self.lost else f"0 of {self.of}"]
        if self.idle >= 0.05:
            parts.append(f"{self.idle:.1f} s idle")
        if self.both > 0:
            parts.append(f"**two for {self.both:.1f} s**")
        elif self.both_if_asked > 0:
            parts.append(f"two for {self.both_if_asked:.1f} s if asked")
        return ", ".join(parts)


def summed(rows):
    """(fault, tick) -> timeout -> library -> Sum, the mildest first."""
    groups, tree = collections.defaultdict(list), {}
    for row in rows:
        groups[row["fault"], row["tick"], row["timeout"], row["library"]].append(row)

    def place(item):
        fault, tick = item[0][:2]
        return list(NAMES).index(fault), tick

    for (fault, tick, timeout, library), group in sorted(groups.items(), key=place):
        tree.setdefault((fault, tick), {}).setdefault(timeout, {})[library] = Sum(group)
    return tree


def said(summary, tick):
    return summary if tick == 500 else f"{summary}; tick {tick / 1000:g} s"


def table(rows):
    summaries = {row["fault"]: row["summary"] for row in rows}
    lines = ["| what happens | T | ours | kazoo | Curator | what docs/lease.md does not promise |",
             "| --- " * 6 + "|"]
    for (fault, tick), timeouts in summed(rows).items():
        for i, (timeout, libraries) in enumerate(sorted(timeouts.items())):
            cells = [libraries[library].cell() for library in LIBRARIES]
            name = said(summaries[fault], tick) if i == 0 else ""
            lines.append(f"| {name} | {timeout} s | {' | '.join(cells)} | "
                         f"{refusal(fault, timeout, tick)} |")
    return "\n".join(lines)


def taken(rows):
    runs = collections.Counter((row["fault"], row["tick"]) for row in rows
                               if row["library"] == "ours" and row["fault"] != "stuck")
    counts = sorted({n // len({row["timeout"] for row in rows}) for n in runs.values()})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    dates = sorted({row["date"] for row in rows})
    plural = "run" if each == "1" else "runs"
    safe = max(row["both"] for row in rows if row["library"] == "ours") == 0
    return (f"{each} {plural} of each fault, on {' and '.join(dates)}, on a machine with "
            f"{os.cpu_count()} cores that other work kept busy.\n"
            f"{'Two of ours never' if safe else '**Two of ours**'} believed at once.")


# ---- the picture --------------------------------------------------------------------------------


def draw_bars(svg, sums, x, y, width):
    """Of one fault at one session timeout: a bar for each library."""
    for place, library in enumerate(LIBRARIES):
        total, color, at = sums[library], plot.ENTRANTS[library][1], y + 4 + place * 8
        long = max(total.lost / max(total.of, 1) * width, 1.5)
        svg.add("rect", x=x, y=at, width=round(long, 1), height=6, fill=color)
        if total.both_if_asked > 0:
            svg.text(x + long + 3, at + 7, "two", size=9, color=color, weight="bold")


def picture(rows):
    tree = summed(rows)
    timeouts = sorted({row["timeout"] for row in rows})
    height, left, top, wide, gap = 30, 270, 112, 130, 46
    bottom, right = top + height * len(tree), left + (wide + gap) * len(timeouts)
    svg = plot.Svg(right, bottom + 30, "Locks lost in everyday faults of ZooKeeper's servers")
    svg.text(16, 46, "Grey: the rule of the lease does not promise that it outlives this.", size=11)
    svg.text(16, 60, '"two": for a while both the old and the new holder took the lock for theirs, '
                     'if they asked.', size=11)
    svg.legend(left, 84, LIBRARIES)
    for row, (fault, tick) in enumerate(tree):
        y = top + (row + 1) * height
        svg.text(left - 12, y - height / 2 + 4, said(NAMES[fault], tick), anchor="end")
        svg.line(16, y, right - gap, y, "#f0f2f4")
    for column, timeout in enumerate(timeouts):
        x = left + column * (wide + gap)
        svg.text(x, top - 8, f"T = {timeout} s", weight="bold")
        for row, ((fault, tick), sums) in enumerate(tree.items()):
            if timeout in sums and refusal(fault, timeout, tick):
                svg.add("rect", x=x, y=top + row * height + 1, width=wide, height=height - 2,
                        fill="#eaeef2")
        for share in (0, 0.5, 1):
            svg.line(x + share * wide, top, x + share * wide, bottom)
            svg.text(x + share * wide, bottom + 16, f"{share:.0%}", size=11, anchor="middle")
        for row, sums in enumerate(tree.values()):
            if timeout in sums:
                draw_bars(svg, sums[timeout], x, top + row * height, wide)
    return svg


def mistakes(rows):
    for row in (row for row in rows if row["library"] == "ours"):
        where = f"{row['fault']} at {row['timeout']} s"
        if row["both"] > 0:
            yield f"two of ours believed at once for {row['both']} s: {where}"
        allowed = refusal(row["fault"], row["timeout"], row["tick"], row["lasted"])
        if row["lost"] > 0 and not allowed:
            yield (f"{where}: {row['lost']} of {row['of']} leases lost in a run, "
                   "which docs/lease.md does not allow")


def write(rows, docs):
    page = docs / "faults.md"
    text = page.read_text()
    for name, made in (("taken", taken(rows)), ("table", table(rows))):
        section = rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(section, lambda m: f"{m[1]}{made}\n{m[2]}", text, flags=re.S)
    page.write_text(text)
    picture(rows).write(docs / "images/faults.svg")


def main():
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
    rows = [row for line in lines for row in figures_of(json.loads(line))]
    if "--out" in sys.argv:
        write(rows, pathlib.Path(sys.argv[sys.argv.index("--out") + 1]))
    else:
        print(f"{taken(rows)}\n\n{table(rows)}")
    found = list(mistakes(rows)) if "--check" in sys.argv else []
    print("\n".join(found), file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
