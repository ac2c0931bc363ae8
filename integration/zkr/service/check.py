#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries the unit file of docs/zkr.md.

usage: check.py text            the file is one that systemd reads without a complaint, as far as
                                can be told here
       check.py run BUILD_DIR   that very text as a unit of the systemd that runs here, on an
                                ensemble of its own; ends with 77 where none does
"""
import configparser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SKIPPED = 77
PATIENCE = 60  # seconds, for what takes less than one
UNITS = pathlib.Path("/run/systemd/system")

# What the text must say, whatever else it says.
NEEDED = {
    "Unit": {},
    "Service": {
        "ExecStart": r"/usr/bin/zkr elect /\S+ --candidate \S+ .*-- /\S+",
        "KillMode": "mixed",
        "TimeoutStopSec": r"\d+s",
        "SuccessExitStatus": r"143\b.*",
        "Restart": "on-failure",
        "RestartPreventExitStatus": r"64 77 126 127",
    },
    "Install": {"WantedBy": "multi-user.target"},
}
# CMD: says that it runs, and counts its SIGTERMs.
COMMAND = """#!/usr/bin/env python3
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
out = open("{directory}/said", "a", buffering=1)
out.write("up\\n")
signal.sigwait({{signal.SIGTERM}})
out.write("term\\n")
while signal.sigtimedwait({{signal.SIGTERM}}, 1):
    out.write("term\\n")
sys.exit(143)
"""


def unit_text():
    found = re.findall(r"```ini\n(.*?)```", (ROOT / "docs/zkr.md").read_text(), re.S)
    if len(found) != 1:
        sys.exit(f"docs/zkr.md has {len(found)} unit files, not one")
    return found[0]


def parsed(text):
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str
    unit.read_string(text)
    return unit


def check_keys(text):
    unit = parsed(text)
    for section, keys in NEEDED.items():
        for key, value in keys.items():
            if not re.fullmatch(value, unit[section].get(key, "")):
                sys.exit(f"docs/zkr.md: [{section}] {key}={unit[section].get(key)} is not {value}")


def check_package(text):
    """The unit of the Debian package has its election and command from a file, and all else from
    the document."""
    own = {"Environment", "EnvironmentFile", "ExecStart"}
    of_package = (ROOT / "packaging/debian/zkr-elect@.service").read_text()
    document, package = ({key: value for key, value in parsed(unit)["Service"].items()
                          if key not in own}
                         for unit in (text, of_package))
    if document != package:
        sys.exit("docs/zkr.md and packaging/debian/zkr-elect@.service differ:\n"
                 f"{document}\n{package}")


def check_by_systemd(text, directory):
    """systemd-analyze ends with 0 for what it only ignores: every word of it is a complaint."""
    file = pathlib.Path(directory) / "scheduler.service"
    file.write_text(re.sub(r"/usr/bin/\w+", "/bin/true", text))
    said = subprocess.run(["systemd-analyze", "verify", "--man=no", file], capture_output=True,
                          text=True, check=False)
    complaints = [line for line in (said.stdout + said.stderr).splitlines()
                  if "scheduler.service" in line]
    if said.returncode != 0 or complaints:
        sys.exit(f"systemd-analyze verify ends with {said.returncode}:\n{said.stdout}{said.stderr}")


def check_text():
    text = unit_text()
    check_keys(text)
    check_package(text)
    if not shutil.which("systemd-analyze"):
        return print("the keys are right; there is no systemd-analyze to ask")
    with tempfile.TemporaryDirectory() as directory:
        check_by_systemd(text, directory)
    return print("the keys are right, and systemd-analyze has no complaint")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def await_that(what, condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"in vain: {what}")
        time.sleep(0.02)


def run_unit(zkr, directory, servers):
    """Starts and stops it twice: as it is, and with systemd's own way to stop."""
    command = directory / "command"
    command.write_text(COMMAND.format(directory=directory))
    command.chmod(0o755)
    said = directory / "said"
    for kill_mode in ("mixed", "control-group"):
        name = f"zkr-test-{os.getpid()}.service"
        text = unit_text().replace("zk1:2181,zk2:2181,zk3:2181", servers)
        text = text.replace("/usr/bin/zkr", str(zkr))
        text = text.replace("KillMode=mixed", f"KillMode={kill_mode}")
        (UNITS / name).write_text(re.sub(r"-- /usr/bin/\w+", f"-- {command}", text))
        said.unlink(missing_ok=True)
        try:
            output("systemctl", "daemon-reload")
            output("systemctl", "start", name)
            await_that("CMD runs", lambda: said.exists() and said.read_text() == "up\n")
            output("systemctl", "stop", name)
            state = output("systemctl", "show", "-p", "Result,ActiveState,ExecMainStatus", name)
            queue = output(zkr, "--servers", servers, "ls", "/elections/scheduler", "--json")
            over = '"contenders":[]' in queue and "ActiveState=inactive" in state
            if said.read_text() != "up\nterm\n" or not over:
                sys.exit(f"{kill_mode}: CMD said {said.read_text()!r}\n{state}{queue}")
        finally:
            subprocess.run(["systemctl", "stop", name], capture_output=True, check=False)
            (UNITS / name).unlink()
            subprocess.run(["systemctl", "daemon-reload"], capture_output=True, check=False)


def run(build):
    if not pathlib.Path("/run/systemd/system").is_dir() or os.geteuid() != 0:
        print("no systemd runs here, or not for us\n[  SKIPPED ] zkr_service")  # as gtest says it
        sys.exit(SKIPPED)
    zkr = pathlib.Path(build) / "bin/zkr"
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        ensemble = ["--servers", "1", "--dir", f"{name}/ensemble"]
        servers = output(zkr, "ensemble", "start", *ensemble).strip()
        try:
            run_unit(zkr, directory, servers)
        finally:
            output(zkr, "ensemble", "stop", *ensemble[2:])


check_text() if sys.argv[1] == "text" else run(sys.argv[2])
