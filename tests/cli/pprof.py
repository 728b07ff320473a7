# SPDX-License-Identifier: Apache-2.0
"""Reads a pprof file by its specification (profile.proto), for tests: knows none of perfcam's code."""
import gzip


def varint(b, i):
    value = shift = 0
    while True:
        value |= (b[i] & 127) << shift
        i += 1
        if b[i - 1] < 128:
            return value, i
        shift += 7


def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            value, i = varint(b, i)
        else:
            assert key & 7 == 2, key
            n, i = varint(b, i)
            value, i = b[i:i + n], i + n
            assert len(value) == n
        yield key >> 3, value


def numbers(found):
    """A repeated number: packed or not, as its writer liked."""
    out = []
    for b in found:
        i = 0
        if isinstance(b, int):
            out.append(b)
            continue
        while i < len(b):
            v, i = varint(b, i)
            out.append(v)
    return out


def message(b, many=()):
    out = {}
    for k, v in fields(b):
        if k in many:
            out.setdefault(k, []).append(v)
        else:
            out[k] = v
    return out


def read(data):
    """{types, samples: [(stack leaf first, values, labels)], mappings, …}; every reference is checked."""
    top = message(gzip.decompress(data), (1, 2, 3, 4, 5, 6, 13))
    strings = [s.decode("utf-8") for s in top[6]]
    assert strings[0] == ""
    functions = {f[1]: strings[f.get(2, 0)] for f in map(message, top.get(5, []))}
    mappings = {}
    for m in map(message, top.get(3, [])):
        mappings[m[1]] = (strings[m.get(5, 0)], strings[m.get(6, 0)])
    locations = {}
    for loc in (message(b, (4,)) for b in top.get(4, [])):
        assert loc[1] not in locations and loc[1] > 0
        lines = [functions[message(x)[1]] for x in loc.get(4, [])]
        locations[loc[1]] = (lines, mappings[loc[2]][0] if 2 in loc else "", loc.get(3, 0))
    types = [(strings[t.get(1, 0)], strings[t.get(2, 0)]) for t in map(message, top[1])]
    samples = []
    for s in (message(b, (1, 2, 3)) for b in top.get(2, [])):
        labels = {}
        for x in map(message, s.get(3, [])):
            labels[strings[x[1]]] = strings[x[2]] if 2 in x else x.get(3, 0)
        stack = [locations[i] for i in numbers(s.get(1, []))]
        samples.append((stack, numbers(s[2]), labels))
        assert len(samples[-1][1]) == len(types)
    return {"types": types, "samples": samples, "mappings": mappings, "time": top.get(9, 0),
            "duration": top.get(10, 0), "period": top.get(12, 0), "strings": strings}
