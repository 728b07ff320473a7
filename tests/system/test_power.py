#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The power is cut, at the level of blocks: a recorder writes to a file system on a disk that logs every write and flush, and
disks are made as a cut at many moments would have left them: all before the last flush, and of what came after it nothing, all or any part, also
half a write. On each the file system recovers, then perfcam does; every sample older than the five seconds it promises must be there, and
no other. 40 moments of each file system; PERFCAM_POWER_CUTS=all: every boundary between two writes, in all three ways (an hour)."""
import calendar
import ctypes
import os
import random
import subprocess
import sys
import time

import logdisk
import support

CUTS = os.environ.get("PERFCAM_POWER_CUTS", "40")
SECONDS = 24
MOST_LOST = 5
SECTOR = 512
CLONE_NEWNS = 0x20000
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()


def samples(store):
    """[(wall time, clock, CPU, process)], in order."""
    r = support.perfcam("export", "csv", "--store", store)
    found = []
    for line in r.stdout.splitlines()[1:]:
        when, clock, cpu, pid = line.split(",", 4)[:4]
        found.append((when.rstrip("Z"), int(clock), int(cpu), int(pid)))
    return sorted(found, key=lambda s: (s[1], s[2], s[3]))


def unmount(where):
    """Whoever looks at new devices may hold one for a moment: a loop device goes when the last one lets go."""
    if not support.wait_until(lambda: subprocess.run(["umount", where], stderr=subprocess.DEVNULL).returncode == 0):
        raise AssertionError(f"{where} is still in use")


class Power(support.Case):
    def setUp(self):
        super().setUp()
        self.disk, self.tree, self.image = (os.path.join(self.dir, n) for n in ("disk", "tree", "image"))
        os.mkdir(self.disk)
        os.mkdir(self.tree)
        self.seed = random.SystemRandom().randrange(1 << 30)
        self.random = random.Random(self.seed)

    def tearDown(self):
        for where in (self.tree, self.disk):
            subprocess.run(["umount", "-q", "-l", where], stderr=subprocess.DEVNULL)
        super().tearDown()

    def record(self, kind, size):
        """The log of a recording on a new file system of that kind, and its samples; the empty disk is in self.image."""
        make = {"ext4": ("mkfs.ext4", "-q", "-F"), "xfs": ("mkfs.xfs", "-q", "-f"), "btrfs": ("mkfs.btrfs", "-q", "-f")}[kind]
        with open(self.image, "wb") as f:
            f.truncate(size)
        run(*make, self.image)
        used, log = self.image + ".used", self.image + ".log"
        run("cp", "--sparse=always", self.image, used)
        server = self.start(sys.executable, os.path.join(HERE, "logdisk.py"), self.disk, used, log, stdout=subprocess.PIPE, text=True)
        self.assertEqual(server.stdout.readline(), "ready\n")
        loop = run("losetup", "-f", "--show", os.path.join(self.disk, "disk"))
        try:
            run("mount", "-t", kind, loop, self.tree)
            store = os.path.join(self.tree, "store")
            spinning = self.start(support.workload("spin31"), "100")
            r = support.Recorder(store, "--control", os.path.join(self.dir, "control"), "--window", "4s", "-d", f"{SECONDS}s", "-F", "199")
            self.running.append(r.p)
            r.p.wait(SECONDS + 60)
            self.assertEqual(r.p.returncode, 0, r.said())
            spinning.kill()
            truth = samples(store)
            unmount(self.tree)
        finally:
            run("losetup", "-d", loop)
        unmount(self.disk)
        server.wait(30)
        os.unlink(used)
        return logdisk.read(log), truth

    def keep(self, how, pending, path):
        """Of what was not flushed: nothing, all, or some: any part, in any order it can have come in. Of all and some the last write may be torn."""
        kept = [w for w in pending if how == "all" or (how == "some" and self.random.random() < 0.5)]
        with open(path, "r+b") as f:
            for i, (_, _, offset, data) in enumerate(kept):
                if i == len(kept) - 1 and self.random.random() < 0.5:
                    data = data[:self.random.randrange(0, len(data) + 1, SECTOR)]
                f.seek(offset)
                f.write(data)

    def judge(self, what, kind, cut, when, truth):
        """What is on the disk that was cut at that time."""
        said = f"{what}, seed {self.seed}, cut at {when}"
        loop = run("losetup", "-f", "--show", cut)
        try:
            run("mount", "-t", kind, loop, self.tree)
            store = os.path.join(self.tree, "store")
            due = [s for s in truth if wall_seconds(s[0]) < when - MOST_LOST]
            if due or os.path.isdir(store):
                r = support.perfcam("record", "--store", store, "--control", os.path.join(self.dir, "control"), "-d", "100ms", "-F", "1", "--source", "perf")
                self.assertEqual(r.returncode, 0, said + r.stderr)
                self.assertEqual(support.perfcam("verify", "--store", store).returncode, 0, said)
                there = {s[1:] for s in samples(store) if wall_seconds(s[0]) <= when}
                missing = [s for s in due if s[1:] not in there]
                self.assertEqual(missing[:3], [], f"{said}: {len(missing)} of {len(due)} are gone")
                self.assertEqual(list(there - {s[1:] for s in truth})[:3], [], f"{said}: never recorded")
            unmount(self.tree)
        finally:
            run("losetup", "-d", loop)
        return len(due)

    def cuts(self, kind, size):
        log, truth = self.record(kind, size)
        flushes = [i for i, entry in enumerate(log) if entry[1] == logdisk.FLUSHED]
        self.assertGreater(len(flushes), 4)
        self.assertGreater(len(truth), SECONDS * 100)
        points = list(range(1, len(log)))
        if CUTS != "all":
            points = sorted({*self.random.sample(points, min(int(CUTS), len(points))), points[-1]})
        at, pending, most, cuts = 0, [], 0, 0
        with open(self.image, "r+b") as f:
            for point in points:
                for entry in log[at:point]:
                    if entry[1] == logdisk.WRITTEN:
                        pending.append(entry)
                        continue
                    for _, _, offset, data in pending:
                        f.seek(offset)
                        f.write(data)
                    pending = []
                at = point
                f.flush()
                cut = self.image + ".cut"
                # Without anything pending the three are one.
                ways = ("nothing", "all", "some") if CUTS == "all" and pending else (self.random.choice(("nothing", "all", "some", "some")),)
                for how in ways:
                    run("cp", "--sparse=always", self.image, cut)
                    self.keep(how, pending, cut)
                    most = max(most, self.judge(f"{kind}, {how} of {len(pending)} writes", kind, cut, log[point - 1][0], truth))
                    cuts += 1
                    os.unlink(cut)
        support.note(f"{kind}: {cuts} cuts at {len(points)} of {len(log) - 1} boundaries among {len(log) - len(flushes)} writes and {len(flushes)} flushes; "
                     f"{len(truth)} samples, up to {most} of them due")
        # The last cut is after the first windows: else this would show nothing.
        self.assertGreater(most, SECONDS * 50)

    def test_ext4(self):
        self.cuts("ext4", 64 << 20)

    def test_xfs(self):
        self.cuts("xfs", 320 << 20)

    def test_btrfs(self):
        self.cuts("btrfs", 128 << 20)


def wall_seconds(text):
    """Seconds since 1970 of "2026-11-15T17:31:40.043772797"."""
    second, part = text.split(".")
    return calendar.timegm(time.strptime(second, "%Y-%m-%dT%H:%M:%S")) + int(part) / 10**len(part)


# Mounts that nobody else sees: who makes a namespace of theirs meanwhile would have a copy, and a file system that is not gone when the next cut,
# which looks like the same one, is mounted.
if ctypes.CDLL(None).unshare(CLONE_NEWNS):
    sys.exit("no mount namespace: run it as root")
run("mount", "--make-rprivate", "/")
support.main()
