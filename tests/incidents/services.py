# SPDX-License-Identifier: Apache-2.0
"""What runs on a host on an ordinary day, as far as this one has it: redis, nginx and PostgreSQL with clients that
come in bursts, compilers, python jobs, a monitor that reads /proc every 5 s, gzip every 20 s, a steady encoder and a mixer, and
daemons that do a little of what they may one day do too much of. Nothing listens on a network."""
import os
import shutil
import subprocess
import sys
import time

POSTGRES = "/usr/lib/postgresql/15/bin"
JOB = "import json,random\nfor i in range(30): json.dumps([random.random() for _ in range(2000)])"
GZIP_EVERY_S = 20
# Daemon: the kind of its work (culprit.c).
DAEMONS = {"nodeagent": "proc", "statsd": "cgroup", "indexer": "walk", "lockd": "lock", "encoder": "steady",
           "mixer": "stream"}

NGINX = """daemon off; worker_processes 1; user root; pid {dir}/nginx.pid; error_log /dev/null;
events {{ worker_connections 64; }}
http {{ access_log off; gzip on; gzip_min_length 1; gzip_types text/plain; keepalive_requests 10000;
client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
server {{ listen unix:{dir}/nginx.sock; root {dir}/www; }} }}
"""


def text_of(rng, n_bytes):
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(900)]
    text = " ".join(rng.choices(words, k=n_bytes // 6))
    return text[:n_bytes]


class Services:
    def __init__(self, loop, rng, directory, culprit):
        self.loop, self.rng, self.dir = loop, rng, directory
        self.culprit = culprit
        self.missing = []
        self.redis = self.postgres = None
        self.clients = {}  # of a service: the name of its client, and its command for so many requests
        self.daemons = {}
        self.next_gzip = time.monotonic() + 7

    def path(self, name):
        return os.path.join(self.dir, name)

    def named(self, name):
        """The culprit's program under another name."""
        path = self.path(name)
        if not os.path.lexists(path):
            os.symlink(self.culprit, path)
        return path

    def has(self, *programs):
        absent = [p for p in programs if not shutil.which(p)]
        self.missing += absent
        return not absent

    def start(self):
        os.chmod(self.dir, 0o755)
        with open(self.path("log.txt"), "w", encoding="utf-8") as f:
            f.write(text_of(self.rng, 6 << 20))
        self._start_redis()
        self._start_nginx()
        self._start_postgres()
        for name, kind in DAEMONS.items():
            self.daemons[name] = self.loop.serve([self.named(name), kind, "serve"], stdin=subprocess.PIPE,
                                                 stdout=subprocess.PIPE)
        self._start_compiler()
        self._gzip()
        self._monitor()
        self._python()

    def _start_redis(self):
        if not self.has("redis-server", "redis-benchmark", "redis-cli"):
            return
        socket = self.path("redis.sock")
        self.redis = self.loop.serve(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                                      "--appendonly", "no", "--dir", self.dir])

        def client(n):
            return ["redis-benchmark", "-s", socket, "-q", "-t", "set,get", "-n", str(n), "-c", "4", "-r", "20000"]

        def burst():
            self.loop.start(client(2500))
            self.loop.after(self.rng.uniform(.4, 1.6), burst)
        self.clients["redis-server"] = "redis-benchmark", client
        self.loop.after(1, burst)

    def _start_nginx(self):
        if not self.has("nginx", "curl"):
            return
        os.makedirs(self.path("www"), exist_ok=True)
        with open(self.path("www/a.txt"), "w", encoding="utf-8") as f:
            f.write(text_of(self.rng, 12000))
        with open(self.path("nginx.conf"), "w", encoding="utf-8") as f:
            f.write(NGINX.format(dir=self.dir))
        self.loop.serve(["nginx", "-p", self.dir, "-c", self.path("nginx.conf")])

        def client(n):
            return ["curl", "-s", "--compressed", "--unix-socket", self.path("nginx.sock"), "-o", "/dev/null",
                    f"http://localhost/a.txt?[1-{n}]"]

        def burst():
            self.loop.start(client(self.rng.randint(30, 150)))
            self.loop.after(self.rng.uniform(.2, 1.4), burst)
        self.clients["nginx"] = "curl", client
        self.loop.after(1.5, burst)

    def _start_postgres(self):
        if not os.path.exists(POSTGRES) or not self.has("pgbench", "setpriv"):
            self.missing.append("postgresql")
            return
        data = self.path("pg")
        os.makedirs(data)
        shutil.chown(data, "postgres")
        os.chmod(data, 0o700)
        self.as_postgres = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        subprocess.run([*self.as_postgres, POSTGRES + "/initdb", "-D", data, "-A", "trust", "--no-sync"], check=True,
                       cwd="/", stdout=subprocess.DEVNULL)
        self.postgres = self.loop.serve(
            [*self.as_postgres, POSTGRES + "/postgres", "-D", data, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
             "unix_socket_directories=" + data, "-c", "max_parallel_workers_per_gather=0", "-c", "jit=off"], cwd="/")
        for _ in range(100):
            if not self.psql("select 1").wait():
                break
            time.sleep(.1)
        subprocess.run([*self.as_postgres, "pgbench", "-h", data, "-i", "-s", "1", "-q", "postgres"], cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.loop.serve([*self.as_postgres, "pgbench", "-h", data, "-c", "2", "-R", "60", "-T", "36000", "postgres"],
                        cwd="/")

    def psql_command(self, query):
        return [*self.as_postgres, "psql", "-h", self.path("pg"), "-qAtc", query, "postgres"]

    def psql(self, query):
        return subprocess.Popen(self.psql_command(query), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def _start_compiler(self):
        if not self.has("gcc"):
            return
        with open(self.path("some.c"), "w", encoding="utf-8") as f:
            for i in range(250):
                f.write(f"int f{i}(int a, int b)\n{{\n\tfor (int i = 0; i < a; i++)\n\t\tb += a * i % {i + 3};\n"
                        f"\treturn b / {i + 1};\n}}\n")

        def compile_once():
            self.loop.start(["gcc", "-O1", "-c", self.path("some.c"), "-o", self.path("some.o")])
            self.loop.after(self.rng.expovariate(1 / 11) + 3, compile_once)
        self.loop.after(4, compile_once)

    def _gzip(self):
        self.loop.start(["gzip", "-c", self.path("log.txt")])
        self.next_gzip = time.monotonic() + GZIP_EVERY_S
        self.loop.at(self.next_gzip, self._gzip)

    def _monitor(self):
        self.loop.start(["sh", "-c", "ps aux; cat /proc/1/smaps"])
        self.loop.after(5, self._monitor)

    def _python(self):
        self.loop.start([sys.executable, "-c", JOB])
        self.loop.after(self.rng.expovariate(1 / 7) + 1, self._python)
