# SPDX-License-Identifier: Apache-2.0
"""Rows of the one table that `make bench` ends with (tools/bench-table prints it).

A row is a claim: perfcam and a peer did the same work in one run, and one of the two numbers is so many times the other. Every pair is
kept, so that the table can say how far they lie apart.
"""
import json
import os


def row(part, what, ours, theirs, peer, unit, aim=None, less=True, how="measured"):
    """ours, theirs: lists of equal length, one pair a run (theirs: None where there is no peer). aim: how many times less (or, not less,
    more) it should be; without a peer: the most (or least) of ours. how: "measured", "replayed" or a word on why not."""
    path = os.environ.get("BENCH_ROWS")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"part": part, "what": what, "ours": ours, "theirs": theirs, "peer": peer, "unit": unit, "aim": aim,
                                "less": less, "how": how}) + "\n")


def point(chart, x, y, unit, what):
    """One point of a curve of how cost grows."""
    path = os.environ.get("BENCH_ROWS")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"chart": chart, "x": x, "y": y, "unit": unit, "what": what}) + "\n")
