#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short form of `make incidents`: services at work, two seconds of a spinning stranger and two of a daemon that reads
/proc; `perfcam why` must name both, and at moments when nothing happened name nobody. Another seed each time: it is
printed, and PERFCAM_SEED repeats it.

And the story that this is for: each time there is a line in the kernel's log, a rule keeps what was around it and writes a capsule, and
afterwards nobody needs to know more than that line to be told who it was.

And who waited: a process that had a core to itself gets a third of it for three seconds, and `why` says so."""
import json
import os
import random
import subprocess
import sys
import threading
import time

import support

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "incidents"))
import judge  # noqa: E402
import record  # noqa: E402

QUIET = 10
BEFORE_S, STARVED_S, AFTER_S = 4, 3, 2
ALARMS = 3  # something that is new within a minute is seen from three moments, 4 s apart


class Pressure(threading.Thread):
    """What the kernel says itself of how long some task waited for a CPU, while the recorder reads the same."""

    def __init__(self):
        super().__init__(daemon=True)
        self.at, self.ended = [], threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.25):
            with open("/proc/pressure/cpu", encoding="ascii") as f:
                self.at.append((time.time(), int(f.readline().rsplit("=", 1)[1]) / 1e6))

    def between(self, a, b):
        """(when, when, the share of the time between)"""
        inside = [x for x in self.at if a <= x[0] <= b]
        (t, waited), (u, later) = inside[0], inside[-1]
        return t, u, (later - waited) / (u - t)


class Incidents(support.Case):
    def test_the_culprits_are_found_and_the_innocent_left_alone(self):
        seed = int(os.environ.get("PERFCAM_SEED") or random.randrange(10**6))
        support.note(f"seed {seed}")
        out, rules = os.path.join(self.dir, "recording"), os.path.join(self.dir, "rules")
        os.chmod(self.dir, 0o755)
        with open(rules, "w", encoding="utf-8") as f:
            f.write(f"on kmsg /perfcam-incidents {seed}: .*Tx timeout/ pin 20s before 3s after, capsule\n")
        pressure = Pressure()
        self.addCleanup(pressure.ended.set)
        truth = record.segment(out, seed, ["--kinds", "spin,proc", "--incidents", "2", "--lengths", "2", "--gap", "18",
                                           "--quiet", "40", "--tail", "6", "--where", "at,after"], options=("--config", rules))
        self.assertEqual({i["kind"] for i in truth["incidents"]}, {"spin", "proc"}, truth)
        rows = judge.judge(out, quiet=QUIET)
        for line in judge.table(rows):
            support.note(line)
        culprits = [r for r in rows if r["processes"]]
        self.assertEqual([r["rank"] for r in culprits], [1, 1], culprits)
        # A minute of history is little to call something unusual by: one of them must be.
        self.assertGreaterEqual(judge.first(culprits), 1, culprits)
        quiet = [r for r in rows if r["kind"] == "quiet"]
        self.assertGreaterEqual(len(quiet), 5)
        self.assertLessEqual(judge.alarms(quiet), ALARMS, quiet)
        self.the_line_leads_to_the_culprit(os.path.join(out, "store"), seed, truth)
        first, last, share = pressure.between(truth["from"] + 5, truth["to"] - 5)
        heat = support.perfcam("heatmap", "--json", "--from", f"@{first:.3f}", "--to", f"@{last:.3f}", "--store",
                               os.path.join(out, "store"))
        told = json.loads(heat.stdout)["host"]["pressure_cpu"]
        support.note(f"some task waited for a CPU {100 * share:.1f} % of the time, by the recording {100 * sum(told) / len(told):.1f} %")
        self.assertLess(abs(sum(told) / len(told) - share), 0.05)

    def the_line_leads_to_the_culprit(self, store, seed, truth):
        def ask(*args):
            r = support.perfcam(*args, "--json", "--store", store)
            self.assertIn(r.returncode, (0, 3), r.stderr)
            return json.loads(r.stdout)

        events = ask("events", "--source", "kmsg", "--match", f"perfcam-incidents {seed}: eth9: Tx timeout")["events"]
        self.assertEqual(len(events), 2, events)
        self.assertEqual({(e["kind"], e["severity"]) for e in events}, {("nic-reset", 3)})
        for event, incident in zip(events, truth["incidents"]):
            self.assertLess(abs(event["time_ns"] / 1e9 - incident["mark"]["time"]), 0.1)
            answer = ask("why", event["id"])
            first = (answer["findings"] + answer["closest"])[0]
            self.assertIn(first["process"], incident["processes"], answer)
            self.assertEqual((first["kind"], first["pid"]), ("process", incident["pid"]), first)
            self.assertEqual(first["kernel_samples"] * 2 > first["explained_samples"], incident["kind"] == "proc", first)
        # What was around both is kept, and what there is to say about the first was written while it went on.
        pins = [p for p in ask("pin") if f"incidents {seed}" in p["note"]]
        for event in events:
            self.assertTrue(any(p["from_realtime_ns"] <= event["time_ns"] - 19 * 10**9 and
                                p["to_realtime_ns"] >= event["time_ns"] + 2 * 10**9 for p in pins), (event, pins))
        self.assertTrue(ask("ls", "--pinned"))
        made = [n for n in os.listdir(os.path.join(store, "capsules")) if n.endswith("-kmsg.html")]
        with open(os.path.join(store, "capsules", min(made)), encoding="utf-8") as f:
            page = f.read()
        self.assertIn(f"perfcam-incidents {seed}: eth9: Tx timeout, reset 1", page)
        story = page[page.index("What was different"):page.index("When it was")]
        self.assertIn(truth["incidents"][0]["processes"][0], story)


class Starved(support.Case):
    """Real-time threads take turns of equal length, and wait for nobody else: the machine may be as busy as it likes."""

    def pinned(self, cpu, seconds):
        def prepare():
            os.sched_setaffinity(0, {cpu})
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        return self.start(support.workload("spin31"), str(seconds), preexec_fn=prepare, stdout=subprocess.DEVNULL)

    def waited_s(self, pid):
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[1]) / 1e9

    def test_who_waited_is_told(self):
        cpu = max(os.sched_getaffinity(0))
        recorder = support.Recorder(self.store, "--window", "60s").ready()
        self.running.append(recorder.p)
        victim = self.pinned(cpu, BEFORE_S + STARVED_S + AFTER_S + 30)
        time.sleep(BEFORE_S)
        others = [self.pinned(cpu, STARVED_S + 30) for _ in range(2)]
        time.sleep(.5)
        began, had = time.time(), self.waited_s(victim.pid)
        time.sleep(STARVED_S)
        ended, has = time.time(), self.waited_s(victim.pid)
        for p in others:
            p.kill()
        time.sleep(AFTER_S)
        victim.kill()
        self.assertEqual(recorder.stop(), 0, recorder.said())
        share = (has - had) / (ended - began)
        middle = (began + ended) / 2
        asked = ("why", f"@{middle:.3f}", "--around", "1s", "--store", self.store)
        r = support.perfcam(*asked, "--json")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        waited = {w["tid"]: w for w in json.loads(r.stdout)["waited"]}
        support.note(f"it waited {100 * share:.0f} % of the time by schedstat; why: {waited.get(victim.pid)}")
        self.assertIn(victim.pid, waited)
        self.assertGreater(share, 0.4)
        self.assertLess(abs(waited[victim.pid]["share"] - share), 0.15, waited)
        self.assertLess(waited[victim.pid]["usual"], share / 2, waited)
        said = support.perfcam(*asked).stdout
        self.assertIn("who waited for a CPU", said)
        self.assertRegex(said, rf"workload_spin31 \(thread {victim.pid}\) \d+ % of the time")


support.main()
