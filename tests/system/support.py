# SPDX-License-Identifier: Apache-2.0
"""A recorder under test: started, asked, stopped; and what is in its store, by the program's own words.

Everything runs in directories of its own, below a temporary one; no other store, socket or process is
touched. Times are generous (the machine may be busy), counts are not.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import tap  # noqa: E402

BIN = os.path.abspath(tap.BIN)
SECOND = 1_000_000_000
WORKLOADS = os.environ.get("PERFCAM_WORKLOADS") or os.path.join(
    os.path.dirname(BIN), "tests", "workloads")
PATIENCE = 30


def seconds(short, long):
    """How long a load runs: in `make test`, and in `make test-long` (PERFCAM_LONG=1)."""
    return long if os.environ.get("PERFCAM_LONG") == "1" else short


def note(text):
    """A number worth keeping, in the test's log."""
    print("# " + text, flush=True)


def peak_bytes(pid):
    """The most memory a process ever had resident."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))


def check_flat(case, whose, readings, share=0.5):
    """The last third of them against the one before. It breathes, with windows whose tables fill up and are emptied and with questions
    that are answered: the same share of each lies below what is compared, and a tenth more is none."""
    third = len(readings) // 3
    early, late = (sorted(part)[int(len(part) * share)] for part in (readings[third:2 * third], readings[2 * third:]))
    note(f"{whose} resident memory: most {max(readings) / 2**20:.1f} MiB; {share:.0%} of the second third below {early / 2**20:.1f}, "
         f"of the last third below {late / 2**20:.1f}")
    case.assertLess(late, 1.1 * early)


def workload(name):
    return os.path.join(WORKLOADS, "workload_" + name)


def perfcam(*args, **options):
    """The program, run to its end; outputs as text."""
    return subprocess.run([BIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=options.pop("timeout", 120), **options)


def wait_until(what, patience=PATIENCE):
    """Calls what() until it is true; its value, or the last false one."""
    until = time.monotonic() + patience
    value = what()
    while not value and time.monotonic() < until:
        time.sleep(0.05)
        value = what()
    return value


def let_run(pid, seconds, patience=PATIENCE):
    """Until it has had so much of a CPU: on a busy host that takes a while. One that waits is let be."""
    clock, until = ~pid << 3 | 2, time.monotonic() + patience  # clock_getcpuclockid(3), as the kernel has it
    enough = time.clock_gettime(clock) + seconds
    while time.clock_gettime(clock) < enough and time.monotonic() < until:
        time.sleep(0.0005)


class Recorder:
    """`perfcam record --store DIR …`, in the background."""

    def __init__(self, store, *args, wrap=(), env=None):
        self.store = store
        self.errors = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen(
            [*wrap, BIN, "record", "--store", store, "--control", store + ".control", *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, **(env or {})})
        self.pid = self.p.pid
        self.loads = []

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def ready(self, patience=PATIENCE):
        """Waits until it answers; self."""
        if not wait_until(lambda: self.p.poll() is not None or self.status(), patience):
            raise AssertionError("the recorder did not answer:\n" + self.said())
        if self.p.poll() is not None:
            raise AssertionError("the recorder ended:\n" + self.said())
        return self

    def status(self):
        r = perfcam("status", "--json", "--store", self.store, "--control", self.store + ".control")
        return json.loads(r.stdout) if r.returncode == 0 else None

    def stop(self, sig=signal.SIGTERM):
        """Its exit status. What ran to be recorded ends with it: nobody looks at that any more."""
        if self.p.poll() is None:
            self.p.send_signal(sig)
        self.p.stdout.read()
        status = self.p.wait(PATIENCE)
        for p in self.loads:
            p.kill()
        return status


class MemoryGroup:
    """A control group whose members get no more memory than a recorder says that it takes at most, all its processes together."""

    PLACE = "/sys/fs/cgroup/memory"

    def __init__(self, case):
        self.case = case

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="perfcam-test-", dir=self.PLACE)
        self.wrap = ("sh", "-c", f"echo $$ >{self.path}/cgroup.procs && exec \"$@\"", "sh")
        return self

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="ascii") as f:
            return f.read()

    def limit_to_budgets(self, recorder):
        """{name: bytes} of its budgets, whose sum is the limit from now on."""
        budgets = {b["name"]: b["limit"] for b in wait_until(recorder.status)["budgets"]}
        self.limit = sum(budgets[name] for name in ("resident", "symboliser", "tables in the kernel", "rings"))
        with open(os.path.join(self.path, "memory.limit_in_bytes"), "w", encoding="ascii") as f:
            f.write(str(self.limit))
        return budgets

    def check(self):
        """Nobody was killed for want of memory."""
        self.case.assertIn("oom_kill 0", self.read("memory.oom_control").splitlines())
        note(f"at most {int(self.read('memory.max_usage_in_bytes')) >> 20} MiB of {self.limit >> 20}")

    def __exit__(self, *_):
        for p in self.case.running:
            if p.poll() is None:
                p.kill()
            p.wait()
        wait_until(lambda: not self.read("cgroup.procs"), 10)
        os.rmdir(self.path)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="perfcam-test-")
        self.store = os.path.join(self.dir, "store")
        self.running, self.loads = [], []

    def tearDown(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def made_once(self, make):
        """What all cases of a class look at; what it started is ended also where it fails, before there is a tearDown()."""
        try:
            return make(self)
        except BaseException:
            self.tearDown()
            raise

    def recorder(self, *args, **options):
        r = Recorder(options.pop("store", self.store), *args, **options)
        self.running.append(r.p)
        r.loads = self.loads
        return r

    def start(self, *command, **options):
        """Another program of the test's own, killed at its end."""
        p = subprocess.Popen(command, stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        self.running.append(p)
        return p

    def load(self, name, *args, share=40):
        """Something to record: a workload for a share of each tenth of a second, until a recorder is stopped."""
        p = self.start(workload("paced"), str(share), workload(name), *map(str, args or (60,)), stdout=subprocess.DEVNULL)
        self.loads.append(p)
        return p

    def windows(self, store=None):
        r = perfcam("ls", "--json", "--store", store or self.store)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        found = json.loads(r.stdout)
        return found if isinstance(found, list) else found["windows"]

    def folded(self, *args, store=None):
        """{stack as a tuple, root first: samples}"""
        r = perfcam("export", "folded", "--store", store or self.store, *args)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        stacks = {}
        for line in r.stdout.splitlines():
            stack, _, count = line.rpartition(" ")
            stacks[tuple(stack.split(";"))] = int(count)
        return stacks

    def check_accounts(self, dump, hz):
        """busy + causes == due over all whole seconds of each CPU; of the losses it is only known in
        which round they were, so not of each second. Where nothing was recorded between two windows, that has a cause."""
        first = dump.windows[0]["start"] // SECOND + 1
        last = dump.windows[-1]["end"] // SECOND
        ends = sorted((w["start"], w["end"]) for w in dump.windows)
        between = [(a[1], b[0]) for a, b in zip(ends, ends[1:]) if b[0] > a[1]]
        for start, end in between:
            self.assertTrue([g for g in dump.gaps if g["from"] <= start and end <= g["to"] and g["cause"]],
                            (start, end, dump.gaps))
        unrecorded = sum(end - start for start, end in between) / SECOND
        for cpu in {c["cpu"] for c in dump.cells}:
            told = sum(c["busy"] + sum(c["causes"].values()) for c in dump.cells
                       if c["cpu"] == cpu and first <= c["second"] < last)
            due = hz * (last - first - unrecorded)
            note(f"CPU {cpu}: busy and causes {told}, due {due:.0f}")
            self.assertLessEqual(abs(told - due), 4 + 2 * len(between))

    def verify(self, store=None):
        r = perfcam("verify", "--store", store or self.store)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)


