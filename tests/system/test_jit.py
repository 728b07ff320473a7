#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code made at run time: perf maps and jitdumps of a small compiler, of node and of Java, in namespaces of
their own, in memory that is used again, by names that come late; and what an enemy puts in their place.

One recording of all of them (each source its own), and perf beside it."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import textwrap
import threading
import time

import dump
import support

SECONDS = 5
MANY = 1000000

NODE = """
function leafNode(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
function stemNode(n) { return leafNode(n) + leafNode(n - 1); }
const fs = require("fs");
let all = 0;
while (!fs.existsSync(process.argv[2])) all += stemNode(100000);
console.log(all);
"""

JAVA = """
public class Spin {
    static int leafJava(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }
    static int stemJava(int n) { return leafJava(n) + leafJava(n - 1); }
    public static void main(String[] a) {
        int all = 0;
        while (!new java.io.File(a[0]).exists()) all += stemJava(100000);
        System.out.println(all);
    }
}
"""

# Makes $1 at the place of its own map, for the user $2, and becomes the compiler.
ENEMY = """
mount -t tmpfs -o mode=1777 t /tmp
m=/tmp/perf-$$.map
printf '0 7fffffffffff forged\\n' >/tmp/forged
chown 12345 /tmp/forged
case $1 in
link) ln -s forged $m;;
dangling) ln -s /nowhere $m;;
fifo) mkfifo $m;;
directory) mkdir $m;;
device) mknod $m c 1 5;;
socket) python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $m;;
hard) chown $2 /tmp/forged; ln /tmp/forged $m;;
garbage) head -c 300000 /dev/urandom >$m; truncate -s 1T $m;;
esac
chown -h $2 $m
exec setpriv --reuid 12345 --regid 12345 --clear-groups env PREPARED=1 $3 map $4 forged
"""
KINDS = ("link", "dangling", "fifo", "directory", "device", "socket", "hard", "garbage")
OWNERS = ("12345", "12346", "0")


def of_compiler(line):
    name, at = line.split()
    return name, int(at)


