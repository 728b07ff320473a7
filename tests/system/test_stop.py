#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals, snapshots, the lock of a store."""
import os
import random
import signal
import stat
import subprocess
import time

import support
from dump import Store

SECOND = 1_000_000_000
RACES = int(os.environ.get("PERFCAM_RACES", "10"))


class Stop(support.Case):
    def stop_and_look(self, sig):
        self.load("slots")
        r = self.recorder("-F", "499", "--window", "1m").ready()
        time.sleep(1.2)
        asked = time.monotonic_ns()
        self.assertEqual(r.stop(sig), 0, r.said())
        took = (time.monotonic_ns() - asked) / SECOND
        support.note(f"signal {sig}: ended after {took:.3f} s")
        # Of a machine that has a CPU to spare: see below.
        self.assertLess(took, 2)
        dump = Store(self.store)
        self.assertTrue(all(w["clean_end"] for w in dump.windows))
        last = max(s.time for s in dump.samples)
        self.assertLess(abs(last - asked), SECOND // 5)
        self.verify()
        return took

    def test_sigterm_and_sigint_leave_nothing_out(self):
        """A second is promised; one of the two may meet a moment in which the machine has no CPU for it."""
        took = [self.stop_and_look(signal.SIGTERM)]
        self.store += ".int"
        took.append(self.stop_and_look(signal.SIGINT))
        self.assertLess(min(took), 1)

    def test_one_that_was_stopped_goes_on(self):
        """Also while it waits for stacks to be walked: a call that the signal interrupted is no end."""
        self.load("slots")
        r = self.recorder("-F", "499", "--source", "perf", "--unwind", "dwarf", "--max-cpu", "none").ready()
        for _ in range(200):
            os.kill(r.pid, signal.SIGSTOP)
            time.sleep(0.002)
            os.kill(r.pid, signal.SIGCONT)
            time.sleep(0.01)
            self.assertIsNone(r.p.poll(), r.said())
        self.assertEqual(r.stop(), 0, r.said())

    def sealer_of(self, pid):
        """The recorder's child that seals, stopped as soon as it is there; None: it was done before."""
        while os.path.exists(f"/proc/{pid}/task/{pid}/children"):
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                children = f.read().split()
            for child in children:
                try:
                    with open(f"/proc/{child}/cmdline", "rb") as f:
                        if b"sealer" in f.read():
                            os.kill(int(child), signal.SIGSTOP)
                            return int(child)
                except (FileNotFoundError, ProcessLookupError):
                    pass
            if self.running[-1].poll() is not None:
                break
        return None

    def test_who_waits_for_the_last_seal_is_told_to_end(self):
        """record -d waits for it, as long as nobody is in a hurry; the next one has all that was recorded."""
        for attempt in range(5):
            store = f"{self.store}{attempt}"
            self.load("slots")
            r = self.recorder("-F", "4999", "--window", "1m", "-d", "1s", store=store)
            sealer = self.sealer_of(r.pid)
            if sealer:
                break
            self.assertEqual(r.p.wait(60), 0, r.said())
        self.assertTrue(sealer, "never seen")
        time.sleep(2.5)
        self.assertIsNone(r.p.poll(), "it did not wait")
        asked = time.monotonic()
        self.assertEqual(r.stop(), 0, r.said())
        self.assertLess(time.monotonic() - asked, 3)
        self.assertFalse(any(w["sealed"] for w in self.windows(store)))
        held = len(Store(store).samples)
        self.assertGreater(held, 500)
        r = self.recorder(store=store).ready()
        self.assertTrue(support.wait_until(lambda: self.windows(store)[0]["sealed"], 30), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        self.assertGreaterEqual(len(Store(store).samples), held)
        self.verify(store)

    def test_a_pause_on_purpose_is_no_loss(self):
        for _ in range(2):
            r = self.recorder().ready()
            time.sleep(0.5)
            self.assertEqual(r.stop(), 0, r.said())
        dump = Store(self.store)
        self.assertEqual([g["cause"] for g in dump.gaps], ["not_recording"])
        shown = support.perfcam("flame", "--store", self.store, "-o", self.dir + "/x.svg")
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_sigusr1_and_snapshot_seal_now(self):
        r = self.recorder("--window", "1h").ready()
        time.sleep(1)
        r.p.send_signal(signal.SIGUSR1)
        self.assertTrue(support.wait_until(
            lambda: any(w["sealed"] for w in self.windows()), 10), r.said())
        time.sleep(0.5)
        asked = support.perfcam("snapshot", "--store", self.store, "--control",
                                self.store + ".control")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        name = asked.stdout.strip()
        sealed = [w["name"] for w in self.windows() if w["sealed"]]
        self.assertEqual(len(sealed), 2, sealed)
        self.assertIn(os.path.basename(name), sealed)
        self.assertEqual(r.stop(), 0, r.said())
        dump = Store(self.store)
        for a, b in zip(dump.windows, dump.windows[1:]):
            self.assertEqual(a["end"], b["start"])
        self.verify()

    def test_a_snapshot_is_about_itself(self):
        """Something of old that can never be sealed is in the way of nothing."""
        os.mkdir(self.store, 0o750)
        os.mkdir(os.path.join(self.store, "open-00000001.pcj"))
        r = self.recorder("--window", "1h", "-F", "499").ready()
        self.load("spin31")
        for n in (1, 2):
            time.sleep(0.7)
            asked = support.perfcam("snapshot", "--store", self.store, "--control",
                                    self.store + ".control")
            self.assertEqual(asked.returncode, 0, asked.stderr)
            sealed = [w["name"] for w in self.windows() if w["sealed"]]
            self.assertEqual((len(sealed), asked.stdout.strip()), (n, sealed[-1]), r.said())
        self.assertEqual(r.stop(), 0, r.said())

    def test_sighup_reads_the_configuration_again(self):
        conf = os.path.join(self.dir, "perfcam.conf")
        with open(conf, "w") as f:
            f.write("max-bytes = 1G\n")
        r = self.recorder("--config", conf).ready()
        self.assertEqual(r.status()["max_bytes"], 1 << 30)
        with open(conf, "w") as f:
            f.write("max-bytes = 64M\n")
        r.p.send_signal(signal.SIGHUP)
        self.assertTrue(support.wait_until(lambda: r.status()["max_bytes"] == 64 << 20), r.said())
        with open(conf, "w") as f:
            f.write("max-bytes = many\n")
        r.p.send_signal(signal.SIGHUP)
        self.assertTrue(support.wait_until(lambda: "not reloaded" in r.said()), r.said())
        self.assertEqual(r.status()["max_bytes"], 64 << 20)
        self.assertEqual(r.stop(), 0, r.said())

    def test_a_reload_can_be_asked_for(self):
        """Through the control socket: what changed is told to who asks, and what is wrong with the file."""
        conf = os.path.join(self.dir, "perfcam.conf")
        with open(conf, "w") as f:
            f.write("max-bytes = 1G\n")
        r = self.recorder("--config", conf).ready()

        def reload(text):
            with open(conf, "w") as f:
                f.write(text)
            return support.perfcam("config", "--reload", "--store", self.store, "--control", self.store + ".control")

        asked = reload("max-bytes = 64M\nwindow = 3m\n")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertRegex(asked.stdout, r"^changed: max-bytes\b.*; a restart is needed for: window\n$")
        self.assertEqual(r.status()["max_bytes"], 64 << 20)
        asked = support.perfcam("config", "--reload", "--store", self.store, "--control", self.store + ".control", "--max-bytes", "1G")
        self.assertEqual((asked.returncode, asked.stdout), (2, ""))
        self.assertIn("--max-bytes", asked.stderr)
        self.assertEqual(r.status()["max_bytes"], 64 << 20)
        asked = reload("max-bytes = many\n")
        self.assertEqual((asked.returncode, asked.stdout), (1, ""))
        self.assertIn("not reloaded", asked.stderr)
        self.assertEqual(r.status()["max_bytes"], 64 << 20)
        self.assertEqual(r.stop(), 0, r.said())
        asked = reload("")
        self.assertEqual(asked.returncode, 1)
        self.assertIn("no recorder runs", asked.stderr)

    def test_what_it_has_written_is_told_with_its_windows(self):
        """Another process writes the windows: they count, too."""
        self.load("slots")
        r = self.recorder("-F", "499", "--window", "2s").ready()
        self.assertTrue(support.wait_until(lambda: sum(w["sealed"] for w in self.windows()) >= 2), r.said())
        windows = sum(w["bytes"] for w in self.windows() if w["sealed"])
        with open(f"/proc/{r.pid}/io", encoding="ascii") as f:
            own = next(int(line.split()[1]) for line in f if line.startswith("write_bytes"))
        self.assertGreaterEqual(r.status()["bytes_written"], own + windows)
        self.assertEqual(r.stop(), 0, r.said())

    def test_a_second_recorder_says_who_holds_the_store(self):
        r = self.recorder().ready()
        began = time.monotonic()
        second = self.recorder()
        self.assertNotEqual(second.p.wait(10), 0)
        self.assertLess(time.monotonic() - began, 2)
        self.assertIn(f"pid {r.pid}", second.said())
        self.assertEqual(r.stop(), 0, r.said())

    def race(self, rng, n):
        """So many at once, right after the one before them has gone: one gets the store, the others are told; that one is killed, or
        asked to end."""
        all_of_them = [self.recorder("--source", "perf", "--window", "1s") for _ in range(n)]
        self.assertTrue(support.wait_until(lambda: sum(r.p.poll() is None for r in all_of_them) <= 1), n)
        left = [r for r in all_of_them if r.p.poll() is None]
        self.assertEqual(len(left), 1, [r.said() for r in all_of_them])
        for r in all_of_them:
            if r is not left[0]:
                self.assertGreater(r.p.returncode, 0)
                self.assertIn("one recorder a store", r.said())
        left[0].ready()
        time.sleep(rng.uniform(0, 0.2))
        if rng.random() < 0.5:
            left[0].p.kill()
            left[0].p.wait()
        else:
            self.assertEqual(left[0].stop(), 0, left[0].said())
        for r in all_of_them:
            r.p.stdout.close()
            r.errors.close()
        self.running.clear()

    def test_of_many_at_once_one_records(self):
        """Two to ten, again and again (RACES): the lock is one's, is free when its holder is dead, and the store is whole."""
        seed = random.randrange(1 << 32)
        support.note(f"seed {seed}")
        rng, started = random.Random(seed), 0
        self.race(rng, 10)
        for _ in range(RACES - 1):
            n = rng.randint(2, 10)
            started += n
            self.race(rng, n)
        r = self.recorder().ready()
        self.assertTrue(support.wait_until(lambda: r.status()["windows_waiting"] == 0), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        windows = Store(self.store, samples=False).windows
        for a, b in zip(windows, windows[1:]):
            self.assertLessEqual(a["end"], b["start"], (a, b))
        support.note(f"{RACES} races of {started + 10} recorders, {len(windows)} windows")
        self.verify()

    def test_two_stores_are_recorded_at_once(self):
        other = os.path.join(self.dir, "other")
        self.load("spin31")
        both = [self.recorder("-F", "199"), self.recorder("-F", "199", store=other)]
        for r in both:
            r.ready()
        time.sleep(2)
        for r in both:
            self.assertEqual(r.stop(), 0, r.said())
        for store in (self.store, other):
            self.verify(store)
            stacks = self.folded(store=store)
            self.assertGreater(sum(n for s, n in stacks.items()
                                   if s[-1] in ("one", "three")), 30)

    def test_only_its_owner_and_group_may_read(self):
        r = self.recorder("--window", "1s").ready()
        time.sleep(1.5)
        mode = stat.S_IMODE(os.stat(self.store).st_mode)
        self.assertEqual(mode, 0o750)
        for name in os.listdir(self.store):
            mode = os.stat(os.path.join(self.store, name)).st_mode
            # The socket by which others of the group may ask.
            self.assertEqual(stat.S_IMODE(mode), 0o660 if stat.S_ISSOCK(mode) else 0o640, name)
        # Another user gets no answer from the recorder.
        os.chmod(self.dir, 0o755)
        asked = subprocess.run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", support.BIN,
             "mark", "mischief", "--store", self.store, "--control", self.store + ".control"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
        self.assertNotEqual(asked.returncode, 0, asked.stdout)
        self.assertEqual(r.stop(), 0, r.said())
        self.assertEqual([e for e in Store(self.store, samples=False).events if e["source"] == "mark"], [])


support.main()
