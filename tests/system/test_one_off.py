#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One recording, outside of any store: what it leaves behind, where, and that it says so."""
import os
import re
import shutil
import socket
import subprocess
import time

import dump
import support


class OneOff(support.Case):
    def record(self, *args):
        r = support.perfcam("record", "--control", os.path.join(self.dir, "control"), *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r

    def leave(self, scope, *args):
        """Records into a directory; its three files, by kind."""
        place = os.path.join(self.dir, "out") + "/"
        began = time.time()
        r = self.record("-d", "1s", "-o", place, *args)
        found = os.listdir(place)
        self.assertEqual(len(found), 3, found)
        for name in found:
            self.assertIn(os.path.join(place, name), r.stdout.replace("//", "/"))
        window = [n for n in found if n.endswith(".pcw")]
        self.assertEqual(len(window), 1, found)
        stamp = None
        for kind in ("flamegraph.svg", "perf-script.txt"):
            shape = (re.escape(socket.gethostname()) + r"\.(\d{8}_\d{6})_UTC\." + re.escape(scope) +
                     r"\." + re.escape(kind))
            match = [m for m in (re.fullmatch(shape, n) for n in found) if m]
            self.assertEqual(len(match), 1, f"{shape}: {found}")
            self.assertIn(stamp, (None, match[0][1]))
            stamp = match[0][1]
        at = time.mktime(time.strptime(stamp, "%Y%m%d_%H%M%S")) - time.timezone
        self.assertGreater(at, began - 2)
        self.assertLess(at, time.time() + 2)
        return {name.rsplit(".", 2)[-2] if not name.endswith(".pcw") else "window":
                os.path.join(place, name) for name in found}

    def test_a_process(self):
        spin = self.start(support.workload("red"), "60")
        other = self.start(support.workload("green"), "60")
        files = self.leave(f"pid_{spin.pid}", "-p", str(spin.pid), "-F", "497")
        store = dump.Store(files["window"])
        self.assertGreater(len(store.with_frame("red_work")), 50)
        self.assertEqual({s.pid for s in store.samples}, {spin.pid})
        self.assertEqual(store.of_pid(other.pid), [])
        with open(files["perf-script"], encoding="utf-8") as f:
            text = f.read()
        # A head line for each sample, as perf script has it; the other verb reads it back.
        heads = re.findall(rf"^workload_red +(?:{spin.pid}/)?{spin.pid} .*\d+\.\d+: ", text, re.M)
        self.assertEqual(len(heads), len(store.samples))
        r = support.perfcam("export", "folded", "-i", files["perf-script"])
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("red_work", r.stdout)
        with open(files["flamegraph"], encoding="utf-8") as f:
            drawn = f.read()
        self.assertIn("<svg", drawn)
        self.assertIn("red_work", drawn)
        self.assertNotIn("green_work", drawn)

    def test_a_process_that_sleeps(self):
        """The window that says so, and one line instead of pictures that cannot be."""
        sleeper = self.start("sleep", "60")
        r = support.perfcam("record", "-p", str(sleeper.pid), "-d", "1s", "-o", self.dir + "/none/")
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertEqual([e for e in os.listdir(self.dir + "/none") if not e.endswith(".pcw")], [])
        self.assertEqual(r.stderr.count("nothing was sampled: nothing ran in that scope"), 1, r.stderr)
        self.assertNotIn("no samples in the selection", r.stderr)

    def test_a_user(self):
        self.start("setpriv", "--reuid", "nobody", "--clear-groups", support.workload("red"), "60")
        files = self.leave("user_nobody", "-u", "nobody", "-F", "497")
        self.assertEqual({s.uid for s in dump.Store(files["window"]).samples}, {65534})

    def test_less_than_the_host_is_not_called_all(self):
        name, path = support.make_cgroup()
        spin = self.start(support.workload("red"), "60")
        try:
            with open(path + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(spin.pid))
            self.leave("cgroup" + name.replace("/", "_") + ".cpu_0_1", "--cgroup", name, "-C", "0,1")
        finally:
            spin.kill()
            spin.wait()
            os.rmdir(path)
        shutil.rmtree(os.path.join(self.dir, "out"))
        self.leave("command_workload_red", "--", support.workload("red"), "0.5")

    def test_the_host(self):
        spin = self.start(support.workload("red"), "60")
        files = self.leave("all")
        store = dump.Store(files["window"])
        self.assertTrue(store.of_pid(spin.pid))
        # A second one at the same place disturbs nothing of the first.
        before = {n: os.stat(n).st_mtime_ns for n in files.values()}
        time.sleep(1)
        self.record("-d", "500ms", "-o", os.path.dirname(files["window"]))
        self.assertEqual(before, {n: os.stat(n).st_mtime_ns for n in before})
        self.assertEqual(len(os.listdir(os.path.dirname(files["window"]))), 6)

    def test_who_may_read_it(self):
        """As of the store: its maker and the group perfcam, where there is one."""
        groups = os.path.join(self.dir, "group")
        with open(groups, "w", encoding="utf-8") as f:
            f.write("root:x:0:\nperfcam:x:64123:\n")
        place = os.path.join(self.dir, "out")
        for wrap, gid in (([], 0), (["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/group && '
                                     'exec "$@"', groups], 64123)):
            r = subprocess.run([*wrap, support.BIN, "record", "-d", "300ms", "-o", place],
                               stdout=-1, stderr=-1, text=True, timeout=60)
            self.assertEqual(r.returncode, 0, r.stderr)
            made = [os.path.join(place, n) for n in os.listdir(place)]
            self.assertEqual(len(made), 3)
            for path, mode in [(place, 0o40750)] + [(p, 0o100640) for p in made]:
                st = os.stat(path)
                self.assertEqual((oct(st.st_mode), st.st_gid), (oct(mode), gid), path)
            shutil.rmtree(place)

    def test_a_command_that_cannot_be_run(self):
        """Leaves nothing behind: the next try does not find a recording there. One that says 127 itself was recorded."""
        plain = os.path.join(self.dir, "plain")
        with open(plain, "w", encoding="utf-8") as f:
            f.write("no program\n")
        for command, status in ((os.path.join(self.dir, "nothing-here"), 127), (plain, 126)):
            for out in ("x.pcw", "made/"):
                r = support.perfcam("record", "--control", os.path.join(self.dir, "control"), "-o",
                                    os.path.join(self.dir, out), "--", command)
                self.assertEqual(r.returncode, status, r.stderr)
                self.assertIn(command, r.stderr)
                self.assertEqual(r.stdout, "")
                self.assertEqual(os.listdir(self.dir), ["plain"])
        r = support.perfcam("record", "--control", os.path.join(self.dir, "control"), "-o",
                            os.path.join(self.dir, "x.pcw"), "--", "sh", "-c", "exit 127")
        self.assertEqual(r.returncode, 127, r.stderr)
        self.assertEqual(sorted(os.listdir(self.dir)), ["plain", "x.pcw"])

    def test_a_window_by_name(self):
        self.start(support.workload("red"), "60")
        path = os.path.join(self.dir, "X.pcw")
        r = self.record("-d", "500ms", "-o", path)
        self.assertIn(path, r.stdout)
        self.assertEqual(os.listdir(self.dir), ["X.pcw"])
        self.assertTrue(dump.Store(path).with_frame("red_work"))
        r = support.perfcam("verify", "-i", path)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        # A recording is never overwritten.
        with open(path, "rb") as f:
            bytes_before = f.read()
        r = support.perfcam("record", "-d", "500ms", "-o", path, "--control",
                            os.path.join(self.dir, "control"))
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("X.pcw", r.stderr)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), bytes_before)


support.main()
