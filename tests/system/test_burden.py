#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts that are hard to watch: 20,000 threads, 20,000 vforks a second, as many context switches as can be, hardly ever
the same stack twice. The recorder starts soon, loses no sample, and stays within its memory."""
import subprocess
import time

import support
from dump import Store

SECOND = 1_000_000_000
RESIDENT = 64 << 20


class Burden(support.Both):
    def start_beside_threads(self, source, threads):
        before = time.monotonic_ns()
        r = self.recorder("-F", "499", "--source", source, store=f"{self.store}-{source}")
        r.ready()
        time.sleep(1.5)
        peak = support.peak_bytes(r.pid)
        self.assertEqual(r.stop(), 0, r.said())
        first = min(s.time for s in Store(r.store).samples)
        support.note(f"{source}, {threads} threads: first sample {(first - before) / SECOND:.3f} s after the "
                     f"start, resident at most {peak / 2**20:.1f} MiB")
        self.assertLess(first - before, SECOND)
        self.assertLess(peak, RESIDENT)
        self.verify(r.store)

    def test_it_starts_within_a_second_beside_20000_threads(self):
        """Through BPF, then through plain rings: to make them takes longest."""
        sleepers = subprocess.Popen([support.workload("sleepers"), "20000"], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.running.append(sleepers)
        threads = int(sleepers.stdout.readline())
        self.assertGreater(threads, 15000)
        work = self.start(support.workload("slots"), "60", stdout=-3)
        for source in ("bpf", "perf"):
            with self.subTest(source):
                self.start_beside_threads(source, threads)
        self.assertIsNone(work.poll())

    def vforks(self, seconds):
        """How many a second."""
        done = subprocess.run([support.workload("vforks"), str(seconds)], stdout=subprocess.PIPE,
                              text=True, timeout=120)
        return int(done.stdout) / seconds

    def storm(self, source, seconds):
        """20,000 vforks a second, or most of what this machine can do when nobody records."""
        alone = self.vforks(1)
        r = self.recorder("--source", source, "--max-cpu", "none").ready()
        rate = self.vforks(seconds)
        status = r.status()
        peak = support.peak_bytes(r.pid)
        self.assertEqual(r.stop(), 0, r.said())
        support.note(f"{source}: {rate:.0f} vforks/s ({alone:.0f} alone), resident at most "
                     f"{peak / 2**20:.1f} MiB")
        self.assertGreater(rate, min(20000, alone / 2))
        self.assertLess(peak, RESIDENT)
        for cause in ("lost_ring", "lost_queue", "bound"):
            self.assertEqual(status["by_cause"][cause], 0, cause)
        self.assertEqual(sum(w["lost"] for w in self.windows()), 0)
        mine = sum(n for s, n in self.folded().items() if s[0].startswith("workload_vforks"[:15]))
        self.assertGreater(mine, 20 * seconds)
        self.verify()

    def test_a_storm_of_vforks_through_bpf(self):
        self.storm("bpf", support.seconds(3, 30))

    def test_a_storm_of_vforks_through_plain_rings(self):
        self.storm("perf", support.seconds(3, 30))

    def cpu_ns(self, r):
        return sum(p["cpu_ns"] for p in r.status()["processes"])

    def test_a_storm_of_context_switches(self):
        """Over pipes and futexes. A sample costs what it costs, a switch nothing: of a microsecond each the recorder would take
        a good part of a CPU."""
        seconds = 3
        recorders = self.both("--max-cpu", "none")
        before = {source: self.cpu_ns(r) for source, r in recorders.items()}
        done = subprocess.run([support.workload("switches"), str(seconds)], stdout=subprocess.PIPE, text=True, timeout=120)
        passes = int(done.stdout)
        self.assertGreater(passes, 20000 * seconds)
        for source, r in recorders.items():
            took = (self.cpu_ns(r) - before[source]) / SECOND
            status = r.status()
            self.assertEqual(r.stop(), 0, r.said())
            support.note(f"{source}: {passes / seconds:.0f} switches/s, of which the recorder and its helpers took {took / seconds:.3f} CPU s a second")
            self.assertLess(took / seconds, 0.2)
            for cause in ("lost_ring", "lost_queue", "bound"):
                self.assertEqual(status["by_cause"][cause], 0, f"{source} {cause}")
            mine = sum(n for s, n in self.folded(store=r.store).items() if s[0].startswith("workload_switch"))
            self.assertGreater(mine, 20 * seconds)
            self.check_accounts(Store(r.store, samples=False), 97)
            self.verify(r.store)

    def test_hardly_ever_the_same_stack_twice(self):
        """At 9,973 Hz on each CPU that is a million and more a minute."""
        seconds = support.seconds(4, 60)
        r = self.recorder("-F", "9973", "--window", "2m", "--max-cpu", "none").ready()
        self.start(support.workload("manystacks"), str(seconds)).wait(60 + seconds)
        status = r.status()
        symboliser = next(p["pid"] for p in status["processes"] if p["name"] == "symboliser")
        with open(f"/proc/{symboliser}/limits") as limits:
            limit = next(int(line.split()[3]) for line in limits if line.startswith("Max data size"))
        peak = support.peak_bytes(r.pid)
        self.assertEqual(r.stop(), 0, r.said())
        budgets = {b["name"]: b for b in status["budgets"]}
        tables = budgets["tables"]
        support.note(f"{status['samples']} samples in {status['uptime_ns'] / SECOND:.1f} s, resident "
                     f"at most {peak / 2**20:.1f} MiB, tables {tables['used'] / 2**20:.1f} MiB, "
                     f"bound {status['by_cause']['bound']}")
        self.assertGreater(status["samples"], 10000 * seconds)
        self.assertLess(peak, RESIDENT)
        self.assertEqual(len(budgets), 10, budgets)
        for budget in budgets.values():
            self.assertLessEqual(budget["used"], budget["limit"], budget)
        self.assertEqual(budgets["symboliser"]["limit"], limit)
        self.assertGreater(budgets["symboliser"]["used"], 1 << 20)
        dump = Store(self.store, samples=False)
        told = sum(c["busy"] + sum(c["causes"].values()) for c in dump.cells)
        self.assertGreater(told, 0.95 * status["samples"])
        self.verify()


support.main()
