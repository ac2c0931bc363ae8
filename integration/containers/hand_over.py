#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the pods of examples/kubernetes/ as containers, and does to the leader what befalls pods:
its service hangs, its sidecar is killed, it is told to stop. Each time the other pod has to lead,
and two never work at once.

usage: docker/daemon.sh docker/image.sh server hand_over.py BUILD_DIR
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds, the least that the servers grant: so long an end without a hand-over would take to be
# noticed.
SESSION = 30
PATIENCE = 120  # seconds; what is waited for takes a third of that at most
PROJECT = "zkrecipes-pods-" + os.environ.get("ZKRECIPES_TEST_RUN", str(os.getpid()))


def run(*words, check=True, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False,
                          **options)
    if check and done.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Pods:
    def __init__(self, directory):
        self.directory = directory

    def compose(self, *words, check=True):
        asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        plugin = asked.returncode == 0
        command = ["docker", "compose"] if plugin else ["docker-compose"]
        return run(*command, "--project-name", PROJECT, "--file", self.directory / "compose.json",
                   *words, check=check)

    def id(self, service):
        return self.compose("ps", "--quiet", service).strip()

    def health(self, service):
        status = run("docker", "inspect", "--format", "{{.State.Health.Status}}", self.id(service))
        return status.strip()

    def log(self):
        """What the resource was shown: (pod, "begins" or "ends", token), ..."""
        log = self.directory / "results/log"
        rows = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [(pod, what, int(token)) for pod, what, token in rows]


def replace(pods, pod):
    """As Kubernetes does: a pod that has ended is followed by a new one."""
    pods.compose("rm", "--stop", "--force", f"{pod}-scheduler", f"{pod}-zkr")
    pods.compose("up", "--detach")
    await_that(f"{pod} is back", lambda: pods.health(f"{pod}-scheduler") == "healthy", pods)


def await_that(what, condition, pods):
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > until:
            rows, said = pods.log(), pods.compose("logs", "--no-color", check=False)
            sys.exit(f"in vain: {what}\n{rows[-10:]}\n{said[-4000:]}")
        time.sleep(0.05)
    return found


def await_work(pods, begun, other_than=None):
    """-> the pod that begins a piece of work after the first `begun` lines."""
    def works():
        return next((pod for pod, what, _ in pods.log()[begun:]
                     if what == "begins" and pod != other_than), None)
    return await_that(f"work by another than {other_than}", works, pods)


def judge(rows):
    """Without a frozen pod two never work at once, and tokens only rise."""
    working, highest = None, 0
    for at, (pod, what, token) in enumerate(rows):
        begins_beside = what == "begins" and working not in (None, pod)
        ends_of_another = what == "ends" and working != pod
        if token < highest or begins_beside or ends_of_another:
            sys.exit(f"line {at}: {pod} {what} {token} while {working} works, after token "
                     f"{highest}: {rows[max(0, at - 5):at + 1]}")
        working, highest = (pod if what == "begins" else None), token


def lead_and_hand_over(pods):
    pods.compose("up", "--detach")
    leader = await_work(pods, 0)
    for pod in ("pod1", "pod2"):  # a pod that waits for its turn is ready, too
        await_that(f"{pod} is healthy",
                   lambda pod=pod: pods.health(f"{pod}-scheduler") == "healthy", pods)
    print(f"{leader} leads; both are ready")

    begun = len(pods.log())
    start = time.monotonic()
    pods.compose("stop", f"{leader}-scheduler", f"{leader}-zkr")
    successor = await_work(pods, begun, other_than=leader)
    took = time.monotonic() - start
    print(f"{leader} is told to stop: {successor} works {took:.1f} s later")
    if took > SESSION - 5:
        sys.exit("that is no hand-over: so long the session would have taken to expire")

    replace(pods, leader)
    leader = successor
    begun = len(pods.log())
    run("docker", "kill", pods.id(f"{leader}-zkr"))
    successor = await_work(pods, begun, other_than=leader)
    print(f"{leader}'s sidecar is killed: {successor} works")
    judge(pods.log())

    replace(pods, leader)
    leader = successor
    judge(pods.log())
    begun = len(pods.log())
    frozen = pods.id(f"{leader}-scheduler")
    run("docker", "pause", frozen)
    successor = await_work(pods, begun, other_than=leader)
    run("docker", "unpause", frozen)
    rows = pods.log()
    taken = next(at for at, (pod, _, _) in enumerate(rows) if at >= begun and pod == successor)
    token = rows[taken][2]
    print(f"{leader}'s service hangs: {successor} works, with a token that is "
          f"{token - rows[taken - 1][2]} higher")
    # It may have been frozen between the question and its write: that write's token is the old
    # one. No new work, though.
    await_that("more work", lambda: len(pods.log()) >= len(rows) + 6, pods)
    stale = [row for row in pods.log()[taken:] if row[0] == leader and row[1] == "begins"]
    if len(stale) > 1 or any(t >= token for _, _, t in stale):
        sys.exit(f"{leader} works on: {stale}")


def main():
    os.environ["ZKRECIPES_BUILD"] = str(pathlib.Path(sys.argv[1]).resolve())
    run(ROOT / "docker/image.sh", "zkr")
    directory = pathlib.Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    pods = Pods(directory)
    with contextlib.ExitStack() as end:
        end.callback(shutil.rmtree, directory, ignore_errors=True)
        environment = {**os.environ, "ZK_PORT_1": "0", "ZK_PORT_2": "0", "ZK_PORT_3": "0",
                       "ZK_NETWORK": "10.79.7",
                       "ZK_MIN_SESSION_TIMEOUT_MS": str(SESSION * 1000)}
        servers = subprocess.Popen([ROOT / "docker/ensemble.sh", f"{PROJECT}-servers", "900"],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment)
        end.callback(servers.wait)
        end.callback(servers.stdin.close)
        network = f"{PROJECT}-servers_ensemble"
        listing = ("docker", "ps", "-q", "--filter", f"network={network}")
        await_that("servers", lambda: run(*listing).count("\n") == 3, pods)
        run(ROOT / "examples/kubernetes/compose.py", directory, network)
        end.callback(pods.compose, "down", "--volumes", "--timeout", "1", check=False)
        lead_and_hand_over(pods)
    print("pods: all passed")


main()
