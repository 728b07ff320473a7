# SPDX-License-Identifier: Apache-2.0
"""What the guest boots: a kernel out of its Debian package, and an initramfs made here.

The kernel's package is downloaded and unpacked into the build directory; nothing of it is installed.
The initramfs (cpio, newc) is written from the host's own files: busybox, perfcam, the workloads, what
ldd says they need, a few kernel modules, `init`.
"""
import glob
import os
import re
import stat
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
META = "linux-image-amd64"
# What init loads, each after what it depends on.
MODULES = ("virtio_pci", "virtio_console", "virtio_blk", "9pnet_virtio", "9p", "crc32c_generic", "ext4")
# What a case loads.
LATER = ("overlay",)
PASSWD = ("root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n"
          "nobody:x:65534:65534::/:/bin/false\n")
GROUP = "root:x:0:\nalice:x:1000:\nnogroup:x:65534:\n"
DIRECTORIES = ("dev", "proc", "sys", "tmp", "run", "etc", "share", "disk", "var", "var/lib", "home",
               "bin", "sbin", "usr", "usr/bin", "usr/sbin", "root")


def said(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def kernel(directory):
    """(vmlinuz, the directory of its modules) of Debian's newest kernel, fetched if not there yet."""
    os.makedirs(directory, exist_ok=True)
    package = re.search(r"Depends: (linux-image-\S+)", said("apt-cache", "depends", META)).group(1)
    root = os.path.join(directory, package)
    if not os.path.isdir(root):
        said("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, cwd=directory)
        deb = glob.glob(os.path.join(directory, package + "_*.deb"))[0]
        said("dpkg", "-x", deb, root + ".new")
        os.rename(root + ".new", root)
        os.unlink(deb)
    return glob.glob(root + "/boot/vmlinuz-*")[0], glob.glob(root + "/lib/modules/*")[0]


def modules(directory, wanted):
    """Files of the modules, in the order in which they can be loaded."""
    files = {os.path.basename(p)[:-3].replace("-", "_"): p
             for p in glob.glob(directory + "/kernel/**/*.ko", recursive=True)}
    order = []

    def add(name):
        path = files.get(name)
        if path is None or path in order:
            return  # without a file: built into the kernel
        with open(path, "rb") as f:
            depends = re.search(rb"\0depends=([^\0]*)\0", f.read()).group(1).decode()
        for other in filter(None, depends.split(",")):
            add(other.replace("-", "_"))
        order.append(path)

    for name in wanted:
        add(name)
    return order


def libraries(path):
    """What the dynamic linker would load for a program; nothing for a static one."""
    r = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                       check=False)
    return re.findall(r"(/\S+) \(0x", r.stdout) if r.returncode == 0 else []


class Archive:
    """A cpio archive of the form the kernel unpacks: a header of hex digits, the name, the bytes."""

    def __init__(self, path):
        self.f = open(path, "wb")
        self.names = set()

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        if name in self.names:
            return
        self.names.add(name)
        raw = name.encode() + b"\0"
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(raw), 0)
        header = b"070701" + b"".join(b"%08X" % v for v in fields) + raw
        self.f.write(header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4))

    def directory(self, name):
        parent = os.path.dirname(name)
        if parent:
            self.directory(parent)
        self._entry(name, stat.S_IFDIR | 0o755)

    def text(self, name, text, mode=0o644):
        self.directory(os.path.dirname(name)) if os.path.dirname(name) else None
        self._entry(name, stat.S_IFREG | mode, text.encode())

    def file(self, name, source):
        """A file of the host, under a name in the guest; and its libraries under theirs."""
        name = name.lstrip("/")
        if os.path.dirname(name):
            self.directory(os.path.dirname(name))
        with open(source, "rb") as f:
            data = f.read()
        self._entry(name, stat.S_IFREG | (0o755 if os.access(source, os.X_OK) else 0o644), data)

    def program(self, name, source):
        self.file(name, source)
        for library in libraries(source):
            self.file(library, library)

    def close(self):
        self._entry("TRAILER!!!", 0)
        self.f.close()


def initramfs(path, module_directory, programs):
    """Writes it; `programs` maps names in the guest to files here."""
    a = Archive(path)
    for name in DIRECTORIES:
        a.directory(name)
    with open(os.path.join(HERE, "init.sh"), encoding="utf-8") as f:
        a.text("init", f.read(), 0o755)
    a.text("etc/passwd", PASSWD)
    a.text("etc/group", GROUP)
    a.file("bin/busybox", "/bin/busybox")
    paths = modules(module_directory, MODULES)
    for module in modules(module_directory, MODULES + LATER):
        a.file("modules/" + os.path.basename(module), module)
    a.text("modules/order", "".join(os.path.basename(p) + "\n" for p in paths))
    for name, source in programs.items():
        a.program(name, source)
    a.close()
