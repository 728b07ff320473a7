#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/run-tests counts what it should: a program that dies or skips is never a success."""
import importlib.machinery
import importlib.util
import contextlib
import io
import os
import re
import sys
import unittest

SOURCE = os.environ["PERFCAM_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import tap  # noqa: E402


def load():
    path = os.path.join(SOURCE, "tools", "run-tests")
    loader = importlib.machinery.SourceFileLoader("run_tests", path)
    spec = importlib.util.spec_from_loader("run_tests", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


RUNNER = load()


class Counting(unittest.TestCase):
    def count(self, stdout, result="OK", returncode=0):
        entry = {"name": "t", "stdout": stdout, "result": result, "returncode": returncode}
        with contextlib.redirect_stdout(io.StringIO()):
            return RUNNER.report(entry, [])

    def judge(self, name, first, second):
        """(passed, failed, exit status), what meson was asked at the end, and what was said, when the second try gives this."""
        asked, had = [], (RUNNER.subprocess.run, RUNNER.read_log)
        RUNNER.subprocess.run = lambda command, **_: asked.append(command[-1])
        RUNNER.read_log = lambda log: second
        verdict = RUNNER.Verdict()
        try:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                entry = {"name": name, "stdout": first, "result": "FAIL", "returncode": 1}
                verdict.judge("nowhere", ["x"], [entry], 1)
                self.assertEqual(asked, [], "not before everything else is over")
                status = verdict.finish()
            return (verdict.passed, verdict.failed, status), asked, said.getvalue()
        finally:
            RUNNER.subprocess.run, RUNNER.read_log = had

    def test_what_is_live_is_tried_again_and_that_is_said(self):
        bad, good = "1..1\nnot ok 1 - a\n", {"name": "second", "stdout": "1..1\nok 1 - a\n", "result": "OK"}
        for suite in ("system", "alone", "unit+live", "cli", "browser", "packaging"):
            counts, asked, said = self.judge(f"perfcam:{suite} / system_x.py", bad, [good])
            self.assertEqual((counts, asked), ((1, 0, 0), ["system_x.py"]))
            self.assertIn("tried again, alone, since it failed: a", said)
        for name in ("perfcam:unit / test_x", "perfcam:fuzz / fuzz_x", "perfcam:lint / check-x"):
            counts, asked, said = self.judge(name, bad, [good])
            self.assertEqual((counts, asked), ((0, 1, 1), []))
            self.assertEqual(said.splitlines()[-2:], [f"failed: {name.split()[-1]}: a", "0 passed, 1 failed"])

    def test_every_suite_is_run(self):
        """Of those that a meson.build names; what is in none of run-tests' lists would never run."""
        named = set()
        for top in ("tests", "fuzz"):
            for folder, _, files in os.walk(os.path.join(SOURCE, top)):
                if "meson.build" not in files or "node_modules" in folder:
                    continue
                with open(os.path.join(folder, "meson.build"), encoding="utf-8") as f:
                    text = f.read()
                named.update(re.findall(r"suite: '(\w+)'", text))
                for table in re.findall(r"foreach suite, names : \{(.*?)\}", text):
                    named.update(re.findall(r"'(\w+)':", table))
        self.assertIn("packaging", named)
        beside = {suite for _, suites in RUNNER.BESIDE for suite in suites}
        self.assertEqual(named - set(RUNNER.SIDE_BY_SIDE) - set(RUNNER.ONE_BY_ONE) - set(RUNNER.SANITIZED) - beside,
                         {"long"})

    def test_what_a_machine_cannot_run_is_said_by_name(self):
        entries = [{"name": "perfcam:system / x.py", "stdout": "# not run here: bpf: refused\n1..1\nok 1 - a\n"},
                   {"name": "perfcam:cli / y.py", "stdout": "1..1\nok 1 - not run\n"}]
        self.assertEqual(RUNNER.left_out(entries), ["x.py: not run here: bpf: refused"])

    def test_what_fails_twice_has_failed(self):
        bad = "1..2\nok 1 - b\nnot ok 2 - a\n"
        second = {"name": "perfcam:system / system_x.py", "stdout": bad, "result": "FAIL", "returncode": 1}
        for again in ([second], []):  # none: it says nothing, and leaves the first
            counts, _, said = self.judge("perfcam:system / system_x.py", bad, again)
            self.assertEqual(counts, (1, 1, 1))
            self.assertEqual(said.splitlines()[-2:], ["failed: system_x.py: a", "1 passed, 1 failed"])

    def test_nothing_that_ran_is_no_success(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(RUNNER.Verdict().finish(), 1)
        self.assertEqual(said.getvalue(), "failed: no test ran\n0 passed, 1 failed\n")

    def test_what_fails_or_is_missing_beside_others_counts(self):
        had = RUNNER.run, RUNNER.build
        calls = []

        def run(directory, suites, polite=False):
            calls.append((directory, suites[0]))
            self.assertEqual(polite, (directory, suites) in RUNNER.BESIDE)
            text = "1..1\nnot ok 1 - a\n" if directory == "build-asan" else "1..2\nok 1\nok 2\n"
            return [{"name": "perfcam:unit / t", "stdout": text, "result": "OK", "duration": 30,
                     "returncode": 0}], 1
        try:
            RUNNER.run = run
            for asan, counts in ((True, (8, 3)), (False, (8, 1))):
                calls.clear()
                RUNNER.build = lambda directory, *_, asan=asan, **__: directory == "build" or asan
                verdict = RUNNER.Verdict()
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    RUNNER.run_all(verdict)
                self.assertEqual((verdict.passed, verdict.failed), counts)
                self.assertEqual({c for c in calls if c[0] == "build-asan"},
                                 {("build-asan", "unit"), ("build-asan", "seconds"), ("build-asan", "live")} if asan else set())
                self.assertEqual([c for c in calls if c[0] == "build" and c[1] != "lint"],
                                 [("build", "unit"), ("build", "system"), ("build", "alone")])
                for before in [("build", "lint")] + [("build-asan", "live")] * asan:
                    self.assertLess(calls.index(before), calls.index(("build", "alone")))
                self.assertIn("slowest: t 30 s", said.getvalue())
        finally:
            RUNNER.run, RUNNER.build = had

    def test_all_pass(self):
        self.assertEqual(self.count("1..2\nok 1 - a\nok 2 - b\n"), (2, 0))

    def test_plan_last(self):
        self.assertEqual(self.count("ok 1 - a\nok 2\n1..2\n"), (2, 0))

    def test_one_fails(self):
        self.assertEqual(self.count("1..2\nok 1 - a\nnot ok 2 - b\n", "FAIL", 1), (1, 1))

    def test_skip_fails(self):
        self.assertEqual(self.count("1..2\nok 1 - a\nok 2 - b # SKIP no root\n"), (1, 1))

    def test_short_plan_fails(self):
        self.assertEqual(self.count("1..3\nok 1 - a\n", "ERROR", -11), (1, 1))

    def test_no_output_fails(self):
        self.assertEqual(self.count("", "FAIL", 1), (0, 1))
        self.assertEqual(self.count("", "OK", 0), (0, 1))

    def test_empty_plan_fails(self):
        self.assertEqual(self.count("1..0 # skipped\n", "SKIP"), (0, 1))

    def test_crash_after_the_last_case_fails(self):
        self.assertEqual(self.count("1..1\nok 1 - a\n", "ERROR", 1), (1, 1))

    def test_timeout_fails(self):
        self.assertEqual(self.count("1..1\nok 1 - a\n", "TIMEOUT", -9), (1, 1))


tap.main()
