#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor: names what is in the way, of the host and of the running recorder, each with a remedy."""
import json
import os
import re
import time

import support
import synth
import tap
from fake_recorder import STATUS, FakeRecorder
from support import Case


class Doctor(Case):
    def test_the_manual_has_a_remedy_for_each_loss(self):
        """What doctor says of a ledger's causes is a row of docs/operations.md, in the same words."""
        with open(os.path.join(support.SOURCE, "src", "cli", "cmd_doctor.c"), encoding="utf-8") as f:
            said = re.findall(r'\{CAM_CAUSE_(\w+),\s+\{"([^"]+)\.",', f.read())
        self.assertGreater(len(said), 5)
        with open(os.path.join(support.SOURCE, "docs", "operations.md"), encoding="utf-8") as f:
            rows = [line for line in f if line.startswith("| ")]
        for cause, words in said:
            self.assertTrue([row for row in rows if row.startswith(f"| {words} ({cause.lower()}) | ")], words)

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
            self.assertTrue([f for f in self.ask({}, names={key: 1}) if "1 file " in f["finding"]], key)
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

    def test_rates_and_machines_have_their_price(self):
        """A finding of the rate only where it is dear; of the PMU where the kernel shows none."""
        for hz, dear in ((97, False), (1999, True)):
            config = self.path(f"{hz}.conf", f"frequency = {hz}\n".encode())
            found = json.loads(self.good("doctor", "--json", "--config", config, "--store",
                                         self.path("none")))["findings"]
            rate = [f for f in found if f"{hz} samples a second" in f["finding"]]
            self.assertEqual(len(rate), dear)
            self.assertTrue(all("8.5 %" in f["cost"] and "97" in f["remedy"] for f in rate), rate)
            devices = os.listdir("/sys/bus/event_source/devices")
            pmu = [f for f in found if "no PMU" in f["finding"]]
            self.assertEqual(len(pmu), not {"cpu", "cpu_core"} & set(devices))
            self.assertTrue(all("interrupts off" in f["cost"] for f in pmu), pmu)

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

    def test_each_kind_of_program_has_its_remedy(self):
        """Unnamed code made at run time, a JVM's broken stacks, a stripped file that a package owns, the kernel's."""
        jit = b"\t    7f0000001%03x [unknown] (/tmp/perf-%d.map)\n"
        start = b"\t          401000 _start+0x1 (/usr/bin/%s)\n"
        hidden = b"\t          402%03x [unknown] (/usr/bin/bash)\n"
        kernel = b"\tffffffff81000%03x [unknown] ([kernel.kallsyms])\n"
        programs = (  # comm, frames, what its findings' remedies must say
            (b"node", lambda i: jit % (i, 101) * 3 + start % b"node",
             ["--perf-basic-prof-only-functions"]),
            (b"java", lambda i: jit % (i, 102) * 3,
             ["--java-maps", "-XX:+PreserveFramePointer", "-XX:-Inline", "-XX:MaxInlineSize"]),
            (b"other", lambda i: jit % (i, 103) * 3 + start % b"other", ["/tmp/perf-PID.map"]),
            (b"bash", lambda i: kernel % i + hidden % i * 3 + start % b"bash", ["bash-dbgsym", "resymbolise"]),
        )
        captured = time.strftime("%a %b %d %H:%M:%S %Y")
        text = synth.header(captured=captured, last_us=1_002_000_000)
        for i in range(800):
            comm, frames, _ = programs[i % 4]
            text += synth.Sample(comm, 101 + i % 4, i % 2, 1_000_000_000 + i * 2500, []).head() + frames(i) + b"\n"
        self.good("import", self.path("in.txt", text), "--store", self.path("store"))
        found = json.loads(self.good("doctor", "--last", "48h", "--json", "--store", self.path("store")))["findings"]
        for comm, _, remedies in programs:
            own = " ".join(f["remedy"] for f in found if f["finding"].startswith(comm.decode() + ":"))
            for words in remedies:
                self.assertIn(words, own)
        self.assertTrue([f for f in found if "kernel's frames are unnamed" in f["finding"]
                         and "kptr_restrict" in f["remedy"]], found)

    def test_says_that_nobody_records(self):
        os.makedirs(self.path("store"), exist_ok=True)
        self.assertIn(b"No recorder runs", self.good("doctor", "--store", self.path("store")))


tap.main()
