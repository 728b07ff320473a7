# SPDX-License-Identifier: Apache-2.0
"""Stacks without frame pointers, unwound by this kernel: the verifier takes both forms of the program, their
stacks are what the C library says, and Debian's own redis is unwound to its root."""
import re
import unittest

import machine

LOAD = """
redis-server --port 7777 --save '' --daemonize no >/dev/null 2>&1 &
redis=$!
sleep 2
redis-benchmark -p 7777 -n 1000000 -c 10 -P 16 -q >/dev/null 2>&1 &
load=$!
sleep 8
kill $load $redis
"""


class Unwind(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = machine.get().shared()

    def test_unwind_both_forms_agree_with_the_c_library(self):
        status, text = self.vm.run("CMOCKA_MESSAGE_OUTPUT=TAP /work/unwind", patience=120)
        cases = re.findall(r"(?m)^(ok|not ok) \d+ - (\w+)", text)
        self.assertEqual([name for result, name in cases if result != "ok"], [], text[-1500:])
        names = {name for _, name in cases}
        self.assertLessEqual({"every_stack_is_what_the_c_library_says",
                              "the_plain_loop_says_the_same"}, names)
        self.assertEqual(status, 0)

    def test_unwind_redis_to_its_root(self):
        made = machine.Recorders(self.vm, "redis")
        self.vm.must(LOAD)
        made.stop()
        self.assertIn("perfcam: stacks: unwound in the kernel (bpf_loop)\n", made.said("bpf"))
        found = [s for s in made.store("bpf").samples if s.exe.endswith("/redis-server")]
        mine = [s for s in found if any(f.kind == "user" for f in s.frames)]
        self.assertGreater(len(mine), 50, f"of {len(found)}")
        # The first samples come before its table; they say so.
        late = mine[len(mine) // 4:]
        whole = [s for s in late if s.names[0] != "[truncated]" and len(s.frames) > 3]
        print(f"# redis-server: {len(whole)} of {len(late)} stacks reach the root", flush=True)
        self.assertGreater(len(whole), 0.95 * len(late), [s for s in late if s not in whole][:3])
        deep = sorted(len([f for f in s.frames if f.kind == "user"]) for s in whole)
        self.assertGreater(deep[len(deep) // 2], 5, "by frame pointers it would be 1 or 2")
