# SPDX-License-Identifier: Apache-2.0
"""perf.data taken apart and put together again, by the format's own description: to damage it, to turn
its byte order, to make a pipe of a file. For recordings of which every sample has the same fields."""
import struct

SAMPLE = 9
IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD, STREAM, RAW = (1 << i for i in range(11))


class File:
    def __init__(self, data):
        self.data = data
        (self.size, self.attr_size, self.attrs_at, self.attrs_size, self.at, self.bytes) = struct.unpack_from(
            "<6Q", data, 8)
        self.features = struct.unpack_from("<4Q", data, 72)
        (self.sample_type,) = struct.unpack_from("<Q", data, self.attrs_at + 24)

    def records(self):
        """(offset, type, size) of each."""
        at = self.at
        while at < self.at + self.bytes:
            kind, _, size = struct.unpack_from("<IHH", self.data, at)
            yield at, kind, size
            at += size

    def samples(self):
        return [r for r in self.records() if r[1] == SAMPLE]

    def chain_at(self):
        """Where the number of a sample's frames stands, from its start."""
        before = IP | TID | TIME | ADDR | ID | STREAM | CPU | PERIOD
        return 8 + 8 * bin(self.sample_type & before).count("1")


def put(data, at, layout, value):
    data = bytearray(data)
    struct.pack_into(layout, data, at, value)
    return bytes(data)


def _turn(piece, layout):
    """The same numbers in the other byte order; what the layout does not cover stays."""
    n = struct.calcsize("<" + layout)
    return struct.pack(">" + layout, *struct.unpack("<" + layout, piece[:n])) + piece[n:]


def _mirror(byte):
    return int(f"{byte:08b}"[::-1], 2)


def _turn_attr(attr):
    """Numbers turn; bit fields fill their bytes from the other end."""
    head, flags, tail = attr[:40], attr[40:48], attr[48:]
    tail = _turn(tail, "IIQQQQIiQIHHII") if len(tail) >= 72 else tail
    return _turn(head, "IIQQQQ") + bytes(_mirror(b) for b in flags) + tail


def _turn_sample(piece, sample_type):
    out, at = [], 0
    for bit, layout in ((IP, "Q"), (TID, "II"), (TIME, "Q"), (ADDR, "Q"), (ID, "Q"), (STREAM, "Q"),
                        (CPU, "II"), (PERIOD, "Q")):
        if sample_type & bit:
            out.append(_turn(piece[at:at + 8], layout))
            at += 8
    assert not sample_type & ~(IP | TID | TIME | ADDR | ID | STREAM | CPU | PERIOD | CHAIN), "fields"
    return b"".join(out) + _turn(piece[at:], f"{(len(piece) - at) // 8}Q")


def _turn_record(record, kind, sample_type):
    head, body = _turn(record[:8], "IHH"), record[8:]
    if kind == SAMPLE:
        return head + _turn_sample(body, sample_type)
    if kind >= 64:
        return head + body
    trailer = [(bit, layout) for bit, layout in ((TID, "II"), (TIME, "Q"), (ID, "Q"), (STREAM, "Q"),
                                                 (CPU, "II")) if sample_type & bit]
    n = len(body) - 8 * len(trailer)
    own, rest = body[:n], body[n:]
    layouts = {1: "IIQQQ", 10: "IIQQQIIQQII", 3: "II", 4: "IIIIQ", 7: "IIIIQ", 17: "QIHH"}
    own = _turn(own, layouts[kind]) if kind in layouts else own
    return head + own + b"".join(
        _turn(rest[8 * i:8 * i + 8], layout) for i, (_, layout) in enumerate(trailer))


def other_order(data):
    """What a machine of the other byte order would have written, without what follows the records."""
    f = File(data)
    head = b"2ELIFREP" + struct.pack(
        ">8Q", f.size, f.attr_size, f.attrs_at, f.attrs_size, f.at, f.bytes, 0, 0) + bytes(32)
    between = bytearray(data[104:f.at])
    for at in range(f.attrs_at, f.attrs_at + f.attrs_size, f.attr_size):
        attr = data[at:at + f.attr_size]
        ids_at, ids_size = struct.unpack("<QQ", attr[-16:])
        between[at - 104:at - 104 + f.attr_size] = _turn_attr(attr[:-16]) + struct.pack(">QQ", ids_at, ids_size)
        ids = data[ids_at:ids_at + ids_size]
        between[ids_at - 104:ids_at - 104 + ids_size] = _turn(ids, f"{ids_size // 8}Q")
    return head + bytes(between) + b"".join(
        _turn_record(data[at:at + size], kind, f.sample_type) for at, kind, size in f.records())


def repeat(data, times, shift_ns):
    """
    The recording again and again, each time later; without what follows the records. For recordings whose
    other records end with the fields of their samples (sample_id_all), of which the time is one.
    """
    f = File(data)
    behind = 8 * bin(f.sample_type & (ID | STREAM | CPU)).count("1") + 8
    at_in_sample = 8 + 8 * bin(f.sample_type & (IP | TID)).count("1")
    head = bytearray(data[:f.at])
    head[72:104] = bytes(32)
    struct.pack_into("<Q", head, 48, 0)
    yield bytes(head)
    body = data[f.at:f.at + f.bytes]
    places = [at - f.at + (at_in_sample if kind == SAMPLE else size - behind)
              for at, kind, size in f.records() if kind < 64]
    start = {at: struct.unpack_from("<Q", body, at)[0] for at in places}
    for n in range(times):
        part = bytearray(body)
        for at, when in start.items():
            if when:
                struct.pack_into("<Q", part, at, when + n * shift_ns)
        yield bytes(part)
