# SPDX-License-Identifier: Apache-2.0
"""Drives a real Chromium over its DevTools protocol, through a pipe: no port, no library.

    with chrome.Browser() as browser:
        page = browser.open("file:///x.svg")
        page.click(100, 200)
        page.evaluate("document.title")
        page.problems()     # console errors, exceptions, dialogs, requests to elsewhere

Messages are JSON, each ended by a zero byte; file descriptors 3 and 4 of the browser.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BINARIES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WAIT = 20  # seconds for anything
OPEN = 4  # pages at most: the oldest is closed, or those of all tests before would go on asking and drawing


def binary():
    for name in BINARIES:
        found = shutil.which(name)
        if found:
            return found
    raise RuntimeError("no chromium: run `make test`, which installs it")


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="perfcam-chromium-")
        self.number = 0
        self.pending = b""
        self.events = []
        self.pages, self.known = [], set()
        read_theirs, self.write = os.pipe()
        self.read, write_theirs = os.pipe()
        command = [binary(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
                   "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1",
                   f"--user-data-dir={self.profile}", "about:blank"]
        script = f'exec 3<&{read_theirs} 4>&{write_theirs} && exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", script, "bash", *command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        pass_fds=(read_theirs, write_theirs))
        os.close(read_theirs)
        os.close(write_theirs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, until):
        """The next message, or None when nothing came until then."""
        while b"\0" not in self.pending:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                return None
            data = os.read(self.read, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        until = time.monotonic() + WAIT
        while True:
            answer = self.receive(until)
            if answer is None:
                raise RuntimeError(f"no answer to {method}")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, **options):
        page = Page(self, **options)
        self.pages.append(page)
        if len(self.pages) > OPEN:
            self.close(self.pages.pop(0))
        page.go(url)
        return page

    def close(self, page):
        self.call("Target.closeTarget", targetId=page.target)
        self.events = [e for e in self.events if e.get("sessionId") != page.session]


class Page:
    def __init__(self, browser, width=1200, height=900, scheme="light", script=True, zone=None):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        if zone:
            self.call("Emulation.setTimezoneOverride", timezoneId=zone)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def wait_event(self, method):
        until = time.monotonic() + WAIT
        while True:
            for i, event in enumerate(self.browser.events):
                if event.get("method") == method and event.get("sessionId") == self.session:
                    return self.browser.events.pop(i)
            event = self.browser.receive(until)
            if event is None:
                raise RuntimeError(f"{method} did not happen")
            self.browser.events.append(event)

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.wait_event("Page.loadEventFired")

    def reload(self):
        self.call("Page.reload")
        self.wait_event("Page.loadEventFired")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        value = result["result"].get("value")
        return json.loads(json.dumps(value, ensure_ascii=False).replace("\u00a0", " "))  # people read both as a space

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click(self, x, y):
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def key(self, key, modifiers=0, text=None):
        down = {"type": "keyDown" if text else "rawKeyDown", "key": key, "modifiers": modifiers}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=False):
        more = {"captureBeyondViewport": True} if whole else {}
        data = self.call("Page.captureScreenshot", format="png", **more)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def problems(self):
        """What should never happen, as lines: errors, dialogs, requests that leave the machine."""
        self.evaluate("1") # whatever was under way has now been reported
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, params = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(params["exceptionDetails"])[:500])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append("console: " + json.dumps(params["args"])[:500])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                entry = params["entry"]
                found.append(f"log: {entry['text'][:500]} {entry.get('url', '')}")
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog: " + params["message"][:500])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append("request: " + url[:500])
        return found
