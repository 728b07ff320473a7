#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More CPUs than there are: what this machine recorded, re-based to 96 and 512 CPUs and played through the
recorder's own path; and 20,000 threads with a million distinct stacks a minute. tools/bench-replay plays minutes."""
import json
import os
import subprocess

import support

REPLAY = os.path.join(os.path.dirname(support.BIN), "tests", "bench", "replay")
RESIDENT_MIB = 64


class Replay(support.Case):
    def replay(self, *args):
        r = subprocess.run([REPLAY, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=200)
        self.assertEqual(r.returncode, 0, r.stderr)
        return json.loads(r.stdout) if r.stdout else None

    def check(self, found, due, all_fits=True):
        """Nothing is lost (or, where not all fits, a tenth at most), it keeps up (by CPU time: others may use this machine), and has its memory."""
        support.note(json.dumps(found))
        self.assertGreater(found["samples"] + found["idle"], 0.9 * due)
        self.assertEqual(found["dropped"], 0, found)
        if all_fits:
            self.assertEqual(found["refused"], 0, found)
        self.assertLess(found["lag_ms"], 200, found)
        self.assertLess(found["resident_mib"], RESIDENT_MIB, found)
        self.verify()

    def play(self, cpus, seconds, all_fits=True):
        global _tape
        if not _tape:
            _tape = os.path.join(support.keep_directory(), "tape")
            self.start(support.workload("builds"), "4", stdout=subprocess.DEVNULL)
            self.replay("record", _tape, "2")
        self.check(self.replay("play", _tape, str(cpus), str(seconds), self.store), cpus * seconds * 97, all_fits)

    def test_96_cpus(self):
        self.play(96, 20)

    def test_512_cpus(self):
        """The tape is of all that runs here: 256 times a storm of others' forks may be more than the queue holds, and is counted."""
        self.play(512, 10, all_fits=False)

    def test_20000_threads_20000_forks_a_second_and_no_stack_twice(self):
        found = self.replay("stress", "8", self.store)
        self.check(found, 192 * 8 * 97)
        self.assertGreater(found["samples"] / 8 * 60, 1_000_000)


_tape = None
support.main()
