#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program says what it is, and a wrong command line ends with exit 2 and one line."""
import os
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

    def test_a_verb_starts_without_what_nobody_uses(self):
        """GnuTLS and what it brings along; here the static libmicrohttpd is installed (tools/packages)."""
        libraries = tap.perfcam("--version", env=dict(os.environ, LD_TRACE_LOADED_OBJECTS="1")).stdout
        self.assertIn(b"libzstd", libraries)
        for unused in (b"tls", b"p11", b"microhttpd"):
            self.assertNotIn(unused, libraries)

    def test_unknown_verb_is_a_usage_error(self):
        r = tap.perfcam("no-such-verb")
        self.assertEqual(r.returncode, 2)
        self.assertEqual(r.stdout, b"")
        self.assertEqual(r.stderr.count(b"\n"), 1)
        self.assertIn(b"no-such-verb", r.stderr)

    def said(self, *arguments):
        r = tap.perfcam(*arguments)
        self.assertEqual((r.returncode, r.stdout, r.stderr.count(b"\n")), (2, b"", 1), r.stderr)
        return r.stderr.decode()

    def test_what_was_most_likely_meant_is_said(self):
        for arguments, meant in ((("flmae",), "is it flame?"), (("repot",), "is it report?"), (("heatmaps",), "is it heatmap?"),
                                 (("flame", "--witdh=3"), "is it --width?"), (("top", "--hlep"), "is it --help?"),
                                 (("flame", __file__, "--text"), "say -i " + __file__),
                                 (("flame", "-i", "x", "-o", "x.png"), ".svg and .html"),
                                 (("heatmap", "-i", "x", "-o", "x.pdf"), ".svg and .png"),
                                 (("script", "03:14", "03:15"), "not also '03:15'")):
            with self.subTest(arguments):
                self.assertIn(meant, self.said(*arguments))
        for far in ("frame-graph", "--at"):
            self.assertNotIn("is it", self.said(far))

    def test_help_of_a_verb(self):
        self.assertEqual(tap.perfcam("help", "diff").stdout, tap.perfcam("diff", "--help").stdout)
        self.assertIn("unknown verb", self.said("help", "me"))


tap.main()
