# SPDX-License-Identifier: Apache-2.0
"""What is tortured: one command each, in a directory of its own with a store in a known state.

A scenario names its command; the store it works on (copied anew for every run); the files it makes; and what somebody else does
while it runs. `same`: its outputs are the same bytes at every run, so that a run which ends well is compared with the undisturbed one.
"""
import glob
import gzip
import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import support  # noqa: E402
import synth  # noqa: E402

BUILD = os.path.dirname(support.BIN)
OLD = b"what was here before\n"
START_US = 1_000_000_000


def perfcam(*args, code=(0, 3)):
    r = subprocess.run([support.BIN, *args], stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, timeout=60)
    if r.returncode not in code:
        raise AssertionError((args, r.returncode, r.stderr))
    return r.stdout


def killed_recorder(store):
    """A journal that nobody sealed."""
    p = subprocess.Popen([support.BIN, "record", "--store", store, "--control", store + ".control", "--source", "perf", "-F", "499"], stdout=-3, stderr=-3)
    journals = os.path.join(store, "*.pcj")
    until = time.monotonic() + 20
    while time.monotonic() < until and not any(os.path.getsize(j) > 2000 for j in glob.glob(journals) if "events" not in j):
        time.sleep(0.05)
    p.kill()
    p.wait()


class Fixtures:
    """Inputs and stores, made once."""

    def __init__(self, place):
        self.place = place
        self.text, self.folded, self.log = (self.path(n) for n in ("a.txt", "a.folded", "dmesg.txt"))
        for path, seed in ((self.text, 1), (self.path("b.txt"), 2)):
            with open(path, "wb") as f:
                f.write(synth.text_of(synth.recording(seed, 4, 97)))
        with open(self.log, "w", encoding="utf-8") as f:
            f.write("".join(f"[{1000 + n}.000000] nic0: Reset adapter {n}\n" for n in range(4)))
        self.data = self.path("perf.data")
        with open(os.path.join(support.DATA, "tmpl.perf.data.zst"), "rb") as f, open(self.data, "wb") as to:
            to.write(support.unzstd(f.read()))
        for name in ("node.cpuprofile", "node.trace.json"):
            with gzip.open(os.path.join(support.DATA, "other", name + ".gz")) as f, open(self.path(name), "wb") as to:
                to.write(f.read())
        self.make_stores()

    def path(self, name):
        return os.path.join(self.place, name)

    def make_stores(self):
        full = self.path("full")
        perfcam("import", "--store", full, self.text)
        perfcam("import", "--store", full, self.path("b.txt"))
        perfcam("mark", "a deploy", "--store", full)
        perfcam("export", "folded", "-i", self.text, "-o", self.folded)
        perfcam("export", "speedscope", "-i", self.text, "-o", self.path("a.speedscope.json"))
        shutil.copytree(full, self.path("dead"))
        killed_recorder(self.path("dead"))
        subprocess.run([os.path.join(BUILD, "tests", "system", "old_windows"), self.path("old"), "6"], check=True, stdout=-3)
        perfcam("record", "--store", self.path("live"), "--source", "perf", "-F", "199", "-d", "300ms")
        window = next(w for w in json.loads(perfcam("ls", "--json", "--store", full)) if w["samples"])
        self.moment = f"@{window['realtime_ns'] // 10**9 + 2}"
        self.window = window["name"]
        perfcam("pin", self.window, "--store", full)


class Scenario:
    def __init__(self, name, *args, store="full", makes=(), same=True, beside=None, keeps=True, weight=1, statuses=(0, 1, 3)):
        self.name, self.args, self.store, self.makes, self.statuses = name, args, store, makes, statuses
        self.same, self.beside, self.keeps, self.weight = same, beside, keeps, weight

    def prepare(self, fixtures, place):
        """The command, in a directory that is empty but for what it works on."""
        os.makedirs(place)
        if self.store:
            shutil.copytree(fixtures.path(self.store), os.path.join(place, "store"), ignore=lambda _, names: [n for n in names if n == ".control"])
        for name in self.makes:
            with open(os.path.join(place, name), "wb") as f:
                f.write(OLD)
        words = {"STORE": os.path.join(place, "store"), "MOMENT": fixtures.moment, "WINDOW": fixtures.window,
                 "CONTROL": os.path.join(place, "control")}
        command = []
        for word in self.args:
            if word.startswith("in:"):
                word = fixtures.path(word[3:])
            elif word.startswith("out:"):
                word = os.path.join(place, word[4:])
            command.append(words.get(word, word))
        return [support.BIN, *command]


SERVED = ("/", "/api/store", "/api/windows", "/api/timeline?from=@0&to=now&bins=100", "/api/flame?from=@0", "/api/heatmap?from=@0&mode=cores",
          "/api/events?from=@0", "/api/counters?from=@0&to=now&bins=50", "/api/export?from=@0&format=folded", "/metrics")


def ask_server(tracer, out, place):
    """Some requests, whatever they are answered; then its end."""
    url = out.readline().decode().strip() if select.select([out], [], [], 5)[0] else ""
    if url:
        at = urllib.parse.urlsplit(url)
        token = urllib.parse.parse_qs(at.query).get("token", [""])[0]
        for path in SERVED:
            connection = http.client.HTTPConnection("127.0.0.1", at.port, timeout=3)
            try:
                connection.request("GET", path, headers={"Authorization": "Bearer " + token})
                connection.getresponse().read()
            except TimeoutError:
                break
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
    end(tracer)


