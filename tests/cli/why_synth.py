# SPDX-License-Identifier: Apache-2.0
"""Load of a large host in perf script's words: services that come in bursts (overdispersed), jobs that come and go,
and, where a test wants one, a culprit. The same seed gives the same bytes."""
import random

PERIOD_US = 10309
START_US = 1_000_000_000
CAPTURED = 1_776_222_000  # when the first sample was taken: 2026-04-15T03:00:00Z

# name, processes, samples a second of each, burstiness (1 is steady), stacks
SERVICES = (
    (b"nginx", 8, 12, 0.6, 4),
    (b"postgres", 12, 8, 0.9, 6),
    (b"redis-server", 1, 30, 0.4, 3),
    (b"java", 2, 60, 0.3, 8),
    (b"node", 3, 15, 1.2, 5),
    (b"kubelet", 1, 3, 1.0, 4),
    (b"ksoftirqd/3", 1, 4, 0.8, 2),
    (b"steady", 1, 40, 0.05, 2),
)


def stack(service, k, kernel):
    """Leaf first; a kernel part, or none, on top of the program's own."""
    own = [(0x401000 + 16 * i, b"%s_f%d_%d" % (service, k, i), b"/usr/bin/" + service.split(b"/")[0])
           for i in range(4)]
    calls = [b"copy_user_generic", b"vfs_%s_%d" % (service.split(b"/")[0], k), b"ksys_read", b"do_syscall_64",
             b"entry_SYSCALL_64_after_hwframe"]
    return ([(0xffffffff81000000 + 64 * i, f, b"[kernel.kallsyms]") for i, f in enumerate(calls)]
            if kernel else []) + own


def frames_of(names, module=b"[kernel.kallsyms]"):
    base = 0xffffffff82000000 if module == b"[kernel.kallsyms]" else 0x500000
    return [(base + 64 * i, name, module) for i, name in enumerate(names)]


class Load:
    """seconds of samples on so many CPUs. Times of calls are seconds from the first."""

    def __init__(self, seed, seconds, cpus=96, services=SERVICES, jobs=True):
        self.rng = random.Random(seed)
        self.seconds, self.cpus = seconds, cpus
        self.samples = []  # (time_us, cpu, comm, pid, frames)
        self.texts = {}
        for i, (name, n, rate, burst, kinds) in enumerate(services):
            stacks = [self.text(stack(name, k, k % 2 == 0)) for k in range(kinds)]
            for p in range(n):
                self.service(name, 1000 + 100 * i + p, rate, burst, stacks)
        if jobs:
            self.jobs()

    def text(self, frames):
        return b"".join(b"\t%16x %s+0x1 (%s)\n" % f for f in frames) + b"\n"

    def service(self, name, pid, rate, burst, stacks):
        """A negative binomial count in each second: Poisson with a rate that is itself gamma."""
        for s in range(self.seconds):
            level = self.rng.gammavariate(1 / burst, burst) * rate
            self.put(name, pid, s, self.poisson(min(level, 95)), stacks, self.rng.randrange(self.cpus))

    def poisson(self, mean):
        if mean <= 0:
            return 0
        return max(0, int(self.rng.gauss(mean, mean ** 0.5) + 0.5)) if mean > 30 else self.small_poisson(mean)

    def small_poisson(self, mean):
        limit, product, n = 2.718281828459045 ** -mean, self.rng.random(), 0
        while product > limit:
            product *= self.rng.random()
            n += 1
        return n

    def put(self, name, pid, second, n, stacks, cpu):
        for _ in range(n):
            at = START_US + int((second + self.rng.random()) * 1e6)
            self.samples.append((at, cpu, name, pid, self.rng.choice(stacks)))

    def jobs(self):
        """A compiler every ~12 s, each time another process; a script; gzip every 20 s."""
        pid, at = 20000, self.rng.expovariate(1 / 12)
        stacks = [self.text(stack(b"cc1", k, False)) for k in range(4)]
        while at < self.seconds - 3:
            length = self.rng.uniform(0.4, 2.5)
            self.burst(b"cc1", pid, at, length, self.rng.choice(stacks), share=0.95)
            pid += self.rng.randint(1, 9)
            at += 3 + self.rng.expovariate(1 / 9)
        packed = self.text(stack(b"gzip", 0, False))
        for i in range(int(self.seconds / 20)):
            self.burst(b"gzip", 30000 + i, i * 20 + 7, 0.8, packed, share=0.9)

    def burst(self, name, pid, at, length, text, share=1.0, cpu=None):
        """One process, on one CPU, sampled at every tick but some. A CPU that is named it has to itself."""
        lo, hi = START_US + at * 1e6, START_US + (at + length) * 1e6
        if cpu is not None:
            self.samples = [s for s in self.samples if s[1] != cpu or not lo <= s[0] < hi]
        cpu = self.rng.randrange(self.cpus) if cpu is None else cpu
        t = at * 1e6
        while t < (at + length) * 1e6:
            if self.rng.random() < share:
                self.samples.append((START_US + int(t), cpu, name, pid, text))
            t += PERIOD_US

    def silence(self, name, at, length):
        """That process did not run."""
        lo, hi = START_US + at * 1e6, START_US + (at + length) * 1e6
        self.samples = [s for s in self.samples if s[2] != name or not lo <= s[0] < hi]

    def gap(self, at, length):
        """Nothing was recorded."""
        lo, hi = START_US + at * 1e6, START_US + (at + length) * 1e6
        self.samples = [s for s in self.samples if not lo <= s[0] < hi]

    def write(self, path, host="big-host"):
        self.samples.sort(key=lambda s: s[0])
        last = self.samples[-1][0]
        head = (
            f"# ========\n# captured on    : Wed Apr 15 03:00:00 2026\n# header version : 1\n# hostname : {host}\n"
            f"# os release : 6.1.0\n# perf version : 6.1.190\n# arch : x86_64\n# nrcpus online : {self.cpus}\n"
            f"# nrcpus avail : {self.cpus}\n# time of first sample : {self.samples[0][0] / 1e6:.6f}\n"
            f"# time of last sample : {last / 1e6:.6f}\n# ========\n#\n").encode()
        with open(path, "wb") as f:
            f.write(head)
            for at, cpu, name, pid, text in self.samples:
                f.write(b"%s %5d/%-5d [%03d] %5d.%06d: %10d cpu-clock:pppH: \n%s" % (
                    name, pid, pid, cpu, at // 1000000, at % 1000000, PERIOD_US * 1000, text))


def boot(at):
    """That second as an argument: the clock of the samples."""
    return f"boot+{START_US / 1e6 + at:.3f}"
