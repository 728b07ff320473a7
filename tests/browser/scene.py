# SPDX-License-Identifier: Apache-2.0
"""A made-up host for pictures and tests: services of known habits, and one incident, as perf script text.

    text, facts = scene.make(seed=1, seconds=120, cpus=16)

Every busy tick of a CPU is a sample; idle ticks are not printed, as in a recording without the idle task.
With `away`, the last CPU but one is offline for 20 s before it. At facts["incident"] one process burns one CPU in the kernel for 1.9 s, in a path of its own.
"""
import random
import re
import time

HZ = 97
START = 1776222777  # 2026-04-15 03:12:57 UTC
KERNEL, USER, JIT = "[kernel.kallsyms]", None, "/tmp/perf-812.map"


HEAD = re.compile(rb"^(\S+) +\d+/\d+ \[(\d+)\] (\d+)\.(\d+):", re.M)  # of a sample: comm, CPU, s and µs of the host's clock


def user(binary, *names):
    return [(n, binary) for n in names]


def kernel(*names):
    return [(n, KERNEL) for n in names]


SYSCALL = kernel("entry_SYSCALL_64_after_hwframe", "do_syscall_64")
READ = SYSCALL + kernel("ksys_read", "vfs_read")
ZSTD, PG, ENVOY, REDIS = "/usr/bin/zstd", "/usr/lib/postgresql/15/bin/postgres", "/usr/local/bin/envoy", "/usr/bin/redis-server"
KUBELET, JAVA = "/usr/local/bin/kubelet", "/usr/lib/jvm/libjvm.so"
PG_MAIN = user(PG, "_start", "main", "PostmasterMain", "ServerLoop", "BackendMain", "PostgresMain", "exec_simple_query", "PortalRun",
               "standard_ExecutorRun")
JAVA_MAIN = user(JAVA, "start_thread", "thread_native_entry", "JavaThread::run") + [
    (n, JIT) for n in ("java/lang/Thread.run", "org/apache/tomcat/ThreadPoolExecutor.runWorker", "org/apache/coyote/Http11Processor.service",
                       "com/shop/CheckoutController.post")]
