#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program says what it is, and a wrong command line ends with exit 2 and one line."""
import unittest

import tap


class Usage(unittest.TestCase):
    def test_version(self):
        r = tap.perfcam("--version")
        self.assertEqual(r.returncode, 0)
        self.assertRegex(r.stdout.decode(), r"^perfcam \d+\.\d+\.\d+\n$")

    def test_help_goes_to_stdout(self):
        r = tap.perfcam("--help")
        self.assertEqual(r.returncode, 0)
        self.assertIn(b"perfcam", r.stdout)
        self.assertEqual(r.stderr, b"")

    def test_unknown_verb_is_a_usage_error(self):
        r = tap.perfcam("no-such-verb")
        self.assertEqual(r.returncode, 2)
        self.assertEqual(r.stdout, b"")
        self.assertEqual(r.stderr.count(b"\n"), 1)
        self.assertIn(b"no-such-verb", r.stderr)


tap.main()
