#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a service with metrics on real servers, lets Prometheus scrape it, and asks it each query of
the dashboard and of the alerts. Proves that docs/metrics.md lists just the metrics that there are.

usage: dashboard_test.py BIN; BIN: where the build puts programs
"""
import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

METRICS = pathlib.Path(__file__).resolve().parents[2] / "docs/metrics"
SCRAPES = 10  # seconds, and the same number of scrapes


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return answer.read().decode()


def eventually(what, reached, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if reached():
                return
        time.sleep(0.2)
    sys.exit(f"not within {seconds} s: {what}")


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def ensemble(bin_dir, folder):
    zkr = [f"{bin_dir}/zkr", "ensemble"]
    started = subprocess.run([*zkr, "start", "--dir", folder], check=True,
                             stdout=subprocess.PIPE, text=True)
    try:
        yield started.stdout.strip()
    finally:
        subprocess.run([*zkr, "stop", "--dir", folder], check=True)


def queries():
    dashboard = json.loads((METRICS / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "10s").replace("$instance", ".*")
            yield panel["title"], query


def names_of(text):
    return set(re.findall(r"\bzkrecipes_[a-z_]+[a-z]\b", text))


def without_suffix(names, families):
    return {re.sub(r"_(bucket|sum|count)$", "", n) if n not in families else n for n in names}


def ask(port, query):
    answer = json.loads(get(port, "/api/v1/query?" + urllib.parse.urlencode({"query": query})))
    return answer["data"]["result"]


def judge(prometheus, families):
    wrong = [f"the panel \"{title}\" is empty: {query}"
             for title, query in queries() if not ask(prometheus, query)]
    page = (METRICS.parent / "metrics.md").read_text()
    documented = set(re.findall(r"^\| `(zkrecipes_\w+)", page, re.M))
    wrong += [f"docs/metrics.md and the registry differ: {name}" for name in documented ^ families]
    for file in ("alerts.yml", "dashboard.json"):
        used = without_suffix(names_of((METRICS / file).read_text()), families)
        wrong += [f"{file} names what is not there: {name}" for name in used - families]
    return wrong


def main():
    bin_dir = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder, ensemble(bin_dir, f"{folder}/servers") as servers:
        service, prometheus = free_port(), free_port()
        config = pathlib.Path(folder, "prometheus.yml")
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s"},
            "rule_files": [str(METRICS / "alerts.yml")],
            "scrape_configs": [{"job_name": "metrics",
                                "static_configs": [{"targets": [f"127.0.0.1:{service}"]}]}]}))
        enough = f"count_over_time(zkrecipes_deadline_margin_lowest_seconds[5m]) >= {SCRAPES}"
        with running(f"{bin_dir}/zkrecipes-metrics-service", servers, str(service)), \
                running("prometheus", f"--config.file={config}",
                        f"--storage.tsdb.path={folder}/data",
                        f"--web.listen-address=127.0.0.1:{prometheus}"):
            eventually("enough scrapes", lambda: ask(prometheus, enough))
            families = set(re.findall(r"^# TYPE (zkrecipes_\w+)", get(service, "/metrics"), re.M))
            wrong = judge(prometheus, families)
            rules = json.loads(get(prometheus, "/api/v1/rules"))["data"]["groups"][0]["rules"]
            wrong += [f"alert {r['name']}: {r['lastError']}" for r in rules if r.get("lastError")]
    for line in wrong:
        print(line)
    print(f"{len(families)} metrics, {len(list(queries()))} queries of the dashboard, "
          f"{len(rules)} alerts: {len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
