#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who a sample belongs to when that is hard to tell: pids that are used again at once, libraries that come
late, and when exactly a thing happened."""
import collections
import os
import re
import shutil
import subprocess
import time

import bpf_program
import dump
import support

PID = 4000
ROUNDS = 30


class Processes(support.Both):
    def finish(self, recorders):
        stores = {}
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            self.verify(r.store)
            stores[source] = dump.Store(r.store)
        return stores

    def copy_twins(self):
        for colour in ("red", "blue"):
            shutil.copy(support.workload(colour), os.path.join(self.dir, colour))

    def check_gaps(self, text):
        """How long the pid was nobody's, in microseconds."""
        gaps = [int(line) for line in text.split()]
        self.assertEqual(len(gaps), 2 * ROUNDS - 1)
        self.assertGreater(sum(g < 10000 for g in gaps), len(gaps) / 2, gaps)

    def test_a_pid_used_again_at_once_is_another_process(self):
        self.copy_twins()
        pid = next(p for p in range(PID, PID + 1000) if not os.path.exists(f"/proc/{p}"))
        recorders = self.both("-F", "997", "--max-cpu", "none")
        r = subprocess.run([support.workload("reuse"), str(ROUNDS), str(pid),
                            *(os.path.join(self.dir, c) for c in ("red", "blue")), "0.015"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                           check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.check_gaps(r.stdout)
        for source, store in self.finish(recorders).items():
            self.check_reuse(source, store, pid)

    def test_a_pid_used_again_in_a_pid_namespace(self):
        # With the recorder in it: BPF refuses there, it would tell the host's pids.
        self.copy_twins()
        recorder = f"{support.BIN} %s --store $1/store --control $1/control"
        script = f"""set -e
            {recorder % "record --source perf -F 997 --max-cpu none"} &
            until {recorder % "status"} >$1/status 2>&1; do kill -0 $!; sleep 0.05; done
            {support.workload("reuse")} {ROUNDS} {PID} $1/red $1/blue 0.015
            kill -TERM $!
            wait $!"""
        r = subprocess.run(["unshare", "-pf", "--mount-proc", "--kill-child", "bash", "-c", script,
                            "bash", self.dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=90, check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.check_gaps(r.stdout)
        self.check_reuse("perf", dump.Store(self.store), PID)
        self.verify()

    def check_reuse(self, source, store, pid):
        mine = store.of_pid(pid)
        starts = {}
        for colour, other in (("red", "blue"), ("blue", "red")):
            own = [s for s in mine if s.has(colour + "_work")]
            self.assertGreater(len(own), 5 * ROUNDS, source)
            exe = os.path.join(self.dir, colour)
            wrong = [s for s in own if s.comm != colour or s.exe != exe or s.has(other + "_work")]
            self.assertEqual(wrong, [], f"{source}: {len(wrong)} of {len(own)}")
            starts[colour] = {s.start for s in own}
            self.assertGreater(len(starts[colour]), 0.9 * ROUNDS, source)
            self.assertLessEqual(len(starts[colour]), ROUNDS, source)
        self.assertEqual(starts["red"] & starts["blue"], set(), source)

    def test_a_library_that_comes_late_is_named_within_two_seconds(self):
        recorders = self.both()
        late = self.start(support.workload("late"), "4", support.workload("late_library.so"),
                          stdout=subprocess.PIPE, text=True)
        self.assertEqual(late.stdout.readline(), "loaded\n")
        since = time.monotonic_ns()
        not_yet = dict.fromkeys(recorders, since)
        waiting = set(recorders)
        while waiting and late.poll() is None:
            for source in sorted(waiting):
                looked = time.monotonic_ns()
                if dump.Store(recorders[source].store).with_frame("late_work"):
                    waiting.remove(source)
                else:
                    not_yet[source] = looked
            time.sleep(0.05)
        self.assertEqual(waiting, set())
        late.wait(support.PATIENCE)
        for source, store in self.finish(recorders).items():
            named = store.with_frame("late_work")
            library = [s for s in store.of_pid(late.pid) if s.time > since and
                       s.frames[-1].kind == "user" and "late_library" in s.frames[-1].module]
            self.assertGreater(len(named), 200, source)
            # In the end none is without; and the last look that found none was soon enough.
            self.assertEqual([s for s in library if not s.frames[-1].name], [], source)
            self.assertLess(not_yet[source] - min(s.time for s in named), 2e9, source)

    def test_programs_of_the_kernel_that_come_and_go(self):
        """Two BPF programs, one after the other, of the same size, so that the second is put where the first was."""
        recorders = self.both("-F", "499", "--max-cpu", "none")
        time.sleep(0.5)
        spans, place = {}, 0
        for name in ("first", "second"):
            since = time.monotonic_ns()
            place = bpf_program.run(name, 1.0, near=place)
            spans[name] = (since, time.monotonic_ns())
            support.note(f"{name} at {place:#x}")
        time.sleep(1)
        for source, store in self.finish(recorders).items():
            mine = store.of_pid(os.getpid())
            for name, (since, until) in spans.items():
                leaves = collections.Counter(s.names[-1] for s in mine if since <= s.time < until and
                                             s.frames and s.frames[-1].kind == "kernel")
                own = sum(n for leaf, n in leaves.items() if re.fullmatch(f"bpf_prog_[0-9a-f]{{16}}_{name}", leaf))
                support.note(f"{source}: {name}: {own} of {sum(leaves.values())}")
                self.assertGreater(own, 50, (source, leaves))
                self.assertLess(leaves[""], 0.2 * own, source)
                others = [leaf for leaf in leaves if re.fullmatch("bpf_prog_[0-9a-f]{16}_(first|second)", leaf) and not leaf.endswith(name)]
                self.assertEqual(others, [], source)

    def test_the_kernel_log_and_the_wall_clock_find_their_place(self):
        text = f"perfcam-test {os.getpid()} {time.monotonic_ns()}"
        recorders = self.both("-F", "997", "--max-cpu", "none")
        r = subprocess.run([support.workload("teller"), "2.4", text], stdout=subprocess.PIPE,
                           text=True, timeout=60, check=True)
        before, after, real = (int(n) for n in r.stdout.split())
        stamp = self.find_stamp(text)
        for source, store in self.finish(recorders).items():
            at = self.place(store, "sched", stamp)
            # The stamp has microseconds; the rest is the anchors'.
            self.assertGreater(at, before - 1000000, source)
            self.assertLess(at, after + 1000000, source)
            self.assertLess(abs(self.place(store, "realtime", real) - before), 1000000, source)
            earlier = [s.time for s in store.with_frame("before_work") if s.comm == "workload_teller"]
            later = [s.time for s in store.with_frame("after_work") if s.comm == "workload_teller"]
            self.assertGreater(min(len(earlier), len(later)), 100, source)
            self.assertLess(max(earlier), at + 1000000, source)
            self.assertGreater(min(later), at - 1000000, source)
            # And it is an event, between the two.
            [event] = [e for e in store.events if e["text"] == text]
            self.assertEqual((event["source"], event["severity"]), ("kmsg", 4), source)
            self.assertLess(abs(event["time"] - at), 200000, source)
            self.assertLess(event["uncertainty"], 1000000, source)

    def find_stamp(self, text):
        """The kernel's stamp of that line, in nanoseconds."""
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        found = None
        while found is None:
            try:
                line = os.read(log, 8192).decode(errors="replace")
            except BrokenPipeError:
                continue  # overwritten before it was read
            except BlockingIOError:
                self.fail("the line is not in the kernel's log")
            head, _, said = line.partition(";")
            if said.startswith(text):
                found = int(head.split(",")[2]) * 1000
        os.close(log)
        return found

    def place(self, store, clock, stamp):
        """On the recording's clock, by the two anchors around it."""
        known = sorted((a[clock], a["time"]) for a in store.anchors if a[clock] is not None)
        self.assertGreater(len(known), 1, clock)
        after = next((i for i, (c, _) in enumerate(known) if c >= stamp), len(known) - 1)
        (c0, t0), (c1, t1) = known[max(after - 1, 0)], known[max(after, 1)]
        return t0 + (stamp - c0) * (t1 - t0) // (c1 - c0)


support.main()
