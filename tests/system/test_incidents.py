#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short form of `make incidents`: services at work, two seconds of a spinning stranger and two of a daemon that reads
/proc; `perfcam why` must name both, and at moments when nothing happened name nobody. Another seed each time: it is
printed, and PERFCAM_SEED repeats it."""
import os
import random
import sys

import support

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "incidents"))
import judge  # noqa: E402
import record  # noqa: E402

QUIET = 10
ALARMS = 3  # something that is new within a minute is seen from three moments, 4 s apart


class Incidents(support.Case):
    def test_the_culprits_are_found_and_the_innocent_left_alone(self):
        seed = int(os.environ.get("PERFCAM_SEED") or random.randrange(10**6))
        support.note(f"seed {seed}")
        out = os.path.join(self.dir, "recording")
        truth = record.segment(out, seed, ["--kinds", "spin,proc", "--incidents", "2", "--lengths", "2", "--gap", "18",
                                           "--quiet", "40", "--tail", "6"])
        self.assertEqual({i["kind"] for i in truth["incidents"]}, {"spin", "proc"}, truth)
        rows = judge.judge(out, quiet=QUIET)
        for line in judge.table(rows):
            support.note(line)
        culprits = [r for r in rows if r["processes"]]
        self.assertEqual([r["rank"] for r in culprits], [1, 1], culprits)
        # A minute of history is little to call something unusual by: one of them must be.
        self.assertGreaterEqual(judge.first(culprits), 1, culprits)
        quiet = [r for r in rows if r["kind"] == "quiet"]
        self.assertGreaterEqual(len(quiet), 5)
        self.assertLessEqual(judge.alarms(quiet), ALARMS, quiet)


support.main()
