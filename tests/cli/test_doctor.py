#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: names what is in the way, of the host and of the running recorder, each with a remedy."""
import json
import os

import support
import tap
from fake_recorder import STATUS, FakeRecorder
from support import Case


class Doctor(Case):
    def ask(self, by_cause):
        store = self.path("store")
        os.makedirs(store, exist_ok=True)
        text = json.dumps({"by_cause": by_cause}).encode()
        with FakeRecorder(store, lambda verb, *_: (0, text) if verb == STATUS else (22, b"")):
            return json.loads(self.good("doctor", "--json", "--store", store))

    def test_names_other_bpf_code(self):
        found = self.ask({"blocked": 31, "idle": 5, "unexplained": 7})
        ours = [f for f in found if f.get("samples")]
        self.assertEqual([f["samples"] for f in ours], [31])
        self.assertIn("BPF", ours[0]["finding"])
        self.assertIn("--source perf", ours[0]["remedy"])

    def test_idle_and_late_timers_are_no_illness(self):
        self.assertEqual([f for f in self.ask({"idle": 500, "unexplained": 9}) if f.get("samples")], [])

    def test_without_capabilities_each_missing_one_has_a_remedy(self):
        if os.geteuid():
            self.fail("runs as root")
        os.makedirs(self.path("store"), exist_ok=True)
        os.chmod(self.dir, 0o755)
        r = support.run("doctor", "--json", "--store", self.path("store"), user=65534)
        self.assertEqual(r.code, 0, r.err)
        found = json.loads(r.out)
        text = " ".join(f["finding"] for f in found)
        for missing in ("CAP_SYSLOG", "CAP_SYS_PTRACE", "CAP_CHECKPOINT_RESTORE",
                        "CAP_DAC_READ_SEARCH"):
            self.assertIn(missing, text)
        for f in found:
            self.assertTrue(f["cost"] and f["remedy"], f)

    def test_says_that_nobody_records(self):
        os.makedirs(self.path("store"), exist_ok=True)
        self.assertIn(b"No recorder runs", self.good("doctor", "--store", self.path("store")))


tap.main()
