#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units, the configuration and what make install does with them."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

import units
import support
import tap
from support import Case

SIX = {"CAP_PERFMON", "CAP_BPF", "CAP_SYS_PTRACE", "CAP_CHECKPOINT_RESTORE", "CAP_SYSLOG",
       "CAP_DAC_READ_SEARCH"}
UNITS = ("perfcam-recorder", "perfcam-server")


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


class Units(Case):
    def built(self, unit):
        """The unit as installed, but with the program that was just built."""
        with open(os.path.join(units.PACKAGING, unit + ".service.in"), encoding="utf-8") as f:
            text = f.read().replace("@bindir@/perfcam", support.BIN)
        return self.path(unit + ".service", text.encode())

    def test_systemd_understands_them(self):
        for unit in UNITS:
            r = subprocess.run(["systemd-analyze", "verify", self.built(unit)], capture_output=True)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))
        # It does notice what it does not understand.
        path = self.built("perfcam-recorder")
        with open(path, "a", encoding="utf-8") as f:
            f.write("[Service]\nNoSuchSetting=1\n")
        r = subprocess.run(["systemd-analyze", "verify", path], capture_output=True)
        self.assertIn(b"NoSuchSetting", r.stderr)

    def test_exposure(self):
        for unit, limit in (("perfcam-recorder", 2.5), ("perfcam-server", 1.5)):
            text = output("systemd-analyze", "security", "--offline=true", "--no-pager",
                          self.built(unit))
            score = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", text)[1])
            self.assertLessEqual(score, limit, unit)
            self.assertGreater(score, 0.1)

    def test_the_recorder_can_do_its_work(self):
        unit = "perfcam-recorder"
        self.assertEqual(set(units.one(unit, "AmbientCapabilities").split()), SIX)
        self.assertEqual(set(units.one(unit, "CapabilityBoundingSet").split()), SIX)
        for key, value in (("Type", "notify"), ("User", "perfcam"), ("PrivateNetwork", "yes"),
                           ("LimitMEMLOCK", "infinity"), ("StateDirectory", "perfcam"),
                           ("RuntimeDirectory", "perfcam"), ("NoNewPrivileges", "yes"),
                           # It raises its own priority, without CAP_SYS_NICE; Nice= would be taken for a wish and kept.
                           ("LimitNICE", "-20")):
            self.assertEqual(units.one(unit, key), value)
        self.assertEqual(units.values(unit, "Nice"), [])
        for key in ("ProtectKernelLogs", "PrivateDevices", "PrivateTmp", "ProtectProc", "ProcSubset",
                    "PrivateUsers", "ProtectKernelTunables", "RestrictSUIDSGID"):
            self.assertEqual(units.values(unit, key), [], key)
        calls = units.allowed_calls(unit)
        for call in ("perf_event_open", "bpf", "seccomp", "landlock_restrict_self", "openat2",
                     "capset", "execve", "pidfd_open", "setpriority", "prlimit64"):
            self.assertIn(call, calls)
        for call in ("ptrace", "mount", "init_module", "reboot", "setresuid", "keyctl", "chroot",
                     "process_vm_readv", "io_uring_setup"):
            self.assertNotIn(call, calls)

    def test_the_jail_is_one(self):
        """What the next tests rely on: the six capabilities and no others, calls refused."""
        calls = self.path("calls")
        inside = lambda *command: subprocess.run(
            units.as_unit("perfcam-recorder", calls, *command), capture_output=True, text=True)
        status = inside("grep", "-E", "^(Cap|Uid|NoNewPrivs|Seccomp)", "/proc/self/status").stdout
        found = dict(line.split(":\t", 1) for line in status.splitlines())
        with open("/usr/include/linux/capability.h", encoding="utf-8") as f:
            numbers = dict(re.findall(r"#define (CAP_\w+)\s+(\d+)\n", f.read()))
        self.assertEqual(int(found["CapEff"], 16), sum(1 << int(numbers[name]) for name in SIX))
        for name in ("CapPrm", "CapBnd", "CapAmb", "CapInh"):
            self.assertEqual(found[name], found["CapEff"])
        self.assertEqual((found["NoNewPrivs"], found["Seccomp"]), ("1", "2"))
        self.assertEqual(found["Uid"].split(), ["65534"] * 4)
        self.assertNotEqual(inside("unshare", "--user", "true").returncode, 0)
        import_socket = "import socket; socket.socket(socket.AF_INET)"
        self.assertIn("OSError", inside("python3", "-c", import_socket).stderr)

    def test_users(self):
        root = self.path("root")
        os.makedirs(os.path.join(root, "etc"))
        shutil.copy(os.path.join(units.PACKAGING, "perfcam.sysusers"), self.path("perfcam.conf"))
        output("systemd-sysusers", "--root=" + root, self.path("perfcam.conf"))
        with open(os.path.join(root, "etc/passwd"), encoding="utf-8") as f:
            self.assertRegex(f.read(), r"(?m)^perfcam:x:\d+:\d+:perfcam recorder:/var/lib/perfcam:")
        with open(os.path.join(root, "etc/group"), encoding="utf-8") as f:
            self.assertRegex(f.read(), r"(?m)^perfcam:x:\d+:")


