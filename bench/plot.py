#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what zkrecipes-bench measured, as SVG.

usage: plot.py FIGURES.json DIRECTORY; writes speed.svg, crowd.svg and waits.svg there.
"""
import json
import math
import pathlib
import statistics
import sys

ENTRANTS = {"floor": ("bare C client", "#6e7781"), "ours": ("zkrecipes", "#d1242f"),
            "curator": ("Curator", "#0969da"), "kazoo": ("kazoo", "#bf8700"),
            "etcd": ("etcd", "#1a7f37")}
# Of the runs of locks that stay where they are used, and of locks elsewhere.
KEPT = {"floor": ENTRANTS["floor"], "ours": ("Lock", ENTRANTS["ours"][1]),
        "kept": ("CachedLock", "#8250df"), "postgres": ("PostgreSQL advisory lock", "#1a7f37"),
        "redis": ("Redis SET NX", "#0969da")}
WAITS = "newcomer beside 8 threads"
TEXT, FAINT = "#1f2328", "#d8dee4"
SPEED = ["uncontended cycle, median", "hand-over to a waiter, median", "2 clients on one lock",
         "8 clients on one lock", "32 clients on one lock", "128 clients on one lock",
         "32 clients on 32 locks", "32 clients, 90 % readers", "uncontended cycle at 5 ms",
         "hand-over at 5 ms", "8 clients on one lock at 5 ms"]
CROWD = {"2 clients on one lock": 2, "8 clients on one lock": 8, "32 clients on one lock": 32,
         "128 clients on one lock": 128, "1,000 waiters on one lock": 1000,
         "10,000 waiters on one lock": 10000}


class Svg:
    def __init__(self, width, height, title):
        self.size, self.parts = (width, height), []
        self.text(16, 26, title, size=16, weight="bold")

    def add(self, tag, **attributes):
        said = " ".join(f'{k.replace("_", "-")}="{v}"' for k, v in attributes.items())
        self.parts.append(f"<{tag} {said}/>")

    def text(self, x, y, said, size=12, anchor="start", color=TEXT, weight="normal"):
        said = said.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
                          f'text-anchor="{anchor}" fill="{color}" '
                          f'font-weight="{weight}">{said}</text>')

    def line(self, x1, y1, x2, y2, color=FAINT, width=1):
        self.add("line", x1=round(x1, 1), y1=round(y1, 1), x2=round(x2, 1), y2=round(y2, 1),
                 stroke=color, stroke_width=width, stroke_linecap="round")

    def dot(self, x, y, color, r=4.5):
        self.add("circle", cx=round(x, 1), cy=round(y, 1), r=r, fill=color)

    def legend(self, x, y, entrants, of=ENTRANTS):
        for entrant in entrants:
            self.dot(x, y - 4, of[entrant][1])
            self.text(x + 9, y, of[entrant][0])
            x += 30 + 7 * len(of[entrant][0])

    def write(self, path):
        width, height = self.size
        path.write_text("\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" '
            'font-family="Helvetica, Arial, sans-serif">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *self.parts, "</svg>", ""]))


def present(runs, names):
    """The entrants of these runs, in the order of the legend."""
    return [e for e in ENTRANTS if any(e in runs.get(name, {}) for name in names)]


def speeds(figures):
    """A figure of each round, larger where faster."""
    if "/s" in figures:
        return figures["/s"]
    return [1 / value for value in figures.get("us", [])]


def ratios(of, floor):
    return [a / b for a, b in zip(speeds(of), speeds(floor))]


def draw_speed(runs):
    names = [name for name in SPEED if name in runs and speeds(runs[name].get("floor", {}))]
    rows, left, right, top = 34, 230, 700, 84
    svg = Svg(760, top + rows * len(names) + 40,
              "Speed, beside a bare C client that sends the same requests")
    svg.legend(left, 54, [e for e in present(runs, names) if e != "floor"])
    least, most = 1 / 64, 4

    def x(ratio):
        return left + (right - left) * math.log(max(ratio, least) / least) / math.log(most / least)

    bottom = top + rows * len(names)
    ticks = [*((1 / n, f"1/{n}") for n in (64, 32, 16, 8, 4)),
             (1 / 2, "half as fast"), (1, "as fast"), (2, "twice"), (4, "4 times")]
    for tick, label in ticks:
        svg.line(x(tick), top - 8, x(tick), bottom, "#8c959f" if tick == 1 else FAINT)
        svg.text(x(tick), bottom + 18, label, size=11, anchor="middle")
    for row, name in enumerate(names):
        y = top + rows * (row + 0.5)
        svg.text(left - 14, y + 4, name, anchor="end")
        svg.line(left, y + rows / 2, right, y + rows / 2, "#f0f2f4")
        others = [e for e in present(runs, [name]) if e != "floor" and speeds(runs[name][e])]
        for place, entrant in enumerate(others):
            all_rounds = ratios(runs[name][entrant], runs[name]["floor"])
            at, color = y + 6 * (place - (len(others) - 1) / 2), ENTRANTS[entrant][1]
            svg.line(x(min(all_rounds)), at, x(max(all_rounds)), at, color, 2)
            svg.dot(x(statistics.median(all_rounds)), at, color)
    return svg


def draw_crowd(runs):
    names = [name for name in CROWD if name in runs]
    left, right, top, bottom = 70, 560, 60, 340
    svg = Svg(720, 390, "Hand-offs a second of one lock, as the queue grows")
    most = max(max(f["/s"]) for name in names for f in runs[name].values()) * 1.1

    def x(n):
        return left + (right - left) * math.log(n / 2) / math.log(5000)

    def y(rate):
        return bottom - (bottom - top) * rate / most

    step = 10 ** math.floor(math.log10(most / 2))
    if most / step > 8:
        step *= 2
    for i in range(int(most / step) + 1):
        svg.line(left, y(i * step), right, y(i * step))
        svg.text(left - 8, y(i * step) + 4, f"{i * step:,.0f}", anchor="end", size=11)
    for name in names:
        svg.text(x(CROWD[name]), bottom + 18, f"{CROWD[name]:,}", anchor="middle", size=11)
    svg.text((left + right) / 2, bottom + 38, "contenders", anchor="middle")
    ends = []
    for entrant in present(runs, names):
        color, before = ENTRANTS[entrant][1], None
        for name in names:
            if entrant not in runs[name]:
                continue
            rates, at = runs[name][entrant]["/s"], x(CROWD[name])
            here = at, y(statistics.median(rates))
            if before:
                svg.line(*before, *here, color, 2)
            svg.line(at, y(min(rates)), at, y(max(rates)), color, 1.5)
            svg.dot(*here, color, 3.5)
            before = here
        ends.append([before[1], before[0], entrant])
    lowest = -100
    for end_y, end_x, entrant in sorted(ends):
        lowest = max(end_y, lowest + 15) if end_x else end_y
        name, color = ENTRANTS[entrant]
        svg.text(end_x + 10, lowest + 4, name, color=color, weight="bold")
    return svg


def draw_waits(runs):
    """How many of a newcomer's waits are between a limit and the one before."""
    of = {e: {float(unit.split()[1]): statistics.median(values)
              for unit, values in figures.items() if unit.startswith("within")}
          for e, figures in runs.get(WAITS, {}).items()}
    of = {e: of[e] for e in KEPT if of.get(e)}
    limits = sorted({limit for each in of.values() for limit in each})
    left, bottom, step, high = 60, 250, 66, 160
    svg = Svg(left + step * len(limits) + 20, 300,
              "How long a newcomer waits beside eight busy threads")
    svg.legend(left, 54, of, KEPT)
    for part in (0, 0.25, 0.5, 0.75, 1):
        svg.line(left, bottom - high * part, left + step * len(limits), bottom - high * part)
        svg.text(left - 8, bottom - high * part + 4, f"{part:.0%}", size=11, anchor="end")
    for column, limit in enumerate(limits):
        x = left + step * column
        label = f"{limits[column - 1]:g} to {limit:g}" if column else f"to {limit:g}"
        svg.text(x + step / 2, bottom + 18, label, 11, "middle")
        for place, (entrant, within) in enumerate(of.items()):
            share = within[limit] - (within[limits[column - 1]] if column else 0)
            if share > 0:
                svg.add("rect", x=x + 6 + 18 * place, y=round(bottom - high * share, 1),
                        width=16, height=round(high * share, 1), fill=KEPT[entrant][1])
    svg.text(left + step * len(limits) / 2, bottom + 38, "ms", anchor="middle")
    return svg


def draw(runs, directory):
    for name, picture in (("speed", draw_speed), ("crowd", draw_crowd), ("waits", draw_waits)):
        picture(runs).write(pathlib.Path(directory) / f"{name}.svg")


if __name__ == "__main__":
    draw(json.loads(pathlib.Path(sys.argv[1]).read_text())["runs"], sys.argv[2])
