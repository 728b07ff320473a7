# SPDX-License-Identifier: Apache-2.0
"""What a machine does while tools/bench-views records it.

compilers: two loops of compilers that live for milliseconds, and two threads that compute. Nearly every process is new, so most of its call
chains occur once: the hardest file to read.
services: servers with clients (redis, nginx, postgres: those that are installed), an interpreter and a compressor.
mixed: the same, and one loop of compilers.
"""
import glob
import os
import pwd
import shutil
import subprocess
import sys
import time

from benchlib import BUILD

KINDS = ("compilers", "mixed")  # of files
TAPES = ("services", "compilers")  # of twelve hours of 96 CPUs
REDIS_PORT, NGINX_PORT, POSTGRES_PORT = 46379, 46380, 46381
COMPUTES = "import json, time\nend = time.time() + {}\nwhile time.time() < end:\n    sorted(json.loads(json.dumps([{{'a': i, 'b': str(i * 7919)}} for i in range(2000)])), key=lambda r: r['b'])\n"
ASKS = """import http.client, time
end = time.time() + {}
while time.time() < end:
    c = http.client.HTTPConnection("127.0.0.1", {})
    for _ in range(200):
        c.request("GET", "/page")
        c.getresponse().read()
    c.close()
"""
NGINX = """daemon off; worker_processes 2; pid {0}/nginx.pid; error_log /dev/null;
events {{ }}
http {{ access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi; gzip on; gzip_min_length 1; gzip_types *;
  server {{ listen 127.0.0.1:{1}; root {0}; }} }}
"""


def find(name):
    places = [os.environ["PATH"], "/usr/sbin", *glob.glob("/usr/lib/postgresql/*/bin")]
    return shutil.which(name, path=":".join(places))


class Load:
    """Started with start(), ended with stop(): servers by a signal, the others by themselves after `seconds`."""

    def __init__(self, directory, seconds):
        self.directory, self.seconds, self.servers, self.others = directory, seconds, [], []

    def run(self, to, *command, **more):
        to.append(subprocess.Popen(command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more))

    def workload(self, name):
        self.run(self.others, os.path.join(BUILD, "tests", "workloads", "workload_" + name), str(self.seconds))

    def redis(self):
        server, client = find("redis-server"), find("redis-benchmark")
        if server and client:
            self.run(self.servers, server, "--port", str(REDIS_PORT), "--bind", "127.0.0.1", "--save", "", "--dir", self.directory)
            time.sleep(1)
            for tests in ("get,set,incr", "lpush,lrange_100,zadd"):
                self.run(self.servers, client, "-p", str(REDIS_PORT), "-l", "-q", "-r", "100000", "-t", tests)

    def nginx(self):
        server = find("nginx")
        if server:
            with open(os.path.join(self.directory, "page"), "w", encoding="utf-8") as f:
                f.write("".join(f"<p>line {i} of a page that is packed each time</p>\n" for i in range(400)))
            with open(os.path.join(self.directory, "nginx.conf"), "w", encoding="utf-8") as f:
                f.write(NGINX.format(self.directory, NGINX_PORT))
            self.run(self.servers, server, "-c", os.path.join(self.directory, "nginx.conf"))
            self.run(self.others, sys.executable, "-c", ASKS.format(self.seconds, NGINX_PORT))

    def postgres(self):
        initdb, server, bench = find("initdb"), find("postgres"), find("pgbench")
        if not (initdb and server and bench):
            return
        # It refuses to run as root.
        who = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        data = os.path.join(self.directory, "pg")
        os.mkdir(data)
        if who:
            os.chmod(self.directory, 0o755)
            shutil.chown(data, "nobody")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **who}
        if subprocess.run([initdb, "-D", data, "-U", "bench", "-A", "trust"], check=False, cwd=data, **quiet).returncode:
            return
        self.run(self.servers, server, "-D", data, "-p", str(POSTGRES_PORT), "-h", "127.0.0.1", "-k", data, "-F", **who)
        ask = [bench, "-h", "127.0.0.1", "-p", str(POSTGRES_PORT), "-U", "bench"]
        for _ in range(30):
            if subprocess.run([*ask, "-i", "-s", "4", "-q", "postgres"], check=False, **quiet).returncode == 0:
                break
            time.sleep(1)
        for more in (["-S"], []):
            self.run(self.others, *ask, "-c", "4", "-T", str(self.seconds), *more, "postgres")

    def compressor(self):
        packs = f"end=$(($(date +%s) + {self.seconds})); while [ $(date +%s) -lt $end ]; do gzip -c '{sys.executable}' > /dev/null; done"
        self.run(self.others, "sh", "-c", packs)

    def start(self, kind):
        if kind == "compilers":
            self.workload("kitchen")
            self.workload("builds")
            return
        self.postgres()
        self.nginx()
        self.redis()
        self.compressor()
        if kind == "mixed":
            self.workload("builds")
        self.run(self.others, sys.executable, "-c", COMPUTES.format(self.seconds))

    def stop(self):
        for other in self.others:
            other.wait()
        # Clients were started after their servers.
        for server in reversed(self.servers):
            server.terminate()
            server.wait()