class AsUnit(Case):
    """`perfcam record` as the unit starts it: user, capabilities, system calls, directories."""

    def directory(self, name, mode):
        path = self.path(name)
        os.mkdir(path)
        os.chown(path, 65534, 65534)
        os.chmod(path, mode)
        return path

    def start(self, *arguments):
        self.state, self.run_dir = self.directory("state", 0o750), self.directory("run", 0o755)
        name = f"perfcam-test-{os.getpid()}"
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind("\0" + name)
        self.manager.settimeout(60)
        env = {
            "PATH": os.environ["PATH"], "NOTIFY_SOCKET": "@" + name,
            "STATE_DIRECTORY": self.state, "RUNTIME_DIRECTORY": self.run_dir,
            # At its end the leak checker would trace itself, which the unit forbids.
            "ASAN_OPTIONS": "detect_leaks=0",
        }
        return subprocess.Popen(
            units.as_unit("perfcam-recorder", self.path("calls"), support.BIN, "record", "--window", "2s",
                          *arguments),
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_it_records(self):
        p = self.start()
        try:
            self.assertTrue(self.manager.recv(4096).startswith(b"READY=1\nSTATUS="))
            # Something whose kernel part is busy.
            subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=64", "count=3000000"],
                           stderr=subprocess.DEVNULL, check=True)
            status = json.loads(self.good("status", "--json", "--store", self.state))
            self.assertEqual(self.good("snapshot", "--store", self.state)[-5:], b".pcw\n")
            p.send_signal(signal.SIGHUP)
            self.assertTrue(self.manager.recv(4096).startswith(b"RELOADING=1\nMONOTONIC_USEC="))
            self.assertTrue(self.manager.recv(4096).startswith(b"READY=1\n"))
            p.send_signal(signal.SIGTERM)
            self.assertEqual(self.manager.recv(4096), b"STOPPING=1\n")
        finally:
            if p.poll() is None:
                p.terminate()
            _, said = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 0, said)
        self.assertEqual(status["control"], os.path.join(self.run_dir, "control"))
        self.assertTrue(status["kernel_stacks"], said)
        self.assertGreater(status["samples"], 0)
        self.assertEqual(status["errors"], [])
        self.verify(self.state)
        # The kernel's names need CAP_SYSLOG and /proc/kallsyms, the program's its files.
        dd = [stack for stack in self.export("--store", self.state) if stack.startswith(b"dd;")]
        self.assertTrue(any(b"vfs_read" in stack for stack in dd), dd[:20])
        for name in os.listdir(self.state):
            self.assertEqual(os.stat(os.path.join(self.state, name)).st_mode & 0o777, 0o640, name)

    def write_journal(self, text):
        """A directory with a journal of one entry of now, which root alone may read."""
        place = self.path("journal")
        os.mkdir(place, 0o700)
        entry = {"__REALTIME_TIMESTAMP": int(time.time() * 1e6), "__MONOTONIC_TIMESTAMP": time.monotonic_ns() // 1000,
                 "_BOOT_ID": open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip().replace("-", ""),
                 "_TRANSPORT": "journal", "PRIORITY": 6, "MESSAGE": text}
        subprocess.run(["/lib/systemd/systemd-journal-remote", "-o", os.path.join(place, "a.journal"), "-"], check=True,
                       input="".join(f"{k}={v}\n" for k, v in entry.items()).encode() + b"\n", capture_output=True, timeout=30)
        os.chmod(os.path.join(place, "a.journal"), 0o600)
        return place

    def test_it_sees_what_happens(self):
        """The kernel's log, a log and a journal that only root may read, a capsule, and a rule's program, without any right."""
        told, mark = self.directory("told", 0o755), f"unit-{os.getpid()}-{time.monotonic_ns()}"
        # A rule's program is the recorder's user here, and can write no file: not the store either. It tells by a socket.
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.bind(os.path.join(told, "socket"))
        os.chmod(os.path.join(told, "socket"), 0o777)
        listener.settimeout(15)
        log, hook, conf, state = (self.path(n) for n in ("app.log", "hook", "conf", "state"))
        for path, mode, text in (
                (log, 0o600, ""),
                (hook, 0o755, "#!/usr/bin/python3\nimport os, socket\nstatus = open('/proc/self/status').read()\n"
                              f"wrong = ''\nfor p in ('{state}/x', '{told}/x'):\n    try:\n        open(p, 'w')\n        wrong += p\n"
                              "    except PermissionError:\n        pass\nopen('/dev/null', 'w').write('x')\n"
                              "said = [l for l in status.splitlines() if l.startswith(('Cap', 'NoNew'))] + [os.environ['PERFCAM_EVENT_TEXT'] + wrong]\n"
                              f"socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto('\\n'.join(said).encode(), '{told}/socket')\n"),
                (conf, 0o644, f"allow-run = yes\non kmsg /{mark}/ pin 1m before, run {hook}\n"
                              f"on log /{mark}/ pin 1s after, capsule\n")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(path, mode)
        os.chmod(self.dir, 0o755)
        p = self.start("--config", conf, "--log", log, "--journal", self.write_journal(f"{mark} journal"))
        try:
            self.assertTrue(self.manager.recv(4096).startswith(b"READY=1\nSTATUS="))
            time.sleep(1)
            with open("/dev/kmsg", "w", encoding="ascii") as f:
                f.write(f"<4>{mark} kernel\n")
            with open(log, "a", encoding="ascii") as f:
                f.write(f"2001-02-03 04:05:06 {mark} file\n")
            *rights, text = listener.recv(4096).decode().splitlines()
            capsules, until = os.path.join(self.state, "capsules"), time.monotonic() + 30
            while time.monotonic() < until and not glob.glob(capsules + "/*.html"):
                time.sleep(0.1)
            status = json.loads(self.good("status", "--json", "--store", self.state))
        finally:
            p.terminate()
            _, said = p.communicate(timeout=60)
        self.assertEqual((p.returncode, status["errors"]), (0, []), said)
        self.assertEqual(text, f"{mark} kernel")
        found = dict(line.split(":\t") for line in rights)
        for name in ("CapEff", "CapPrm", "CapAmb", "CapInh"):
            self.assertEqual(int(found[name], 16), 0, name)
        self.assertEqual(found["NoNewPrivs"], "1")
        events = json.loads(self.good("events", "--json", "--match", mark, "--store", self.state))["events"]
        self.assertEqual({(e["source"], e["text"]) for e in events},
                         {("kmsg", f"{mark} kernel"), ("log:app.log", f"{mark} file"), ("journal", f"{mark} journal")})
        [capsule] = glob.glob(capsules + "/*.html")
        with open(capsule, encoding="utf-8") as f:
            self.assertIn(f"{mark} file", f.read())
        pins = json.loads(self.good("pin", "--json", "--store", self.state))
        self.assertEqual(len(pins), 2)
        # A date that cannot be is no reason to pin all that lies between.
        for pin in pins:
            self.assertLess(pin["to_realtime_ns"] - pin["from_realtime_ns"], 200e9)


class ServerAsUnit(Case):
    """`perfcam serve` as its unit starts it: reads by its group, cannot write, loopback only."""

    def test_it_serves(self):
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        for path in (self.store, *(os.path.join(self.store, n) for n in os.listdir(self.store))):
            os.chown(path, 65534, 4321)
        os.chmod(self.store, 0o750)
        conf = self.directory_of_conf("listen = 127.0.0.1:0\n")
        p = subprocess.Popen(
            units.as_unit("perfcam-server", self.path("calls"), support.BIN, "serve",
                          user=65533, group=65533, groups=[4321]),
            env={"PATH": os.environ["PATH"], "STATE_DIRECTORY": self.store,
                 "CONFIGURATION_DIRECTORY": conf, "ASAN_OPTIONS": "detect_leaks=0"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            url = p.stdout.readline().decode().strip()
            with urllib.request.urlopen(url + "api/windows", timeout=30) as reply:
                windows = json.load(reply)
            status = open(f"/proc/{p.pid}/status", encoding="utf-8").read()
        finally:
            p.terminate()
            _, said = p.communicate(timeout=60)
        self.assertEqual(p.returncode, 0, said)
        self.assertIn(self.windows()[0], json.dumps(windows))
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertRegex(status, rf"(?m)^{name}:\t0+$")

    def directory_of_conf(self, text):
        path = self.path("etc")
        os.mkdir(path)
        with open(os.path.join(path, "perfcam.conf"), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)
        return path


class Configuration(Case):
    def config(self, text):
        conf = self.path("conf", text.encode())
        return json.loads(self.good("config", "--json", "--config", conf))["settings"]

    def test_it_shows_the_defaults_of_every_key(self):
        with open(os.path.join(units.PACKAGING, "perfcam.conf"), encoding="utf-8") as f:
            text = f.read()
        defaults = {k: v["value"] for k, v in self.config("").items()}
        # As it is, it changes nothing.
        self.assertEqual({k: v["from"] for k, v in self.config(text).items()},
                         {k: "default" for k in defaults})
        keys = re.findall(r"(?m)^#([a-z-]+) =", text)
        self.assertEqual(sorted(keys), sorted(defaults))
        shown = self.config(re.sub(r"(?m)^#([a-z-]+ =)", r"\1", text))
        self.assertEqual({k: v["value"] for k, v in shown.items()}, defaults)

    def test_it_says_which_are_live(self):
        with open(os.path.join(units.PACKAGING, "perfcam.conf"), encoding="utf-8") as f:
            text = f.read()
        live = {k for k, v in self.config("").items() if v["live"]}
        said = set()
        for block in re.split(r"\n\n", text.split("[perfcam]")[1]):
            if "(live)" in block:
                said |= set(re.findall(r"(?m)^#([a-z-]+) =", block))
        self.assertEqual(said, live)


class Install(Case):
    def test_make_install(self):
        build = os.path.dirname(support.BIN)
        install = lambda: output("meson", "install", "-C", build, "--no-rebuild",
                                 env={**os.environ, "DESTDIR": self.dir})
        install()
        prefix = json.loads(output("meson", "introspect", build, "--buildoptions"))
        prefix = next(o["value"] for o in prefix if o["name"] == "prefix").lstrip("/")
        at = lambda *names: os.path.join(self.dir, *names)
        self.assertTrue(os.access(at(prefix, "bin/perfcam"), os.X_OK))
        for unit in UNITS:
            with open(at(prefix, "lib/systemd/system", unit + ".service"), encoding="utf-8") as f:
                self.assertIn(f"\nExecStart=/{prefix}/bin/perfcam ", f.read())
        self.assertTrue(os.path.exists(at(prefix, "lib/sysusers.d/perfcam.conf")))
        conf = at("etc/perfcam/perfcam.conf")
        self.assertEqual(os.stat(conf).st_mode & 0o777, 0o644)
        # What somebody wrote stays.
        with open(conf, "w", encoding="utf-8") as f:
            f.write("keep = 1h\n")
        install()
        with open(conf, encoding="utf-8") as f:
            self.assertEqual(f.read(), "keep = 1h\n")


tap.main()
