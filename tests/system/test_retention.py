#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A running recorder keeps its store within the limits it was given: by age, by bytes; never at the
expense of pins or of the newest ten minutes. The past comes from old_windows: it takes hours to record."""
import os
import subprocess
import sys
import threading
import time

import support

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from served import Server  # noqa: E402

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


class Readers(support.Case):
    """Beside a store whose windows come and go, ten a second: make soak has this go on for half an hour, with the server's threads watched."""
    SECONDS = int(os.environ.get("SOAK_SECONDS") or 6)
    KEPT, EACH = 15, 20480
    ASKED = ("/api/store", "/api/windows", "/api/timeline?from=@0&to=now&bins=100", "/api/flame?from=@0", "/api/heatmap?from=@0&mode=cores",
             "/api/counters?from=@0&to=now&bins=50", "/api/events?from=@0", "/metrics")

    def until_the_end(self, churn, once):
        """A thread that reads for as long as windows come and go."""
        def go_on():
            while churn.poll() is None:
                try:
                    once()
                except Exception as e:  # reported by the test's own thread
                    self.wrong.append(repr(e))
                    return

        thread = threading.Thread(target=go_on)
        thread.start()
        return thread

    def fold(self):
        """Windows are there as a whole or not at all."""
        r = support.perfcam("export", "folded", "--store", self.store)
        total = sum(int(line.rpartition(" ")[2]) for line in r.stdout.splitlines())
        if r.returncode or not total or total % self.EACH:
            raise AssertionError((r.returncode, total, r.stderr))
        self.readings += 1

    def look(self):
        for verb in (("ls", "--json"), ("verify",), ("flame", "-o", os.path.join(self.dir, "x.svg"))):
            r = support.perfcam(*verb, "--store", self.store)
            if r.returncode:
                raise AssertionError((verb, r.returncode, r.stdout[-300:], r.stderr))
            self.readings += 1

    def ask(self, server):
        for path in self.ASKED:
            status, _, body = server.ask(path)
            # One that is watched is ten times slower: it may be too much for it, which it says; but it always answers.
            if status == 503 and os.environ.get("SOAK_SERVER"):
                self.put_off += 1
                time.sleep(1)
                continue
            if status != 200:
                raise AssertionError((path, status, body[:300]))
            self.readings += 1

    def test_readers_beside_retention(self):
        self.wrong, self.readings, self.put_off = [], 0, 0
        churn = self.start(MAKER, self.store, str(self.KEPT), str(self.SECONDS), stdout=subprocess.PIPE, text=True)
        self.assertTrue(support.wait_until(lambda: os.path.isdir(self.store) and len(self.windows()) >= self.KEPT))
        # SOAK_SERVER: perfcam, built to watch its threads; what it sees it says at once.
        server = Server(self.store, program=os.environ.get("SOAK_SERVER"))
        if os.environ.get("SOAK_SERVER"):
            server.patience = 300  # what it does within 20 s of its own time may take others' time as well
        held = []

        def weigh():
            held.append(support.resident_bytes(server.process.pid))
            time.sleep(0.5)

        threads = [self.until_the_end(churn, what) for what in (self.fold, self.look, weigh, *[lambda: self.ask(server)] * 4)]
        for thread in threads:
            thread.join()
        told = churn.communicate(timeout=60)[0]
        server.process.terminate()
        said = server.process.communicate(timeout=60)[1]
        self.assertEqual((self.wrong, churn.returncode, server.process.returncode), ([], 0, 0), (self.wrong, said))
        self.assertNotIn("ThreadSanitizer", said)
        support.note(f"{told.strip()}, {self.readings} readings beside them, {self.put_off} put off")
        came, went = (int(words.split()[0]) for words in told.split(", "))
        self.assertGreater(went, min(5, self.SECONDS // 2))
        self.assertGreater(came, went // 2)
        self.assertGreater(self.readings, 5)
        if self.SECONDS >= 120:
            support.check_flat(self, "the server's", held, 0.1)
        self.verify()


support.main()
