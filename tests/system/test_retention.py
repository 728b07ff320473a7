#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A running recorder keeps its store within the limits it was given: by age, by bytes; never at the
expense of pins or of the newest ten minutes. The past comes from old_windows: it takes hours to record."""
import os
import subprocess

import support

MAKER = os.path.join(os.path.dirname(support.WORKLOADS), "system", "old_windows")
WINDOWS = 30  # of a minute each, all of another boot


class Retention(support.Case):
    def setUp(self):
        super().setUp()
        subprocess.run([MAKER, self.store, str(WINDOWS)], check=True, timeout=60)
        self.made = [w["name"] for w in self.old()]
        self.assertEqual(len(self.made), WINDOWS)
        pinned = support.perfcam("pin", self.made[3], "--store", self.store)
        self.assertEqual(pinned.returncode, 0, pinned.stderr)
        # A pin is a time, and the next window begins where that one ends.
        self.pinned = [n for n, w in enumerate(self.old()) if w["pinned"]]
        self.assertIn(self.pinned, ([3], [3, 4]))

    def old(self):
        return [w for w in self.windows() if w["host"] == "old-host"]

    def left(self, *limits):
        """Numbers of the old windows that a recorder leaves; 0 is the oldest."""
        def sealed():
            return sum(w["sealed"] for w in self.windows() if w["host"] != "old-host")

        before = sealed()
        r = self.recorder("--window", "1s", *limits).ready()
        # Retention is done at the start, and after each window that has ended.
        self.assertTrue(support.wait_until(lambda: sealed() > before), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        return [self.made.index(w["name"]) for w in self.old()]

    def test_what_is_too_old_goes_but_not_what_is_pinned(self):
        # The newest ended when the recorder began: n is (29 - n) minutes old, and some seconds.
        self.assertEqual(self.left("--keep", "20m"), [*self.pinned, *range(10, WINDOWS)])
        # Ten minutes stay, whatever the limit says.
        self.assertEqual(self.left("--keep", "1m"), [*self.pinned, *range(20, WINDOWS)])

    def test_the_oldest_make_room_but_not_what_is_pinned(self):
        size = sum(w["bytes"] for w in self.old())
        # Half of it: the oldest go, one after the other, and no more than has to.
        left = self.left("--max-bytes", str(size // 2))
        self.assertEqual(left, [*self.pinned, *range(left[len(self.pinned)], WINDOWS)])
        kept = sum(w["bytes"] for w in self.windows() if not w["pinned"])
        # The last one came after the last time it was looked at.
        self.assertLessEqual(kept, size // 2 + size // WINDOWS)
        self.assertGreater(kept + 2 * size // WINDOWS, size // 2)
        # Ten minutes stay, whatever the limit says.
        self.assertEqual(self.left("--max-bytes", "1M"), [*self.pinned, *range(20, WINDOWS)])


support.main()
