#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the lease rule with z3, that it needs each of its assumptions, and that proof, page and
code say the same.

usage: check_proofs.py [--stories] [NAME...]; a NAME is one of verification/proofs/NAME.smt2. Prints
what is wrong and exits 1 if there is something. --stories tells, for every assumption, how two
clients own one lock without it.
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROOFS = ROOT / "verification" / "proofs"
PAGE = "docs/lease.md"
NAMED = re.compile(r":named (\w+)\)\)")
DECLARED = re.compile(r"^\(declare-const (\w+) (?:Real|Bool)\) +; (is|at|if)"
                      r"(?: \[((?:not )?)(\w+)\])?: (.*)$", re.MULTILINE)
CONSTANT = re.compile(r"^; = (\S+): (.*)\n\(define-fun (\w+) \(\) Real ([\d.]+)\)", re.MULTILINE)
VALUE = re.compile(r"\((\w+) (true|false|\(- [^()]*\)|\(- \(/ [^()]*\)\)|\(/ [^()]*\)|[\d.]+)\)")
DEFAULT = (("clock_rate_bound", r"double clock_rate_bound = ([\d.]+);"),
           ("slack", r"slack = (.*);"))


def one_line(text):
    return " ".join(text.split())


def named_assertions(text):
    """(name, first, last) of every (assert (! ... :named name)) of `text`."""
    for found in re.finditer(r"^\(assert ", text, re.MULTILINE):
        depth, end = 0, found.start()
        for end in range(found.start(), len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        named = NAMED.search(text, found.start(), end + 1)
        if named:
            yield named[1], found.start(), end + 1


def z3(texts):
    """What z3 answers to each of `texts`."""
    asked = '(echo "next")\n(reset)\n'.join(texts)
    run = subprocess.run(["z3", "-in", "-T:60"], input=asked, capture_output=True, text=True,
                         check=False)
    answers = [answer.strip() for answer in run.stdout.split("next\n")]
    return [answer or "nothing" for answer in answers] + ["nothing"] * (len(texts) - len(answers))


def number(term):
    inner = re.fullmatch(r"\(([-/]) (.*)\)", term)
    if not inner:
        return float(term) + 0.0
    if inner[1] == "-":
        return 0.0 - number(inner[2])
    above, below = inner[2].split()
    return float(above) / float(below)


def told(text, answer):
    """A model of `text` in words: what is fixed, then the events in the order of their times, each
    by both clocks."""
    values = dict(VALUE.findall(answer))
    fixed, events = [], []
    for name, kind, unless, condition, words in DECLARED.findall(text):
        if condition and (values[condition] == "true") == bool(unless):
            continue
        if kind == "is":
            fixed.append(f"    {words} is {number(values[name]):.0f} ms")
        elif kind == "at":
            own = f"{number(values['c' + name]):.0f}" if "c" + name in values else ""
            at = number(values[name])
            events.append((at, f"    {at:7.0f} {own:>7}  * {words}"))
        elif values[name] == "true":
            fixed.append(f"    {words}")
    events.sort(key=lambda event: event[0])
    lines = fixed + [line for _, line in events]
    if events:
        lines.insert(len(fixed), "     clock  client's")
        too_long = number(values["believes"]) - number(values["granted"])
        lines.append(f"                     ! believed too long: for another {too_long:.0f} ms")
    return "\n".join(lines)


def without(text, first, last, readable):
    """`text` without the assertion at first..last, asking for a model. Readable: round times, in a
    likely order."""
    events = [event for event, kind, *_ in DECLARED.findall(text) if kind == "at"]
    wishes = [f"(assert-soft (>= {later} (+ {sooner} 10)) :weight 1)"
              for sooner, later in zip(events, events[1:])]
    wishes += [f"(assert-soft {wish} :weight 20)"
               for wish in re.findall(r"^; story: (.*)$", text, re.MULTILINE)]
    names = " ".join(re.findall(r"^\(declare-const (\w+)", text, re.MULTILINE))
    ask = "\n".join((wishes if readable else []) + ["(check-sat)", f"(get-value ({names}))"])
    return (text[:first] + text[last:]).replace("(check-sat)", ask)


def quotes(file, text):
    """What `text` quotes of the page and of the code, but they do not say."""
    page = one_line((ROOT / PAGE).read_text())
    for quote in re.findall(r"^; > (.*(?:\n;   .*)*)", text, re.MULTILINE):
        if one_line(quote.replace("\n; ", " ")) not in page:
            yield f"{file}: {PAGE} does not say: {quote}"
    for path, quote in re.findall(r"^; = (\S+): (.*)$", text, re.MULTILINE):
        if one_line(quote) not in one_line((ROOT / path).read_text()):
            yield f"{file}: {path} does not have: {quote}"
    for _, quote, name, value in CONSTANT.findall(text):
        if float(re.findall(r"[\d.]+", quote)[-1]) != float(value):
            yield f"{file}: {name} is {value}, and the code has: {quote}"


def check(proof, readable):
    text = proof.read_text()
    wrong, stories = list(quotes(proof.name, text)), []
    needed = list(named_assertions(text))
    whole, *answers = z3([text] + [without(text, first, last, readable)
                                   for _, first, last in needed])
    if whole != "unsat":
        wrong.append(f"{proof.name}: not proven: z3 says {whole}")
    for (name, *_), answer in zip(needed, answers):
        if answer.startswith("sat"):
            stories.append(f"  without {name}:\n{told(text, answer)}")
        else:
            wrong.append(f"{proof.name}: without {name}, which is not needed, "
                         f"z3 says {answer.splitlines()[0]}")
    return proof.stem, len(needed), wrong, stories


def defaults():
    """The library's and its users' defaults of the same margin."""
    headers = [(ROOT / path).read_text() for path in
               ("include/zkrecipes/lease_options.h", "lib/session/machine/expiry_bound.h")]
    for name, pattern in DEFAULT:
        values = {found[1] if (found := re.search(pattern, header)) else None for header in headers}
        if len(values) != 1 or None in values:
            yield f"{name}: lease_options.h and expiry_bound.h differ: {values}"


def main():
    names = [argument for argument in sys.argv[1:] if argument != "--stories"]
    tell = "--stories" in sys.argv
    if not shutil.which("z3"):
        sys.exit("check_proofs.py: z3 is missing: ./dev apt-install")
    proofs = [PROOFS / f"{name}.smt2" for name in names] or sorted(PROOFS.glob("*.smt2"))
    wrong, needed = list(defaults()), 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for name, count, complaints, stories in pool.map(lambda proof: check(proof, tell), proofs):
            needed += count
            wrong += complaints
            if tell:
                print(f"{name}\n" + "\n".join(stories))
    print(*wrong, f"{len(proofs)} rules, {needed} assumptions and margins, {len(wrong)} mistakes",
          sep="\n")
    return 1 if wrong or not proofs or not needed else 0


sys.exit(main())