def end(tracer):
    """What a tracer started is told to end, if it still runs."""
    try:
        with open(f"/proc/{tracer}/task/{tracer}/children", encoding="ascii") as f:
            for pid in f.read().split()[:1]:
                os.kill(int(pid), signal.SIGTERM)
    except (FileNotFoundError, ProcessLookupError):
        pass


def ask_recorder(tracer, out, place):
    """What a running recorder may be asked for."""
    control = os.path.join(place, "control")
    until = time.monotonic() + 5
    while time.monotonic() < until and os.path.exists(f"/proc/{tracer}/stat") and not os.path.exists(control):
        time.sleep(0.02)
    for verb in (("status",), ("mark", "hello"), ("pin", "--last", "1m"), ("snapshot",)):
        try:
            subprocess.run([support.BIN, *verb, "--store", os.path.join(place, "store"), "--control", control],
                           stdin=subprocess.DEVNULL, stdout=-3, stderr=-3, timeout=5)
        except subprocess.TimeoutExpired:
            pass  # who asks a recorder that can hear nobody is patient (a minute for a snapshot); it must end all the same
    end(tracer)


RECORD = ("record", "--store", "STORE", "--control", "CONTROL", "--max-cpu", "none", "-F", "199")
STORED = ("--store", "STORE")


def exports():
    for form in ("folded", "perf-script", "pprof", "speedscope", "firefox", "perf-data", "csv", "json"):
        yield Scenario("export " + form, "export", form, *STORED, "-o", "out:x", makes=("x",))


def imports():
    for name, path in (("perf.data", "perf.data"), ("perf script", "a.txt"), ("folded", "a.folded"), ("cpuprofile", "node.cpuprofile"),
                       ("trace events", "node.trace.json"), ("speedscope", "a.speedscope.json")):
        yield Scenario("import " + name, "import", *STORED, "in:" + path)
    yield Scenario("import pprof", "import", *STORED, os.path.join(support.DATA, "other", "go.pprof"))
    yield Scenario("import of events", "import", "--events", "in:dmesg.txt", "--at", "MOMENT", *STORED, same=False)


def views():
    yield Scenario("flame", "flame", *STORED, "-o", "out:x.svg", makes=("x.svg",))
    yield Scenario("flame of a perf.data", "flame", "-i", "in:perf.data", "-o", "out:x.html", makes=("x.html",), store=None, same=False, weight=2)
    yield Scenario("flame in order of time", "flame", *STORED, "--flamechart", "-o", "out:x.svg", makes=("x.svg",))
    yield Scenario("heatmap", "heatmap", *STORED, "-o", "out:x.png", makes=("x.png",))
    yield Scenario("report", "report", *STORED, "-o", "out:x.txt", makes=("x.txt",))
    yield Scenario("script", "script", *STORED, "-o", "out:x.txt", makes=("x.txt",))
    yield Scenario("diff", "diff", "in:a.txt", "in:b.txt", "-o", "out:x.svg", makes=("x.svg",), store=None)
    yield Scenario("why", "why", "MOMENT", "--around", "1s", *STORED)
    yield Scenario("capsule", "capsule", "MOMENT", "--around", "1s", *STORED, "-o", "out:x.html", makes=("x.html",), same=False)
    for verb in (("top", "--json"), ("search", "."), ("ls", "--json"), ("events", "--json"), ("moments", "--json"), ("verify", "--json"),
                 ("at", "MOMENT", "--json")):
        yield Scenario(verb[0], *verb, *STORED, same=verb[0] not in ("top",))


def changes():
    yield Scenario("mark", "mark", "hello", *STORED, same=False)
    yield Scenario("pin", "pin", "WINDOW", "--note", "kept", *STORED, same=False)
    yield Scenario("unpin", "unpin", "--from", "@0", *STORED, same=False)
    yield Scenario("resymbolise", "resymbolise", "--from", "@0", *STORED, store="live", same=False, weight=2)


def recordings():
    for source in ("perf", "bpf"):
        yield Scenario("record, source " + source, *RECORD, "--source", source, "-d", "200ms", same=False, weight=3)
    yield Scenario("record, windows end", *RECORD, "--source", "perf", "-d", "1200ms", "--window", "1s", same=False, weight=2)
    yield Scenario("recovery", *RECORD, "--source", "perf", "-d", "200ms", store="dead", same=False, weight=3)
    yield Scenario("retention", *RECORD, "--source", "perf", "-d", "200ms", "--keep", "1m", store="old", same=False, keeps=False)
    yield Scenario("record, asked", *RECORD, "--source", "perf", same=False, beside=ask_recorder, weight=2)
    yield Scenario("record into a file", "record", "-F", "199", "--source", "perf", "-o", "out:x.pcw", "--control", "CONTROL", "--", "sleep", "0.2",
                   store=None, same=False, statuses=(0, 1, 3, 126, 127))
    yield Scenario("serve", "serve", *STORED, "--listen", "127.0.0.1:0", same=False, beside=ask_server, weight=3)


ALL = (*recordings(), *imports(), *views(), *exports(), *changes())
