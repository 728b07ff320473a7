#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten minutes at a high rate beside a load that never repeats a stack: memory stays flat, nothing is
lost. And a thousand kills. Both shorter by PERFCAM_SOAK_SECONDS and PERFCAM_LONG_KILLS."""
import os
import subprocess
import sys
import time

import support

SECONDS = int(os.environ.get("PERFCAM_SOAK_SECONDS", "600"))
KILLS = os.environ.get("PERFCAM_LONG_KILLS", "1000")


class Longevity(support.Case):
    def test_memory_stays_flat(self):
        self.start(support.workload("manystacks"), str(SECONDS + 60))
        r = self.recorder("-F", "4999", "--window", "10s", "--max-cpu", "none").ready()
        readings = []
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(1)
            readings.append(support.resident_bytes(r.pid))
        status, peak = r.status(), support.peak_bytes(r.pid)
        self.assertEqual(r.stop(), 0, r.said())
        support.note("resident MiB, every fifth second: " +
                     " ".join(f"{n >> 20}" for n in readings[::5]))
        support.note(f"{status['samples']} samples in {SECONDS} s; resident: most {peak / 2**20:.1f} MiB")
        self.assertLess(peak, 64 << 20)
        support.check_flat(self, "the recorder's", readings)
        self.verify()

    def test_many_kills(self):
        here = os.path.dirname(os.path.abspath(__file__))
        r = subprocess.run([sys.executable, os.path.join(here, "test_killed.py")], text=True,
                           stdout=subprocess.PIPE, env={**os.environ, "PERFCAM_KILLS": KILLS})
        for line in r.stdout.splitlines():
            if line.startswith("#"):
                print(line, flush=True)
        self.assertEqual(r.returncode, 0, r.stdout[-2000:])


support.main()
