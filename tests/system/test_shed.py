#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A CPU budget that cannot be kept at the rate asked for: the rate goes down, and that is said."""
import time

import support
from dump import Store

SECOND = 1_000_000_000


class Shed(support.Case):
    def test_it_sheds_to_keep_its_budget(self):
        self.start(support.workload("manystacks"), "60")
        r = self.recorder("-F", "4999", "--max-cpu", "0.1%").ready()
        # It is far above: that takes seconds, once the start is over, not the ten of each step and the thirty of a start.
        shed = support.wait_until(lambda: r.status()["shedding"], 15)
        self.assertTrue(shed, r.said())
        time.sleep(12)
        status = r.status()
        self.assertLess(status["hz"], 4999 / 8)
        self.assertEqual(status["wanted_hz"], 4999)
        self.assertNotIn("sampling rate raised", r.said())
        self.assertEqual(r.stop(), 0, r.said())
        dump = Store(self.store, samples=False)
        self.assertTrue(any("lowered" in e["text"] for e in dump.events), dump.events)
        support.note(f"{dump.missing('shed')} samples shed; {shed}, {status['hz']} Hz after "
                     f"{status['uptime_ns'] / SECOND:.0f} s")
        self.assertGreater(dump.missing("shed"), 1000)
        self.verify()


support.main()
