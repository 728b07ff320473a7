#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder, from start to stop: what runs is in the store, by name, and nothing is missing."""
import fcntl
import json
import os
import struct
import subprocess
import re
import time

import support
from dump import DUMP


def cpu_times():
    """user, nice, system, idle, iowait, irq, softirq, steal: ticks of all CPUs."""
    with open("/proc/stat", encoding="ascii") as stat:
        return [int(n) for n in stat.readline().split()[1:9]]


# As long as a comm may be: what ends lines, columns and quotes somewhere, and every byte but 0.
HOSTILE = (b"x\nevil 1 1.0: 9", b"<b>&\"'</b>", b"a;b 5", b"\x1b[31mred\x1b[0m", b"</script><i>", b"\xff\xfe\xc3(\xed\xa0\x80",
           *(bytes(range(at, min(at + 15, 256))) for at in range(1, 256, 15)))
RENAMED = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
for name in eval(sys.argv[1]):
    libc.prctl(15, name, 0, 0, 0)
    until = time.process_time() + 0.06
    while time.process_time() < until:
        pass
"""


class Names(support.Case):
    def test_names_of_live_processes_are_only_ever_names(self):
        """From the kernel through the store into each form: as many samples as there are, and every text is whole."""
        made = support.make_cgroup()[1]
        group = made + "<img src=x onerror=alert(1)>;a \x1b[31m\"'&"
        os.rmdir(made)
        os.mkdir(group)
        self.addCleanup(lambda: support.wait_until(lambda: not os.path.isdir(group) or os.rmdir(group) is None))
        r = self.recorder("-F", "997", "--max-cpu", "none", "--cgroup", group).ready()
        p = self.start("sh", "-c", 'echo $$ >"$1/cgroup.procs"; exec python3 -c "$2" "$3"', "sh", group, RENAMED, repr(HOSTILE))
        self.assertEqual(p.wait(60), 0)
        time.sleep(1)
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        n = sum(w["samples"] for w in self.windows())
        rows = [json.loads(line) for line in subprocess.run([DUMP, self.store], stdout=subprocess.PIPE, check=True).stdout.splitlines()]
        self.assertEqual(sum(row["kind"] == "sample" for row in rows), n)
        self.assertIn("<img src=x onerror", " ".join(row["cgroup"] for row in rows if row["kind"] == "task"))
        shown = {kind: subprocess.run([support.BIN, "export", kind, "--store", self.store], stdout=subprocess.PIPE, check=True).stdout
                 for kind in ("folded", "perf-script", "speedscope", "json", "csv")}
        # One stack a line, and each line's count is the end of it.
        counts = [re.fullmatch(rb"(?s)[^\n]+ (\d+)", line) for line in shown["folded"].split(b"\n")[:-1]]
        self.assertEqual(sum(int(m[1]) for m in counts), n)
        comms = {line.split(b";")[0] for line in shown["folded"].split(b"\n")[:-1]}
        support.note(f"{n} samples under {len(comms)} names")
        self.assertGreater(len(comms), len(HOSTILE) - 4)
        # A sample is a head and indented frames: none was forged.
        self.assertEqual(sum(bool(line) and not line[:1].isspace() for line in shown["perf-script"].split(b"\n")
                             if not line.startswith(b"#")), n)
        json.loads(shown["speedscope"])
        for line in shown["json"].splitlines():
            json.loads(line)
        for text in (shown["folded"], shown["csv"]):
            self.assertNotIn(b"\x1b", text)
        again = subprocess.run([support.BIN, "export", "folded", "-i", "-"], input=shown["folded"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(again, shown["folded"])


class Record(support.Both):
    counted = {}

    def record_spin(self):
        """Both sources look at the same work: the pid of that, and their stores."""
        global _recorded
        if not _recorded:
            recorders = self.both("--window", "2s")
            before = cpu_times()
            spin = self.start(support.workload("spin31"), "7")
            spin.wait(support.PATIENCE * 2)
            self.counted.update(kernel=[b - a for a, b in zip(before, cpu_times())])
            stores = {}
            for source, r in recorders.items():
                self.assertEqual(r.stop(), 0, r.said())
                self.verify(r.store)
                self.counted[source] = json.loads(
                    support.perfcam("heatmap", "--json", "--store", r.store).stdout)["host"]
                stores[source] = self.folded("--with-pid", store=r.store), self.windows(r.store)
            _recorded = spin.pid, stores
        return _recorded

    def test_the_host_s_counters_are_those_of_proc_stat(self):
        """Under the heatmap: shares of all CPUs that add up to 1, and to what /proc/stat says of the same time."""
        self.record_spin()
        user, nice, system, idle, wait, irq, softirq, steal = self.counted["kernel"]
        kernel = {"user": user + nice, "system": system, "idle": idle + wait, "steal": steal}
        whole = user + nice + system + idle + wait + irq + softirq + steal
        for source in support.sources():
            host = self.counted[source]
            bins = [i for i, v in enumerate(host["idle"]) if v is not None]
            self.assertGreaterEqual(len(bins), 5, host)
            keys = ("user", "system", "irq", "softirq", "steal", "idle")
            # Of a single second it may be off by as long as the recorder had to wait for a CPU.
            whole_of = sum(sum(host[k][i] for k in keys if k in host) for i in bins) / len(bins)
            self.assertAlmostEqual(whole_of, 1, delta=0.05)
            for key, ticks in kernel.items():
                mean = sum(host.get(key, [0] * len(host["idle"]))[i] for i in bins) / len(bins)
                self.assertAlmostEqual(mean, ticks / whole, delta=0.1, msg=f"{source} {key}")
            self.assertGreaterEqual(max(v or 0 for v in host["runnable"]), 1)
            self.assertTrue(host["waited"])

    def test_the_threads_that_wait_are_watched_not_their_leader(self):
        """Three threads share a CPU while their leader sleeps: who waited is one of them, by its own name."""
        load = self.start("taskset", "-c", "0", support.workload("threads"), "60", stdout=subprocess.PIPE, text=True)
        names = dict(reversed(load.stdout.readline().split()) for _ in range(3))
        self.assertNotIn(str(load.pid), names)
        r = self.recorder("-F", "199").ready()

        def waited():
            # Until the first second is written there is nothing to draw.
            out = json.loads(support.perfcam("heatmap", "--json", "--store", self.store).stdout or "{}")
            found = {str(w["tid"]): w["comm"] for w in out.get("host", {}).get("waited", ())}
            return found if set(found) & set(names) else None

        found = support.wait_until(waited)
        self.assertTrue(found, (names, r.said()))
        self.assertNotIn(str(load.pid), found)
        for tid in set(found) & set(names):
            self.assertEqual(found[tid], names[tid])
        self.assertEqual(r.stop(), 0, r.said())

    def check_profile(self, source):
        pid, stores = self.record_spin()
        stacks, windows = stores[source]
        mine = {s: n for s, n in stacks.items() if s[0] == f"workload_spin31-{pid}"}
        three = sum(n for s, n in mine.items() if s[-1] == "three")
        one = sum(n for s, n in mine.items() if s[-1] == "one")
        self.assertGreater(three + one, 100, mine)
        # 3:1, five standard deviations of a binomial.
        share = three / (three + one)
        self.assertLess(abs(share - 0.75), 5 * (0.75 * 0.25 / (three + one)) ** 0.5, mine)
        # Between a call and the frame's set-up the caller cannot be seen: two instructions of many.
        below = sum(n for s, n in mine.items() if s[-1] in ("three", "one") and s[-2] == "main")
        self.assertGreater(below, 0.98 * (three + one), mine)
        self.assertGreaterEqual(len(windows), 3)
        for a, b in zip(windows, windows[1:]):
            self.assertEqual(a["end_ns"], b["start_ns"])
        self.assertEqual(sum(w["lost"] for w in windows), 0)

    def test_a_known_profile_and_no_gap_through_bpf(self):
        self.check_profile("bpf")

    def test_a_known_profile_and_no_gap_through_plain_rings(self):
        self.check_profile("perf")

    def test_a_lock_that_a_dead_recorder_left_behind_is_waited_for(self):
        """A helper that was being made when its recorder was killed holds the lock for a moment."""
        os.mkdir(self.store)
        with open(os.path.join(self.store, "lock"), "w+") as lock:
            gone = self.start("true")
            gone.wait()
            lock.write(f"{gone.pid}\n")
            lock.flush()
            whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, whole)
            r = self.recorder("-d", "500ms")
            time.sleep(0.5)
            self.assertIsNone(r.p.poll(), r.said())
        self.assertEqual(r.p.wait(support.PATIENCE), 0, r.said())
        self.assertEqual(len(self.windows()), 1)

    def sealed(self):
        return any(w["sealed"] and w["samples"] >= 1000 for w in self.windows())

    def test_arguments_and_environments_are_nowhere(self):
        """People put passwords there. Of a process that was there before, one that begins, and the command that is recorded."""
        secret = "hunter2" + os.urandom(8).hex()
        environment = {**os.environ, "PASSWORD": secret}
        spin = (support.workload("spin31"), "60", "--password=" + secret)
        out = os.path.join(self.dir, "one-off")
        self.start(*spin, env=environment)
        r = self.recorder("-F", "199").ready()
        self.start(*spin, env=environment)
        done = support.perfcam("record", "-o", out, "--", spin[0], "0.5", spin[2], env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(r.stop(), 0, r.said())
        told = [done.stdout, done.stderr, r.said()]
        window = next(name for name in os.listdir(out) if name.endswith(".pcw"))
        for place in (("--store", self.store), ("-i", os.path.join(out, window))):
            told.append(subprocess.run([DUMP, place[1]], stdout=subprocess.PIPE, text=True, check=True).stdout)
            self.assertIn("workload_spin31"[:15], told[-1])
            told += [support.perfcam("export", kind, *place).stdout for kind in ("folded", "perf-script", "speedscope")]
        files = [os.path.join(top, name) for top, _, names in os.walk(self.dir) for name in names]
        for path in filter(os.path.isfile, files):
            with open(path, "rb") as f:
                told.append(f.read().decode("latin-1"))
        self.assertEqual([text[:200] for text in told if secret in text], [])
        self.assertGreater(len(told), 10)

    def test_no_event_is_opened_after_the_start(self):
        """Whatever starts and ends meanwhile; CPUs that come have theirs opened (tests/kernels/case_hotplug.py)."""
        def events(r):
            found = set()
            for fd in os.listdir(f"/proc/{r.pid}/fd"):
                try:
                    if "perf_event" in os.readlink(f"/proc/{r.pid}/fd/{fd}"):
                        found.add(int(fd))
                except FileNotFoundError:
                    pass
            return found

        recorders = self.both().values()
        before = [events(r) for r in recorders]
        self.assertTrue(all(before))
        self.start(support.workload("forks"), "2", stdout=subprocess.DEVNULL)
        until = time.monotonic() + 2
        while time.monotonic() < until:
            self.assertEqual([events(r) for r in recorders], before)
            time.sleep(0.02)
        for r in recorders:
            self.assertEqual(r.stop(), 0, r.said())

    def test_the_start_says_what_was_measured(self):
        self.start(support.workload("slots"), "60", stdout=-3)
        said = []
        for _ in range(2):
            windows = self.windows() if said else []
            r = self.recorder("-F", "997", "--window", "2s").ready()
            time.sleep(5)
            # Sealing is niced: on a busy machine it may take longer than the two seconds of a window.
            until = time.monotonic() + 30
            while not said and time.monotonic() < until and not self.sealed():
                time.sleep(0.3)
            self.assertEqual(r.stop(), 0, r.said())
            said.append(re.search(
                r" = [\d,]+ samples/s when all are busy, about ([\d.]+) % of each CPU, about [\d.]+ MB/h "
                r"\(a sample takes ([\d.]+) us of its CPU, measured (?:just now|elsewhere), its "
                r"unwinding ([\d.]+) us, measured elsewhere; ([\d.]+) us of perfcam's own and ([\d.]+) bytes, measured (.*)\)", r.said()))
            self.assertTrue(said[-1], r.said())
        self.assertEqual(said[0][6], "elsewhere, for want of a past")
        self.assertRegex(said[1][6], r"^in the last \d windows?$")
        of_each = [w["bytes"] / w["samples"] for w in windows if w["samples"] >= 1000]
        self.assertGreater(float(said[1][5]), min(of_each) - 0.1)
        self.assertLess(float(said[1][5]), max(of_each) + 0.1)
        share, *parts = (float(n) for n in said[1].groups()[:4])
        self.assertGreater(parts[2], 0)
        self.assertAlmostEqual(share, 997 * sum(parts) / 1e6 * 100, delta=share / 10)
        support.note(said[1][0])


_recorded = None
support.main()
