#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `perfcam why` about every incident of recordings (record.py) and about quiet moments between them, and counts
how often it is right.

    judge.py RECORDING… [--store store|whole] [--quiet 400] [--dense] [--json OUT]

RECORDING is a directory with `truth.json`. First: the culprit is the first finding reported. Top three: it is among
the first three. A false alarm: any finding at a quiet moment, or at the time of an innocent look-alike. A finding that
`why` shows as the closest, but does not report, counts as nothing. Behind each share is its 95 % interval (Wilson).
Other incidents are cut out of each history, by leaving out the windows that they touch: trouble comes every few
hours, here it came every half minute. With --dense they stay in. Quiet moments are at least 7 s from any incident and 4 s from each other, so that neighbours share half of what
`why` looks at. An incident so near to another that what it did is cut out with that one is not judged. Incidents at the end of whose burst the culprit had less than 0.1 s of CPU stay in: `starved` counts them.
"""
import argparse
import contextlib
import json
import math
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
import support  # noqa: E402

AWAY_S = 7
AROUND_S = 5
EDGE_S = 0.5
APART_S = 4
HEAD_S = 10  # at the beginning programs start
STARVED_S = 0.1
# One core, by one process that does what it did not do before.
ON_ONE_CORE = ("proc", "cgroup", "walk", "spin", "fork", "fault", "reclaim", "coincide")


def wilson(k, n):
    """The 95 % interval of a share."""
    if not n:
        return 0.0, 1.0
    z = 1.96
    p = k / n
    middle = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - spread) / (1 + z * z / n)), min(1.0, (middle + spread) / (1 + z * z / n))


def share(k, n):
    low, high = wilson(k, n)
    return f"{k} of {n} = {100 * k / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]" if n else "0 of 0"


class Recording:
    """A truth, and stores of some of its windows."""

    def __init__(self, path, store, dense):
        self.path, self.dense = path, dense
        with open(os.path.join(path, "truth.json"), encoding="utf-8") as f:
            self.truth = json.load(f)
        self.store = os.path.join(path, store)
        r = support.perfcam("ls", "--json", "--store", self.store)
        # (name, when it begins and ends, in seconds since 1970)
        self.windows = [(w["name"], w["realtime_ns"] / 1e9, (w["realtime_ns"] + w["end_ns"] - w["start_ns"]) / 1e9)
                        for w in json.loads(r.stdout)]

    def troubles(self, but=None):
        return [i for i in self.truth["incidents"] if i["kind"] != "innocent" and i is not but]

    def is_alone(self, incident):
        """Whether its own windows are left when those of others are cut out."""
        return self.dense or all(incident["end"] + AROUND_S < i["start"] - AROUND_S or incident["start"] - AROUND_S > i["end"] + AROUND_S
                                 for i in self.troubles(but=incident))

    def without(self, troubles):
        """Names of windows that none of them touches."""
        kept = [name for name, a, b in self.windows
                if self.dense or all(b < i["start"] - EDGE_S or a > i["end"] + EDGE_S for i in troubles)]
        if troubles and not self.dense and len(kept) == len(self.windows):
            raise RuntimeError("incidents lie outside of all windows")
        return kept

    def quiet_moments(self, wanted):
        """Times with nothing of ours near them, and everything observed."""
        rng = random.Random(self.truth["seed"])
        kept = set(self.without(self.troubles()))
        lost = [(a, b) for name, a, b in self.windows if name not in kept]
        found, at = [], self.truth["from"] + HEAD_S + rng.uniform(0, APART_S)
        while at < self.truth["to"] - AROUND_S:
            if all(b <= at - AROUND_S or a >= at + AROUND_S for a, b in lost) and all(
                    not i["start"] - AWAY_S < at < i["end"] + AWAY_S for i in self.troubles()):
                found.append(at)
                at += APART_S
            else:
                at += .5
        return sorted(rng.sample(found, min(wanted, len(found))))

    @contextlib.contextmanager
    def part(self, names):
        """A store of these windows."""
        with tempfile.TemporaryDirectory(prefix="judge-", dir=self.path) as place:
            for name in names:
                os.link(os.path.join(self.store, name), os.path.join(place, name))
            yield place


def ask(store, at):
    """(findings reported, the others as well): `why`'s answer as a program reads it, by rank."""
    r = support.perfcam("why", f"@{at:.3f}", "--store", store, "--json")
    if r.returncode not in (0, 3):
        raise RuntimeError(f"why @{at:.3f}: {r.returncode}: {r.stderr.strip()}")
    answer = json.loads(r.stdout)
    reported = sorted(answer["findings"], key=lambda f: f["rank"])
    return reported, reported + sorted(answer["closest"], key=lambda f: f["rank"])


