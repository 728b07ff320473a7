#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: built, judged by lintian, installed, used, removed and purged, for real, in a copy of this
machine's root (an overlay in memory, seen by this test alone)."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["PERFCAM_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import tap  # noqa: E402

# What runs inside: $1 is the package. Each line is checked by the test of that name.
INSIDE = r"""
set -u
say() { echo "$1=$2"; }
dpkg -i /tmp/package.deb >/tmp/log 2>&1; say installed $?
say user "$(getent passwd perfcam | cut -d: -f6)"
say version "$(perfcam --version)"
say conf "$(test -f /etc/perfcam/perfcam.conf && echo there)"
say recorder_enabled "$(test -e /etc/systemd/system/multi-user.target.wants/perfcam-recorder.service && echo yes)"
say server_enabled "$(test -e /etc/systemd/system/multi-user.target.wants/perfcam-server.service && echo yes)"
say units "$(systemd-analyze verify /lib/systemd/system/perfcam-recorder.service /lib/systemd/system/perfcam-server.service 2>&1 | wc -l)"
say manual "$(man -w perfcam-at)"
install -d -m 750 -o perfcam -g perfcam /var/lib/perfcam
perfcam record --store /var/lib/perfcam -d 1s >/tmp/record 2>&1; say recorded $?
perfcam ls --store /var/lib/perfcam >/tmp/ls 2>&1; say listed $?
echo "# mine" >>/etc/perfcam/perfcam.conf
dpkg -i /tmp/package.deb >>/tmp/log 2>&1; say upgraded $?
say kept "$(tail -n 1 /etc/perfcam/perfcam.conf)"
dpkg -r perfcam >>/tmp/log 2>&1; say removed $?
say program_after_removal "$(ls /usr/bin/perfcam 2>/dev/null)"
say store_after_removal "$(ls /var/lib/perfcam | grep -c pcw)"
dpkg -P perfcam >>/tmp/log 2>&1; say purged $?
say left "$(ls -d /var/lib/perfcam /etc/perfcam /usr/share/doc/perfcam /usr/share/perfcam 2>/dev/null)"
cat /tmp/log /tmp/record >&2
"""

# A mount namespace of our own, with a root that is this one below and memory above. /proc and /sys are the real
# ones, since it records; nothing else of the machine is mounted there.
OUTSIDE = r"""
set -eu
mount -t tmpfs -o size=1g over "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay over -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /proc "$1/root/proc"
mount --rbind /sys "$1/root/sys"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs run "$1/root/run"
mount -t tmpfs tmp "$1/root/tmp"
cp "$2" "$1/root/tmp/package.deb"
exec chroot "$1/root" /bin/sh -c "$3"
"""


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="perfcam-deb-")
        made = subprocess.run([os.path.join(SOURCE, "tools", "make-deb"), cls.folder], capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(made.stderr)
        cls.files = made.stdout.split()
        cls.package = next(f for f in cls.files if "dbgsym" not in f)
        over = os.path.join(cls.folder, "over")
        os.mkdir(over)
        done = subprocess.run(["unshare", "-m", "/bin/sh", "-c", OUTSIDE, "sh", over, cls.package, INSIDE],
                              capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
        cls.log = done.stderr
        cls.said = dict(line.split("=", 1) for line in done.stdout.splitlines())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def expect(self, **answers):
        for key, value in answers.items():
            self.assertEqual(self.said.get(key), value, f"{key}\n{self.log}")

    def test_lintian_is_content(self):
        changes = next(os.path.join(self.folder, f) for f in os.listdir(self.folder) if f.endswith(".changes"))
        r = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", changes], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (0, ""), r.stderr)

    def test_the_version_is_the_program_s(self):
        with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as f:
            version = re.search(r"version: '([^']+)'", f.read())[1]
        self.assertEqual(os.path.basename(self.package), f"perfcam_{version}_amd64.deb")
        self.assertIn(version, self.said["version"])

    def test_the_same_source_gives_the_same_bytes(self):
        """In another directory, at another time."""
        again = os.path.join(self.folder, "again")
        made = subprocess.run([os.path.join(SOURCE, "tools", "make-deb"), again], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        for one, other in zip(sorted(self.files), sorted(made.stdout.split()), strict=True):
            self.assertNotEqual(one, other)
            r = subprocess.run(["cmp", one, other], capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stdout + r.stderr), (0, ""))

    def test_every_package_to_build_it_is_named(self):
        with open(os.path.join(SOURCE, "tools", "packages"), encoding="utf-8") as f:
            needed = {line.split()[1] for line in f if line.startswith("build ")}
        with open(os.path.join(SOURCE, "debian", "control"), encoding="utf-8") as f:
            named = set(re.search(r"Build-Depends:\n((?: .*\n)+)", f.read())[1].replace(",", "").split())
        # A compiler and a C library are on every machine that builds packages.
        self.assertEqual(needed - named, {"gcc", "libc6-dev"})

    def test_installing_makes_the_user_and_starts_only_the_recorder(self):
        self.expect(installed="0", user="/var/lib/perfcam", conf="there", recorder_enabled="yes", server_enabled="", units="0",
                    manual="/usr/share/man/man1/perfcam-at.1.gz")

    def test_it_records(self):
        self.expect(recorded="0", listed="0")

    def test_an_upgrade_keeps_what_was_configured(self):
        self.expect(upgraded="0", kept="# mine")

    def test_removing_leaves_what_was_recorded(self):
        self.expect(removed="0", program_after_removal="", store_after_removal="1")

    def test_purging_leaves_nothing(self):
        self.expect(purged="0", left="")


tap.main()
