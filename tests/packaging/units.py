# SPDX-License-Identifier: Apache-2.0
"""What a unit says, and a program started as it says, where systemd is not PID 1."""
import os
import re
import subprocess
import sys

SOURCE = os.environ["PERFCAM_SOURCE"]
PACKAGING = os.path.join(SOURCE, "packaging")
JAIL = os.environ["PERFCAM_UNIT_JAIL"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))


def settings(unit):
    """[(key, value)] of packaging/UNIT.service.in, in order, lists and all."""
    found = []
    with open(os.path.join(PACKAGING, unit + ".service.in"), encoding="utf-8") as f:
        for line in f:
            match = re.fullmatch(r"(\w+)=(.*)\n", line)
            if match:
                found.append(match.groups())
    return found


def values(unit, key):
    return [v for k, v in settings(unit) if k == key]


def one(unit, key):
    (value,) = values(unit, key)
    return value


def call_sets():
    """Names of the sets of system calls, as this systemd has them."""
    text = subprocess.run(["systemd-analyze", "syscall-filter"], check=True, capture_output=True,
                          text=True).stdout
    sets = {}
    for line in text.splitlines():
        if line.startswith("@"):
            members = sets.setdefault(line.strip(), [])
        elif line.startswith("    ") and not line.lstrip().startswith("#"):
            members.append(line.strip())
    return sets


def allowed_calls(unit):
    sets = call_sets()

    def expand(name):
        if not name.startswith("@"):
            return {name}
        return set().union(*(expand(member) for member in sets[name]))

    allowed = expand("@default")
    for value in values(unit, "SystemCallFilter"):
        names = set().union(*(expand(name) for name in value.lstrip("~").split()))
        allowed = allowed - names if value.startswith("~") else allowed | names
    return allowed


def as_unit(unit, calls_path, *command, user=65534, group=65534, groups=()):
    """The command line that runs command with a unit's capabilities and system calls."""
    names = sorted(allowed_calls(unit)) + one(unit, "RestrictAddressFamilies").split()
    with open(calls_path, "w", encoding="utf-8") as f:
        f.write("".join(name + "\n" for name in names))
    os.chmod(calls_path, 0o644)
    kept = "".join(f",+{name.removeprefix('CAP_').lower()}"
                   for value in values(unit, "AmbientCapabilities") for name in value.split())
    return [
        "setpriv", f"--reuid={user}", f"--regid={group}", "--no-new-privs",
        "--groups=" + ",".join(map(str, groups)) if groups else "--clear-groups",
        "--inh-caps=-all" + kept, "--ambient-caps=-all" + kept, "--bounding-set=-all" + kept,
        JAIL, calls_path, *command,
    ]
