#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the host gives little, and what becomes of a command that is recorded."""
import os
import resource
import shutil
import signal
import subprocess
import time

import support
from dump import Store


class OpenFiles(support.Case):
    def test_more_programs_than_files_may_be_open(self):
        """Programs are held open only as far as windows can still be begun, sealed and asked about."""
        limit, programs = 100, 80
        # As a limit of the process, before it starts: hard, so that it cannot be raised.
        r = self.recorder("-F", "997", "--window", "2s",
                          wrap=("prlimit", f"--nofile={limit}:{limit}")).ready()
        most = 0
        for i in range(programs):
            path = os.path.join(self.dir, f"program{i}")
            shutil.copy(support.workload("spin31"), path)
            subprocess.run([path, "0.08"], check=True, stdout=subprocess.DEVNULL)
            most = max(most, len(os.listdir(f"/proc/{r.pid}/fd")))
        status = r.status()
        self.assertIsNotNone(status, r.said())
        self.assertEqual(status["errors"], [])
        self.assertLess(most, limit - 5)
        self.assertEqual(r.stop(), 0, r.said())
        dump = Store(self.store)
        self.assertGreaterEqual(sum(w["sealed"] for w in dump.windows), 2)
        self.assertEqual(dump.missing("disk_full"), 0)
        mine = [s for s in dump.samples if s.comm.startswith("program")]
        named = [s for s in mine if {"three", "one"} & set(s.names)]
        support.note(f"{len(named)} of {len(mine)} samples named, {most} of {limit} files open")
        self.assertGreater(len(mine), 100)

    def test_the_soft_limit_is_raised_and_the_command_does_not_notice(self):
        out = os.path.join(self.dir, "x.pcw")
        soft, hard = 64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        r = subprocess.run(["prlimit", f"--nofile={soft}:{hard}", support.BIN, "record", "-o", out,
                            "--", "sh", "-c", "ulimit -Sn"], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(r.stdout.splitlines()[0], str(soft), r.stderr)


class SlowDisk(support.Case):
    def test_syncs_that_take_seconds_cost_nothing(self):
        """Each sync takes three seconds: samples wait in memory meanwhile, and none is missing."""
        orders = os.path.join(self.dir, "orders")
        with open(orders, "w", encoding="ascii") as f:
            f.write("0".ljust(4096))
        self.load("slots", share=80)
        r = self.recorder("-F", "97", "--window", "1m", env={
            "LD_PRELOAD": os.environ["PERFCAM_FAIL_IO"], "FAIL_IO": orders}).ready()
        for order, seconds in (("l", 10), ("0", 0)):
            with open(orders, "r+", encoding="ascii") as f:
                f.write(order)
            time.sleep(seconds)
        self.assertEqual(r.stop(), 0, r.said())
        dump = Store(self.store)
        windows = self.windows()
        for a, b in zip(windows, windows[1:]):
            self.assertEqual(a["end_ns"], b["start_ns"])
        for cause in ("disk_full", "lost_queue", "lost_ring", "bound"):
            self.assertEqual(dump.missing(cause), 0, cause)
        mine = {s.time // 1_000_000_000 for s in dump.samples if s.comm.startswith("workload_slots")}
        support.note(f"{len(mine)} seconds of it, syncs of 3 s")
        self.assertEqual(len(mine), max(mine) - min(mine) + 1)
        self.assertGreaterEqual(len(mine), 9)


class Rate(support.Case):
    def test_a_rate_in_step_with_the_kernel_s_own_is_warned_of(self):
        r = self.recorder("-F", "100", "-d", "200ms")
        self.assertEqual(r.p.wait(support.PATIENCE), 0, r.said())
        self.assertIn("49, 97, 99 or 497", r.said())

    def test_rings_that_a_limit_of_locked_memory_shrinks_are_said(self):
        """Of who may sample, but not lock more than its share."""
        os.chmod(self.dir, 0o777)
        r = self.recorder("-F", "97", "-d", "300ms", "--source", "perf", wrap=(
            "prlimit", "--memlock=65536:65536", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
            "--inh-caps", "-all,+perfmon", "--ambient-caps", "+perfmon", "--bounding-set", "-all,+perfmon", "--"))
        self.assertEqual(r.p.wait(support.PATIENCE), 0, r.said())
        self.assertRegex(r.said(), r"rings are smaller than wanted \(\d+ KiB a CPU\): the limit of locked memory")

    def test_a_rate_that_the_kernel_lowers_is_said_and_in_the_ledger(self):
        """The kernel's limit as this recorder sees it: a file of ours in its place, in a mount namespace."""
        allowed = os.path.join(self.dir, "max_sample_rate")
        limit = "/proc/sys/kernel/perf_event_max_sample_rate"
        with open(allowed, "w") as file:
            file.write("100000\n")
        self.load("slots", share=80)
        r = self.recorder("-F", "197", "--max-cpu", "none", wrap=(
            "unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', allowed, limit)).ready()
        self.assertEqual(r.status()["hz"], 197)
        with open(allowed, "r+") as file:
            file.write("50\n    ")
        self.assertTrue(support.wait_until(lambda: r.status()["hz"] == 50), r.said())
        time.sleep(2)
        with open(allowed, "r+") as file:
            file.write("100000\n")
        self.assertTrue(support.wait_until(lambda: r.status()["hz"] == 197), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        said = "the kernel lowered the sampling rate from 197 to 50 Hz (kernel.perf_event_max_sample_rate)"
        self.assertIn(said, r.said())
        self.assertIn("higher sampling rate again: from 50 to 197 Hz", r.said())
        dump = Store(self.store, samples=False)
        self.assertIn(said, [e["text"] for e in dump.events])
        seconds = [row for row in dump.ledger if row["cause"] == "throttled"]
        support.note(f"throttled: {dump.missing('throttled')} samples in {len(seconds)} rows")
        # Two seconds at least, of at least one CPU that was busy.
        self.assertGreater(dump.missing("throttled"), 2 * (197 - 50))
        self.verify()


class Memory(support.Case):
    def record(self, wrap, *args, **env):
        return subprocess.run([*wrap, support.BIN, "record", "--store", self.store, "--control",
                               self.store + ".c", *args], stdout=-1, stderr=-1, text=True,
                              timeout=60, env={**os.environ, **env})

    def test_a_start_without_memory_says_so(self):
        for size in (20 << 20, 28 << 20):
            r = self.record(("prlimit", f"--as={size}"), "-d", "300ms")
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertIn("Cannot allocate memory", r.stderr.splitlines()[-1])

    def test_allocations_that_fail_are_no_end(self):
        """At the start it may refuse, later it goes on; whatever it leaves is whole."""
        fail = os.environ.get("PERFCAM_FAIL_MALLOC") or os.path.join(
            os.path.dirname(support.WORKLOADS), "system", "fail_malloc.so")
        self.start(support.workload("forks"), "60", "0.05", stdout=subprocess.DEVNULL)
        for after, every in ((0, 7), (2200, 10), (2800, 10), (6000, 2)):
            r = self.record((), "-d", "1500ms", "--window", "1s", LD_PRELOAD=fail,
                            FAIL_AFTER=str(after), FAIL_EVERY=str(every))
            support.note(f"after {after} one in {every} fails: {r.returncode}")
            self.assertIn(r.returncode, (0, 1) if after < 4000 else (0,), r.stderr)
            self.assertTrue(r.returncode == 0 or r.stderr, after)
            if os.path.isdir(self.store):
                self.verify()


class Command(support.Case):
    def record(self, *args):
        return support.perfcam("record", "-o", os.path.join(self.dir, "x.pcw"), *args)

    def test_its_status_is_passed_on(self):
        self.assertEqual(self.record("--", "sh", "-c", "exit 5").returncode, 5)

    def test_it_outlives_a_recording_that_was_to_be_short(self):
        r = self.record("-d", "1s", "--", "sh", "-c",
                        f"echo $$ > {self.dir}/pid; exec sleep 60 >/dev/null 2>&1")
        pid = int(open(self.dir + "/pid").read())
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(f"goes on as process {pid}", r.stderr)

    def test_who_stops_the_recorder_stops_it_too(self):
        r = self.recorder("--", "sleep", "61").ready()
        with open(f"/proc/{r.pid}/task/{r.pid}/children") as f:
            children = f.read().split()
        mine = [c for c in children if b"sleep" in open(f"/proc/{c}/cmdline", "rb").read()]
        self.assertEqual(len(mine), 1)
        self.assertEqual(r.stop(), 0, r.said())
        self.assertTrue(support.wait_until(lambda: not os.path.exists(f"/proc/{mine[0]}")))

    def test_nothing_is_thrown_away_that_could_not_be_put_in_its_place(self):
        """The file appears while it is recorded: it is not overwritten, nor the recording lost."""
        out = os.path.join(self.dir, "x.pcw")
        r = self.record("--", "sh", "-c", f"{support.workload('spin31')} 0.3; echo mine > {out}")
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertEqual(open(out).read(), "mine\n")
        left = r.stderr.splitlines()[-1].split(" --store ")[1]
        self.assertIn("three", support.perfcam("export", "folded", "--store", left).stdout)


class Overwritten(support.Case):
    def test_a_file_written_in_place_never_has_the_names_of_what_was_there(self):
        r = self.recorder("-F", "997").ready()
        path = os.path.join(self.dir, "program")
        shutil.copy(support.workload("spin31"), path)
        subprocess.run([path, "1"], check=True, stdout=subprocess.DEVNULL)
        before = os.stat(path).st_ino
        with open(support.workload("slots"), "rb") as f, open(path, "r+b") as to:
            to.truncate()
            to.write(f.read())
        self.assertEqual(os.stat(path).st_ino, before)
        time.sleep(3)  # it is looked at every two seconds
        subprocess.run([path, "1"], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(r.stop(), 0, r.said())
        names = {}
        for s in Store(self.store).samples:
            if s.comm == "program":
                for f in set(s.names):
                    names.setdefault(f.split("_")[0], set()).add(s.pid)
        self.assertEqual(len(names["three"]), 1)
        self.assertEqual(len(names["slot"]), 1)
        self.assertFalse(names["three"] & names["slot"])

    def test_a_file_that_is_deleted_keeps_its_names(self):
        r = self.recorder("-F", "997").ready()
        path = os.path.join(self.dir, "program")
        shutil.copy(support.workload("slots"), path)
        p = subprocess.Popen([path, "6"], stdout=subprocess.DEVNULL)
        self.running.append(p)
        time.sleep(1)
        os.unlink(path)
        p.wait(60)
        self.assertEqual(r.stop(), 0, r.said())
        mine = [s for s in Store(self.store).samples if s.comm == "program"]
        half = mine[len(mine) // 2].time
        late = [s for s in mine if s.time > half]
        named = [s for s in late if any(f.startswith("slot_") for f in s.names)]
        self.assertGreater(len(named), 0.8 * len(late))


class Scope(support.Case):
    def test_a_scope_that_is_not_there_is_refused_in_words(self):
        out = os.path.join(self.dir, "x.pcw")
        gone = subprocess.Popen(["true"])
        gone.wait()
        # A thread's number is that of no process: nothing would ever be recorded of it.
        crowd = self.start(support.workload("threads"), "60", stdout=subprocess.DEVNULL)
        task = f"/proc/{crowd.pid}/task"
        thread = support.wait_until(lambda: [t for t in os.listdir(task) if int(t) != crowd.pid])[0]
        for args, words in ((("-p", str(gone.pid)), "no such process"), (("-C", "900"), "online"),
                            (("-p", thread), f"a thread of process {crowd.pid}")):
            r = support.perfcam("record", "-d", "1s", "-o", out, *args)
            self.assertEqual(r.returncode, 1)
            self.assertIn(words, r.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_an_event_that_this_machine_does_not_have_has_a_remedy(self):
        if os.path.exists("/sys/bus/event_source/devices/cpu"):
            support.not_run("an event that is not there", "this machine has a PMU")
            return
        for source in ("auto", *support.sources()):
            r = support.perfcam("record", "--store", self.store, "-d", "1s", "--event", "cycles", "--source", source)
            self.assertEqual(r.returncode, 1, source)
            self.assertIn("no PMU", r.stderr)
            self.assertIn("--event cpu-clock", r.stderr)

    def test_who_recorded_into_nothing_does_not_end_well(self):
        """A store that cannot be opened is tried again until the end; where it never could be that is no success."""
        os.mkdir(self.store, 0o777)
        os.chmod(self.store, 0o777)
        for command, status in ((("-d", "300ms"), 1), (("--", "true"), 1), (("--", "sh", "-c", "exit 5"), 5)):
            r = support.perfcam("record", "--store", self.store, "--control", self.store + ".c", *command)
            self.assertEqual(r.returncode, status, r.stderr)
            self.assertIn("chmod go-w", r.stderr)
            self.assertIn("is lost", r.stderr.splitlines()[-1])
        r = support.perfcam("ls", "--store", self.store)
        self.assertIn("chmod go-w", r.stderr)


support.main()
