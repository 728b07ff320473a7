// SPDX-License-Identifier: Apache-2.0
#include "query/flame.h"
#include "query/top.h"
#include "render/text_top.h"
#include "support_folded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void check(struct fake_window *w, size_t limit, unsigned columns, const char *expected)
{
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s;
	struct cam_flame f;
	struct cam_top top;
	struct cam_buf buf = CAM_BUF(1u << 20);
	struct cam_out out;
	cam_selection_init(&s);
	assert_int_equal(cam_flame_build(source, &s, &(struct cam_flame_options){0}, &f), 0);
	assert_int_equal(cam_top_build(&f, limit, &top), 0);
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_text_top_write(&top, columns, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&buf, 0);
	assert_string_equal((char *)buf.data, expected);
	cam_buf_free(&buf);
	cam_top_free(&top);
	cam_flame_free(&f);
	source->ops->close(source);
}

static struct fake_window *window(void)
{
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "x");
	for (uint64_t i = 0; i < 2000; i++)
		fake_sample(w, i, 0, task,
			    fake_place(w, "main@/usr/bin/x;work@/usr/lib/libwork.so.1"));
	fake_sample(w, 3000, 0, task, fake_place(w, "main@/usr/bin/x"));
	fake_sample(w, 3000, 0, task, fake_place(w, "main@/usr/bin/x;\x1b]0;evil\a"));
	return w;
}

#define S "\u202f"

static void test_table(void **state)
{
	(void)state;
	check(window(), 10, 0,
	      "              self             total  function\n"
	      "    2" S "000   99.9" S "%    2" S "000   99.9" S "%  work  libwork.so.1\n"
	      "        1  0.050" S "%    2" S "002  100.0" S "%  main  x\n"
	      "        1  0.050" S "%        1  0.050" S "%  evil\\x07\n"
	      "        0    0.0" S "%        1  0.050" S "%  \\x1b]0\n"
	      "4 of 4 functions; of 2" S "002 samples\n");
}

static void test_limit_and_width(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	fake_sample(w, 1, 0, fake_task(w, 1, 1, "x"),
		    fake_place(w, "a_function_with_a_long_name@/lib/long.so;b"));
	check(w, 1, 50,
	      "              self             total  function\n"
	      "        1  100.0" S "%        1  100.0" S "%  b\n"
	      "1 of 2 functions; of 1 samples\n");
	w = fake_window_new();
	fake_sample(w, 1, 0, fake_task(w, 1, 1, "x"), fake_place(w, "a_function_with_a_long_name"));
	check(w, 1, 50,
	      "              self             total  function\n"
	      "        1  100.0" S "%        1  100.0" S "%  a_function_…\n"
	      "1 of 1 functions; of 1 samples\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_limit_and_width),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
