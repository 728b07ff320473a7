#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfcam config: one table behind flags and file; what is wrong is named with its line."""
import json
import os
import re

import support
import tap
from support import Case


class Config(Case):
    def conf(self, text):
        path = self.path("perfcam.conf", text.encode())
        os.chmod(path, 0o644)
        return path

    def settings(self, *args):
        return json.loads(self.good("config", "--json", *args))["settings"]

    def test_origins(self):
        conf = self.conf("# a comment\n[perfcam]\nkeep = 24h\nmax-bytes = 8G\n")
        got = self.settings("--config", conf, "-F", "49", "--keep=6h")
        self.assertEqual(got["keep"], {"value": "6h", "from": "flag", "live": True})
        self.assertEqual(got["frequency"]["value"], "49")
        self.assertEqual(got["max-bytes"], {"value": "8G", "from": f"{conf}:4", "live": True})
        self.assertEqual(got["max-pinned"], {"value": "4G", "from": "default", "live": True})
        self.assertEqual(got["window"], {"value": "2m", "from": "default", "live": False})

    def test_every_option_of_the_contract_is_a_key(self):
        given = {
            "store": "/x", "window": "1m", "frequency": "49", "pid": "1,2", "tree": "yes",
            "user": "0", "cpu": "0", "cgroup": "/a", "keep": "1h", "max-bytes": "1G",
            "min-free": "10%", "max-pinned": "1G", "max-cpu": "2%", "event": "cpu-clock",
            "source": "perf", "unwind": "fp", "addresses": "yes", "java-maps": "yes", "listen": "127.0.0.1:1", "control": "/c",
            "token": "/t", "behind-tls": "perfcam.example.org", "log": "/var/log/a.log,/var/log/b:klog",
            "watch": "nginx,redis*", "journal": "sshd,kube*.service",
        }
        by_file = self.settings("--config", self.conf("".join(f"{k} = {v}\n" for k, v in given.items())))
        by_flag = self.settings("--config", self.conf(""), *(f"--{k}={v}" for k, v in given.items()))
        # A flag cannot allow what is for the file of root alone.
        for got in (by_file, by_flag):
            self.assertEqual(got.pop("allow-run")["value"], "no")
        self.bad("config", "--allow-run", code=2, names="--allow-run")
        self.assertEqual({k: v["value"] for k, v in by_file.items()}, given)
        self.assertEqual({k: v["value"] for k, v in by_flag.items()}, given)
        for letter, key in (("-F", "frequency"), ("-p", "pid"), ("-u", "user"), ("-C", "cpu")):
            self.assertEqual(self.settings("--config", self.conf(""), letter, "7")[key]["value"], "7")

    def test_what_it_prints_is_a_configuration(self):
        first = self.good("config", "--config", self.conf(""), "--keep", "3h", "--tree", "-p", "1")
        again = self.settings("--config", self.conf(first.decode()))
        self.assertEqual(again["keep"]["value"], "3h")
        self.assertEqual(again["tree"]["value"], "yes")
        self.assertEqual(again["listen"]["value"], "127.0.0.1:9797")

    def test_errors_name_file_line_key_and_remedy(self):
        for text, line, words in (
            ("keep = 12h\nkep = 3h\n", 2, ("kep", "keep")),
            ("max-cpu = 1\n", 1, ("max-cpu", "'1'", "1%")),
            ("\n\nlisten = 9797\n", 3, ("listen", "127.0.0.1:9797")),
            ("[record]\n", 1, ("[record]", "[perfcam]")),
        ):
            conf = self.conf(text)
            self.bad("config", "--config", conf, code=2, names=(f"{conf}:{line}: ", *words))
        missing = self.path("absent.conf")
        self.bad("config", "--config", missing, names=missing)
        self.bad("config", "--max-cpu", "1", code=2, names=("--max-cpu", "1%"))
        self.bad("config", "keep", code=2, names="keep")
        # Options of a single run are no settings.
        self.bad("config", "-d", "60s", code=2, names="-d")

    def test_every_key_refuses_what_it_cannot_be_and_names_its_line(self):
        wrong = {
            "store": "relative", "control": "relative", "window": "0s", "frequency": "0",
            "event": "walls", "source": "none", "unwind": "guess", "java-maps": "perhaps",
            "addresses": "perhaps", "pid": "1,x", "tree": "perhaps", "user": "no such user",
            "cpu": "3-1", "cgroup": "/a/../b", "keep": "-1h", "max-bytes": "12", "min-free": "0%",
            "max-pinned": "many", "max-cpu": "101%", "listen": "localhost", "behind-tls": "a b",
            "token": "relative", "allow-run": "perhaps", "log": "relative.log", "watch": "a,,b", "journal": "var/log",
        }
        keys = self.settings("--config", self.conf(""))
        self.assertEqual(set(keys), set(wrong) & set(keys), "a key without a wrong value here")
        for key in keys:
            conf = self.conf(f"# two lines\n\n{key} = {wrong[key]}\n")
            self.bad("config", "--config", conf, code=2, names=(f"{conf}:3: {key} = '{wrong[key]}'",))

    def test_the_file_that_is_shipped_has_every_key_with_its_default(self):
        with open(os.path.join(os.environ["PERFCAM_SOURCE"], "packaging", "perfcam.conf"),
                  encoding="utf-8") as f:
            shipped = dict(re.findall(r"^#([a-z-]+) = ?(.*)$", f.read(), re.M))
        keys = self.settings("--config", self.conf(""))
        self.assertEqual(set(shipped), set(keys))
        got = self.settings("--config", self.conf("".join(f"{k} = {v}\n" for k, v in shipped.items())))
        for key, value in got.items():
            self.assertEqual(value["value"], keys[key]["value"], key)

    def test_every_option_of_who_runs_for_ever_is_a_key(self):
        """But for those that end it, or are of its end."""
        keys = set(self.settings("--config", self.conf("")))
        for verb in ("record", "run", "serve"):
            shown = set(re.findall(r"^ .*?--([a-z-]+)", self.good(verb, "--help").decode().split("Examples:")[0], re.M))
            self.assertGreater(len(shown), 5)
            self.assertEqual(shown - keys - {"duration", "output", "debuginfod", "config"}, set(), verb)

    def test_rules(self):
        rules = ["kmsg /a=b|\\/c/ pin 5m before 1m after", "any /x/ severity crit, run /bin/echo a b"]
        conf = self.conf("keep = 1h\n" + "".join(f"on {r}\n" for r in rules) + "allow-run = yes\n")
        got = json.loads(self.good("config", "--json", "--config", conf))
        self.assertEqual([(r["line"], r["on"]) for r in got["rules"]], list(enumerate(rules, 2)))
        # What is printed is a configuration, rules and all.
        again = self.conf(self.good("config", "--config", conf).decode())
        self.assertEqual([r["on"] for r in json.loads(self.good("config", "--json", "--config", again))["rules"]], rules)
        for text, words in (
            ("on kmsg /x/ pin five before\n", "pin 5m before 1m after"),
            ("on kmsg /(/ pin 5m before\n", "("),
            ("on kmsg /x/ run /bin/true\n", "allow-run"),
            ("on kmsg /x/ explode\n", "explode"),
            ("on kmsg /x/ pin 1m before\n" * 33, "32 rules"),
        ):
            conf = self.conf(text)
            self.bad("config", "--config", conf, code=2, names=(conf + ":", words))

    def test_only_a_file_of_root_allows_programs(self):
        conf = self.conf("allow-run = yes\n")
        self.good("config", "--config", conf)
        os.chmod(conf, 0o664)
        self.bad("config", "--config", conf, names=conf)
        os.chmod(conf, 0o644)
        os.chown(conf, 65534, 65534)
        os.chmod(self.dir, 0o755)
        self.bad("config", "--config", conf, names=(conf,), user=65534)

    def test_a_file_that_others_may_write(self):
        conf = self.conf("keep = 1h\n")
        os.chmod(conf, 0o666)
        self.bad("config", "--config", conf, names=(conf, "writable"))


tap.main()
