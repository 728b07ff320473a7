# SPDX-License-Identifier: Apache-2.0
"""A recorder's end of the control socket, written from its description, not from its code."""
import os
import socket
import struct
import threading

MARK, PIN, UNPIN, SNAPSHOT, STATUS, RELOAD, REPLACE, ALERT = range(1, 9)
NOW = -(2**63)


def take_varint(data):
    value = shift = 0
    for i, byte in enumerate(data):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, data[i + 1 :]
    raise ValueError("varint")


def put_varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def decode(packet):
    """(verb, from_ns, to_ns, text)"""
    assert packet[:4] == b"PCQ\x01", packet
    verb, start, end = struct.unpack("<Bqq", packet[4:21])
    n, text = take_varint(packet[21:])
    assert n == len(text), packet
    return verb, start, end, text


def reply(status, text):
    return b"PCA\x01" + struct.pack("<I", status) + put_varint(len(text)) + text


class FakeRecorder:
    """Answers each request with answer(verb, from, to, text) -> (errno, bytes), or bytes as they
    are, or None: never. Keeps what it was asked."""

    def __init__(self, store, answer, path=None):
        self.path = path or os.path.join(store, "socket")
        self.asked = []
        self.answer = answer
        self.held = []
        self.link = os.path.join(store, ".control")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen(16)
        os.symlink(self.path, self.link)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            asked = decode(client.recv(65536))
            self.asked.append(asked)
            said = self.answer(*asked)
            if said is None:
                self.held.append(client)
                continue
            if said:
                client.send(said if isinstance(said, bytes) else reply(*said))
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(10)
        os.unlink(self.path)
        os.unlink(self.link)
