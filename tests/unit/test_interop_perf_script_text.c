// SPDX-License-Identifier: Apache-2.0
/* Lines as perf prints them, and names that try to be more than a name. */
#include "interop/perf_script_line.h"
#include "interop/perf_script_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *text_of(struct cam_buf *b)
{
	assert_int_equal(cam_buf_error(b), 0);
	cam_buf_put_u8(b, 0);
	return (const char *)b->data;
}

static struct cam_perf_put_head head(struct cam_text comm)
{
	return (struct cam_perf_put_head){
		.fields = CAM_PERF_ALL,
		.comm = comm,
		.event = CAM_TEXT("cpu-clock"),
		.pid = 5298,
		.tid = 5299,
		.cpu = 1,
		.time_ns = 1136231005000,
		.has_period = true,
		.period = 10309278,
	};
}

/* The lines of perf 6.1, from tests/data. */
static void test_lines_are_perfs(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(4096);
	struct cam_perf_put_head h = head(CAM_TEXT("bash"));
	h.pid = CAM_PID_NONE;
	h.tid = 5298;
	h.cpu = 0;
	h.period = 1003009;
	h.event = CAM_TEXT("cpu-clock:pppH");
	cam_perf_put_head(&b, &h);
	struct cam_perf_put_frame f = {.fields = CAM_PERF_ALL,
				       .name = CAM_TEXT("__strcmp_evex"),
				       .module = CAM_TEXT("/usr/lib/x86_64-linux-gnu/libc.so.6"),
				       .address = 0x167158,
				       .offset = 0x38};
	cam_perf_put_frame(&b, &f);
	f = (struct cam_perf_put_frame){
		.fields = CAM_PERF_ALL, .address = 0x56322dbbb6a0, .offset = CAM_OFFSET_NONE};
	cam_perf_put_frame(&b, &f);
	assert_string_equal(text_of(&b),
			    "bash  5298 [000]  1136.231005:    1003009 cpu-clock:pppH: \n"
			    "\t          167158 __strcmp_evex+0x38 "
			    "(/usr/lib/x86_64-linux-gnu/libc.so.6)\n"
			    "\t    56322dbbb6a0 [unknown] ([unknown])\n");
	cam_buf_free(&b);
}

/* Whatever a thread calls itself: one line, read back with its own pid, tid, time and event. */
static void test_comms_cannot_forge(void **state)
{
	(void)state;
	static const char *const comms[] = {
		"x",
		"\nx 1 1.000000:",
		"1 1.000000: e:",
		" 7",
		"a b",
		"Thread 7",
		"# note",
		"#",
		"a\tb 9/9",
		"\n\n",
		"-1",
		"a  -3 [000]",
		"",
		"\t\tf (m)",
		"x\r",
		":-1 1",
		"9 9 9 9 9 9 ",
		"a 1.000000: ",
	};
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
		struct cam_buf b = CAM_BUF(4096);
		struct cam_perf_put_head h = head(cam_text_of(comms[i]));
		cam_perf_put_head(&b, &h);
		const char *line = text_of(&b);
		assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
		assert_true(line[0] != ' ' && line[0] != '\t' && line[0] != '#');
		struct cam_perf_head read;
		assert_true(cam_perf_head_parse((struct cam_text){line, strlen(line) - 1}, true,
						&read));
		assert_int_equal(read.pid, 5298);
		assert_int_equal(read.tid, 5299);
		assert_int_equal(read.cpu, 1);
		assert_int_equal(read.time_ns, 1136231005000);
		assert_true(cam_text_equal(read.event, CAM_TEXT("cpu-clock")));
		/* stackcollapse: the shortest start of two characters that a number follows. */
		int n = 0;
		unsigned pid = 0, tid = 0;
		const char *p = line + 2;
		while (*p && sscanf(p, "%*[ \t]%u/%u %n", &pid, &tid, &n) != 2)
			p++;
		assert_int_equal(pid, 5298);
		assert_int_equal(tid, 5299);
		cam_buf_free(&b);
	}
}

static void test_symbols_cannot_forge(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(4096);
	struct cam_perf_put_frame f = {
		.fields = CAM_PERF_ALL,
		.name = CAM_TEXT(
			"f (/m)\n\nevil  1/1 [000]     1.000000:       1 cpu-clock: \n\t 1 g"),
		.module = CAM_TEXT("/a\nb\x7f (deleted)"),
		.offset = CAM_OFFSET_NONE,
	};
	cam_perf_put_frame(&b, &f);
	const char *line = text_of(&b);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_non_null(strstr(line, "\\x0a\\x0aevil"));
	assert_non_null(strstr(line, " (/a\\x0ab\\x7f)\n"));
	cam_buf_free(&b);
}

/* Zero is no address, and an offset that is not known is not printed as one. */
static void test_what_is_not_known(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(4096);
	struct cam_perf_put_frame f = {.fields = CAM_PERF_ALL,
				       .name = CAM_TEXT("main"),
				       .module = CAM_TEXT("/bin/x"),
				       .offset = CAM_OFFSET_NONE};
	cam_perf_put_frame(&b, &f);
	f.verbatim = true;
	f.module = CAM_TEXT("");
	f.address = 0x10;
	cam_perf_put_frame(&b, &f);
	f.name = CAM_TEXT("");
	cam_perf_put_frame(&b, &f);
	assert_string_equal(text_of(&b), "\t               0 main (/bin/x)\n"
					 "\t              10 main\n"
					 "\t              10\n");
	cam_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_are_perfs),
		cmocka_unit_test(test_comms_cannot_forge),
		cmocka_unit_test(test_symbols_cannot_forge),
		cmocka_unit_test(test_what_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
