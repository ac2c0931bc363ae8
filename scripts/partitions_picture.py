#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What became of a service's partitions while its members came and went: a picture, and a verdict.

usage: partitions_picture.py TOLD.json [--svg FILE [--title TEXT]] [--check]

TOLD.json is of `zkrecipes-partitions run`. --check: exits 1 if two members owned a partition at
once, if one had no owner in the end or for too long, or if work was interrupted that need not be.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import plot  # noqa: E402

COLORS = {"a": "#0969da", "b": "#d1242f", "c": "#1a7f37", "d": "#bf8700", "e": "#8250df"}
SECOND = 10**9
SLOW = 5.75  # seconds after a session's end: 1.5 ticks, an election, and two more


class Span:
    """Of one owner: from when its work began to the last moment at which it believed."""

    def __init__(self, member, partition, begun):
        self.member, self.partition, self.begun, self.believed = member, partition, begun, begun
        self.ended_by, self.ended = "killed", None  # no line says how it ended


def spans_of(run):
    spans = []
    for member, lines in run["told"].items():
        latest = {}
        for what, at, partition in (line.split() for line in lines if line.count(" ") == 2):
            if what == "own":
                latest[partition] = Span(member, partition, int(at))
                spans.append(latest[partition])
            elif what in ("work", "asked"):
                latest[partition].believed = int(at)
            if what in ("asked", "lost"):
                latest[partition].ended_by, latest[partition].ended = what, int(at)
    return sorted(spans, key=lambda s: (int(s.partition), s.begun))


def at_once(spans):
    """Pairs of which the second member's work began before the first one's last moment of
    belief."""
    return [(a, b) for a, b in zip(spans, spans[1:])
            if a.partition == b.partition and b.begun < a.believed]


def stops(run, member, at):
    """Whether this member was told to stop, last of all that was done to it."""
    did = [m["text"] for m in run["marks"]
           if m["at"] <= at and m["text"].startswith((f"{member} ", "all "))]
    return bool(did) and "stop" in did[-1]


def interrupted(run, spans):
    """Work that ended though its owner had stayed. What a member has while all are there it keeps
    while others go and come back: seen at the second mark, true until there is a newcomer. Its
    lease may be lost later on, as when a server dies; but not as the first thing is done to another
    member."""
    marks = run["marks"]
    victim, seen = marks[1]["text"].split()[0], marks[1]["at"]
    then = marks[min(2, len(marks) - 1)]["at"]
    until = next((m["at"] for m in marks if m["text"].endswith("joins")), marks[-1]["at"])
    homes = {s.partition: s.member for s in spans if s.begun < seen}  # the latest of each
    for s in spans:
        asked = s.ended_by == "asked" and not stops(run, s.member, s.believed)
        lost = s.ended_by == "lost" and victim not in (s.member, "leader", "the") and s.ended < then
        if seen < s.believed < until and homes.get(s.partition) == s.member and (asked or lost):
            yield s


def gaps(run, spans):
    """For each time without an owner: partition, seconds, and seconds since the last thing that
    happened in it."""
    for one, heir in zip(spans, spans[1:]):
        if one.partition == heir.partition and heir.begun > one.believed:
            within = [m["at"] for m in run["marks"] if one.believed < m["at"] < heir.begun]
            event = max([one.believed] + within)
            yield one.partition, (heir.begun - one.believed) / SECOND, (heir.begun - event) / SECOND


def mistakes(run):
    spans = spans_of(run)
    for a, b in at_once(spans):
        both = (a.believed - b.begun) / 1e6
        yield (f"partition {a.partition}: {b.member} began {both:.1f} ms before {a.member} had "
               "ended")
    for s in interrupted(run, spans):
        at = (s.believed - run["marks"][0]["at"]) / SECOND
        yield (f"partition {s.partition}: the work of {s.member} was interrupted at {at:.1f} s, "
               "though it had stayed")
    longest = run["session_timeout"] + SLOW
    for partition, _, since in gaps(run, spans):
        if since > longest:
            yield (f"partition {partition}: without an owner for {since:.1f} s "
                   "in which nothing happened")
    stop = run["marks"][-1]["at"]
    for partition in map(str, range(run["partitions"])):
        if not any(s.partition == partition and s.begun < stop and s.believed > stop - SECOND
                   for s in spans):
            yield f"partition {partition}: without an owner in the end"


def summary(run):
    spans = spans_of(run)
    longest = [max(column, default=0)
               for column in zip(*[g[1:] for g in gaps(run, spans)])] or [0, 0]
    return (f"seed {run.get('seed')}: {len(spans)} times a partition was gained; "
            f"two owners at once: {len(at_once(spans))}; "
            f"interrupted though its member stayed: {len(list(interrupted(run, spans)))}; "
            f"without an owner for at most {longest[0]:.1f} s, and {longest[1]:.1f} s "
            f"after the last event (session timeout {run['session_timeout']} s)")


def picture(run, title):
    spans, begun = spans_of(run), run["marks"][0]["at"]
    # A long run is wider, and its many events are told in more rows.
    left, high, wide = 40, 15, round(max(860, (run["until"] - begun) / SECOND * 8))
    rows = 2 if wide == 860 else 4
    top = 76 + 14 * rows
    bottom = top + high * run["partitions"]
    scale = wide / ((run["until"] - begun) / SECOND)
    svg = plot.Svg(left + wide + 20, bottom + 34, title)

    def x(at):
        return left + (at - begun) / SECOND * scale

    for place, (member, color) in enumerate(COLORS.items()):
        svg.add("rect", x=left + 60 * place, y=40, width=12, height=12, fill=color)
        svg.text(left + 18 + 60 * place, 51, member)
    svg.text(left + 60 * len(COLORS), 51,
             f"white: without an owner (session timeout {run['session_timeout']} s)")
    for span in spans:
        y = top + high * int(span.partition)
        long = max(x(span.believed) - x(span.begun), 0.8)
        svg.add("rect", x=round(x(span.begun), 1), y=y + 1, width=round(long, 1), height=high - 2,
                fill=COLORS[span.member])
    for partition in range(run["partitions"]):
        svg.text(left - 8, top + high * partition + 11, str(partition), size=10, anchor="end")
    for place, event in enumerate(run["marks"]):
        svg.line(x(event["at"]), top - 6, x(event["at"]), bottom, plot.TEXT)
        before = event is run["marks"][-1]  # there is no room behind it
        svg.text(x(event["at"]) + (-3 if before else 3), top - 10 - 14 * (place % rows),
                 event["text"], size=11, anchor="end" if before else "start")
    for second in range(0, int((run["until"] - begun) / SECOND) + 1, 10):
        svg.text(left + second * scale, bottom + 18, f"{second} s", size=11, anchor="middle")
    return svg


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main():
    run = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if option("--svg"):
        title = option("--title", f"Who owned which of {run['partitions']} partitions "
                                  "while members came and went")
        picture(run, title).write(pathlib.Path(option("--svg")))
    print(summary(run))
    wrong = list(mistakes(run)) if "--check" in sys.argv else []
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
