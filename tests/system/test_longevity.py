#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten minutes at a high rate beside a load that never repeats a stack, in a control group of the memory that the recorder says it takes at most: memory stays
flat, nobody is killed. A thousand kills, and a thousand times two to ten recorders that want the same store. Shorter by PERFCAM_SOAK_SECONDS, PERFCAM_LONG_KILLS
and PERFCAM_LONG_RACES."""
import os
import subprocess
import sys
import time

import support

SECONDS = int(os.environ.get("PERFCAM_SOAK_SECONDS", "600"))
KILLS = os.environ.get("PERFCAM_LONG_KILLS", "1000")
RACES = os.environ.get("PERFCAM_LONG_RACES", "1000")


class Longevity(support.Case):
    def test_memory_stays_flat(self):
        with support.MemoryGroup(self) as group:
            self.check_memory(group)

    def check_memory(self, group):
        self.start(support.workload("manystacks"), str(SECONDS + 60))
        r = self.recorder("-F", "4999", "--window", "10s", "--max-cpu", "none", wrap=group.wrap).ready()
        group.limit_to_budgets(r)
        readings = []
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(1)
            readings.append(support.resident_bytes(r.pid))
        status, peak = support.wait_until(r.status), support.peak_bytes(r.pid)
        group.check()
        self.assertEqual(r.stop(), 0, r.said())
        support.note("resident MiB, every fifth second: " +
                     " ".join(f"{n >> 20}" for n in readings[::5]))
        support.note(f"{status['samples']} samples in {SECONDS} s; resident: most {peak / 2**20:.1f} MiB")
        self.assertLess(peak, 64 << 20)
        support.check_flat(self, "the recorder's", readings)
        self.verify()

    def another(self, script, **env):
        """A test whose number is told by its environment, with more of it."""
        here = os.path.dirname(os.path.abspath(__file__))
        r = subprocess.run([sys.executable, os.path.join(here, script)], text=True, stdout=subprocess.PIPE, env={**os.environ, **env})
        for line in r.stdout.splitlines():
            if line.startswith("#"):
                print(line, flush=True)
        self.assertEqual(r.returncode, 0, r.stdout[-2000:])

    def test_many_kills(self):
        self.another("test_killed.py", PERFCAM_KILLS=KILLS)

    def test_many_races(self):
        self.another("test_stop.py", PERFCAM_RACES=RACES)


support.main()
