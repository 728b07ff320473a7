#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 during an import, at 20 moments: nobody has to repair anything, nothing sealed is lost.

Half of the moments are chosen by how much of the text was handed over, half by time, so that both
writing and sealing are hit.
"""
import os
import random
import subprocess
import time

import support
import synth
import tap
from support import Case

SLACK_BYTES = 640 << 10  # in pipes and buffers when it died: handed over, not yet read
SLACK_SECONDS = 3  # the last block


class Kill(Case):
    @classmethod
    def setUpClass(cls):
        cls.recorded = synth.recording(60, 300, 60)
        cls.text = synth.text_of(cls.recorded)
        cls.later = synth.recording(61, 20, 50, start_us=90_000_000_000)
        cls.later_text = synth.text_of(cls.later, captured="Mon Nov 16 02:45:41 2026")

    def expect_windows(self, store):
        """{name: bytes} of sealed windows, each checked against the recording's own seconds."""
        found = {}
        for w in self.ls("--store", store):
            if not w["sealed"]:
                continue
            inside = [s for s in self.recorded + self.later
                      if w["start_ns"] <= s.time_us * 1000 <= w["end_ns"]]
            path = os.path.join(store, w["name"])
            lines = self.export("-i", path)
            self.assertEqual(sum(lines.values()), w["samples"])
            self.assertIn(len(inside) - w["samples"], (0, 1), "the end may be the next one's start")
            with open(path, "rb") as f:
                found[w["name"]] = f.read()
        return found

    def after(self, store, handed_over):
        """What must hold after a kill. Answers the number of samples that survived."""
        done = self.verify(store)
        self.assertEqual(done["damaged_files"], 0)
        sealed = self.expect_windows(store)
        left = sum(w["samples"] for w in self.ls("--store", store))
        self.good("import", "--store", store, "-", stdin=self.later_text)
        names = os.listdir(store)
        self.assertEqual([n for n in names if n.endswith((".tmp", ".bad", ".pcj"))], [])
        recovered = self.expect_windows(store)
        for name, data in sealed.items():
            self.assertEqual(recovered[name], data, "a sealed window changed")
        self.assertEqual(self.verify(store)["torn_tails"], 0)
        count = self.samples("--store", store) - len(self.later)
        self.assertGreaterEqual(count, left)
        lines = self.export("--store", store)
        self.assertEqual(lines, synth.fold(self.recorded[:count] + self.later))
        read = len(support.heads(self.text[: max(0, handed_over - SLACK_BYTES)]))
        self.assertGreaterEqual(count, read - SLACK_SECONDS * 60)
        return count

    def test_killed_after_some_of_the_text(self):
        rng = random.Random(62)
        survived = []
        for i in range(10):
            store = self.path(f"bytes-{i}")
            at = rng.randrange(1000, len(self.text))
            child = support.Child("import", "--store", store, "-", stdin=subprocess.PIPE)
            child.p.stdin.write(self.text[:at])
            child.p.stdin.flush()
            time.sleep(rng.random() * 0.05)
            child.kill()
            child.finish()
            if os.path.isdir(store):
                survived.append(self.after(store, at))
        self.assertGreater(max(survived), len(self.recorded) // 4)
        print(f"# of {len(self.recorded)} samples survived: {survived}")

    def test_killed_after_some_time(self):
        path = self.path("text", self.text)
        start = time.monotonic()
        self.good("import", "--store", self.path("whole"), path)
        whole = time.monotonic() - start
        rng = random.Random(63)
        survived, windows = [], []
        for i in range(10):
            store = self.path(f"time-{i}")
            child = support.Child("import", "--store", store, path)
            time.sleep(whole * (0.2 + 0.8 * i / 10 + 0.08 * rng.random()))
            child.kill()
            child.finish()
            if os.path.isdir(store):
                windows.append(len(self.windows(store)))
                survived.append(self.after(store, 0))
        print(f"# sealed when killed: {windows}; samples survived: {survived}")
        self.assertGreater(max(survived), 0)

    def test_killed_again_while_recovering(self):
        child = support.Child("import", "--store", self.store, "-", stdin=subprocess.PIPE)
        child.p.stdin.write(self.text)
        child.p.stdin.flush()
        time.sleep(0.1)
        child.kill()
        child.finish()
        for i in range(8):
            child = support.Child("import", "--store", self.store, "-", stdin=subprocess.PIPE)
            time.sleep(0.004 * (i + 1))
            child.kill()
            child.finish()
            self.assertEqual(self.verify()["damaged_files"], 0)
        self.after(self.store, len(self.text))


tap.main()
