# SPDX-License-Identifier: Apache-2.0
"""A BPF program that spins in the kernel, by the system call itself; needs root."""
import ctypes
import os
import struct
import time

SYS_BPF = 321
PROG_LOAD, PROG_TEST_RUN = 5, 10
SOCKET_FILTER = 1
STEPS = 4000  # some 1.5 µs
REPEAT = 20000  # a call

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 128)
    result = _libc.syscall(SYS_BPF, command, room, len(room))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return result


def _load(name):
    """r0 = 0, then additions, each to what the one before left: as long as there are steps."""
    code = struct.pack("<BBhi", 0xb7, 0, 0, 0) + struct.pack("<BBhi", 0x07, 0, 0, 1) * STEPS + struct.pack("<BBhi", 0x95, 0, 0, 0)
    room, terms = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    return _bpf(PROG_LOAD, struct.pack("<IIQQIIQII16s", SOCKET_FILTER, len(code) // 8, ctypes.addressof(room),
                                       ctypes.addressof(terms), 0, 0, 0, 0, 0, name.encode()))


def _place(name):
    """Where the kernel has put it."""
    with open("/proc/kallsyms") as f:
        return next((int(line.split()[0], 16) for line in f if line.endswith(f"_{name}\t[bpf]\n") and "bpf_prog_" in line), 0)


def run(name, seconds, near=0):
    """Loads it under that name, runs it, unloads it. Its address: the given one, if the kernel gives that room back in time."""
    for _ in range(20):
        fd = _load(name)
        place = _place(name)
        if not near or place == near:
            break
        os.close(fd)
        time.sleep(0.05)
    else:
        fd = _load(name)
        place = _place(name)
    try:
        packet = ctypes.create_string_buffer(64)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            _bpf(PROG_TEST_RUN, struct.pack("<IIIIQQI", fd, 0, len(packet), 0, ctypes.addressof(packet), 0, REPEAT))
        return place
    finally:
        os.close(fd)
