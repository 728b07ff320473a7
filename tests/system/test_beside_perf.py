#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Side by side with perf: the same 20 s (a minute by make test-long) of a mixed load, seen by perf record and by both sources, give the
same processes and functions.

Each of the three takes its own samples of the same time at 97 Hz. Of n and m samples of the load a
function's shares p and q differ by chance with the deviation sqrt(s (1 - s) (1/n + 1/m)), s their common
share. The bound is five of those and half a percent, which is what a sampler sees of the others' work:
with 2,000 samples each a function of 25 % must agree within 7.3 points, one of 1 % within 2.1.
"""
import os
import re
import shutil
import subprocess
import time

import dump
import support

SECONDS = support.seconds(20, 60)
COMMS = ("workload_spin31", "workload_kernel", "workload_recurs", "workload_forks", "even", "odd",
         "red", "blue", "turning", "turned", "workload_red", "workload_blue", "workload_green")
FUNCTION = re.compile(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$")
UNKNOWN = "[unknown]"  # as perf prints it


class Beside(support.Both):
    def load(self, until):
        """Programs of several kinds, again and again, until then."""
        steps = [str(x) for c in ("red", "green", "blue") * 5 for x in (support.workload(c), "0.02")]
        kinds = (("spin31", "0.3"), ("kernel", "0.2"), ("recurse", "0.2", "40"),
                 ("forks", "60", "0.002"), ("threads", "0.15"))
        while time.monotonic() < until:
            self.run_pair([support.workload(kinds[0][0]), *kinds[0][1:]],
                          [support.workload(kinds[1][0]), *kinds[1][1:]])
            self.run_pair([support.workload(kinds[2][0]), *kinds[2][1:]],
                          [support.workload(kinds[3][0]), *kinds[3][1:]])
            self.run_pair([support.workload(kinds[4][0]), *kinds[4][1:]], steps)

    def run_pair(self, *commands):
        pair = [subprocess.Popen(c, stdout=subprocess.DEVNULL) for c in commands]
        for p in pair:
            self.assertEqual(p.wait(support.PATIENCE + SECONDS), 0)

    def read_perf(self, path):
        """[(time in ns, comm, leaf)] of perf's own text."""
        r = subprocess.run(["perf", "script", "--ns", "-F", "comm,tid,time,ip,sym,dso", "-i", path],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           errors="replace", timeout=120, check=False)
        if r.returncode:
            print(f"# perf script: {r.returncode} {r.stderr[-200:]!r}", flush=True)
        samples, head = [], None
        for line in r.stdout.splitlines():
            if not line:
                head = None
            elif not line[0].isspace() or head is None:
                # A task that has ended has tid -1.
                m = re.match(r"\s*(.*?)\s+-?\d+\s+(\d+)\.(\d{9}):", line)
                self.assertIsNotNone(m, line)
                head = (int(m[2]) * 1000000000 + int(m[3]), m[1])
                leaf = None
            elif leaf is None:
                m = FUNCTION.match(line)
                leaf = m[1] if m else "?"
                samples.append((*head, leaf))
        return samples

    def profile(self, samples, span):
        found = {}
        for at, comm, leaf in samples:
            if comm in COMMS and span[0] <= at < span[1]:
                for key in ((comm, None), (comm, leaf)):
                    found[key] = found.get(key, 0) + 1
        return found

    def compare(self, what, a, b):
        n, m = (sum(c for (_, leaf), c in p.items() if leaf is None) for p in (a, b))
        self.assertGreater(min(n, m), 400, what)
        for key in set(a) | set(b):
            p, q = a.get(key, 0) / n, b.get(key, 0) / m
            s = (a.get(key, 0) + b.get(key, 0)) / (n + m)
            bound = 5 * (s * (1 - s) * (1 / n + 1 / m)) ** 0.5 + 0.005
            if key[1] is not None:
                # What perf has no name for (it came too late for the mappings of a short process) may be
                # any function of that program. (b is always ours.)
                bound += a.get((key[0], UNKNOWN), 0) / n if what.startswith("perf") else 0
            self.assertLess(abs(p - q), bound, f"{what} {key}: {p:.4f} of {n}, {q:.4f} of {m}")

    def perf(self, path):
        """perf record, which has begun: it writes."""
        p = self.start("perf", "record", "-q", "-e", "cpu-clock", "-F", "97", "-a", "-g", "--no-bpf-event",
                       "-k", "CLOCK_MONOTONIC", "-o", path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertTrue(support.wait_until(lambda: os.path.exists(path)))
        return p

    def check_size(self, source, theirs, store, samples, least):
        """On disk so much smaller than perf.data, though our windows are longer: they began before it, and ended
        after it."""
        files = [os.path.join(store, name) for name in os.listdir(store)]
        ours = sum(os.path.getsize(f) for f in files if f.endswith((".pcw", ".pcj")))
        support.note(f"{source}: {theirs} bytes of perf.data, {ours} in the store ({ours / samples:.1f} a "
                     f"sample): {theirs / ours:.0f} times smaller")
        self.assertGreater(theirs / ours, least)

    def test_a_fiftieth_of_perf_data_where_compilers_run(self):
        """Four programs a compilation that live some milliseconds: perf.data has all their mappings."""
        path = os.path.join(self.dir, "perf.data")
        recorders = self.both()
        perf = self.perf(path)
        self.run_pair([support.workload("builds"), str(support.seconds(6, 30))])
        perf.terminate()
        perf.wait(support.PATIENCE)
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            self.check_size(source, os.path.getsize(path), r.store, len(dump.Store(r.store).samples), 50)

    def test_the_same_profile_as_perf(self):
        path = os.path.join(self.dir, "perf.data")
        recorders = self.both()
        perf = self.perf(path)
        time.sleep(1)
        span = [time.monotonic_ns()]
        self.load(time.monotonic() + SECONDS)
        span.append(time.monotonic_ns())
        perf.terminate()
        perf.wait(support.PATIENCE)
        theirs = self.read_perf(path)
        # perf 6.1 stops reading its own file where somebody else loaded a BPF program: what it could
        # read is compared.
        span[1] = min(span[1], max(at for at, _, _ in theirs))
        theirs = self.profile(theirs, span)
        stores = {}
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            store = dump.Store(r.store)
            self.assertEqual(sum(w["lost"] for w in store.windows), 0, store.losses())
            self.check_size(source, os.path.getsize(path), r.store, len(store.samples), 30)
            stores[source] = self.profile([(s.time, s.comm, s.names[-1] if s.names else "?")
                                           for s in store.samples], span)
        for source, ours in stores.items():
            self.compare(f"perf and {source}", theirs, ours)
        if len(stores) == 2:
            self.compare("bpf and perf rings", stores["bpf"], stores["perf"])


if shutil.which("perf") is None:
    support.not_run("side by side with perf", "there is no perf")
    del Beside
support.main()
