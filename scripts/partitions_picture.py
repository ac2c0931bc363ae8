#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What became of a service's partitions while its members came and went: a picture, and a verdict.

usage: partitions_picture.py TOLD.json [--svg FILE [--title TEXT]] [--check]

TOLD.json is of `zkrecipes-partitions run`. --check: exits 1 if two members owned a partition at once, if one was not owned in
the end, or if work was interrupted that need not be.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import plot  # noqa: E402

COLORS = {"a": "#0969da", "b": "#d1242f", "c": "#1a7f37", "d": "#bf8700", "e": "#8250df"}
SECOND = 10**9


class Span:
    """Of one owner: from when its work began to the last moment at which it believed."""

    def __init__(self, member, partition, begun):
        self.member, self.partition, self.begun, self.believed = member, partition, begun, begun
        self.ended_by = "killed"  # no line says how it ended


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
                latest[partition].ended_by = what
    return sorted(spans, key=lambda s: (int(s.partition), s.begun))


def at_once(spans):
    """Pairs of which the second member's work began before the first one's last moment of belief."""
    return [(a, b) for a, b in zip(spans, spans[1:]) if a.partition == b.partition and b.begun < a.believed]


def mark(run, word):
    return next(m["at"] for m in run["marks"] if word in m["text"])


def interrupted(run, spans):
    """How often work of others ended after the first member was killed, until the next event."""
    killed, joins = mark(run, "b is killed"), mark(run, "e joins")
    return [s for s in spans if s.ended_by != "killed" and killed < s.believed < joins]


def unowned_after(run, spans, word):
    """How many seconds the partitions of the killed member were without an owner, each."""
    killed = mark(run, word)
    lost = [s for s in spans if s.ended_by == "killed" and s.begun < killed]
    heirs = [min((h.begun for h in spans if h.partition == s.partition and h.begun > s.believed), default=run["until"]) for s in lost]
    return [(heir - s.believed) / SECOND for s, heir in zip(lost, heirs)]


def mistakes(run):
    spans = spans_of(run)
    for a, b in at_once(spans):
        yield f"partition {a.partition}: {b.member} began {(a.believed - b.begun) / 1e6:.1f} ms before {a.member} had ended"
    for s in interrupted(run, spans):
        yield f"partition {s.partition}: the work of {s.member} was interrupted when another member was killed"
    stop = mark(run, "all stop")
    for partition in map(str, range(run["partitions"])):
        if not any(s.partition == partition and s.begun < stop and s.believed > stop - SECOND for s in spans):
            yield f"partition {partition}: without an owner in the end"


def summary(run):
    spans = spans_of(run)
    gaps = unowned_after(run, spans, "b is killed")
    return (f"{len(spans)} times a partition was gained; two owners at once: {len(at_once(spans))}; "
            f"interrupted as one member was killed: {len(interrupted(run, spans))}; the {len(gaps)} partitions of that one were "
            f"without an owner for {min(gaps, default=0):.1f} to {max(gaps, default=0):.1f} s (session timeout {run['session_timeout']} s)")


def picture(run, title):
    spans, begun = spans_of(run), run["marks"][0]["at"]
    left, top, high, wide = 40, 104, 15, 860
    bottom = top + high * run["partitions"]
    scale = wide / ((run["until"] - begun) / SECOND)
    svg = plot.Svg(left + wide + 20, bottom + 34, title)

    def x(at):
        return left + (at - begun) / SECOND * scale

    for place, (member, color) in enumerate(COLORS.items()):
        svg.add("rect", x=left + 60 * place, y=40, width=12, height=12, fill=color)
        svg.text(left + 18 + 60 * place, 51, member)
    svg.text(left + 60 * len(COLORS), 51, f"white: without an owner (session timeout {run['session_timeout']} s)")
    for span in spans:
        y = top + high * int(span.partition)
        svg.add("rect", x=round(x(span.begun), 1), y=y + 1, width=round(max(x(span.believed) - x(span.begun), 0.8), 1), height=high - 2,
                fill=COLORS[span.member])
    for partition in range(run["partitions"]):
        svg.text(left - 8, top + high * partition + 11, str(partition), size=10, anchor="end")
    for place, event in enumerate(run["marks"]):
        svg.line(x(event["at"]), top - 6, x(event["at"]), bottom, plot.TEXT)
        before = event is run["marks"][-1]  # there is no room behind it
        svg.text(x(event["at"]) + (-3 if before else 3), top - (24 if place % 2 else 10), event["text"], size=11,
                 anchor="end" if before else "start")
    for second in range(0, int((run["until"] - begun) / SECOND) + 1, 10):
        svg.text(left + second * scale, bottom + 18, f"{second} s", size=11, anchor="middle")
    return svg


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main():
    run = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if option("--svg"):
        title = option("--title", f"Who owned which of {run['partitions']} partitions while members came and went")
        picture(run, title).write(pathlib.Path(option("--svg")))
    print(summary(run))
    wrong = list(mistakes(run)) if "--check" in sys.argv else []
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
