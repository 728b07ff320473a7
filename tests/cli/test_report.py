#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`report` against perf report --stdio of the same recording: the same entries, percentages and chains.

The one difference that is meant: addresses without a name are one entry a file here, and one each with perf. So entries
and chains that hold such an address are left out of the comparison, and the rest must be there, to the digit."""
import collections
import gzip
import json
import os
import random
import re
import subprocess

import support
import tap
from support import Case

OPTIONS = {
    "default": (),
    "callee": ("-g", "callee"),
    "self": ("--no-children", "-n"),
    "symbol": ("--sort", "sym"),
    "above2": ("-g", "caller,2"),
    "dso": ("--sort", "dso", "-g", "none"),
    "dso-callee": ("--sort", "dso,sym", "-g", "callee,1"),
    "self-caller": ("--no-children", "-g", "caller"),
    "limit3": ("--percent-limit", "3"),
    "comm-symbol": ("--sort", "comm,sym"),
}
ENTRY = re.compile(r"^ {2,4}\s*\d+\.\d\d%")
NUMBERS = re.compile(r"^\s*(\d+\.\d\d%)\s+(?:(\d+\.\d\d%)\s+)?(?:(\d+)\s\s+)?(.*?)\s*$")
NAMELESS = re.compile(r"0x[0-9a-f]+|\[unknown\]|\b0{8,}\b|-0$|--0$|^\s*0$|\[\w[\w.-]*\]$", re.M)


def directory(name):
    return os.path.join(support.DATA, "report", name)


def read(name):
    with gzip.open(directory(f"shell.{name}.gz"), "rt") as f:
        return f.read()


def entries_of(text):
    """[(numbers, what it is of, its chains as lines)] in order; lines without their trailing spaces."""
    found = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if ENTRY.match(line):
            m = NUMBERS.match(line)
            found.append((m.groups()[:3], re.sub(r"\s+", " ", m.group(4)), []))
        else:
            found[-1][2].append(line.rstrip())
    return found


def is_named(entry):
    # What perf shows as an address, perfcam shows as the file: neither is a name.
    return not NAMELESS.search(entry[1].replace("[kernel.kallsyms]", "").replace("[k]", "").replace("[.]", "").strip())


class Report(Case):
    def report(self, *options, **more):
        return self.good("report", "-i", directory("shell.stacks.gz"), *options, **more)

    def test_entries_and_chains_are_perfs(self):
        compared = chains = 0
        for name, options in OPTIONS.items():
            theirs, ours = entries_of(read(name)), entries_of(self.report(*options).decode())
            self.assertGreater(len(theirs), 4, name)
            named = collections.Counter((e[0], e[1]) for e in theirs if is_named(e))
            mine = collections.Counter((e[0], e[1]) for e in ours if is_named(e))
            self.assertEqual(named, mine, name)
            compared += sum(named.values())
            known = {e[1]: e for e in ours}
            for entry in theirs:
                # Many addresses, each too light to be shown, may be one file that is not.
                if not is_named(entry) or NAMELESS.search("\n".join(entry[2] + known[entry[1]][2])):
                    continue
                # Chains that weigh the same may change places.
                self.assertEqual(sorted(entry[2]), sorted(known[entry[1]][2]), (name, entry[1]))
                chains += len(entry[2])
        self.assertGreater(compared, 1500)
        self.assertGreater(chains, 2000)

    def test_order_is_by_weight_callers_first(self):
        for name in ("default", "self", "callee"):
            ours = [e for e in entries_of(self.report(*OPTIONS[name]).decode())]
            weights = [float(e[0][0].rstrip("%")) for e in ours]
            self.assertEqual(weights, sorted(weights, reverse=True))
            theirs = [e[1] for e in entries_of(read(name)) if is_named(e)][:6]
            self.assertEqual([e[1] for e in ours if is_named(e)][:6], theirs)

    def test_heads(self):
        theirs, ours = read("default").splitlines(), self.report().decode().splitlines()
        for start in ("# Samples:", "# Event count", "# Total Lost"):
            self.assertEqual([l for l in theirs if l.startswith(start)], [l for l in ours if l.startswith(start)])
        columns = [l.split() for l in theirs if l.startswith("# Children")]
        self.assertEqual(columns, [l.split() for l in ours if l.startswith("# Children")])

    def test_json_says_the_same(self):
        out = json.loads(self.report("--json"))
        text = entries_of(self.report().decode())
        self.assertEqual(len(out["entries"]), len(text))
        for entry, shown in zip(out["entries"], text):
            self.assertEqual(f"{entry['total']['weight'] * 100 / out['total']:.2f}%", shown[0][0])
            self.assertIn(entry["symbol"], shown[1])
        # Children of a node never weigh more than it.
        for entry in out["entries"]:
            above = []
            for node in entry["chains"]:
                del above[node["depth"]:]
                if above:
                    self.assertLessEqual(node["weight"], above[-1])
                above.append(node["weight"])

    def test_other_keys_and_limits(self):
        by_pid = entries_of(self.report("--sort", "pid", "-g", "none", "--no-children").decode())
        self.assertTrue(any(e[1].endswith(":wl") for e in by_pid), by_pid)
        self.assertAlmostEqual(sum(float(e[0][0].rstrip("%")) for e in by_pid), 100, delta=0.1)
        short = self.report("--max-stack", "2")
        self.assertLess(len(short), len(self.report()))
        only = entries_of(self.report("--comm", "wl", "--no-children").decode())
        self.assertTrue(all(e[1].startswith("wl ") for e in only))

    def expected(self, path, keep, collapse=False, focus=None, group=None):
        """{symbol: [self, total]} in samples, from the single samples: what is not kept is its caller's."""
        sums = collections.defaultdict(lambda: [0, 0])
        for line in self.good("export", "json", "-i", path).decode().splitlines():
            sample = json.loads(line)
            if sample["comm"] == "swapper":
                continue
            frames, kernel, started = [], False, not focus
            for f in reversed(sample["stack"]):
                kernel = kernel if f.get("kind") == "inlined" else f.get("kind") == "kernel"
                name = f.get("name") or "[unknown]"
                started = started or re.search(focus, name)
                shown = group(name, f.get("module") or "[unknown]", kernel) if group else name
                if started and keep(name, kernel) and not ((collapse or group) and frames[-1:] == [shown]):
                    frames.append(shown)
            if focus and not started:
                continue
            frames = frames or ["[hidden]" if sample["stack"] else "[unknown]"]
            sums[frames[-1]][0] += 1
            for name in set(frames):
                sums[name][1] += 1
        return dict(sums)

    def compare(self, path, options, want):
        """report's and top's numbers, of what has a name."""
        more = ("-i", path, "-s", "sym", "--weight", "samples", "--json", *options)
        report = json.loads(self.good("report", "-g", "none", "--percent-limit", "0", *more))
        top = json.loads(self.good("top", "-n", "100000", *more))
        named = {name for name in want if not name.startswith("[") or name == "[hidden]"}
        self.assertTrue(named)
        for rows in (report["entries"], top["rows"]):
            got = {e["symbol"]: [e["self"]["weight"], e["total"]["weight"]] for e in rows}
            self.assertEqual({n: got.get(n) for n in named}, {n: want[n] for n in named}, options)
        self.assertEqual(report["total"], sum(v[0] for v in want.values()), options)
        self.assertEqual(top["total"], report["total"], options)

    def test_the_head_of_pid_is_perfs(self):
        out = self.good("report", "--no-children", "-g", "none", "-s", "pid,comm", "-i", support.fixture_path("tmpl"))
        self.assertRegex(out, rb"(?m)^# Overhead      Pid:Command +Command *\n# \.{8}  \.{15,}  \.{7} *$")

    def test_frames_that_are_left_out(self):
        path = os.path.join(support.DATA, "gcc-compile.stacks.gz")
        cases = ((("--hide", "^(do_|__)"), lambda name, kernel: not re.match("do_|__", name), False),
                 (("--frames", "kernel"), lambda name, kernel: kernel, False),
                 (("--frames", "user"), lambda name, kernel: not kernel, False),
                 (("--hide", "."), lambda name, kernel: False, False),
                 (("--collapse-recursion",), lambda name, kernel: True, True))
        for options, keep, collapse in cases:
            with self.subTest(options):
                self.compare(path, options, self.expected(path, keep, collapse))

    def test_focus(self):
        path = os.path.join(support.DATA, "gcc-compile.stacks.gz")
        every = lambda name, kernel: True
        want = self.expected(path, every, focus="^do_")
        self.assertLess(sum(v[0] for v in want.values()), sum(v[0] for v in self.expected(path, every).values()))
        self.compare(path, ("--focus", "^do_"), want)
        self.compare(path, ("--focus", "^do_", "--hide", "page"),
                     self.expected(path, lambda name, kernel: "page" not in name, focus="^do_"))

    def test_groups(self):
        def java(name, module, kernel):
            m = re.match(r"L?((?:[a-z][\w$]*/)+)[A-Z][\w$]*;?(?:::|\.)", name)
            return m[1].rstrip("/") if m and not kernel else os.path.basename(module)

        every = lambda name, kernel: True
        path = os.path.join(support.DATA, "gcc-compile.stacks.gz")
        self.compare(path, ("--group", "module"),
                     self.expected(path, every, group=lambda name, module, kernel: os.path.basename(module)))
        rng = random.Random(3)
        names = ["Ljava/util/HashMap;::get", "Ljava/util/HashMap;::put", "Ljava/lang/Thread;::run", "Lorg/example/App;::main",
                 "Interpreter", "call_stub", "vfs_read"]
        text = ""
        for i in range(300):
            stack = [rng.choice(names) for _ in range(rng.randint(1, 7))]
            text += f"java  70/71 [000]   {100 + i}.000001:          1 cycles: \n" + "".join(
                f"\t    {1000 + names.index(n):x} {n} ({'[kernel.kallsyms]' if n == 'vfs_read' else '/tmp/perf-70.map'})\n"
                for n in stack) + "\n"
        path = self.path("java.txt", text.encode())
        want = self.expected(path, every, group=java)
        self.assertLess({"java/util", "java/lang", "org/example"}, set(want))
        self.compare(path, ("--group", "package"), want)
        for verb in ("report", "top"):
            by = ("--by", "function") if verb == "top" else ()
            self.bad(verb, *by, "-i", path, "--group", "leaf-package", code=2, names=("leaf-package", "package or module"))
            self.bad(verb, *by, "-i", path, "--group", "colour", code=2, names="colour")
        self.bad("top", "--by", "process", "-i", path, "--hide", "x", code=2, names=("--by function", "--match"))

    def test_what_is_wrong_is_said(self):
        path = directory("shell.stacks.gz")
        self.bad("report", "-i", path, "-g", "sideways", code=2, names="sideways")
        self.bad("report", "-i", path, "--percent-limit", "x", code=2, names="x")
        self.bad("report", "-i", path, "--sort", "nonsense", code=2, names="nonsense")
        self.bad("report", "-i", path, "--sort", "time", code=2, names="time")
        self.bad("report", "-i", path, "--children", "--no-children", code=2, names="exclude")
        self.bad("report", "-i", path, "--comm", "nobody", names="no samples")


