#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make test-kernels: the recorder on Debian's own kernel, in a virtual machine; prints TAP.

    tests/kernels/run.py [NAME...]     cases whose name holds one of the names

No KVM is needed; a boot takes about 10 s. What only another kernel, another state of a machine or its end
can show is tested here: a CPU that goes and comes back, a stepped clock, a suspend, a power cut.

A machine within a machine stands still while its host does other things, and so do its timers: the cases of a
class that failed are run once more, on new recordings, and what failed the first time is printed.
"""
import contextlib
import glob
import importlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machine  # noqa: E402
import tap  # noqa: E402

MODULES = [importlib.import_module(os.path.basename(path)[:-3]) for path in sorted(
    glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "case_*.py")))]
NOT_RUN = {"event cycles": "QEMU's TCG has no PMU"}


class Twice(unittest.TestSuite):
    """The cases of a class, tried again if one of them fails."""
    _cleanup = False  # they are kept, to be run again

    def run(self, result, debug=False):
        first = type(result)()
        first.number = result.number
        with contextlib.redirect_stdout(io.StringIO()) as said:
            super().run(first, debug)
        if first.wasSuccessful():
            print(said.getvalue(), end="", flush=True)
            result.number = first.number
            return result
        for line in said.getvalue().splitlines():
            print(f"# tried again, since it failed: {line}", flush=True)
        return super().run(result, debug)


def cases(suite, names):
    """The single cases of a suite, in order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from cases(test, names)
        elif not names or any(n in test.id() for n in names):
            yield test


def main():
    loader = unittest.defaultTestLoader
    try:
        tap.run(unittest.TestSuite(
            Twice(cases(loader.loadTestsFromModule(m), sys.argv[1:])) for m in MODULES))
    finally:
        machine.close()
        for name, why in NOT_RUN.items():
            print(f"# not run here: {name}: {why}", flush=True)


main()