def place(findings, processes):
    """1 for the first, …; 0: the culprit is not among them."""
    return next((n for n, f in enumerate(findings, 1) if f["process"] in processes), 0)


def row_of(recording, store, at, incident=None):
    incident = incident or {"kind": "quiet", "length": 0, "mark": {"where": ""}, "processes": [], "cpu_s": None}
    reported, ranked = ask(store, at)
    return {"recording": recording.path, "kind": incident["kind"], "at": at, "length": incident["length"],
            "where": incident["mark"]["where"], "processes": incident["processes"], "found": len(reported),
            "place": place(reported, incident["processes"]), "rank": place(ranked, incident["processes"]),
            "first": [f["process"] for f in reported[:1]], "ranked": [f["process"] for f in ranked[:3]],
            "starved": incident["cpu_s"] is not None and incident["cpu_s"] < STARVED_S}


def judge(path, store="store", quiet=400, dense=False):
    """[a row a question]"""
    recording = Recording(path, store, dense)
    rows = []
    for i in recording.truth["incidents"]:
        if not recording.is_alone(i):
            print(f"# {i['kind']} @{i['mark']['time']:.3f}: another one is beside it, not judged", flush=True)
            continue
        with recording.part(recording.without(recording.troubles(but=i))) as part:
            rows.append(row_of(recording, part, i["mark"]["time"], i))
    with recording.part(recording.without(recording.troubles())) as part:
        rows += [row_of(recording, part, at) for at in recording.quiet_moments(quiet)]
    return rows


def first(rows):
    return sum(r["place"] == 1 for r in rows)


def top(rows):
    return sum(1 <= r["place"] <= 3 for r in rows)


def alarms(rows):
    return sum(r["found"] > 0 for r in rows)


def table(rows):
    """Lines of text."""
    culprits = [r for r in rows if r["processes"]]
    one_core = [r for r in culprits if r["kind"] in ON_ONE_CORE and r["length"] >= .5]
    quiet = [r for r in rows if r["kind"] == "quiet"]
    innocent = [r for r in rows if r["kind"] == "innocent"]
    yield f"{'':34} culprit first; in the top three"
    for name, group in (("all with a culprit", culprits), ("one core, 0.5 s and more", one_core)):
        yield f"{name:34} {share(first(group), len(group))}; {share(top(group), len(group))}"
    for kind in dict.fromkeys(sorted(r["kind"] for r in culprits)):
        group = [r for r in culprits if r["kind"] == kind]
        yield f"  {kind:32} {first(group)} of {len(group)}; {top(group)}"
    for length in sorted({r["length"] for r in culprits}):
        group = [r for r in culprits if r["length"] == length and r["kind"] != "stop"]
        yield f"  {f'{length} s, without stop':32} {first(group)} of {len(group)}; {top(group)}"
    for where in ("at", "before", "after", "none"):
        group = [r for r in culprits if r["where"] == where and r["kind"] != "stop"]
        yield f"  {f'log line: {where}, without stop':32} {first(group)} of {len(group)}; {top(group)}"
    yield f"{'ranked first, reported or not':34} {share(sum(r['rank'] == 1 for r in culprits), len(culprits))}"
    yield f"{'starved culprits (in the above)':34} {sum(r['starved'] for r in culprits)}"
    yield f"{'false alarms at quiet moments':34} {share(alarms(quiet), len(quiet))}"
    yield f"{'false alarms at look-alikes':34} {share(alarms(innocent), len(innocent))}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", nargs="+")
    parser.add_argument("--store", default="store")
    parser.add_argument("--quiet", type=int, default=400)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    for recording in args.recordings:
        rows += judge(recording, args.store, args.quiet, args.dense)
    for line in table(rows):
        print(line)
    for r in rows:
        if (r["processes"] and r["place"] != 1) or (not r["processes"] and r["found"]):
            print(f"# {r['kind']} @{r['at']:.3f} {os.path.basename(r['recording'])} {r['length']} s: wanted "
                  f"{r['processes']}, place {r['place']} of {r['found']}, ranked {r['ranked']}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