def sources():
    """What can be recorded with here; the plain rings always."""
    global _sources
    if _sources is None:
        place = tempfile.mkdtemp(prefix="perfcam-test-")
        r = perfcam("record", "--source", "bpf", "-d", "200ms", "--store", os.path.join(place, "s"),
                    "--control", os.path.join(place, "c"))
        shutil.rmtree(place)
        _sources = ("bpf", "perf") if r.returncode == 0 else ("perf",)
        if r.returncode:
            not_run("source bpf", (r.stderr.strip().splitlines() or ["?"])[-1])
    return _sources


_sources = None
_not_run = {}
_kept = []


def need(program):
    """What a test is about has to be there: make test installs it."""
    if not shutil.which(program):
        raise AssertionError(f"no {program}: run tools/setup test programs")


def not_run(name, why):
    """Something that this machine cannot do: said by name at the end, never passed over in silence."""
    _not_run[name] = why


def keep_directory():
    """A directory for a whole file of tests."""
    path = tempfile.mkdtemp(prefix="perfcam-test-")
    os.chmod(path, 0o755)
    _kept.append(path)
    return path


def make_cgroup():
    """A group of its own: its name as /proc/PID/cgroup has it, and its directory, to be removed."""
    unified = next(m.split()[1] for m in open("/proc/mounts", encoding="utf-8")
                   if m.split()[2] == "cgroup2")
    path = tempfile.mkdtemp(prefix="perfcam-test-", dir=unified)
    return "/" + os.path.basename(path), path


class Both(Case):
    """A recorder of each source at the same time, each with a store of its own."""

    def both(self, *args):
        made = {}
        for source in sources():
            made[source] = self.recorder("--source", source, *args,
                                         store=os.path.join(self.dir, source))
        return {source: r.ready() for source, r in made.items()}


def main():
    try:
        tap.main()
    finally:
        for path in _kept:
            shutil.rmtree(path, ignore_errors=True)
        for name, why in _not_run.items():
            print(f"# not run here: {name}: {why}", flush=True)
