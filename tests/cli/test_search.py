#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`search`: when did it run. Recordings with bursts at known seconds, on known cores, in known processes."""
import collections
import json
import random

import synth
import tap
from support import Case
from synth import Sample

END = 1776222847  # 2026-04-15T03:14:07Z, the header's "captured on"


class Search(Case):
    def recording(self, seconds, bursts, seed=3):
        """100 samples a second on four CPUs; bursts: {second: (how many of them, comm, pid, cpu)}."""
        rng, samples = random.Random(seed), []
        for second in range(seconds):
            n, comm, pid, cpu = bursts.get(second, (0, b"", 0, 0))
            for i in range(100):
                at = 5_000_000_000 + second * 1_000_000 + i * 10_000
                if i < n:
                    samples.append(Sample(comm, pid, cpu, at, [b"shrink_slab", b"mem_cgroup_iter", b"main"]))
                else:
                    samples.append(Sample(b"busy", 7, rng.randrange(4), at, [b"work", b"main"]))
        return samples

    def search(self, *args, code=0):
        return json.loads(self.good("search", *args, "--json", code=code))

    def store_of(self, samples):
        self.good("import", "--store", self.store, "-",
                  stdin=synth.text_of(samples, captured="Wed Apr 15 03:14:07 2026"))
        self.last_us = max(s.time_us for s in samples)

    def seconds_of(self, moment):
        """(first second, how many) of a moment, on the recording's own clock."""
        self.assertLess(abs(moment["time_ns"] - (END * 10**9 - (self.last_us * 1000 - moment["clock_ns"]))), 20_000)
        return moment["clock_ns"] // 10**9 - 5000, moment["length_ns"] // 10**9

    def test_bursts_are_found_heaviest_first(self):
        bursts = {20: (60, b"kubelet", 41, 2), 21: (80, b"kubelet", 41, 2), 22: (45, b"kubelet", 41, 2),
                  23: (5, b"kubelet", 41, 2), 200: (30, b"cadvisor", 42, 0), 300: (9, b"kubelet", 41, 1)}
        self.store_of(self.recording(310, bursts))
        self.assertGreater(len(self.windows()), 2)
        out = self.search("mem_cgroup_.*", "--store", self.store)
        found = [(*self.seconds_of(m), m["samples"], m["comm"], m["pid"], m["cpu"]) for m in out["moments"]]
        self.assertEqual(found, [(20, 3, 185, "kubelet", 41, 2), (200, 1, 30, "cadvisor", 42, 0),
                                 (300, 1, 9, "kubelet", 41, 1), (23, 1, 5, "kubelet", 41, 2)])
        first = out["moments"][0]
        self.assertEqual((first["of_samples"], first["peak_samples"], first["peak_of_samples"]), (300, 80, 100))
        self.assertEqual(first["process_samples"], 185)
        self.assertEqual(out["seconds"], 6)
        text = self.good("search", "mem_cgroup_", "--store", self.store).decode()
        self.assertIn("kubelet", text.splitlines()[1])
        self.check_terminal(text.encode())

    def test_every_sample_is_in_one_moment(self):
        """Random bursts; all moments together are all that matched, as counted here."""
        rng = random.Random(8)
        for seed in range(2):
            self.store = self.path(f"store{seed}")
            bursts = {rng.randrange(250): (rng.randint(1, 99), b"x%d" % rng.randrange(3), rng.randrange(9), rng.randrange(4))
                      for _ in range(60)}
            samples = self.recording(250, bursts, seed)
            self.store_of(samples)
            want = collections.Counter()
            for s in samples:
                if s.frames[0] == b"shrink_slab":
                    want[(s.time_us - 5_000_000_000) // 1_000_000] += 1
            out = self.search("shrink", "--store", self.store, "-n", "1000")
            self.assertEqual(out["samples"], sum(want.values()))
            seen = set()
            peaks = []
            for m in out["moments"]:
                start, length = self.seconds_of(m)
                inside = [want[start + i] for i in range(length)]
                self.assertEqual(m["samples"], sum(inside))
                self.assertEqual(m["peak_samples"], max(inside))
                self.assertTrue(all(2 * n >= max(inside) for n in inside))
                self.assertFalse(seen & set(range(start, start + length)))
                seen |= set(range(start, start + length))
                peaks.append(max(inside))
                self.assertLessEqual(m["cpu_samples"], m["samples"])
            self.assertEqual(seen, set(want))
            self.assertEqual(peaks, sorted(peaks, reverse=True))

    def test_filters_and_times_narrow(self):
        bursts = {10: (50, b"a", 41, 2), 100: (60, b"b", 42, 1)}
        self.store_of(self.recording(120, bursts))
        only = self.search("shrink", "--store", self.store, "--comm", "a")["moments"]
        self.assertEqual([m["comm"] for m in only], ["a"])
        only = self.search("shrink", "--store", self.store, "--cpu", "1")["moments"]
        self.assertEqual([m["cpu"] for m in only], [1])
        late = self.search("shrink", "--store", self.store, "--from", f"@{END - 60}", "--to", f"@{END}")["moments"]
        self.assertEqual([m["comm"] for m in late], ["b"])

    def test_nothing_found(self):
        self.store_of(self.recording(5, {}))
        self.bad("search", "shrink", "--store", self.store, names="shrink")
        self.assertEqual(self.search("shrink", "--store", self.store, code=1)["moments"], [])
        self.bad("search", "(", "--store", self.store, code=2, names="(")
        self.bad("search", "--store", self.store, code=2, names="one expression")
        self.bad("search", "a", "-i", self.path("f.txt", b"a;b 3\n"), names="no times")


tap.main()
