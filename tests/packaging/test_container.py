#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container: the recorder with the rights that the manifest gives it, and no others, in a root, network and
cgroup namespace of its own, records and names the host's programs. The image itself is not built here: its base
comes from a registry."""
import json
import os
import re
import subprocess

import units
import support
import tap
from support import Case

FOLDER = os.path.join(units.PACKAGING, "container")

# $1: the container's folder, $2: the program, $3: the store, the rest: what to run inside.
START = r"""
set -eu
in=$1/root program=$2 store=$3
shift 3
mount -t tmpfs -o mode=755 over "${in%/root}"
mkdir "${in%/root}/upper" "${in%/root}/work" "$in"
mount -t overlay over -o "lowerdir=/,upperdir=${in%/root}/upper,workdir=${in%/root}/work" "$in"
cp "$program" "$in/usr/bin/perfcam"
mkdir -p "$in/var/lib/perfcam"
groupadd --root "$in" --system --gid 9797 perfcam
mount -o remount,ro "$in"
mount --rbind /proc "$in/proc"
mount --rbind /sys "$in/sys"
mount --rbind /dev "$in/dev"
for place in $PLACES; do mount -t tmpfs place "$in$place"; done
mount -t tmpfs run "$in/run"
mkdir "$in/run/perfcam"
mount --bind "$store" "$in/var/lib/perfcam"
python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 1))'  # lo is up, as in a pod
exec chroot "$in" "$@"
"""

ASK = """
import time, urllib.request
for _ in range(200):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:9797/api/sources").read().decode())
        break
    except OSError:
        time.sleep(0.1)
"""


def manifest():
    with open(os.path.join(FOLDER, "daemonset.yaml"), encoding="utf-8") as f:
        return f.read()


def container(name):
    """The part of the manifest that is this container's."""
    return re.search(rf"- name: {name}\n(.*?)(?=\n        - name: |\n      volumes:)", manifest(), re.S)[1]


def rights(name):
    """As the manifest has them, for setpriv."""
    text = container(name)
    number = lambda key: re.search(rf"{key}: (\d+)", text)[1]
    added = re.search(r"add: \[([^]]*)\]", text)
    capabilities = "".join(",+" + c.strip().lower() for c in added[1].split(",")) if added else ""
    return ["setpriv", "--reuid", number("runAsUser"), "--regid", number("runAsGroup"), "--clear-groups",
            "--no-new-privs", "--bounding-set=-all" + capabilities, "--inh-caps=-all"]


def places(name):
    """What it may write to, beside the store and /run/perfcam."""
    mounted = re.findall(r"mountPath: ([^,}]+)(, readOnly: true)?}", container(name))
    return [path for path, read_only in mounted if not read_only and path not in ("/var/lib/perfcam", "/run/perfcam")]


def perfcam(*args):
    return tap.perfcam(*args).stdout.decode()


class Container(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")

    def inside(self, name, *command):
        root = self.path("container")
        os.makedirs(root, exist_ok=True)
        os.makedirs(self.store, exist_ok=True)
        return subprocess.run(["unshare", "-m", "-n", "-i", "-u", "-C", "/bin/sh", "-c", START, "sh", root, support.BIN,
                               self.store, *rights(name), *command], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PLACES": " ".join(places(name))})

    def test_the_manifest_asks_for_what_the_unit_has(self):
        added = re.search(r"add: \[([^]]*)\]", container("recorder"))[1]
        self.assertEqual({"CAP_" + c.strip() for c in added.split(",")},
                         set(units.one("perfcam-recorder", "AmbientCapabilities").split()))
        # None of them could be left out: a test takes each away, and something is lost and said.
        with open(os.path.join(units.SOURCE, "tests", "system", "test_capabilities.py"), encoding="utf-8") as f:
            needed = set(re.findall(r'"(\w+)"', re.search(r"^ALL = \((.*)\)$", f.read(), re.M)[1]))
        self.assertEqual({c.strip().lower() for c in added.split(",")}, needed)
        self.assertNotIn("add:", container("server"))
        for name in ("recorder", "server"):
            for line in ("drop: [ALL]", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true"):
                self.assertIn(line, container(name))
        # Where it is said once more how to run it, they are the same.
        for told in (os.path.join(FOLDER, "Containerfile"), os.path.join(units.SOURCE, "docs", "operations.md")):
            with open(told, encoding="utf-8") as f:
                self.assertEqual(re.findall(r"--cap-add=(\S+)", f.read()), [re.sub(r"\s", "", added)], told)
        self.assertIn("hostPID: true", manifest())
        for word in ("privileged: true", "hostNetwork", "hostIPC", "SYS_ADMIN"):
            self.assertNotIn(word, manifest())

    def test_version_and_group_are_the_same_everywhere(self):
        with open(os.path.join(units.SOURCE, "meson.build"), encoding="utf-8") as f:
            version = re.search(r"version: '([^']+)'", f.read())[1]
        self.assertEqual(set(re.findall(r"image: perfcam:(\S+)", manifest())), {version})
        with open(os.path.join(FOLDER, "Containerfile"), encoding="utf-8") as f:
            self.assertEqual(set(re.findall(r"--gid (\d+)", f.read())), {"9797"})
        self.assertEqual(set(re.findall(r"runAsGroup: (\d+)", manifest())), {"9797"})

    def test_it_records_the_host_with_these_rights(self):
        spinning = subprocess.Popen([os.path.join(os.environ["PERFCAM_WORKLOADS"], "workload_spin31"), "60"])
        self.addCleanup(spinning.wait)
        self.addCleanup(spinning.kill)
        r = self.inside("recorder", "/usr/bin/perfcam", "record", "--store", "/var/lib/perfcam", "-d", "3s")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("source bpf", r.stderr)
        self.assertIn("unwound in the kernel", r.stderr)
        folded = perfcam("export", "folded", "--store", self.store, "--comm", "workload_spin31")
        self.assertRegex(folded, r"main;three \d")
        kernel = perfcam("export", "folded", "--store", self.store)
        self.assertRegex(kernel, r"entry_SYSCALL_64|asm_sysvec|do_syscall_64")
        # The page's container can read it, as another user and without any right.
        listed = self.inside("server", "/usr/bin/perfcam", "ls", "--store", "/var/lib/perfcam")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        refused = self.inside("server", "/bin/sh", "-c", "echo x >/var/lib/perfcam/x")
        self.assertNotEqual(refused.returncode, 0)

    def test_the_server_finds_all_it_needs(self):
        """A place for the files that the page is given, too: of a root that cannot be written there is none."""
        made = tap.perfcam("import", "--store", self.store, "-", stdin=b"a;b;c 100\n")
        self.assertEqual(made.returncode, 0, made.stderr)
        os.chown(self.store, 0, 9797)
        for name in os.listdir(self.store):
            os.chown(os.path.join(self.store, name), 0, 9797)
        r = self.inside("server", "/bin/sh", "-c", "/usr/bin/perfcam serve --store /var/lib/perfcam --listen 127.0.0.1:9797 >/dev/null & "
                        f"/usr/bin/python3 -c '{ASK}'; kill $!")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(json.loads(r.stdout)["open"]["most_bytes"], r.stdout)
        # And the memory that its unit gives it, for who reads such a file.
        limit = re.search(r"limits: {memory: (\d+)Gi}", container("server"))[1]
        self.assertEqual(units.one("perfcam-server", "MemoryMax"), limit + "G")


tap.main()
