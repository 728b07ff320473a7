# SPDX-License-Identifier: Apache-2.0
"""`perfcam serve` from outside, for the tests that ask it."""
import http.client
import json
import os
import re
import struct
import subprocess
import urllib.parse

import tap


class Server:
    """`perfcam serve` on a free port; ends with the test."""
    patience = 30  # seconds, for anything to come

    def __init__(self, store, *options, env=None, before=(), listen="127.0.0.1:0", program=None):
        self.process = subprocess.Popen([*before, program or tap.BIN, "serve", *(("--store", store) if store else ()), "--listen", listen, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.process.stderr.read())
        self.port = urllib.parse.urlsplit(self.url).port
        self.token = urllib.parse.parse_qs(urllib.parse.urlsplit(self.url).query).get("token", [""])[0]

    def stop(self):
        self.process.terminate()
        self.process.communicate()

    def begin(self, path, method="GET", body=None, **headers):
        """The connection and the answer, whose body has not been read."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + self.token
        c.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            if value is not None:
                c.putheader(name.replace("_", "-"), value)
        if body is not None:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders(body)
        return c, c.getresponse()

    def ask(self, path, method="GET", body=None, **headers):
        c, r = self.begin(path, method, body, **headers)
        body = r.read()
        c.close()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, body

    def json(self, path):
        status, _, body = self.ask(path)
        if status != 200:
            raise AssertionError((path, status, body))
        return json.loads(body)

    def columns(self, path):
        """What docs/http-api.md calls columns: (about, {name: tuple})."""
        status, headers, data = self.ask(path)
        if status != 200 or headers["content-type"] != "application/vnd.perfcam.columns":
            raise AssertionError((path, status, data[:200]))
        (n,) = struct.unpack_from("<I", data, 4)
        about, start = json.loads(data[8:8 + n]), (8 + n + 7) // 8 * 8
        return about, {name: struct.unpack_from(f"<{count}{dict(u8='B', u32='I', f32='f', f64='d')[kind]}", data, start + offset)
                       for name, (kind, offset, count) in about["columns"].items()}


def let_everyone_read(folder):
    """The server is somebody else."""
    for root, _, files in os.walk(folder):
        os.chmod(root, 0o755)
        for f in files:
            os.chmod(os.path.join(root, f), 0o644)


def make_store(store, text):
    r = tap.perfcam("import", "--store", store, "-", stdin=text)
    if r.returncode:
        raise RuntimeError(r.stderr.decode())
    let_everyone_read(store)
    return store


def memory_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(next(line for line in f if line.startswith("VmHWM")).split()[1]) / 1024


def read_metrics(text):
    """The text format 0.0.4 of Prometheus, by its description: {(name, labels): value}. What breaks a rule of it raises."""
    types, values, last = {}, {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in types and len(line.split(" ", 3)) == 4, line
            last = name
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == last and kind in ("counter", "gauge", "histogram"), line
            types[name] = kind
        else:
            m = re.fullmatch(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|\+Inf|NaN)', line)
            assert m, line
            base = re.sub(r"_(bucket|sum|count)$", "", m[1]) if types.get(last) == "histogram" else m[1]
            assert base == last, (line, last)  # the lines of a metric stand together
            assert types[base] != "counter" or base.endswith("_total"), line
            labels = tuple(sorted(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or "")))
            assert (m[1], labels) not in values, line
            values[m[1], labels] = float(m[3])
    for (name, labels), value in values.items():
        if name.endswith("_bucket") and dict(labels)["le"] == "+Inf":
            rest = tuple(x for x in labels if x[0] != "le")
            assert values[name[:-7] + "_count", rest] == value, (name, labels)
            series = sorted((float(dict(k[1])["le"]), v) for k, v in values.items() if k[0] == name and tuple(x for x in k[1] if x[0] != "le") == rest)
            assert all(a[1] <= b[1] for a, b in zip(series, series[1:])), series
    return values
