#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`why`: what was different. Load of a large host with a culprit that is known, and without one."""
import json
import os
import random
import shlex

import tap
import why_synth
from support import Case

PATH = (b"mem_cgroup_nr_lru_pages", b"memory_stat_show", b"seq_read_iter", b"vfs_read", b"ksys_read",
        b"do_syscall_64", b"entry_SYSCALL_64_after_hwframe")


class Why(Case):
    def seed(self):
        """Another one each time; what it was is said where a case fails."""
        self.drawn = random.SystemRandom().randrange(1 << 30)
        return self.drawn

    def store_of(self, load, name="s"):
        path = os.path.join(self.dir, name)
        text = path + ".txt"
        load.write(text)
        self.good("import", "--store", path, text)
        os.unlink(text)
        return path

    def why(self, store, at, *args, code=0):
        out = self.good("why", why_synth.boot(at), "--store", store, "--json", *args, code=code)
        return json.loads(out)

    def test_one_process_on_one_core_of_96(self):
        load = why_synth.Load(self.seed(), 500)
        load.burst(b"kubelet", 1500, 200.3, 1.9, load.text(why_synth.frames_of(PATH)), cpu=17)
        store = self.store_of(load)
        for mark in (200.3, 198.5, 203.9):
            out = self.why(store, mark)
            self.assertEqual(out["answer"], "unusual", f"seed {self.drawn}")
            first = out["findings"][0]
            self.assertEqual((first["rank"], first["kind"], first["process"], first["pid"], first["cpu"]),
                             (1, "process", "kubelet", 1500, 17), f"seed {self.drawn}")
            self.assertEqual(first["function"], PATH[0].decode())
            self.assertEqual(first["path"][:3], [p.decode() for p in PATH[:3]])
            self.assertGreaterEqual(first["samples"], 0.9 * 1.9 * 97)
            self.assertGreater(first["ratio"], 5)
            self.assertLessEqual(first["p"], 0.03)
            self.assertLess(abs(first["clock_ns"] / 1e9 - 1200.3), 0.7)
            self.assertLess(abs(first["run_ns"] / 1e9 - 1.9), 0.1)
            # Shares are of 96 CPUs at 97 Hz.
            self.assertAlmostEqual(first["share"], first["samples"] / (first["length_ns"] / 1e9 * 96 * 97), delta=2e-4)
            self.assertAlmostEqual(first["baseline"] / first["share"], first["expected"] / first["samples"], delta=1e-6)
            self.assertIn("CPU 17", first["sentence"])
        self.the_command_shows_it(first["command"])
        text = self.good("why", why_synth.boot(200.3), "--store", store).decode()
        self.assertIn("1. kubelet (pid 1500) used", text)
        self.assertIn("mem_cgroup_nr_lru_pages ← memory_stat_show", text)
        self.assertIn("CPU 17 was kept busy for 1.", text)

    def the_command_shows_it(self, command):
        words = shlex.split(command)
        self.assertEqual(words[0], "perfcam")
        out = self.good(*words[1:], "--text")
        self.assertIn(b"mem_cgroup_nr_lru_pages", out)


if __name__ == "__main__":
    tap.main()
