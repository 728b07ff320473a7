# SPDX-License-Identifier: Apache-2.0
"""A virtual machine without hardware help (QEMU's TCG): booted, asked, cut off.

Commands go in as scripts in a directory that host and guest share, so that what a test finds in the
guest (a store, a log) is read on the host, at the host's speed.
"""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BOOT_SECONDS = 300
USUAL_BOOT_SECONDS = 20


class Guest:
    """Boots; `run` is a shell script in it. `share` is /share there. How much of its host it gets the boot shows: who waits
    for it waits longer in proportion."""

    def __init__(self, vmlinuz, initramfs, cpus=2, disk=None, arguments=""):
        self.dir = tempfile.mkdtemp(prefix="perfcam-guest-")
        self.share = os.path.join(self.dir, "share")
        self.console = os.path.join(self.dir, "console")
        self.number = 0
        self.lost = False  # it has not answered
        self.slowness = 1
        os.mkdir(self.share)
        port = os.path.join(self.dir, "port")
        command = [
            "setpriv", "--pdeathsig", "SIGKILL",  # it ends with the test, however that ends
            "qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
            "-smp", str(cpus), "-m", "1024", "-nodefaults", "-no-user-config", "-display", "none",
            "-no-reboot", "-nic", "none", "-serial", "file:" + self.console,
            "-kernel", vmlinuz, "-initrd", initramfs,
            "-append", "console=ttyS0 loglevel=5 panic=-1 no_timer_check " + arguments,
            "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none",
            "-chardev", f"socket,id=port,path={port},server=on,wait=off",
            "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=port",
        ]
        if disk:
            command += ["-drive", f"file={disk},format=raw,if=virtio,cache=writeback"]
        self.started = time.monotonic()
        self.p = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            self._connect(port)
        except BaseException:
            self.cut()
            raise
        self.boot_seconds = time.monotonic() - self.started
        self.slowness = max(1, self.boot_seconds / USUAL_BOOT_SECONDS)

    def _connect(self, port):
        until = time.monotonic() + BOOT_SECONDS
        while not os.path.exists(port):
            self._alive(until)
            time.sleep(0.05)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(port)
        self.buffer = b""
        if self._line(until) != "ready 0":
            raise AssertionError("the guest did not come up:\n" + self.log())

    def _alive(self, until):
        if self.p.poll() is not None or time.monotonic() > until:
            self.lost = True
            raise AssertionError("the guest is gone or hangs:\n" + self.log())

    def _line(self, until):
        while b"\n" not in self.buffer:
            self._alive(until)
            self.socket.settimeout(1)
            try:
                data = self.socket.recv(4096)
            except TimeoutError:
                continue
            if not data:
                time.sleep(0.05)
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def log(self):
        """The end of what the guest's kernel and init said."""
        try:
            with open(self.console, encoding="utf-8", errors="replace") as f:
                return f.read()[-3000:]
        except FileNotFoundError:
            return ""

    def start(self, script):
        """Begins a script; `finish` waits for it."""
        self.number += 1
        with open(os.path.join(self.share, f"{self.number}.sh"), "w", encoding="utf-8") as f:
            f.write(script)
        self.socket.sendall(b"%d\n" % self.number)

    def finish(self, patience=120):
        """(exit status, both outputs) of the script that runs."""
        line = self._line(time.monotonic() + patience * self.slowness)
        number, status = line.split()
        if int(number) != self.number:
            raise AssertionError(f"the guest answered {line!r}, not {self.number}")
        with open(os.path.join(self.share, number + ".out"), encoding="utf-8", errors="replace") as f:
            return int(status), f.read()

    def run(self, script, patience=120):
        """(exit status, both outputs) of a shell script."""
        self.start(script)
        return self.finish(patience)

    def must(self, script, patience=120):
        """The outputs of a script that has to succeed."""
        status, text = self.run(script, patience)
        if status:
            raise AssertionError(f"{script[-200:]}\nended with {status}: {text[-1000:]}\n"
                                 f"the console: {self.log()[-500:]}")
        return text

    def fetch(self, path, name):
        """A directory of the guest, copied; where it is here."""
        self.must(f"rm -rf /share/{name}; cp -r {path} /share/{name}")
        return os.path.join(self.share, name)

    def cut(self):
        """The power fails."""
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGKILL)
        self.p.wait()

    def close(self):
        self.cut()
        self.socket.close()
        shutil.rmtree(self.dir, ignore_errors=True)
