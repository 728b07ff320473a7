#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with a million functions that all run, once as a file with as many symbols and once as code made at run time with a
map of as many lines: hardly two samples are of the same one. They are named, what the recorder and its helpers take is within what is stated, and
every view of it works. (A million different names in one window: tests/cli/test_memory_long.py.)"""
import os
import re
import subprocess
import sys
import time

import support
from dump import Store

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from served import Server  # noqa: E402

HZ = 997
SECONDS = support.seconds(4, 60)  # of CPU time
CROWD = 1 << 20
NAME = re.compile(r"crowd_([0-9a-f]{7})")
# Of what a view may take: the whole of the unit of the server.
VIEW_BYTES = 512 << 20


def run(*command):
    """(exit status, what it said, the most memory it had)"""
    p = subprocess.Popen([support.BIN, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    said = p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return p.returncode, said, used.ru_maxrss * 1024


class Crowd(support.Case):
    def record(self, *how):
        r = self.recorder("-F", str(HZ), "--window", "2m", "--max-cpu", "none").ready()
        p = self.start(support.workload("crowd"), how[0], str(SECONDS), *how[1:])
        p.wait(60 + 10 * SECONDS)
        if os.path.exists(f"/tmp/perf-{p.pid}.map"):
            os.unlink(f"/tmp/perf-{p.pid}.map")
        time.sleep(3)  # names may come so much later
        status, peak = r.status(), support.peak_bytes(r.pid)
        self.assertEqual(r.stop(), 0, r.said())
        self.assertLess(peak, 64 << 20)
        for budget in status["budgets"]:
            self.assertLessEqual(budget["used"], budget["limit"], budget)
        for cause in ("lost_ring", "lost_queue", "bound"):
            self.assertEqual(status["by_cause"][cause], 0, cause)
        self.verify()
        return p.pid, peak

    def check_names(self, pid, peak, of_crowd):
        """Of its code (it ran in user mode, and of_crowd(sample)); they are as many different ones as by chance."""
        leaves = [s.frames[-1] for s in Store(self.store).of_pid(pid) if s.frames and s.frames[-1].kind in ("user", "jit") and of_crowd(s)]
        numbers = [int(m[1], 16) for m in (NAME.fullmatch(f.name or "") for f in leaves) if m]
        distinct = len(set(numbers))
        due = CROWD * (1 - (1 - 1 / CROWD) ** len(numbers))
        support.note(f"{len(numbers)} of {len(leaves)} samples have a name of the crowd's, {distinct} different ones (by chance {due:.0f}); "
                     f"the recorder had at most {peak / 2**20:.1f} MiB")
        self.assertGreater(len(numbers), 0.8 * HZ * SECONDS)
        self.assertGreater(len(numbers), 0.9 * len(leaves))
        self.assertLess(abs(distinct - due), 0.02 * due)
        self.assertLess(abs(sum(numbers) / len(numbers) / CROWD - 0.5), 0.03)

    def check_views(self):
        out = os.path.join(self.dir, "out")
        for verb in (("flame", "-o", out + ".svg"), ("flame", "--reverse", "-o", out + ".svg"), ("heatmap", "-o", out + ".svg"), ("report",),
                     ("top",), ("search", "crowd_00"), ("export", "folded"), ("export", "pprof", "-o", out), ("export", "speedscope", "-o", out),
                     ("export", "csv"), ("ls",)):
            code, said, peak = run(*verb, "--store", self.store)
            self.assertEqual(code, 0, (verb, said))
            self.assertLess(peak, VIEW_BYTES, verb)
        server = Server(self.store)
        try:
            for path in ("/api/flame?from=@0", "/api/flame?from=@0&focus=crowd_00", "/api/heatmap?from=@0&mode=cores&paint=crowd_00", "/api/quality?from=@0"):
                status, _, body = server.ask(path)
                self.assertEqual(status, 200, (path, body[:300]))
            self.assertLess(support.peak_bytes(server.process.pid), VIEW_BYTES)
        finally:
            server.process.terminate()
            server.process.communicate(timeout=60)

    def test_a_file_of_a_million_symbols(self):
        self.check_names(*self.record("elf", os.path.join(self.dir, "program")), lambda s: s.comm == "program")
        self.check_views()

    def test_a_map_of_a_million_lines(self):
        self.check_names(*self.record("map"), lambda s: s.frames[-1].kind == "jit")


support.main()
