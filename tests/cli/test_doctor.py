#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: names what is in the way, of the host and of the running recorder, each with a remedy."""
import json
import os
import time

import support
import synth
import tap
from fake_recorder import STATUS, FakeRecorder
from support import Case


class Doctor(Case):
    def ask(self, by_cause, **more):
        store = self.path("store")
        os.makedirs(store, exist_ok=True)
        text = json.dumps({"by_cause": by_cause, **more}).encode()
        with FakeRecorder(store, lambda verb, *_: (0, text) if verb == STATUS else (22, b"")):
            return json.loads(self.good("doctor", "--json", "--store", store))["findings"]

    def test_names_other_bpf_code(self):
        found = self.ask({"blocked": 31, "idle": 5, "unexplained": 7})
        ours = [f for f in found if f.get("samples")]
        self.assertEqual([f["samples"] for f in ours], [31])
        self.assertIn("BPF", ours[0]["finding"])
        self.assertIn("--source perf", ours[0]["remedy"])

    def test_shows_what_the_verifier_said(self):
        stacks = {"how": "unwound in the kernel (plain loop)", "verifier": "BPF program is too large."}
        found = [f for f in self.ask({}, stacks=stacks) if "verifier" in f["finding"]]
        self.assertEqual(len(found), 1)
        self.assertIn("BPF program is too large.", found[0]["remedy"])
        self.assertIn("plain loop", found[0]["cost"])
        self.assertFalse([f for f in self.ask({}, stacks={"how": "x"}) if "verifier" in f["finding"]])

    def test_files_that_are_not_read_are_named_with_a_remedy(self):
        """One finding for each of them, and none without."""
        for key, finding, remedy in (("left_out_files", "too large", "-g1"),
                                     ("elsewhere_files", ".dwo", "-gsplit-dwarf"),
                                     ("symbols_only_files", "could not be read", "damaged")):
            found = [f for f in self.ask({}, names={key: 3}) if "3 files" in f["finding"]]
            self.assertEqual(len(found), 1, key)
            self.assertIn(finding, found[0]["finding"])
            self.assertIn(remedy, found[0]["remedy"])
            self.assertTrue(found[0]["cost"])
        self.assertFalse([f for f in self.ask({}, names={}) if "files" in f["finding"]])

    def test_idle_and_late_timers_are_no_illness(self):
        self.assertEqual([f for f in self.ask({"idle": 500, "unexplained": 9}) if f.get("samples")], [])

    def test_without_capabilities_each_missing_one_has_a_remedy(self):
        if os.geteuid():
            self.fail("runs as root")
        os.makedirs(self.path("store"), exist_ok=True)
        os.chmod(self.dir, 0o755)
        r = support.run("doctor", "--json", "--store", self.path("store"), user=65534)
        self.assertEqual(r.code, 0, r.err)
        found = json.loads(r.out)["findings"]
        text = " ".join(f["finding"] for f in found)
        for missing in ("CAP_SYSLOG", "CAP_SYS_PTRACE", "CAP_CHECKPOINT_RESTORE",
                        "CAP_DAC_READ_SEARCH"):
            self.assertIn(missing, text)
        for f in found:
            self.assertTrue(f["cost"] and f["remedy"], f)

    def judged(self, samples):
        text = synth.text_of(samples, captured=time.strftime("%a %b %d %H:%M:%S %Y"))
        self.good("import", self.path("in.txt", text), "--store", self.path("store"))
        said = json.loads(self.good("doctor", "--last", "48h", "--json", "--store", self.path("store")))
        return said["stacks"], said["findings"]

    def test_stacks_are_judged_by_where_they_end(self):
        """Whether each is broken is computed here from the issue's rule: fewer than 3 frames, or no root."""
        samples = synth.recording(5, 20, 97)
        for i, s in enumerate(samples):
            if s.comm == b"worker-7" and i % 3:
                s.frames = s.frames[:-1]  # does not reach _start
        roots = (b"_start", b"main", b"start_thread", b"clone")
        whole = sum(len(s.frames) >= 3 and s.frames[-1] in roots for s in samples)
        stacks, findings = self.judged(samples)
        self.assertEqual(stacks["samples"], len(samples))
        self.assertEqual(stacks["complete"], whole)
        self.assertEqual(stacks["user_frames"], sum(len(s.frames) for s in samples))
        self.assertEqual(stacks["user_unnamed"], 0)
        for p in stacks["processes"]:
            own = [s for s in samples if s.comm == p["comm"].encode()]
            self.assertEqual(p["samples"], len(own))
        worst = [f for f in findings if f["finding"].startswith("worker-7")]
        self.assertEqual(len(worst), 1)
        self.assertIn("-fno-omit-frame-pointer", worst[0]["remedy"])

    def test_says_that_nobody_records(self):
        os.makedirs(self.path("store"), exist_ok=True)
        self.assertIn(b"No recorder runs", self.good("doctor", "--store", self.path("store")))


tap.main()
