# SPDX-License-Identifier: Apache-2.0
"""Stacks without frame pointers, unwound by this kernel: the verifier takes both forms of the program, their
stacks are what the C library says, and Debian's own redis is unwound to its root, by the recorder and by either form."""
import re
import unittest

import machine

# First a little of all, and time for the tables: without hardware help they take seconds.
LOAD = """
redis-server --port 7777 --save '' --daemonize no >/dev/null 2>&1 &
redis=$!
sleep 2
timeout 3 redis-benchmark -p 7777 -n 1000000 -c 4 -t set,get -q >/dev/null 2>&1
sleep 8
clocks now ready
timeout 5 redis-benchmark -p 7777 -n 1000000 -c 4 -t set,get -q >/dev/null 2>&1
kill $redis
"""
# Both forms on the same redis; a recorder takes the better one, and has no way to be told.
BOTH = """
redis-server --port 7778 --save '' --daemonize no >/dev/null 2>&1 &
redis=$!
sleep 2
redis-benchmark -p 7778 -n 100000000 -c 4 -t set,get -q >/dev/null 2>&1 &
load=$!
CMOCKA_MESSAGE_OUTPUT=TAP /work/unwind watch $redis
kill $load $redis
"""


class Unwind(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = machine.get().shared()

    def test_unwind_both_forms_agree_with_the_c_library(self):
        _, text = self.vm.run("CMOCKA_MESSAGE_OUTPUT=TAP /work/unwind", patience=120)
        good = set(re.findall(r"(?m)^ok \d+ - (\w+)", text))
        # Others of that program are about rates, which are not to be had here.
        self.assertLessEqual({"every_stack_is_what_the_c_library_says", "the_plain_loop_says_the_same",
                              "a_stack_too_deep_says_so"}, good, text[-1500:])

    def test_unwind_redis_to_its_root(self):
        made = machine.Recorders(self.vm, "redis", sources=("bpf",))
        said = self.vm.must(LOAD, patience=120)
        made.stop()
        self.assertIn("perfcam: stacks: unwound in the kernel (bpf_loop)\n", made.said("bpf"))
        ready = int(re.search(r"now ready (\d+)", said).group(1))
        late = [s for s in made.store("bpf").samples if s.time > ready and
                s.exe.endswith("/redis-server") and any(f.kind == "user" for f in s.frames)]
        self.assertGreater(len(late), 50)
        whole = [s for s in late if s.names[0] != "[truncated]" and len(s.frames) > 3]
        print(f"# redis-server: {len(whole)} of {len(late)} stacks reach the root", flush=True)
        self.assertGreater(len(whole), 0.95 * len(late), [s for s in late if s not in whole][:3])
        deep = sorted(len([f for f in s.frames if f.kind == "user"]) for s in whole)
        self.assertGreater(deep[len(deep) // 2], 5, "by frame pointers it would be 1 or 2")

    def test_unwind_redis_in_the_plain_loop_as_well(self):
        said = self.vm.must(BOTH, patience=240)
        for line in re.findall(r"(?m)^# .* samples, .*$", said):
            print(line, flush=True)
        self.assertEqual(re.findall(r"(?m)^ok \d+ - (\w+)", said),
                         ["watched_in_the_kernel_s_loop", "watched_in_the_plain_loop"], said[-1500:])
