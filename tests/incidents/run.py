#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make incidents`: records fresh incidents, asks `perfcam why` about each, and prints how often it is right. As root,
about an hour.

    run.py [--brief] [--json OUT]

    INCIDENTS=48    how many
    SEED=N          repeats a sequence; without it another one each time. What the machine does is never the same
    KEEP=DIR        keeps the recording there, for judge.py; it is about 20 MB

Exit status 1: a share is below (or above) the aim that is printed with it. With --brief, as `make bench` has it (tools/bench-incidents): 16 incidents, close to
each other, in 10 minutes. One miss of so few is not below 90 % of anything: it fails where the 95 % interval of a share excludes the aim.
"""
import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile

import judge
import record

INCIDENT_S = 5  # about, with waiting for the gzip
QUIET_S = 60
# incidents, seconds from the end of one to the next, seconds after the last, quiet moments at most
LONG = 48, 32, 1800, 800  # 3 % of 600 is known to be below 5
BRIEF = 16, 16, 120, 100


def held(rows, brief):
    """(what, of them, all, aim, whether it is held), for each aim."""
    one_core = [r for r in rows if r["kind"] in judge.ON_ONE_CORE and r["length"] >= .5]
    quiet = [r for r in rows if r["kind"] == "quiet"]
    for what, n, of, aim, least in (("culprits on one core for 0.5 s and more: first", judge.first(one_core), len(one_core), .9, True),
                                    ("in the top three", judge.top(one_core), len(one_core), .97, True),
                                    ("false alarms", judge.alarms(quiet), len(quiet), .05, False)):
        low, high = judge.wilson(n, of) if brief else (n / of, n / of) if of else (0, 1)
        yield what, n, of, aim, of > 0 and (high >= aim if least else low <= aim)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    incidents, gap, tail, most_quiet = BRIEF if args.brief else LONG
    incidents = int(os.environ.get("INCIDENTS") or incidents)
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    keep = os.environ.get("KEEP")
    place = keep or tempfile.mkdtemp(prefix="perfcam-incidents-")
    out = os.path.join(place, str(seed))
    minutes = (QUIET_S + incidents * (gap + INCIDENT_S) + tail) / 60
    print(f"seed {seed}, {incidents} incidents, {minutes:.0f} min", flush=True)
    try:
        truth = record.segment(out, seed, ["--incidents", str(incidents), "--gap", str(gap), "--quiet", str(QUIET_S),
                                           "--tail", str(tail)])
        if truth["missing"]:
            print("not here, and not in the load: " + ", ".join(truth["missing"]))
        rows = judge.judge(out, quiet=most_quiet)
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)
    for line in judge.table(rows):
        print(line)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    good = True
    for what, n, of, aim, is_held in held(rows, args.brief):
        print(f"{what}: {judge.share(n, of)}, aim {'at least' if aim > .5 else 'at most'} {100 * aim:.0f} %: "
              f"{'held' if is_held else 'NOT held'}")
        good = good and is_held
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