# comm, pid, weight, stacks root first with their weights
SERVICES = [
    ("zstd", 4410, 30, [
        (user(ZSTD, "clone3", "start_thread", "POOL_thread", "ZSTDMT_compressionJob", "ZSTD_compressContinue_internal", "ZSTD_buildSeqStore",
              "ZSTD_compressBlock_lazy2", "ZSTD_BtFindBestMatch"), 9),
        (user(ZSTD, "clone3", "start_thread", "POOL_thread", "ZSTDMT_compressionJob", "ZSTD_compressContinue_internal", "ZSTD_buildSeqStore",
              "ZSTD_compressBlock_lazy2", "ZSTD_insertBt1"), 5),
        (user(ZSTD, "clone3", "start_thread", "POOL_thread", "ZSTDMT_compressionJob", "ZSTD_compressContinue_internal", "ZSTD_entropyCompress",
              "HUF_compress4X"), 4)]),
    ("postgres", 1200, 26, [
        (PG_MAIN + user(PG, "ExecIndexScan", "IndexNext", "index_getnext_slot", "heap_hot_search_buffer"), 5),
        (PG_MAIN + user(PG, "ExecAgg", "ExecHashJoin", "ExecHash", "hash_search_with_hash_value"), 4),
        (PG_MAIN + user(PG, "ExecSeqScan", "heap_getnextslot", "heapgetpage", "ReadBufferExtended") + SYSCALL +
         kernel("ksys_pread64", "ext4_file_read_iter", "generic_file_read_iter", "copy_page_to_iter"), 3),
        (PG_MAIN + user(PG, "printtup", "internal_flush") + SYSCALL + kernel("__sys_sendto", "tcp_sendmsg", "tcp_write_xmit", "ip_output"), 2)]),
    ("java", 812, 18, [
        (JAVA_MAIN + [("com/shop/PricingEngine.quote", JIT), ("com/shop/RuleSet.evaluate", JIT), ("java/util/HashMap.getNode", JIT)], 6),
        (JAVA_MAIN + [("com/fasterxml/BeanSerializer.serialize", JIT), ("com/fasterxml/UTF8JsonGenerator.writeString", JIT)], 5),
        (JAVA_MAIN + [("sun/nio/ch/SocketChannelImpl.write", JIT)] + SYSCALL + kernel("ksys_write", "vfs_write", "sock_write_iter", "tcp_sendmsg"), 3)]),
    ("envoy", 655, 8, [
        (user(ENVOY, "clone3", "start_thread", "Envoy::Event::DispatcherImpl::run", "event_base_loop", "Envoy::Http::ConnectionManagerImpl::onData",
              "Envoy::Http::Http1::ConnectionImpl::dispatch"), 4),
        (user(ENVOY, "clone3", "start_thread", "Envoy::Event::DispatcherImpl::run", "event_base_loop") + SYSCALL +
         kernel("do_epoll_wait", "ep_poll", "schedule_hrtimeout_range"), 2)]),
    ("redis-server", 700, 5, [
        (user(REDIS, "_start", "main", "aeMain", "aeProcessEvents", "readQueryFromClient", "processCommand", "call", "getCommand"), 4),
        (user(REDIS, "_start", "main", "aeMain", "aeProcessEvents") + READ + kernel("sock_read_iter", "tcp_recvmsg"), 2)]),
    ("ksoftirqd/3", 33, 3, [
        (kernel("ret_from_fork", "kthread", "run_ksoftirqd", "handle_softirqs", "net_rx_action", "ena_io_poll", "napi_gro_receive", "tcp_v4_rcv"), 1)]),
]
CULPRIT = (user(KUBELET, "runtime.goexit", "cadvisor.(*containerData).housekeeping", "cadvisor.(*containerData).updateStats",
                "fs.(*MemoryGroup).GetStats", "os.ReadFile", "syscall.Syscall6") + READ +
           kernel("seq_read_iter", "cgroup_seqfile_show", "memory_stat_show", "mem_cgroup_nr_lru_pages"))


def sample(comm, pid, cpu, at_us, stack):
    lines = [f"{comm} {pid}/{pid} [{cpu:03d}] {at_us // 1000000}.{at_us % 1000000:06d}: {1000000000 // HZ:10d} cpu-clock:pppH: "]
    for i, (name, binary) in enumerate(reversed(stack)):
        base = 0xffffffff81000000 if binary == KERNEL else 0x7f0000000000 if binary == JIT else 0x55d000000000
        lines.append(f"\t{base + hash_of(name) * 64:16x} {name}+0x{(i * 7) % 61:x} ({binary})")
    return "\n".join(lines) + "\n\n"


def hash_of(name):
    h = 0
    for c in name.encode():
        h = (h * 31 + c) & 0xffffff
    return h


