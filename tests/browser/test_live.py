#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a recorder that runs: it goes with the time, what happens appears within a second, and counters are drawn. As root."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import tap


class Live(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perfcam-live-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.chmod(self.folder, 0o755)
        self.store = os.path.join(self.folder, "store")
        self.errors = open(os.path.join(self.folder, "errors"), "w+", encoding="utf-8")
        self.addCleanup(self.errors.close)
        self.log, self.watched = (os.path.join(self.folder, n) for n in ("app.log", "watched-one"))
        shutil.copy("/usr/bin/true", self.watched)
        with open(self.log, "w", encoding="utf-8") as f:
            f.write("old\n")
        self.recorder = subprocess.Popen([tap.BIN, "run", "--store", self.store, "--listen", "127.0.0.1:0", "-F", "49", "--window", "1m",
                                          "--log", self.log, "--journal", self.open_journal(), "--watch", "watched-one"],
                                         stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.addCleanup(self.stop)
        self.url = ""
        while not self.url.startswith("http"):
            self.url = self.recorder.stdout.readline().strip()
            if self.recorder.poll() is not None:
                self.errors.seek(0)
                raise RuntimeError(self.errors.read())

    def stop(self):
        if self.recorder.poll() is None:
            self.recorder.send_signal(signal.SIGINT)
        self.recorder.communicate(timeout=30)

    def open_journal(self):
        """A journal of its own, which systemd's own program writes."""
        place = os.path.join(self.folder, "journal")
        os.mkdir(place)
        self.journal = subprocess.Popen(["/lib/systemd/systemd-journal-remote", "-o", os.path.join(place, "a.journal"), "-"],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.journal.communicate)
        self.tell_journal("the first entry")
        until = time.monotonic() + 10
        while not os.path.exists(os.path.join(place, "a.journal")) and time.monotonic() < until:
            time.sleep(0.02)
        return place

    # Each of those who tell returns what the event's text has in it.
    def mark(self, text):
        self.assertEqual(tap.perfcam("mark", text, "--store", self.store).returncode, 0)
        return text

    def tell_kernel(self, text):
        with open("/dev/kmsg", "w", encoding="ascii") as f:
            f.write(f"<4>{text}\n")
        return text

    def tell_log(self, text):
        with open(self.log, "a", encoding="utf-8") as f:
            f.write(f"{time.time():.3f} {text}\n")
        return text

    def tell_journal(self, text):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            boot = f.read().strip().replace("-", "")
        entry = {"__REALTIME_TIMESTAMP": time.time_ns() // 1000, "__MONOTONIC_TIMESTAMP": time.monotonic_ns() // 1000, "_BOOT_ID": boot,
                 "_TRANSPORT": "syslog", "PRIORITY": 6, "SYSLOG_IDENTIFIER": "app", "MESSAGE": text}
        self.journal.stdin.write("".join(f"{k}={v}\n" for k, v in entry.items()).encode() + b"\n")
        self.journal.stdin.flush()
        return text

    def post(self, path, what):
        base, _, token = self.url.partition("?token=")
        ask = urllib.request.Request(base.rstrip("/") + path, json.dumps(what).encode(),
                                     {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        with urllib.request.urlopen(ask, timeout=30) as r:
            self.assertEqual(r.status, 200)

    def post_mark(self, text):
        self.post("/api/mark", {"text": text})
        return text

    def alert(self, text):
        now = time.time()
        starts = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f"{now % 1:.3f}"[1:] + "Z"
        self.post("/api/alerts", {"version": "4", "status": "firing", "alerts": [
            {"status": "firing", "labels": {"alertname": text}, "annotations": {}, "startsAt": starts, "endsAt": "0001-01-01T00:00:00Z"}]})
        return text

    def watch(self, _):
        process = subprocess.Popen([self.watched])
        process.wait()
        return f"watched-one (pid {process.pid}) ended"

    def tellers(self):
        return self.mark, self.tell_kernel, self.tell_log, self.tell_journal, self.post_mark, self.alert, self.watch

    def test_it_goes_with_the_time(self):
        # How long the page takes is asked, not how long others keep it from the CPU: browser and test come before them.
        self.addCleanup(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        with chrome.Browser() as browser:
            until = time.monotonic() + 90
            page = browser.open(self.url, width=1440, height=900, scheme="dark")

            def wait(expression):
                while not page.evaluate(expression):
                    if time.monotonic() > until:
                        raise AssertionError((expression, page.evaluate("document.body.innerText")[:2000]))
                    time.sleep(0.1)
            wait("document.querySelector('.dot.on') !== null && /REC/.test(document.querySelector('.top').innerText)")
            wait("/samples/.test(document.querySelector('.side').innerText)")
            with open("/proc/cpuinfo", encoding="utf-8") as f:
                model = re.search(r"^(?:model name|Model|cpu model)\t+: (.*)$", f.read(), re.M)
            # The page may be there before the first sample is.
            wait(f"document.querySelector('.side').innerText.includes({json.dumps('Linux ' + os.uname().release)})")
            if model:
                self.assertIn("× " + re.sub(" +", " ", model[1]), page.evaluate("document.querySelector('.side').innerText"))
            end = "document.querySelector('.stage').innerText.match(/to \\w+ \\d+ \\w+ (\\d+:\\d+:\\d+)/)?.[1] ?? ''"
            wait(end)
            seen = {page.evaluate(end)}
            while len(seen) < 4 and time.monotonic() < until:
                seen.add(page.evaluate(end))
                time.sleep(0.1)
            self.assertGreaterEqual(len(seen), 4)
            # It is told, and does not only look every two seconds.
            told = [e for e in browser.events if e.get("method") == "Network.eventSourceMessageReceived"]
            self.assertGreaterEqual(len(told), 2)
            wait("!document.querySelector('#track').hidden")
            r = tap.perfcam("mark", "a <b>mark</b> of the test", "--store", self.store)
            self.assertEqual(r.returncode, 0, r.stderr)
            wait("[...document.querySelectorAll('.events .row')].some(r => r.innerText.includes('a <b>mark</b> of the test'))")
            # From each source to the page; the best of some, since others work on this machine, too, and a browser without a GPU.
            for tell in self.tellers():
                took = []
                while not took or (min(took) >= 1 and len(took) < 12):
                    began = time.monotonic()
                    until = began + 30
                    text = tell(f"{tell.__name__} {os.getpid()} number {len(took)}")
                    wait(f"[...document.querySelectorAll('.events .row')].some(r => r.innerText.includes('{text}'))")
                    took.append(time.monotonic() - began)
                print(f"# {tell.__name__}: on the page after " + ", ".join(f"{s:.2f}" for s in took) + " s", flush=True)
                self.assertLess(min(took), 1, tell.__name__)
            wait("document.querySelector('.events .row').click() ?? true")
            pin = "[...document.querySelectorAll('.acts button')].find(b => b.innerText === 'Pin')"
            wait(pin + " !== undefined")
            page.evaluate(pin + ".click()")
            wait("/^pinned: /.test(document.querySelector('.status').innerText)")
            self.assertTrue(page.evaluate("fetch('/api/windows').then(r => r.json()).then(j => j.windows.some(w => w.pinned))"))
            bad = [p for p in page.problems() if not re.match(r"request: http://127\.0\.0\.1:\d+/", p)]
            self.assertEqual(bad, [])

    def test_who_listens_is_told_of_an_event_within_a_second(self):
        """Of each source: the best of some, as above; what is told is looked at, so that it is not another's event."""
        base, _, token = self.url.partition("?token=")

        def ask(path):
            return urllib.request.urlopen(urllib.request.Request(base.rstrip("/") + path, headers={"Authorization": "Bearer " + token}), timeout=30)

        def shown(text):
            with ask("/api/events?last=10s") as r:
                return any(text in e["text"] for e in json.load(r)["events"])

        took = {tell: [] for tell in self.tellers()}
        with ask("/api/live") as stream:
            def wait_for_news():
                next(line for line in stream if line.startswith(b"data:"))

            def how_long(tell):
                # The next one that comes: none of those that wait to be read.
                asked = time.monotonic()
                wait_for_news()
                while time.monotonic() - asked < 0.1:
                    asked = time.monotonic()
                    wait_for_news()
                began = time.monotonic()
                text = tell(f"told {os.getpid()} {began}")
                wait_for_news()
                while not shown(text):
                    wait_for_news()
                return time.monotonic() - began

            for tell, seconds in took.items():
                while not seconds or (min(seconds) >= 1 and len(seconds) < 12):
                    seconds.append(how_long(tell))
        for tell, seconds in took.items():
            print(f"# {tell.__name__}: told after " + ", ".join(f"{s:.2f}" for s in seconds) + " s", flush=True)
            self.assertLess(min(seconds), 1, tell.__name__)


tap.main()
