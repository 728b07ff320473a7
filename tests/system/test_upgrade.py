#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores that earlier versions wrote, in tests/golden: each opens, says what it said then, and is recorded into.

    tests/system/test_upgrade.py write NAME     says what tests/golden/NAME says: once, when it is made
"""
import gzip
import json
import os
import shutil
import sys
import time

import support
from dump import Store

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from served import Server, let_everyone_read  # noqa: E402

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
PARTS = {"anchors", "counters", "counts", "detail", "events", "facts", "functions", "leaf", "leaves", "ledger", "lines", "locations",
         "modules", "place", "places", "processes", "rank", "seconds", "slots", "strings", "task", "tasks", "time", "tree", "weight"}


def samples(dump):
    return sorted([s.time, s.cpu, s.weight, s.pid, s.tid, s.comm, s.exe, list(s.names), [f.module for f in s.frames]] for s in dump.samples)


def chosen(rows, *keys):
    return sorted([row[key] for key in keys] for row in rows)


def asked(store, path):
    """The columns that a server on it answers, of all its time; but for what was imported, which begins 100 s after some boot."""
    span = [t for w in Store(store, samples=False).windows if w["start"] > 1000 * support.SECOND
            for t in (w["realtime"], w["realtime"] + w["end"] - w["start"])]
    server = Server(store)
    try:
        return server.columns(f"{path}&from=@{min(span) / 1e9:.3f}&to=@{max(span) / 1e9:.3f}")[1]
    finally:
        server.stop()


def counters(store):
    """Of each series what is not none."""
    return sorted([name, [f"{v:.6g}" for v in values]] for name, values in asked(store, "/api/counters?bins=20").items())


def slots(store):
    """[which, samples] of each 20 ms that has any."""
    return [[i, int(n)] for i, n in enumerate(asked(store, "/api/heatmap?rows=50")["samples"]) if n]


def lines(store):
    r = support.perfcam("script", "--store", store, "-F", "comm,ip,sym,srcline")
    assert r.returncode == 0, r.stderr
    return sorted({line.strip() for line in r.stdout.splitlines() if ".h:" in line or ".c:" in line})


def say(store):
    """All that a store holds, by names that stay."""
    dump = Store(store)
    return {
        "windows": chosen(dump.windows, "start", "end", "samples", "sealed", "realtime"),
        "samples": samples(dump),
        "ledger": chosen(dump.ledger, "from", "to", "cpu", "cause", "samples"),
        "cells": sorted([c["second"], c["cpu"], c["busy"], sorted(c["causes"].items())] for c in dump.cells),
        "anchors": sorted(map(str, chosen(dump.anchors, "time", "realtime", "raw", "boottime", "sched"))),
        "events": chosen(dump.events, "time", "severity", "source", "text"),
        "facts": sorted(dump.facts.items()),
        "pins": json.loads(support.perfcam("pin", "--json", "--store", store).stdout),
        "counters": counters(store),
        "slots": slots(store),
        "lines": lines(store),
    }


def expected(name):
    return os.path.join(GOLDEN, name + ".json.gz")


class Upgrade(support.Case):
    def stores(self):
        names = sorted(n for n in os.listdir(GOLDEN) if n.startswith("store-") and "." not in n)
        self.assertTrue(names)
        for name in names:
            shutil.copytree(os.path.join(GOLDEN, name), self.store)
            let_everyone_read(self.dir)
            yield name, self.store
            shutil.rmtree(self.store)

    def test_each_says_what_it_said(self):
        for name, store in self.stores():
            self.verify()
            with gzip.open(expected(name), "rt") as f:
                then = json.load(f)
            now = json.loads(json.dumps(say(store)))
            for what, rows in then.items():
                self.assertTrue(rows, what)
                self.assertEqual(rows, now[what], (name, what))

    def test_they_have_every_part_of_a_window(self):
        found = set()
        for _, store in self.stores():
            for file in os.listdir(store):
                if file.endswith(".pcw"):
                    r = support.perfcam("verify", "--dump", os.path.join(store, file), "--json")
                    found |= {row["part"] for row in json.loads(r.stdout)}
        self.assertLessEqual(PARTS, found)

    def test_each_is_recorded_into(self):
        """What was open is sealed, with all its samples, and new ones come."""
        for name, store in self.stores():
            before = samples(Store(store))
            r = self.recorder("--window", "1s", "--keep", "none", "--min-free", "0").ready()
            self.assertTrue(support.wait_until(lambda: r.status()["windows_waiting"] == 0), r.said())
            time.sleep(0.5)
            self.assertEqual(r.stop(), 0, r.said())
            self.verify()
            self.assertEqual([w["name"] for w in self.windows() if w["host"] != os.uname().nodename and not w["sealed"]], [])
            after = samples(Store(store))
            self.assertEqual(before, [s for s in after if s in before], name)


def main():
    if sys.argv[1:2] == ["write"]:
        said = json.dumps(say(os.path.join(GOLDEN, sys.argv[2])), indent=0).encode()
        with gzip.GzipFile(expected(sys.argv[2]), "xb", mtime=0) as f:
            f.write(said)
    else:
        support.main()


main()
