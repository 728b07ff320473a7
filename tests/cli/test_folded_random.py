#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random perf script texts: folded straight from the text and through a store they give the same
lines; with PEERS=DIR they are also compared with the stackcollapse-perf.pl in that directory."""
import os
import random
import sys
import tempfile
import unittest

import tap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import differential  # noqa: E402

TEXTS = 200


class Random(unittest.TestCase):
    def test_a_store_changes_nothing(self):
        for number in range(TEXTS):
            r = random.Random(f"store.{number}")
            text = differential.random_text(r)
            options, _ = r.choice(differential.SETS)
            with tempfile.TemporaryDirectory() as d:
                path = os.path.join(d, "text")
                with open(path, "wb") as f:
                    f.write(text)
                store = os.path.join(d, "store")
                done = tap.perfcam("import", "--store", store, path)
                self.assertEqual(done.returncode, 0, done.stderr)
                direct = tap.perfcam("export", "folded", "-i", path, *options)
                stored = tap.perfcam("export", "folded", "--store", store, "--weight", "period", *options)
                self.assertEqual((direct.returncode, stored.returncode), (0, 0), f"text store.{number}")
                self.assertEqual(direct.stdout, stored.stdout, f"text store.{number}, {options}")

    if os.environ.get("PEERS"):

        def test_the_peer_says_the_same(self):
            for number in range(TEXTS):
                text = differential.random_text(random.Random(f"peer.{number}"))
                for ours, peers in differential.SETS:
                    self.assertIsNone(differential.compare(text, ours, peers), f"text peer.{number}")


tap.main()
