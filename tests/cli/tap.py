# SPDX-License-Identifier: Apache-2.0
"""Runs unittest cases and prints TAP, for the tests of this directory.

    import tap, unittest
    class Usage(unittest.TestCase):
        def test_version(self):
            r = tap.perfcam("--version")
            self.assertEqual(r.returncode, 0)
    tap.main()

A skipped case is reported as failed: this project has no skipped tests. Of one that takes long it is said how long.
"""
import os
import subprocess
import sys
import time
import unittest

DATA = os.environ.get("PERFCAM_TEST_DATA", "")
BIN = os.environ.get("PERFCAM_BIN", "build/perfcam")
SLOW_SECONDS = 2


def perfcam(*args, stdin=None, timeout=120, env=None):
    """Runs the program; stdin and the two outputs are bytes."""
    return subprocess.run(
        [BIN, *args],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=timeout,
        env={**os.environ, **(env or {})},
    )


class _Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic(), sum(os.times()[:4])

    def stopTest(self, test):
        super().stopTest(test)
        took, cpu = time.monotonic() - self.began[0], sum(os.times()[:4]) - self.began[1]
        if took >= SLOW_SECONDS:
            print(f"# that took {took:.1f} s, {cpu:.1f} s of CPU in what has ended", flush=True)

    def _line(self, word, test, detail=""):
        self.number += 1
        name = str(getattr(test, "_testMethodName", test)).replace("#", "")
        print(f"{word} {self.number} - {name}", flush=True)
        for line in detail.splitlines():
            print(f"# {line}", flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._line("not ok", test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._line("not ok", test, self.errors[-1][1])

    def addSkip(self, test, reason):
        self.failures.append((test, reason))
        self._line("not ok", test, "skipped: " + reason)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.failures.append((subtest, str(err[1])))
            self._line("not ok", subtest, f"{subtest}: {err[1]}")

    def addExpectedFailure(self, test, err):
        self.addFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.failures.append((test, "unexpected success"))
        self._line("not ok", test, "unexpected success")


def main():
    run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))


def run(suite):
    """Prints the results of a suite, and exits."""
    result = _Result()
    suite.run(result)
    print(f"1..{result.number}", flush=True)
    sys.exit(0 if result.wasSuccessful() and result.number else 1)
