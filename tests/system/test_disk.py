#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, read-only from the start or gone; retention at work; readers beside the writer. Whatever the
disk does the recorder goes on, and what could not be kept is in the accounts."""
import os
import shutil
import subprocess
import time

import support
from dump import Store

SECOND = 1_000_000_000


class Disk(support.Case):
    def setUp(self):
        super().setUp()
        self.mounted = []

    def tearDown(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait()
        for where in reversed(self.mounted):
            subprocess.run(["umount", "-l", where], check=False)
        super().tearDown()

    def mount(self, options):
        os.mkdir(self.store)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0750," + options, "none", self.store],
                       check=True)
        self.mounted.append(self.store)

    def remount(self, options):
        subprocess.run(["mount", "-o", "remount," + options, self.store], check=True)

    def said(self, r, words):
        self.assertTrue(support.wait_until(lambda: words in r.said(), 20), r.said())

    def check_gap(self, r, hz, from_ns, to_ns, cause="disk_full"):
        """Samples before and after; between them a gap with a name, and due samples all told."""
        back = support.wait_until(lambda: "writing again" in r.said(), 20)
        took = (time.monotonic_ns() - to_ns) / SECOND
        self.assertTrue(back, r.said())
        support.note(f"wrote again {took:.1f} s after the disk could be written")
        self.assertLess(took, 5)  # a second where the machine is not overloaded: it is not left to the ten seconds of a store that cannot be opened
        time.sleep(3)
        self.assertIsNone(r.p.poll(), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        dump = Store(self.store)
        self.check_accounts(dump, hz)
        self.assertGreater(sum(s.time < from_ns for s in dump.samples), 100)
        self.assertGreater(sum(s.time > to_ns + 2 * SECOND for s in dump.samples), 100)
        rows = [row for row in dump.ledger if row["cause"] == cause]
        support.note(f"{sum(row['samples'] for row in rows)} samples in rows of {cause}")
        self.assertTrue(rows or not samples_missing(dump, from_ns, to_ns), dump.ledger)
        for row in rows:
            self.assertGreater(row["to"], from_ns - 10 * SECOND)
            self.assertLess(row["from"], to_ns + 10 * SECOND)
        return dump, rows

    def mount_ext4(self, mib):
        """A file system with a journal and delayed allocation, on a file; the store is a directory of it."""
        image, where = os.path.join(self.dir, "image"), os.path.join(self.dir, "tree")
        with open(image, "wb") as f:
            f.truncate(mib << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        os.mkdir(where)
        subprocess.run(["mount", "-o", "loop", image, where], check=True)
        self.mounted.append(where)
        self.store = os.path.join(where, "store")

    def test_a_full_disk_is_survived(self):
        self.mount("size=12M")
        self.check_full()

    def test_a_full_ext4_is_survived(self):
        self.mount_ext4(32)
        self.check_full()

    def check_full(self):
        self.load("manystacks", share=80)
        r = self.recorder("-F", "4999", "--window", "2s", "--min-free", "0", "--max-cpu", "none",
                          "--max-bytes", "1G").ready()
        time.sleep(2)
        full = time.monotonic_ns()
        with open(os.path.join(self.store, "ballast"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 65536)
            except OSError:
                pass
        self.said(r, "cannot write")
        time.sleep(6)
        os.unlink(os.path.join(self.store, "ballast"))
        dump, rows = self.check_gap(r, 4999, full, time.monotonic_ns())
        self.assertTrue(rows)
        self.assertGreater(sum(w["lost"] for w in dump.windows), 0)

    def test_no_inodes_are_survived(self):
        self.mount("size=32M,nr_inodes=12")
        self.load("spin31")
        r = self.recorder("-F", "499", "--window", "1s", "--min-free", "0").ready()
        time.sleep(2.2)
        full = time.monotonic_ns()
        extra = []
        try:
            for i in range(64):
                path = os.path.join(self.store, f"extra{i}")
                open(path, "w").close()
                extra.append(path)
        except OSError:
            pass
        self.said(r, "cannot write")
        time.sleep(2)
        for path in extra:
            os.unlink(path)
        self.check_gap(r, 499, full, time.monotonic_ns())

    def test_a_store_that_is_read_only_at_the_start(self):
        self.mount("size=32M")
        self.remount("ro")
        self.load("spin31")
        r = self.recorder("-F", "499").ready()
        self.said(r, "cannot write")
        self.remount("rw")
        self.said(r, "writing again")
        time.sleep(1)
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        self.assertGreater(sum(w["samples"] for w in self.windows()), 100)

    def test_a_store_that_can_be_written_just_before_the_end(self):
        self.mount("size=32M")
        self.remount("ro")
        self.load("spin31")
        r = self.recorder("-F", "499").ready()
        self.said(r, "cannot write")
        time.sleep(1)
        self.remount("rw")
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        self.assertGreater(sum(w["samples"] for w in self.windows()), 100, r.said())

    def test_the_newest_windows_are_never_deleted(self):
        """Whatever the limits say: a mistyped one must not cost what just happened."""
        self.load("manystacks")
        r = self.recorder("-F", "1999", "--window", "1s", "--keep", "2s", "--max-bytes", "1M",
                          "--max-cpu", "none").ready()
        time.sleep(6)
        self.assertEqual(r.stop(), 0, r.said())
        dump = Store(self.store, samples=False)
        self.assertGreaterEqual(len(dump.windows), 6)
        for a, b in zip(dump.windows, dump.windows[1:]):
            self.assertEqual(a["end"], b["start"])
        self.verify()

    def test_readers_beside_the_writer(self):
        """Nothing that is read is ever torn, while windows come, are sealed, and go."""
        self.load("spin31")
        r = self.recorder("-F", "997", "--window", "1s", "--keep", "3s").ready()
        self.assertTrue(support.wait_until(lambda: sum(w["samples"] for w in self.windows())))
        until = time.monotonic() + 6
        asked = 0
        while time.monotonic() < until:
            for command in (["ls", "--json"], ["verify"], ["flame", "-o", self.dir + "/x.svg"]):
                done = support.perfcam(*command, "--store", self.store)
                self.assertEqual(done.returncode, 0, (command, done.stdout[-500:], done.stderr))
                asked += 1
        support.note(f"{asked} readings")
        self.assertEqual(r.status()["by_cause"]["lost_ring"], 0)
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()

    def test_a_store_that_is_moved_away_or_deleted_is_made_anew(self):
        r = self.recorder("-F", "499", "--window", "1m").ready()
        self.load("spin31")
        time.sleep(1.5)
        moved = self.store + ".moved"
        os.rename(self.store, moved)
        self.said(r, "was deleted or moved away; recording goes on in a new one")
        time.sleep(1.5)
        shutil.rmtree(self.store)
        self.assertTrue(support.wait_until(lambda: os.path.isdir(self.store), 5), r.said())
        time.sleep(2)
        self.assertEqual(r.stop(), 0, r.said())
        for place in (moved, self.store):
            self.verify(store=place)
            dump = Store(place)
            self.assertGreater(len(dump.samples), 300, place)
            self.assertEqual(sum(w["lost"] for w in dump.windows), 0, place)


def samples_missing(dump, from_ns, to_ns):
    """Whether some second in between has no sample at all."""
    seconds = {s.time // SECOND for s in dump.samples}
    return any(n not in seconds for n in range(from_ns // SECOND, to_ns // SECOND))


support.main()
