#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what docker-compose needs to run the pods of scheduler.yaml: their very containers, a
pod's in one network.

usage: compose.py DIRECTORY NETWORK: compose.json there, the scripts, and results/, which is what
the pods write to.
NETWORK: where zk1, zk2 and zk3 are, such as docker_ensemble after
`docker-compose -f docker/docker-compose.yml up`.
"""
import json
import pathlib
import re
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
UNDERSTOOD = {"name", "image", "restartPolicy", "command", "args", "env", "securityContext",
              "resources", "volumeMounts", "readinessProbe", "livenessProbe"}


def healthcheck(probe):
    """Docker has one kind of health; its failure does nothing."""
    get = probe["httpGet"]
    return {"test": ["CMD", "timeout", "1", "wget", "-q", "-O", "/dev/null",
                     f"http://127.0.0.1:{get['port']}{get['path']}"],
            "interval": f"{probe['periodSeconds']}s", "timeout": "2s"}


def mounts(container, volumes):
    """-> binds, tmpfs: a folder of its own for each volume but the results, which all pods
    share."""
    binds, tmpfs = [], []
    for mount in container.get("volumeMounts", []):
        volume = volumes[mount["name"]]
        if "configMap" in volume:
            binds.append(f"./scripts:{mount['mountPath']}:ro")
        elif mount["name"] == "results":
            binds.append(f"./results:{mount['mountPath']}")
        else:
            size = volume["emptyDir"]["sizeLimit"].rstrip("i").lower()
            tmpfs.append(f"{mount['mountPath']}:mode=1777,size={size}")
    return binds, tmpfs


def service(container, pod, volumes, grace):
    if unknown := set(container) - UNDERSTOOD:
        sys.exit(f"compose.py: {container['name']}: what is {', '.join(sorted(unknown))}?")
    env = {e["name"]: e["value"] if "value" in e else pod for e in container["env"]}
    words = {key: [re.sub(r"\$\((\w+)\)", lambda m: env[m[1]], word)
                   for word in container.get(key, [])]
             for key in ("command", "args")}
    binds, tmpfs = mounts(container, volumes)
    rights = container["securityContext"]
    made = {"image": container["image"], "environment": env, "volumes": binds, "tmpfs": tmpfs,
            "command": words["args"],
            "stop_grace_period": f"{grace}s", "read_only": rights["readOnlyRootFilesystem"],
            "cap_drop": rights["capabilities"]["drop"], "restart": "no"}
    if not rights["allowPrivilegeEscalation"]:
        made["security_opt"] = ["no-new-privileges:true"]
    if words["command"]:
        made["entrypoint"] = words["command"]
    if "resources" in container:
        made["mem_limit"] = container["resources"]["limits"]["memory"].replace("Mi", "m")
    if "readinessProbe" in container:
        made["healthcheck"] = healthcheck(container["readinessProbe"])
    return made


def main():
    out, network = pathlib.Path(sys.argv[1]), sys.argv[2]
    documents = yaml.safe_load_all((HERE / "scheduler.yaml").read_text())
    parts = {part["kind"]: part for part in documents}
    spec = parts["Deployment"]["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    (out / "scripts").mkdir(parents=True, exist_ok=True)
    for name, text in parts["ConfigMap"]["data"].items():
        (out / "scripts" / name).write_text(text)
    (out / "results").mkdir(exist_ok=True)
    (out / "results").chmod(0o777)

    services = {}
    for number in range(parts["Deployment"]["spec"]["replicas"]):
        pod = f"pod{number + 1}"
        (sidecar,), (main_one,) = spec["initContainers"], spec["containers"]
        first, second = f"{pod}-{sidecar['name']}", f"{pod}-{main_one['name']}"
        grace = spec["terminationGracePeriodSeconds"]
        services[first] = {**service(sidecar, pod, volumes, grace), "networks": ["servers"]}
        # Started after the sidecar, and stopped before it.
        services[second] = {**service(main_one, pod, volumes, grace),
                            "network_mode": f"service:{first}", "depends_on": [first]}
    networks = {"servers": {"external": True, "name": network}}
    composed = {"services": services, "networks": networks}
    (out / "compose.json").write_text(json.dumps(composed, indent=1) + "\n")


main()
