#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of less than everything: what is in scope is there, what is not is in the ledger as filtered,
never as lost; and `record -- CMD` ends as its command does. By both sources at once."""
import json
import os
import signal
import subprocess
import time

import dump
import support

# A process of its own kind beside all others, that no scope includes; other tests may run the same program meanwhile.
OUTSIDE = "green_work"


class Scope(support.Both):
    def finish(self, recorders):
        stores = {}
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            stores[source] = dump.Store(r.store)
        return stores

    def assert_scope(self, stores, inside, outside, filtered=50):
        for source, store in stores.items():
            for name in inside:
                self.assertGreater(len(store.with_frame(name)), 20, f"{source} {name}")
            for name in outside:
                found = [s for s in store.with_frame(name) if name != OUTSIDE or s.pid == self.outside.pid]
                self.assertEqual(found, [], f"{source} {name}")
            self.assertEqual(sum(w["lost"] for w in store.windows), 0, f"{source} {store.losses()}")
            if filtered:
                self.assertGreater(store.missing("filtered"), filtered, f"{source} {store.ledger}")

    def family(self, *args):
        """Records a family by its parent's pid; it has a child already, and gets another."""
        family = self.start(support.workload("family"), "0.8", stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
        family.stdout.readline()
        recorders = self.both("-F", "497", "-p", str(family.pid), *args)
        self.outside = self.start(support.workload("green"), "0.8")
        family.stdin.write("\n")
        family.stdin.flush()
        family.wait(support.PATIENCE)
        self.outside.wait(support.PATIENCE)
        return self.finish(recorders)

    def test_a_process_and_what_it_forks(self):
        self.assert_scope(self.family(), ("parent_work", "younger_work", "grand_work"),
                          ("elder_work", OUTSIDE))

    def test_a_process_and_its_tree(self):
        self.assert_scope(self.family("--tree"),
                          ("parent_work", "elder_work", "younger_work", "grand_work"), (OUTSIDE,))

    def brood(self, *args):
        return self.start(support.workload("brood"), *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def burn(self, brood):
        """All that it forked burn, from now on, and end: their pids."""
        brood.stdin.write("\n")
        brood.stdin.flush()
        said = brood.stdout.read().split()
        self.assertEqual(brood.wait(support.PATIENCE), 0)
        return {int(word) for word in said if word != "all"}

    def test_a_tree_that_grows_while_the_recorder_starts(self):
        """Whoever is forked between the listing of the tree and the first record of a fork belongs to it, too."""
        for start in range(3):
            brood = self.brood("1", "250", "12", "250")
            brood.stdout.readline()
            recorders = {}
            for source in support.sources():
                recorders[source] = self.recorder("--source", source, "-F", "1999", "-p", str(brood.pid), "--tree",
                                                  store=os.path.join(self.dir, f"{source}{start}"))
            for r in recorders.values():
                r.ready()
            born = self.burn(brood)
            for source, store in self.finish(recorders).items():
                missing = born - {s.pid for s in store.samples}
                support.note(f"{source}: {len(born)} were born, {len(missing)} of them not seen")
                self.assertEqual(missing, set(), f"{source}, start {start}")

    def test_a_tree_of_thousands(self):
        """Those that are listed last are recorded as the first are."""
        brood = self.brood("0", "2200", "12", "10")
        pids = {brood.stdout.readline().strip() for _ in range(21)} - {"all"}
        recorders = self.both("-F", "1999", "-p", str(brood.pid), "--tree")
        for source, r in recorders.items():
            self.assertEqual(r.status()["scope"], f"pid {brood.pid} and 4400 more", source)
        self.burn(brood)
        for source, store in self.finish(recorders).items():
            self.assertEqual(pids - {str(s.pid) for s in store.samples}, set(), source)

    def test_a_process_that_ends_soon(self):
        """It was asked about before its first sample was looked at: it is gone by then, and has its names."""
        for source in support.sources():
            soon = self.start(support.workload("red"), "60")
            r = self.recorder("--source", source, "-F", "497", "-p", str(soon.pid),
                              store=os.path.join(self.dir, source)).ready()
            time.sleep(0.1)
            soon.kill()
            soon.wait()
            self.assertEqual(r.stop(), 0, r.said())
            store = dump.Store(r.store)
            named = store.with_frame("red_work")
            self.assertGreater(len(named), 5, f"{source} {len(store.samples)}")
            self.assertGreater(len(named), 0.8 * len(store.samples), source)

    def run_pair(self, *args, inside, outside):
        recorders = self.both("-F", "497", *args)
        pair = [self.start(*inside), self.start(*outside)]
        self.outside = pair[1]
        for p in pair:
            self.assertEqual(p.wait(support.PATIENCE), 0)
        return self.finish(recorders)

    def test_a_user(self):
        stores = self.run_pair("-u", "nobody", inside=(
            "setpriv", "--reuid", "nobody", "--clear-groups", support.workload("red"), "0.8"),
            outside=(support.workload("green"), "0.8"))
        self.assert_scope(stores, ("red_work",), (OUTSIDE,))
        for source, store in stores.items():
            self.assertEqual({s.uid for s in store.samples}, {65534}, source)

    def test_a_cpu(self):
        stores = self.run_pair("-C", "0", inside=("taskset", "-c", "0", support.workload("red"),
                                                  "0.8"),
                               outside=("taskset", "-c", "1", support.workload("green"), "0.8"))
        # The other CPU was not watched at all: nothing was filtered.
        self.assert_scope(stores, ("red_work",), (OUTSIDE,), filtered=0)
        for source, store in stores.items():
            self.assertEqual({s.cpu for s in store.samples}, {0}, source)
            self.assertEqual({row["cpu"] for row in store.ledger} - {0}, set(), source)

    def test_a_cgroup(self):
        name, path = support.make_cgroup()
        try:
            stores = self.run_pair("--cgroup", name, inside=(
                "sh", "-c", f"echo $$ >{path}/cgroup.procs && exec {support.workload('red')} 0.8"),
                outside=(support.workload("green"), "0.8"))
        finally:
            os.rmdir(path)
        self.assert_scope(stores, ("red_work",), (OUTSIDE,))
        for source, store in stores.items():
            self.assertEqual({s.cgroup for s in store.samples}, {name}, source)

    def test_a_container_without_names_has_a_remedy_of_its_own(self):
        """Its file has the path of one of this host's packages, which has nothing to do with it."""
        outer, path = support.make_cgroup()
        inner = "docker-" + "7e" * 32 + ".scope"
        bare = os.path.join(self.dir, "bare")
        subprocess.run(["strip", "-o", bare, support.workload("red")], check=True)
        os.mkdir(os.path.join(path, inner))
        try:
            stores = self.run_pair("--cgroup", f"{outer}/{inner}", inside=(
                "sh", "-c", f"echo $$ >{path}/{inner}/cgroup.procs && exec {bare} 0.8"),
                outside=("sleep", "0.1"))
        finally:
            os.rmdir(os.path.join(path, inner))
            os.rmdir(path)
        for source in stores:
            found = json.loads(support.perfcam("doctor", "--json", "--last", "1m", "--store",
                                               os.path.join(self.dir, source)).stdout)["findings"]
            own = [f["remedy"] for f in found if bare in f["cost"]]
            self.assertEqual(len(own), 1, found)
            self.assertIn("in its container", own[0])

    def test_a_running_process_that_is_moved_to_another_cgroup(self):
        """Nobody tells: it has the new one a window later, without an exec, by both sources."""
        name, path = support.make_cgroup()
        try:
            load = self.start(support.workload("spin31"), "120")
            recorders = self.both("-F", "199", "--window", "2s", "-p", str(load.pid))
            time.sleep(2)
            with open(path + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(load.pid))
            for source, r in recorders.items():
                found = support.wait_until(lambda: support.perfcam(
                    "export", "folded", "--store", r.store, "--cgroup", name).stdout)
                self.assertTrue(found, source)
                self.assertEqual(r.stop(), 0, r.said())
                # The first samples on a busy host are those of somebody who is not known yet.
                self.assertEqual(len({s.cgroup for s in dump.Store(r.store).samples} - {""}), 2, source)
        finally:
            load.kill()
            load.wait()
            os.rmdir(path)

    def test_a_cgroup_that_does_not_exist(self):
        name, path = support.make_cgroup()
        try:
            for given, hint in (("/perfcam-nope", "/sys/fs/cgroup"),
                                (name + "/nope", f"{name} exists")):
                r = support.perfcam("record", "--store", self.store, "--control",
                                    self.store + ".c", "-d", "1s", "--cgroup", given)
                self.assertEqual(r.returncode, 1, r.stderr)
                self.assertIn(f"--cgroup {given}: no such cgroup; ", r.stderr)
                self.assertIn(hint, r.stderr)
        finally:
            os.rmdir(path)

    def test_a_command_and_its_children(self):
        recorders = {}
        for source in support.sources():
            recorders[source] = self.recorder(
                "--source", source, "-F", "497", "--", "sh", "-c",
                f"{support.workload('forks')} 20 0.03; exit 7",
                store=os.path.join(self.dir, source))
        self.outside = self.start(support.workload("green"), "1")
        self.outside.wait(support.PATIENCE)
        for source, r in recorders.items():
            self.assertEqual(r.p.wait(support.PATIENCE), 7, r.said())
        self.assert_scope({s: dump.Store(r.store) for s, r in recorders.items()},
                          ("even_work", "odd_work"), (OUTSIDE,), filtered=5)

    def test_a_command_ended_by_a_signal(self):
        for number in (signal.SIGKILL, signal.SIGSEGV):
            r = support.perfcam("record", "--store", self.store, "--control", self.store + ".c", "--",
                                "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(r.returncode, 128 + number, r.stderr)

    def test_a_command_that_cannot_be_run(self):
        r = support.perfcam("record", "--store", self.store, "--control", self.store + ".c", "--",
                            os.path.join(self.dir, "nothing-here"))
        self.assertIn(r.returncode, (1, 126, 127), r.stderr)
        self.assertIn("nothing-here", r.stderr)

    def test_a_duration(self):
        began = time.monotonic()
        r = support.perfcam("record", "--store", self.store, "--control", self.store + ".c", "-d",
                            "1s")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertGreater(time.monotonic() - began, 1)
        windows = self.windows()
        span = (windows[-1]["end_ns"] - windows[0]["start_ns"]) / 1e9
        self.assertGreater(span, 0.9)
        self.assertLess(span, 3)


support.main()
