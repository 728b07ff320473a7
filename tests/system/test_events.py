#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of the kernel's log become events of the recording, whatever is in them and however many there are."""
import json
import os
import time

import support
from dump import Store
from support import note, perfcam, wait_until


def tell_kernel(*lines):
    """As the kernel's log takes them: ten from one opening, by its own rate limit."""
    for i in range(0, len(lines), 10):
        fd = os.open("/dev/kmsg", os.O_WRONLY)
        for line in lines[i:i + 10]:
            os.write(fd, line.encode() + b"\n")
        os.close(fd)


def mine(events, mark):
    return [e for e in events if mark in e["text"]]


class Events(support.Case):
    def mark(self, what):
        return f"{what}-{os.getpid()}-{time.monotonic_ns()}"

    def test_a_line_is_there_within_a_second_and_only_once(self):
        first, between, second = (self.mark(w) for w in ("first", "between", "second"))
        r = self.recorder().ready()
        time.sleep(1)
        told = time.monotonic()
        tell_kernel(f"<2>{first} \x1b[31mred password=hunter2")

        def shown():
            at = perfcam("at", "-1s", "--around", "5s", "--json", "--store", self.store)
            return mine(json.loads(at.stdout)["events"], first) if at.returncode in (0, 3) else []

        self.assertTrue(wait_until(shown, 5))
        note(f"an event was readable {time.monotonic() - told:.2f} s after it was written")
        [event] = shown()
        self.assertEqual(event["text"], f"{first} \x1b[31mred password=[redacted]")
        self.assertRegex(event["id"], "^ev-[0-9a-f]{12}$")
        # The terminal is not obeyed, and the id leads back to the moment.
        text = perfcam("at", "--event", event["id"], "--store", self.store).stdout
        self.assertIn(first, text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(r.stop(), 0)
        # While nobody records …
        tell_kernel(f"{between}")
        r = self.recorder().ready()
        tell_kernel(f"{second}: segfault at 0 ip 0 sp 0 error 4")
        time.sleep(1.5)
        self.assertEqual(r.stop(), 0)
        events = Store(self.store).events
        for mark in (first, between, second):
            self.assertEqual(len(mine(events, mark)), 1, mark)
        [early], [late] = mine(events, between), mine(events, second)
        self.assertLess(early["time"], late["time"])
        self.assertEqual(late["severity"], 4, "a segfault is a warning, whatever its level")

    def test_a_flood_costs_no_sample(self):
        mark = self.mark("flood")
        r = self.recorder("--max-cpu", "none").ready()
        time.sleep(1)
        before = r.status()["samples"]
        start, sent = time.monotonic(), 0
        while time.monotonic() - start < 3:
            tell_kernel(*(f"<6>{mark} {sent + i} and what else such lines have" for i in range(100)))
            sent += 100
            time.sleep(max(0, sent / 10000 - (time.monotonic() - start)))
        rate = sent / (time.monotonic() - start)
        note(f"{rate:.0f} lines a second, {sent} in all")
        time.sleep(1)
        self.assertGreater(r.status()["samples"], before)
        self.assertEqual(r.stop(), 0)
        store = Store(self.store)
        for window in self.windows():
            self.assertEqual(window["lost"], 0, window)
        kept = mine(store.events, mark)
        self.assertGreater(len(kept), 500)
        self.assertLess(len(kept), 1300)
        told = [e for e in store.events if e["source"] == "perfcam" and "left out" in e["text"]]
        self.assertGreaterEqual(sum(int(e["text"].split()[1]) for e in told) + len(kept), sent)


support.main()
