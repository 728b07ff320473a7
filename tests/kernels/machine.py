# SPDX-License-Identifier: Apache-2.0
"""The machine the cases share: booted once; recorders of both sources in it, and what they stored."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PERFCAM_BUILD") or os.path.join(ROOT, "build")
os.environ.setdefault("PERFCAM_BIN", os.path.join(BUILD, "perfcam"))
sys.path[:0] = [os.path.join(ROOT, "tests", "system"), os.path.join(ROOT, "tests", "cli")]
import dump  # noqa: E402
import guest  # noqa: E402
import image  # noqa: E402

SOURCES = ("bpf", "perf")
WORKLOADS = ("spin31", "kernel")

# Waits until something is in a file, or fails after a minute.
SHELL = """
await() {
	n=0
	until [ -s "$1" ]; do
		n=$((n + 1))
		[ $n -lt 600 ] || { echo "no $1"; exit 1; }
		sleep 0.1
	done
}
"""


def answers(options, said):
    """A script that waits until a recorder does; the kernel's verifier takes some seconds here."""
    return f"""
n=0
until perfcam status {options} >/dev/null 2>&1; do
	n=$((n + 1))
	[ $n -lt 450 ] || {{ cat {said}; exit 1; }}
	sleep 0.2
done
"""


class Machine:
    """Where the kernel and the initramfs are; the shared guest."""

    def __init__(self):
        place = os.path.join(BUILD, "kernels")
        self.vmlinuz, modules = image.kernel(place)
        self.initramfs = os.path.join(place, "initramfs")
        programs = {"usr/bin/perfcam": os.path.join(BUILD, "perfcam")}
        for name in WORKLOADS:
            programs["work/" + name] = os.path.join(BUILD, "tests", "workloads", "workload_" + name)
        programs["usr/bin/clocks"] = os.path.join(BUILD, "tests", "kernels", "kernels_clocks")
        programs["work/unwind"] = os.path.join(BUILD, "tests", "unit", "test_capture_bpf_unwind")
        # Debian's redis-server is a name of this file.
        programs["usr/bin/redis-server"] = "/usr/bin/redis-check-rdb"
        programs["usr/bin/redis-benchmark"] = "/usr/bin/redis-benchmark"
        image.initramfs(self.initramfs, modules, programs)
        self._shared = None

    def boot(self, **options):
        return guest.Guest(self.vmlinuz, self.initramfs, **options)

    def shared(self):
        if self._shared is not None and self._shared.lost:
            self.close()
            self._shared = None
        if self._shared is None:
            # As real machines have it; else the kernel takes QEMU's for unstable, and reads are slow.
            self._shared = self.boot(arguments="tsc=reliable")
            print(f"# booted {self._shared.must('uname -rv').strip()} in "
                  f"{self._shared.boot_seconds:.0f} s", flush=True)
        return self._shared

    def close(self):
        if self._shared:
            self._shared.close()


# Seconds since the boot, for a script: CLOCK_BOOTTIME, in hundredths.
NOW = "$(cut -d' ' -f1 /proc/uptime)"
_machine = None


def get():
    global _machine
    if _machine is None:
        _machine = Machine()
    return _machine


def close():
    if _machine:
        _machine.close()


class Recorders:
    """Both sources at the same time (or those named), each with its store below /tmp/NAME."""

    def __init__(self, vm, name, *args, sources=SOURCES):
        self.vm, self.name, self.place, self.sources = vm, name, "/tmp/" + name, sources
        # Nothing of an attempt before this one: see run.py.
        vm.must(f"for p in {self.place}/*.pid; do kill $(cat $p) && sleep 3; done 2>/dev/null; "
                f"rm -rf {self.place}; mkdir -p {self.place}")
        for source in self.sources:
            store = f"{self.place}/{source}"
            vm.must(SHELL + f"""
(sh -c 'echo $$ >{store}.pid; exec perfcam record --source {source} --store {store} \
	--control {store}.control --max-cpu none {' '.join(args)}' >{store}.said 2>&1; echo $? >{store}.status) >/dev/null 2>&1 &
""" + answers(f"--store {store} --control {store}.control", store + ".said"))

    def await_names(self, *names, patience=90):
        """Until each store has them: a symboliser is slow without hardware help."""
        for source in self.sources:
            for name in names:
                self.vm.must(f"""
n=0
until perfcam export folded --store {self.place}/{source} 2>/dev/null | grep -q '{name}'; do
	n=$((n + 1))
	[ $n -lt {patience} ] || {{ echo "{source} has no {name}"; exit 1; }}
	sleep 0.5
done
""", patience=4 * patience)

    def stop(self):
        """{source: exit status}, and they are gone; their stores are whole."""
        ended = {}
        for source in self.sources:
            store = f"{self.place}/{source}"
            self.vm.must(f"kill $(cat {store}.pid) || {{ cat {store}.status {store}.said; exit 1; }}")
        for source in self.sources:
            status = f"{self.place}/{source}.status"
            ended[source] = int(self.vm.must(SHELL + f"await {status}; cat {status}"))
        self.here = self.vm.fetch(self.place, self.name)
        for source in self.sources:
            r = subprocess.run([os.environ["PERFCAM_BIN"], "verify", "--store", self.path(source)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if r.returncode:
                raise AssertionError(f"{source}: {r.stdout}")
        return ended

    def said(self, source):
        with open(os.path.join(self.here, source + ".said"), encoding="utf-8") as f:
            return f.read()

    def path(self, source):
        return os.path.join(self.here, source)

    def store(self, source):
        """What it stored."""
        return dump.Store(self.path(source))
