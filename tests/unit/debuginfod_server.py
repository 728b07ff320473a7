#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A debuginfod of the tests' own, on loopback: says its port, then serves DIR/HEX/KIND below /good, and below other
paths what strangers may send. Ends when its standard input does."""
import http.server
import os
import sys
import threading
import time

DIR = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        with open(os.path.join(DIR, "log"), "a") as f:
            f.write(self.path + "\n")

    def send(self, body, length=None):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        how, _, rest = self.path.lstrip("/").partition("/")
        file = os.path.join(DIR, *rest.split("/")[1:])
        if how == "good":
            if not os.path.exists(file):
                return self.send_error(404)
            with open(file, "rb") as f:
                return self.send(f.read())
        if how == "elsewhere":
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/good/{rest}")
            return self.end_headers()
        if how == "wrong":
            with open(os.path.join(DIR, "other"), "rb") as f:
                return self.send(f.read())
        if how == "text":
            return self.send(b"<html>no such file</html>")
        if how == "large":
            return self.send(b"x", 1 << 40)
        if how == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return None
        if how == "slow":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x")
                    self.wfile.flush()
                    time.sleep(0.2)
            except OSError:
                return None
        if how == "cut":
            self.send(b"\x7fELF", 5000)
            return self.connection.close()
        return self.send_error(500)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
