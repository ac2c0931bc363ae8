#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs zkrecipes-bench, counts instructions, and writes tables and plots of both.

usage: report.py DIRECTORY [ARGUMENTS OF zkrecipes-bench]; or report.py DIRECTORY --again, to write
them anew from the figures that are there. DIRECTORY gets figures.json and the plots; if
DIRECTORY.md is there, its sections between `<!-- figures: NAME -->` and `<!-- end -->` become the
tables.
"""
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import check_cost  # noqa: E402
import plot  # noqa: E402

BIN = ROOT / "build/bin"
COSTS = (("cpu us", "processor, µs"), ("switches", "voluntary context switches"),
         ("allocations", "allocations"))
CYCLE, BUSY = "uncontended cycle, median", "32 clients on one lock"
HELD = "a held lock, with beats"


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    cpu = re.search(r"model name\s*: (.*)", cpuinfo)
    if pathlib.Path("/usr/bin/systemd-detect-virt").exists():
        virtual = subprocess.run(["systemd-detect-virt", "--quiet"]).returncode == 0
    else:
        virtual = "hypervisor" in cpuinfo
    return {"cores": os.cpu_count(), "processor": cpu[1] if cpu else "unknown",
            "virtual": bool(virtual),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "load_before": os.getloadavg()[0], "date": datetime.date.today().isoformat()}


def measure(directory, arguments):
    """The figures of a run of everything."""
    before, file = machine(), directory / "rounds.json"
    file.unlink(missing_ok=True)
    if subprocess.run([BIN / "zkrecipes-bench", "--json", file, *arguments]).returncode != 0:
        print("zkrecipes-bench failed; what follows is of the rounds before", file=sys.stderr)
    runs = json.loads(file.read_text())
    file.unlink()
    counts = {entrant: check_cost.count(BIN / "zkr", BIN / "zkrecipes-bench", entrant)
              for entrant in ("floor", "ours")}
    own = [a for i, a in enumerate(arguments) if "--peer" not in (a, arguments[i - 1] if i else "")]
    return {"machine": before, "arguments": own, "counts": counts,
            "runs": runs}


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def median(values):
    return number(statistics.median(values)) if values else "-"


def table(heads, rows):
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def ratio(ours, floor):
    each = sorted(a / b for a, b in zip(ours, floor) if b)
    return f"{statistics.median(each):.2f} ({each[0]:.2f} to {each[-1]:.2f})" if each else "-"


def speeds(data):
    runs = data["runs"]
    entrants = plot.present(runs, runs)
    def rows():
        for name in [*plot.SPEED, *plot.CROWD][:len(plot.SPEED)]:
            for unit in [u for u in ("us", "/s") if u in runs.get(name, {}).get("ours", {})]:
                of = {e: runs[name].get(e, {}).get(unit, []) for e in entrants}
                label = name.replace(", median", "") + (", µs" if unit == "us" else ", a second")
                yield [label, *(median(of[e]) for e in entrants),
                       ratio(of["ours"], of.get("floor", []))]
    return table(["", *(plot.ENTRANTS[e][0] for e in entrants), "zkrecipes / bare C client"],
                 rows())


def costs(data):
    runs, counts = data["runs"], data["counts"]
    entrants = plot.present(runs, runs)
    def rows():
        for name in (CYCLE, BUSY):
            for unit, label in COSTS:
                of = {e: runs.get(name, {}).get(e, {}).get(unit, []) for e in entrants}
                yield [f"{name.replace(', median', '')}: {label}",
                       *(median(of[e]) for e in entrants)]
        yield ["uncontended cycle: instructions (1 server)",
               *(f"{counts[e]['instructions']:,}" if e in counts else "-" for e in entrants)]
        for name in ("uncontended cycle, wire", "hand-over, wire"):
            for unit in ("requests", "bytes"):
                of = {e: runs.get(name, {}).get(e, {}).get(unit, []) for e in entrants}
                yield [f"{name.replace(', wire', '')}: {unit}", *(median(of[e]) for e in entrants)]
    return table(["a cycle", *(plot.ENTRANTS[e][0] for e in entrants)], rows())


def crowds(data):
    runs = data["runs"]
    def rows():
        for name in [n for n in plot.CROWD if plot.CROWD[n] >= 1000 and n in runs]:
            for entrant in plot.present(runs, [name]):
                of = runs[name][entrant]
                yield [f"{plot.CROWD[name]:,} waiters, {plot.ENTRANTS[entrant][0]}",
                       *(median(of.get(unit, []))
                         for unit in ("/s", "bytes", "ms to queue", "kB a waiter"))]
    return table(["", "hand-offs a second", "bytes a hand-off", "ms to queue one more",
                  "kB of memory a waiter"], rows())


def drains(data):
    runs = data["runs"]
    def rows():
        for name in [n for n in plot.CROWD if plot.CROWD[n] >= 1000 and n in runs]:
            for entrant in plot.present(runs, [name]):
                of = runs[name][entrant]
                yield [f"{plot.CROWD[name]:,} waiters, {plot.ENTRANTS[entrant][0]}",
                       median(of.get("s to drain", [])),
                       *(median(of.get(f"{unit}, quarter {n}", []))
                         for unit in ("/s", "bytes") for n in (1, 4))]
    return table(["", "s in all", "a second: first quarter", "last quarter",
                  "bytes each: first quarter", "last quarter"],
                 rows())


def holdings(data):
    of = data["runs"].get(HELD, {})
    return table(["a lock that is held, sessions of 10 s", "requests a second",
                  "bytes a second, pings included"],
                 ([plot.ENTRANTS[e][0],
                   *(median(of[e].get(unit, [])) for unit in ("requests/s", "bytes/s"))]
                  for e in plot.present(data["runs"], [HELD])))


def failovers(data):
    of = data["runs"].get("failover after kill -9", {})
    return table(["sessions of 4 s", "from the kill to the next grant, ms",
                  "from the session's end, ms"],
                 ([plot.ENTRANTS[e][0], median(of[e].get("ms", [])),
                   median(of[e].get("ms after the session's end", []))]
                  for e in plot.ENTRANTS if e in of))


PROMISES = {
    "floor": ("-", "-", "first come, first served"),
    "ours": ("until a proven deadline", "one for each grant", "first come, first served"),
    "kept": ("until a proven deadline", "the node's, and the turn",
             "first come, first served; 64 local turns may pass"),
    "postgres": ("as long as its connection lives, which it does not know", "none",
                 "first come, first served"),
    "redis": ("for a time, if one server's clock and memory hold", "none",
              "whoever asks at the right moment")}


def kept(data):
    def of(name, unit):
        entrants = data["runs"].get(name, {})
        return {e: median(figures.get(unit, [])) for e, figures in entrants.items()}
    columns = [of("one thread, again and again", "us"), of("8 threads of one process", "/s"),
               of("8 threads of two processes", "/s"), of("two processes that take turns", "us"),
               of("newcomer to an idle lock", "us")]
    return table(["", "one thread, again and again, µs", "8 threads of one process, a second",
                  "of two, a second", "two processes in turn, µs", "newcomer to an idle lock, µs",
                  "its holder may believe", "token", "order"],
                 ([plot.KEPT[e][0], *(column.get(e, "-") for column in columns), *PROMISES[e]]
                  for e in plot.KEPT if e in columns[0]))


def taken_on(data):
    m, runs = data["machine"], data["runs"]
    rounds = max(len(v) for v in runs[CYCLE]["ours"].values()) if CYCLE in runs else 0
    yield (f"Taken on {m['date']}, on a {'virtual ' if m['virtual'] else ''}machine with "
           f"{m['cores']} cores ({m['processor']}), {m['memory_gb']} GB; "
           f"load before: {m['load_before']:.1f}. "
           f"Arguments: `{' '.join(data['arguments']) or 'none'}`; rounds: {rounds}.")


SECTIONS = {"machine": taken_on, "speed": speeds, "cost": costs, "crowd": crowds,
            "drain": drains, "held": holdings, "failover": failovers, "kept": kept}


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "figures.json"
    if "--again" in sys.argv:
        data = json.loads(file.read_text())
    else:
        data = measure(directory, sys.argv[2:])
    figures = json.dumps(data, indent=None, sort_keys=True)
    file.write_text(figures.replace('"}, "', '"},\n"').replace("]}}, ", "]}},\n") + "\n")
    plot.draw(data["runs"], directory)
    page = directory.with_suffix(".md")
    text = page.read_text() if page.exists() else ""
    for name, lines in SECTIONS.items():
        said = "\n".join(lines(data))
        section = rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(section, lambda m: f"{m[1]}{said}\n{m[2]}", text, flags=re.S)
        if not page.exists():
            print(f"\n{said}")
    if page.exists():
        page.write_text(text)


if __name__ == "__main__":
    main()
