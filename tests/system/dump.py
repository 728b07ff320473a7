# SPDX-License-Identifier: Apache-2.0
"""What a store holds, sample by sample, as dump_store tells it."""
import json
import os
import subprocess

import support

DUMP = os.environ.get("PERFCAM_DUMP") or os.path.join(
    os.path.dirname(support.BIN), "tests", "system", "dump_store")


class Frame:
    def __init__(self, row):
        self.name, self.kind, self.module = row["name"], row["is"], row["module"]

    def __repr__(self):
        return self.name or f"[{self.module}]"


class Sample:
    """time, cpu, weight; pid, tid, uid, comm, exe, cgroup, start; frames, root first, and their names."""

    __slots__ = ("time", "cpu", "weight", "pid", "tid", "uid", "comm", "exe", "cgroup", "start",
                 "frames", "names")

    def __init__(self, row, task, frames):
        self.time, self.cpu, self.weight = row["time"], row["cpu"], row["weight"]
        self.pid, self.tid, self.uid = task["pid"], task["tid"], task["uid"]
        self.comm, self.exe, self.cgroup, self.start = (
            row.get("comm", task["comm"]), task["exe"], task["cgroup"], task["start"])
        self.frames, self.names = frames

    def has(self, name):
        return name in self.names

    def __repr__(self):
        return (f"{self.time} pid {self.pid}/{self.tid} uid {self.uid} {self.comm} {self.exe} "
                f"{self.cgroup} start {self.start} {';'.join(map(str, self.frames))}")


class Store:
    """All windows of a store (or one file), together: windows, samples, the ledger's rows, gaps between
    windows, cells (a CPU's second), anchors, events, facts."""

    def __init__(self, path, samples=True):
        self.windows, self.samples, self.ledger, self.gaps, self.cells = [], [], [], [], []
        self.anchors, self.events, self.facts = [], [], {}
        r = subprocess.run([DUMP, path] + ["--no-samples"] * (not samples), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, errors="replace", timeout=120,
                           check=False)
        if r.returncode:
            raise AssertionError(f"dump_store {path}: {r.stderr}")
        rows = []
        for line in r.stdout.splitlines():
            row = json.loads(line)
            rows.append(row)
            if row["kind"] == "end":
                self._add(rows)
                rows = []

    def _add(self, rows):
        by = {}
        for row in rows:
            by.setdefault(row["kind"], []).append(row)
        if by["end"][0]["damaged"]:
            raise AssertionError("a window is damaged")
        self.windows += by["window"]
        self.ledger += by.get("ledger", [])
        self.gaps += by.get("gap", [])
        self.cells += by.get("cell", [])
        self.anchors += by.get("anchor", [])
        self.events += by.get("event", [])
        self.facts.update((f["key"], f["value"]) for f in by.get("fact", []))
        functions = [Frame(f) for f in by.get("function", [])]
        stacks = {0: ((), ())}
        for s in by.get("stack", []):
            frames, names = stacks[s["parent"]]
            f = functions[s["function"]]
            stacks[s["id"]] = (frames + (f,), names + (f.name,))
        tasks = by.get("task", [])
        self.samples += [Sample(s, tasks[s["task"]], stacks[s["stack"]])
                         for s in by.get("sample", [])]

    def with_frame(self, name):
        return [s for s in self.samples if s.has(name)]

    def of_pid(self, *pids):
        return [s for s in self.samples if s.pid in pids]

    def missing(self, cause):
        """Samples the ledger has under a cause."""
        return sum(row["samples"] for row in self.ledger if row["cause"] == cause)

    def losses(self):
        """{cause: samples} of what was due and is gone."""
        observed = ("idle", "filtered", "stolen", "offline", "suspended", "unexplained",
                    "not_recording")
        causes = {r["cause"] for r in self.ledger if r["samples"] and r["cause"] not in observed}
        return {cause: self.missing(cause) for cause in causes}