class Jit(support.Both):
    def setUp(self):
        super().setUp()
        # Out of reach of who mounts another /tmp.
        self.place = tempfile.mkdtemp(prefix="perfcam-test-", dir="/var/tmp")
        os.chmod(self.place, 0o755)
        self.maps = []
        self.stop = os.path.join(self.place, "stop")  # node and Java run until it is there
        self.jit = shutil.copy(support.workload("jit"), self.place)

    def tearDown(self):
        super().tearDown()
        for pid in self.maps:
            if os.path.exists(f"/tmp/perf-{pid}.map"):
                os.unlink(f"/tmp/perf-{pid}.map")
        shutil.rmtree(self.place, ignore_errors=True)

    def compiler(self, how, *names, env=None, wrap=()):
        return self.start(*wrap, self.jit, how, str(SECONDS), *names, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **(env or {})})

    def node(self):
        support.need("node")
        script = os.path.join(self.dir, "spin.js")
        with open(script, "w") as f:
            f.write(NODE)
        return self.start("node", "--perf-basic-prof", "--no-turbo-inlining", script,
                          self.stop, stdout=subprocess.DEVNULL, cwd=self.dir)  # it leaves a log

    def compile_java(self):
        support.need("javac")
        support.need("jcmd")
        with open(os.path.join(self.dir, "Spin.java"), "w") as f:
            f.write(JAVA)
        subprocess.run(["javac", "-d", self.place, os.path.join(self.dir, "Spin.java")], check=True,
                       timeout=60)

    def java(self):
        return self.start("java", "-XX:+PreserveFramePointer", "-XX:-Inline", "-XX:+UseSerialGC",
                          "-cp", self.place, "Spin", self.stop, stdout=subprocess.DEVNULL)

    def java_alone(self):
        """As another user, in namespaces of its own; nobody but the recorder asks for its map."""
        return self.start("unshare", "-pmf", "--kill-child", "bash", "-c", """
            mount -t tmpfs -o mode=1777 t /tmp && mount -t proc p /proc && cd / &&
            setpriv --reuid 12345 --regid 12345 --clear-groups java -XX:+PreserveFramePointer \\
            -XX:-Inline -XX:+UseSerialGC -cp "$1" Spin "$2" & wait""", "bash",
            self.place, self.stop, stdout=subprocess.DEVNULL)

    def copy_map(self, p, lines):
        """A map's name goes with its process, and perf looks afterwards. (A copy: what has two names is nobody's map.)"""
        for line in p.stdout:
            lines.append(line)
            if line.startswith("more"):
                shutil.copy(f"/tmp/perf-{p.pid}.map", self.dir)
        p.stdout.close()
        p.wait()

    def perf(self, *processes):
        """perf beside us, on some."""
        data = os.path.join(self.dir, "perf.data")
        pids = ",".join(str(p.pid) for p in processes)
        p = self.start("perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "-g", "-k", "CLOCK_MONOTONIC", "-o", data,
                       "-p", pids, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return p, data

    def perf_leaves(self, data):
        """perf's own answer: {pid: {leaf: samples}}, and from when to when."""
        r = subprocess.run(["perf", "script", "-i", data, "--ns", "-G", "-F", "pid,time,ip,sym"], timeout=60,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           errors="replace", check=True)
        leaves, times = {}, []
        for line in r.stdout.splitlines():
            m = re.match(r"\s*(\d+)\s+(\d+)\.(\d{9}):\s+[0-9a-f]+ (.*)", line)
            if m:
                of_pid = leaves.setdefault(int(m[1]), {})
                of_pid[m[4]] = of_pid.get(m[4], 0) + 1
                times.append(int(m[2] + m[3]))
        return leaves, (min(times), max(times))

    def of(self, store, pid):
        mine = store.of_pid(pid)
        self.assertGreater(len(mine), 10, pid)
        return mine

    def check_known(self, store, pid, said, names):
        """Each name's own seconds have it and no other's, but for what comes right after the change: a
        second, and what a busy host's symboliser takes."""
        said = [of_compiler(line) for line in said.splitlines()]
        self.assertEqual([n for n, _ in said], [*names, "end"])
        for (name, start), (_, end) in zip(said, said[1:]):
            skip = 0 if name == names[0] else 3e9
            code = [s for s in self.of(store, pid) if start + skip < s.time < end - 2e7 and
                    any(f.kind == "jit" for f in s.frames)]
            self.assertGreater(len(code), 5)
            right = [s for s in code
                     if any(a == name + "_outer" and b == name + "_spin"
                            for a, b in zip(s.names, s.names[1:]))]
            self.assertGreaterEqual(len(right), 0.7 * len(code), code[:3])
            # Neither can be told of an address that is seen for the first time just before.
            sure = [s for s in code if name == names[-1] or s.time < end - 2e9]
            wrong = [s for s in sure if any(f.kind == "jit" and f.name and
                                            not f.name.startswith(name) for f in s.frames)]
            self.assertEqual(wrong, [])

    def test_names_of_code_made_at_run_time(self):
        self.compile_java()
        recorders = self.both("-F", "997", "--max-cpu", "none", "--java-maps")
        node, java, asked = self.node(), self.java(), self.java_alone()
        self.maps = [node.pid, java.pid]
        alone = ("unshare", "-pmf", "--kill-child", "bash", "-c",
                 'mount -t tmpfs t /tmp && "$@" & wait', "bash")
        plain = self.compiler("map", "alpha", "beta")
        dumped = self.compiler("dump", "gamma", "delta")
        late = self.compiler("map", "late", env={"LATE": "1"})
        memfd = self.compiler("memfd", "fileless")
        inner = self.compiler("map", "inner", "space", wrap=alone)
        unnamed = self.compiler("none", "nobody")
        many, lines = self.compiler("map", "many", "more", env={"MANY": str(MANY)}), []
        copying = threading.Thread(target=self.copy_map, args=(many, lines))
        copying.start()
        time.sleep(1)
        perf, data = self.perf(many, node, java)
        jcmd = self.start("jcmd", str(java.pid), "Compiler.perfmap", stdout=subprocess.DEVNULL)
        self.assertEqual(jcmd.wait(60), 0)
        self.maps.append(jcmd.pid)  # a JVM itself, and asked like any other
        said = {p: p.communicate(timeout=60)[0]
                for p in (plain, dumped, late, memfd, inner, unnamed)}
        copying.join(60)
        said[many] = "".join(lines)
        perf.send_signal(signal.SIGINT)
        perf.wait(60)
        with open(self.stop, "w"):
            pass
        for p in (node, java, asked):
            self.assertEqual(p.wait(60), 0)
        time.sleep(1.5)
        shutil.copy(os.path.join(self.dir, f"perf-{many.pid}.map"), "/tmp")
        self.maps.append(many.pid)
        leaves, span = self.perf_leaves(data)
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            store = dump.Store(r.store)
            self.check_known(store, plain.pid, said[plain], ("alpha", "beta"))
            self.check_guessed(source, r.store, plain.pid)
            self.check_known(store, dumped.pid, said[dumped], ("gamma", "delta"))
            self.check_known(store, memfd.pid, said[memfd], ("fileless",))
            spins = [s for s in self.of(store, late.pid) if len(s.names) > 2]
            self.assertGreater(sum(s.has("late_spin") for s in spins), 0.9 * len(spins))
            inside = [s for s in store.samples if s.has("inner_spin") or s.has("space_spin")]
            self.assertGreater(len(inside), 20)
            self.assertEqual(len({s.pid for s in inside}), 1)
            self.check_known(store, inside[0].pid, said[inner], ("inner", "space"))
            none = [s for s in self.of(store, unnamed.pid) if s.frames and s.frames[-1].kind == "jit"]
            self.assertGreater(len(none), 10)
            self.assertEqual([s for s in none if any(n and n.endswith("spin") for n in s.names)], [])
            for p, leaf, stem in ((node, "leafNode", "stemNode"), (java, "leafJava", "stemJava")):
                self.check_beside_perf(source, store, p.pid, leaves[p.pid], span, leaf, stem)
            self.check_known(store, many.pid, said[many], ("many", "more"))
            self.check_many(source, store, many.pid, leaves[many.pid], span)
            mine = [s for s in store.samples if s.comm == "java" and s.uid == 12345]
            leaf = [s for s in mine if s.has("int Spin.leafJava(int)")]
            support.note(f"{source}: a JVM that was asked: {len(leaf)} of {len(mine)}")
            self.assertGreater(len(leaf), 0.5 * len(mine))

    def check_guessed(self, source, path, pid):
        """Its code has no unwind information: each stack that leads on from there was walked by frame pointers, and says
        so; one that has no such frame does not, but for the first ones, which came before what was to be known of it."""
        r = support.perfcam("export", "json", "--store", path, "--pid", str(pid))
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = [json.loads(line) for line in r.stdout.splitlines()]
        whole = [row for row in rows if row["stack"] and row["stack"][-1].get("kind") != "mark"]
        said = {jit: [row.get("detail") for row in whole if any(f.get("kind") == "jit" for f in row["stack"]) == jit]
                for jit in (True, False)}
        guessed = sum(row.get("detail") == "guessed" for row in rows)
        support.note(f"{source}: {guessed} of {len(rows)} are guessed, {len(said[True])} whole ones have code made at run time")
        by_tables = source == "bpf"
        self.assertLessEqual(set(said[True]), {"guessed"} if by_tables else {None})
        self.assertLessEqual(set(said[False]), {None})
        doctor = json.loads(support.perfcam("doctor", "--json", "--last", "10m", "--store", path).stdout)["stacks"]
        row = next(p for p in doctor["processes"] if p["pid"] == pid)
        self.assertEqual(row["samples"], len(rows))
        self.assertEqual(guessed, row["guessed"] if by_tables else 0)
        self.assertGreater(row["guessed"], 0.5 * len(rows))
        self.assertLess(doctor["guessed"], doctor["samples"])

    def check_many(self, source, store, pid, perf, span):
        """A map of a million functions and four: perf, which reads all of it when all is over, has the last name of an address;
        of the addresses, and of code that has a name at all, its shares are ours."""
        mine = [s for s in self.of(store, pid) if span[0] <= s.time <= span[1]]
        found = []
        for what in ("_spin", "_outer"):
            theirs = sum(v for n, v in perf.items() if n.endswith(what)) / sum(perf.values())
            ours = sum(bool(s.names) and (s.names[-1] or "").endswith(what) for s in mine) / len(mine)
            found.append((what, theirs, ours))
        support.note(f"{source}: a million functions: " + ", ".join(f"{w} perf {t:.1%}, here {o:.1%}" for w, t, o in found))
        self.assertGreater(found[0][1], 0.5)
        for what, theirs, ours in found:
            self.assertLess(abs(theirs - ours), 0.1, what)

    def check_beside_perf(self, source, store, pid, perf, span, leaf, stem):
        """The leaf that perf finds, by the same name, as often in the same time; below the stem."""
        name = max((n for n in perf if leaf in n), key=perf.get)
        theirs = sum(v for n, v in perf.items() if leaf in n) / sum(perf.values())
        mine = [s for s in self.of(store, pid) if span[0] <= s.time <= span[1]]
        user = [s for s in mine if any(f.kind in ("user", "jit") for f in s.frames)]
        ours = [s for s in user if any(n and leaf in n for n in s.names)]
        support.note(f"{source}: {name}: perf {theirs:.0%}, here {len(ours) / len(user):.0%}")
        self.assertTrue(any(s.has(name) for s in ours), name)
        self.assertLess(abs(len(ours) / len(user) - theirs), 0.1, name)
        below = [s for s in ours if any(n and stem in n for n in s.names)]
        self.assertGreater(len(below), 0)  # until it is compiled it is an interpreter's frame

    def test_what_an_enemy_puts_in_its_place(self):
        recorders = self.both("-F", "997", "--max-cpu", "none")
        script = os.path.join(self.dir, "enemy.sh")
        with open(script, "w") as f:
            f.write(textwrap.dedent(ENEMY))
        os.chmod(self.dir, 0o755)
        enemies = {}
        for kind in KINDS:
            for owner in OWNERS:
                p = self.start("nice", "-n", "5", "unshare", "-m", "bash", script, kind, owner, self.jit, "4",
                               stdout=subprocess.DEVNULL)
                enemies[p.pid] = (kind, owner)
        friend = self.compiler("map", "friend")
        said = friend.communicate(timeout=60)[0]
        for p in self.running[-1 - len(enemies):-1]:
            self.assertEqual(p.wait(60), 0, enemies.get(p.pid))
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            self.verify(r.store)
            store = dump.Store(r.store)
            self.check_known(store, friend.pid, said, ("friend",))
            for pid, what in enemies.items():
                mine = [s for s in store.of_pid(pid) if s.frames and s.comm.startswith("workload")]
                self.assertGreater(len(mine), 5, what)
                forged = [s for s in mine if any(n and "forged" in n for n in s.names)]
                self.assertEqual(forged, [], (source, what))
                code = [s for s in mine if any(f.kind == "jit" for f in s.frames)]
                self.assertGreater(len(code), 0, what)
                named = [s for s in code if any(f.kind == "jit" and f.name for f in s.frames)]
                self.assertEqual(named, [], (source, what))


if __name__ == "__main__":
    support.main()