class Keys(Case):
    """perf's own keys of a recording that perf makes now: kernel functions, whose names both take from this kernel."""

    WORK = "for i in 1 2 3 4 5 6 7 8; do cat /etc/passwd /etc/group; ls /usr/bin; dd if=/dev/zero count=2000; done"

    def recorded(self):
        path = self.path("now.data")
        subprocess.run(["perf", "record", "-q", "-a", "-F", "1999", "-g", "-e", "cpu-clock", "-o", path, "--", "sh", "-c",
                        self.WORK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
        return path

    def both(self, path, *options):
        """{what: its numbers} of perf and of perfcam, of rows whose names do not differ by design."""
        # perf cuts a name where its column is too narrow for it, and fills the CPU's with zeros where it is wider.
        widths = ["-w", "10,60,60" if "--no-children" in options else "10,10,60,120"]
        widths = [] if any("cpu" in option for option in options) else widths
        theirs = subprocess.run(["perf", "report", "-i", path, "--stdio", "-g", "none", *widths, *options], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120).stdout.decode()
        # perf adds columns of its own for branches behind some keys.
        theirs = re.sub(r"(?m)( +-){2} *$", "", theirs)
        ours = self.good("report", "-i", path, "--idle", "-g", "none", *options).decode()
        return [{what: numbers for numbers, what, _ in entries_of(text)} for text in (theirs, ours)]

    def assert_alike(self, ours, theirs, sort):
        """
        All rows the same, but for what a sample or two of some dozens may be of: where an address has several names perf
        may take another one, which the expression then finds or does not.
        """
        percent = [{what: float(numbers[0].rstrip("%")) for what, numbers in rows.items()} for rows in (ours, theirs)]
        apart = {what: (percent[0].get(what, 0), percent[1].get(what, 0)) for what in {*ours, *theirs}
                 if ours.get(what) != theirs.get(what)}
        self.assertLess(sum(abs(a - b) for a, b in apart.values()), 5, f"{sort}: {apart}")

    def test_parent_socket_and_cpu(self):
        path = self.recorded()
        for sort in ("socket,cpu", "parent", "parent,comm", "cpu,parent"):
            theirs, ours = self.both(path, "--no-children", "-s", sort, "-p", "^(vfs|do|__x64)_")
            self.assertGreater(len(theirs), 2 if "parent" in sort else 0, sort)
            self.assert_alike(ours, theirs, sort)
        # With children the outermost match counts. perf has several rows of one kernel function where we have one, so
        # of frames only those of the kernel are compared.
        theirs, ours = self.both(path, "-s", "parent,symbol", "-p", "^(vfs|do)_")
        kernel = {what for what in theirs if "[k]" in what and not NAMELESS.search(what.split("[k]")[1])}
        self.assertGreater(len(kernel), 100)
        # By weight, not by rows: one sample of another parent is in as many rows as its stack has frames.
        self.assert_alike({what: ours[what] for what in kernel if what in ours}, {what: theirs[what] for what in kernel}, "parent,symbol")

    def test_a_window_knows_its_sockets(self):
        path = self.recorded()
        self.good("import", "--store", self.store, path)
        rows = json.loads(self.good("top", "--store", self.store, "--sort", "socket,cpu", "--json"))["rows"]
        for row in rows:
            with open(f"/sys/devices/system/cpu/cpu{row['cpu']}/topology/physical_package_id") as f:
                self.assertEqual(row["socket"], int(f.read()))
        # A text has no such fact.
        rows = json.loads(self.good("top", "-i", support.fixture_path("nginx-997"), "--sort", "socket", "--json"))["rows"]
        self.assertEqual([row["socket"] for row in rows], [None])

    def test_every_key_of_perf_is_known_or_refused_with_a_reason(self):
        said = subprocess.run(["perf", "report", "-h"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20).stdout
        keys = re.search(rb"sort by key\(s\):(.*?)\n    -", said, re.S)[1].decode().split()
        self.assertGreater(len(keys), 40)
        self.assertIn("parent", keys)
        path = support.fixture_path("tmpl")
        for key in {*keys, "tid", "type"}:
            r = support.run("top", "-i", path, "--sort", f"comm,{key}" if key != "comm" else key)
            self.assertIn(r.code, (0, 2), (key, r.err))
            if r.code == 2:
                self.assertRegex(r.err.decode(), rf"{key}: .{{20,}}; use perf report -s {key}", key)
        for key in ("parent", "socket", "srcline", "srcfile", "pid", "time", "cgroup", "overhead_sys"):
            self.good("top", "-i", path, "--sort", f"comm,{key}")
        self.bad("report", "-i", path, "--sort", "srcline", code=2, names="add --no-children")
        self.bad("top", "-i", path, "--parent", "(", code=2, names="--parent '('")
        self.bad("top", "-i", path, "--sort", "colour", code=2, names=("'colour' is no key", "srcline"))


tap.main()
