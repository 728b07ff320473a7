#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of perf's, made here and now: samples, mappings and names beside perf script's own."""
import os
import re
import shutil
import subprocess

import perf_text
import support
import tap
from support import Case

FIELDS = "comm,pid,tid,cpu,time,event,ip,sym,symoff,dso"
WORK = "for i in 1 2 3 4; do ls -R /usr/include | sort | md5sum; done; exec ls -lR /usr/share/doc"


def perf(*args, **options):
    if not shutil.which("perf"):
        raise AssertionError("perf is not installed (tools/setup)")
    return subprocess.run(["perf", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, **options)


def plain(line):
    """(address, name, module); without the version of a symbol, which perfcam leaves out."""
    address, name, module = perf_text.named(line)
    return address, re.sub(r"@@?[A-Za-z][\w.]*", "", name), module


class Beside(Case):
    def record(self, name, *options, work=WORK):
        path = self.path(name)
        r = perf("record", "-q", "-o", path, *options, "--", "sh", "-c", work)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path

    def script(self, path, frames=plain):
        for fields in (FIELDS, FIELDS.replace("cpu,", "")):
            r = perf("script", "--ns", "-F", fields, "-i", path)
            if r.returncode == 0:
                return perf_text.samples(r.stdout, frames=frames)
        raise AssertionError(r.stderr)

    def same(self, path, *options, frames=plain):
        """
        Names differ in few frames: perf names code past the end of a symbol, or of one without a size,
        and perfcam does not; perfcam names the stubs of the PLT, and perf not always.
        """
        want = self.script(path, frames)
        self.assertGreater(len(want), 20)
        out = self.good("export", "perf-script", "-i", path, *options)
        got = perf_text.samples(out, frames=frames)
        unnamed = total = 0
        for a, b in zip(sorted(want), sorted(got)):
            for i, frame in enumerate(b[1] if len(a[1]) == len(b[1]) else []):
                total += 1
                names = {frame[1], a[1][i][1]}
                if len(names) == 2 and "[unknown]" in names and frame[::2] == a[1][i][::2]:
                    a[1][i] = frame
                    unnamed += 1
        perf_text.compare(self, want, got, path)
        self.assertLessEqual(unnamed, max(3, total // 50))
        return want

    def test_one_command_by_frame_pointers(self):
        want = self.same(self.record("a", "-F", "1999", "-g"))
        named = [f for s in want for f in s[1] if f[1] != "[unknown]"]
        self.assertGreater(len(named), 100)
        self.assertTrue({"ls", "sort"} & {s[0][0] for s in want})

    def test_several_events(self):
        want = self.same(self.record("a", "-e", "cpu-clock,page-faults,context-switches", "-g"))
        self.assertGreater(len({s[0][5] for s in want}), 1)

    def test_build_ids_in_the_mappings(self):
        self.same(self.record("a", "--buildid-mmap", "-F", "1999", "-g"))

    def test_fields_of_tracepoints(self):
        """Flags, symbols, strings, addresses of functions: what perf prints of them."""
        events = ("sched:sched_switch", "sched:sched_process_exec", "sched:sched_process_fork", "irq:*",
                  "kmem:mm_page_alloc", "raw_syscalls:*", "timer:hrtimer_start", "workqueue:*",
                  "signal:*", "filemap:*", "syscalls:sys_enter_openat", "exceptions:*", "task:*")
        path = self.record("a", *[w for e in events for w in ("-e", e)],
                           work="ls -R /usr/include/linux | head -500 | sort")
        r = perf("script", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "-i", path)
        out = self.good("export", "perf-script", "-i", path)

        def lines(text):
            return sorted(b" ".join(l.split()) for l in text.split(b"\n") if l and l[:1] not in b"\t#")

        want, got = lines(r.stdout), lines(out)
        self.assertGreater(len({l.split(b": ")[1] for l in want}), 10)
        self.assertEqual(len(want), len(got))
        for a, b in zip(want, got):
            self.assertEqual(a, b)


if __name__ == "__main__":
    tap.main()