def make(seed=1, seconds=120, cpus=16, culprit_cpu=None, at=None, away=False):
    rng = random.Random(seed)
    culprit_cpu = cpus // 2 + 1 if culprit_cpu is None else culprit_cpu
    at = seconds * 3 // 5 if at is None else at
    boot_us = 5_000_000_000
    offline = (cpus - 2, at - 48, at - 28) if away else (-1, 0, 0)
    rows = []
    by_weight = [s[2] for s in SERVICES]
    for cpu in range(cpus):
        phase = rng.random() / HZ
        load = rng.choice((0.12, 0.3, 0.5, 0.55)) if cpu % 8 < 6 else 0.92
        mood = load
        for tick in range(seconds * HZ):
            t = phase + tick / HZ
            if tick % 29 == 0:
                mood = min(0.98, max(0.02, load + rng.gauss(0, 0.14)))
            us = boot_us + int(t * 1e6)
            if cpu == offline[0] and offline[1] <= t < offline[2]:
                continue
            if cpu == culprit_cpu and at <= t < at + 1.9:
                rows.append((us, sample("kubelet", 990, cpu, us, CULPRIT if rng.random() < 0.92 else CULPRIT[:-2])))
            elif rng.random() < mood:
                comm, pid, _, stacks = SERVICES[0] if load > 0.9 else rng.choices(SERVICES, by_weight)[0]
                stack = rng.choices([s for s, _ in stacks], [w for _, w in stacks])[0]
                rows.append((us, sample(comm, pid, cpu, us, stack)))
    rows.sort(key=lambda r: r[0])
    end = START + seconds
    captured = time.strftime("%a %b %e %H:%M:%S %Y", time.gmtime(end))
    head = (f"# ========\n# captured on    : {captured}\n# header version : 1\n# hostname : db-prod-17\n# os release : 6.1.0\n"
            f"# perf version : 6.1.190\n# arch : x86_64\n# cpudesc : AMD EPYC 9374F\n# nrcpus online : {cpus}\n# nrcpus avail : {cpus}\n"
            f"# clockid: monotonic (1)\n# reference time: 2026-04-15 03:12:57.000000 = {START}.000000 (TOD) = 5000.000000000 (monotonic)\n"
            f"# event : name = cpu-clock:pppH, , id = {{ 1 }}, type = 1, size = 128, {{ sample_period, sample_freq }} = {HZ}, freq = 1\n"
            f"# time of first sample : {rows[0][0] / 1e6:.6f}\n# time of last sample : {rows[-1][0] / 1e6:.6f}\n# ========\n#\n")
    facts = {"samples": len(rows), "incident": START + at, "cpu": culprit_cpu, "from": START, "to": end, "cpus": cpus,
             "offline": (offline[0], START + offline[1], START + offline[2])}
    return (head + "".join(r[1] for r in rows)).encode(), facts


def notes(facts, seconds, boot=5000):
    """What happened to the host and what it counted, as lines for annotate: the incident and its surroundings."""
    at = boot + facts["incident"] - facts["from"]
    ns = 1_000_000_000
    lines = [f"event {int(t * ns)} {severity} {source} {text}" for t, severity, source, text in (
        (at - 48, 4, "kmsg", f"smpboot: CPU {facts['offline'][0]} is now offline"), (at - 30.5, 6, "mark", "deploy checkout v118"),
        (at + 1.23, 3, "kmsg", "ena 0000:00:05.0 eth0: Tx timeout, reset the device"), (at + 1.31, 6, "kmsg", "ena 0000:00:05.0: Device reset completed successfully"),
        (at + 3, 4, "alert", "firing: CheckoutLatencyP99 above 800 ms"))]
    rng = random.Random(9)
    hot = facts["cpu"]
    for s in range(seconds):
        end = (boot + s + 1) * ns
        bad = at <= boot + s < at + 1.9
        for cpu in range(facts["cpus"]):
            system = 960 if bad and cpu == hot else rng.randrange(30, 90)
            user = 20 if bad and cpu == hot else rng.randrange(200, 420) if cpu % 8 < 6 else rng.randrange(820, 900)
            softirq = rng.randrange(2, 12)
            for kind, ms in ((0, user), (1, system), (2, 1), (3, softirq), (4, 0), (5, max(0, 999 - user - system - softirq))):
                lines.append(f"counter {kind} {cpu} {end} {ns} {ms * 1000000}")
        for kind, value, span in ((6, rng.randrange(4, 9) + (9 if bad else 0), 0), (7, rng.randrange(18000, 26000), ns),
                                  (8, (rng.randrange(20, 60) + (400 if bad else 0)) * 1000000, ns), (9, 0, ns), (11, rng.randrange(1, 9) * 1000000, ns), (15, 70312, 0)):
            lines.append(f"counter {kind} 0 {end} {span} {value}")
        lines.append(f"counter 16 33 {end} {ns} {(990 if bad else 2) * 1000000}")
    cpu, gone, back = facts["offline"]
    for s in range(int(gone - facts["from"]), int(back - facts["from"])):
        lines.append(f"missing 4 {cpu} {(boot + s) * ns} {(boot + s + 1) * ns} {HZ}")
    return lines
