#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a load with incidents by perfcam itself, as root: for each segment a store and the truth about it.

    record.py OUT --seed N [--segments 1] [--incidents 10] [--gap 40] [--whole] [as drive.py]

Makes OUT/SEED-1/{store,truth.json}, … What is recorded is the load's own control group: whatever else runs on this
machine is unlabelled. With --whole a second recorder takes everything, into `whole`. Windows are short, so that
judge.py can leave out those of other incidents. Nothing else is left behind.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import groups  # noqa: E402
import support  # noqa: E402

# Without a limit to its own CPU: what others do on this machine must not cost it samples.
OPTIONS = ("--window", "5s", "--max-cpu", "none")


def culprit():
    return os.environ.get("PERFCAM_CULPRIT") or os.path.join(os.path.dirname(support.BIN), "tests", "incidents", "culprit")


def segment(out, seed, arguments, whole=False, options=()):
    """One recording into out, which is made; the truth. options: more of the recorder's."""
    os.makedirs(out)
    place = tempfile.mkdtemp(prefix="perfcam-incidents-")
    group = groups.Groups()
    recorders, driver = [], None
    try:
        command = [sys.executable, os.path.join(HERE, "drive.py"), place, os.path.join(out, "truth.json"), "--seed",
                   str(seed), "--culprit", culprit(), *(["--small", group.small] if group.small else []), *arguments]
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                  preexec_fn=lambda: groups.join(group.scope, group.share))
        if driver.stdout.readline() != "ready\n":
            raise RuntimeError("the load did not start")
        recorders.append(support.Recorder(os.path.join(out, "store"), *OPTIONS, *options, "--cgroup", group.own))
        if whole:
            recorders.append(support.Recorder(os.path.join(out, "whole"), *OPTIONS))
        for r in recorders:
            r.ready()
        if driver.wait():
            raise RuntimeError(f"the load ended with {driver.returncode}")
    finally:
        if driver and driver.poll() is None:
            driver.terminate()
            driver.wait()
        for r in recorders:
            if r.stop():
                print(r.said(), file=sys.stderr)
        group.remove()
        shutil.rmtree(place, ignore_errors=True)
    with open(os.path.join(out, "truth.json"), encoding="utf-8") as f:
        return json.load(f)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--segments", type=int, default=1)
    parser.add_argument("--whole", action="store_true")
    args, rest = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for i in range(1, args.segments + 1):
        truth = segment(os.path.join(args.out, f"{args.seed}-{i}"), args.seed * 100 + i, rest, args.whole)
        print(f"segment {i} of {args.segments}: {len(truth['incidents'])} incidents, "
              f"{truth['to'] - truth['from']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
