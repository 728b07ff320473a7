#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make test-kernels: the recorder on Debian's own kernel, in a virtual machine; prints TAP.

    tests/kernels/run.py [NAME...]     cases whose name holds one of the names

No KVM is needed; a boot takes about 10 s. What only another kernel, another state of a machine or its end
can show is tested here: a CPU that goes and comes back, a stepped clock, a suspend, a power cut.
"""
import glob
import importlib
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import machine  # noqa: E402
import tap  # noqa: E402

MODULES = [importlib.import_module(os.path.basename(path)[:-3]) for path in sorted(
    glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "case_*.py")))]
NOT_RUN = {"event cycles": "QEMU's TCG has no PMU"}


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
            test for m in MODULES for test in cases(loader.loadTestsFromModule(m), sys.argv[1:])))
    finally:
        machine.close()
        for name, why in NOT_RUN.items():
            print(f"# not run here: {name}: {why}", flush=True)


main()
