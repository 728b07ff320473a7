// SPDX-License-Identifier: Apache-2.0
#include "render/frame_attributes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void is(struct cam_text got, const char *want)
{
	assert_int_equal(got.n, strlen(want));
	assert_memory_equal(got.p, want, got.n);
}

static void test_reading(void **state)
{
	(void)state;
	static const char file[] = "main\thref=http://x/?a=b#c\ttitle=the main one\n"
				   "read_[k]\tclass=hot cold\tid=r.1\ttarget=_blank\n"
				   "main\thref=/later\n"
				   "a;b c\ttitle=\n";
	struct cam_frame_attributes a;
	assert_int_equal(cam_frame_attributes_read(cam_text_of(file), &a), 0);
	assert_int_equal(a.n, 3);
	assert_int_equal(a.refused, 0);
	const struct cam_frame_attribute *m = cam_frame_attributes_find(&a, CAM_TEXT("main"));
	assert_non_null(m);
	is(m->href, "/later"); /* the last line of a name counts, whole */
	is(m->title, "");
	const struct cam_frame_attribute *r = cam_frame_attributes_find(&a, CAM_TEXT("read_[k]"));
	assert_non_null(r);
	is(r->cls, "hot cold");
	is(r->id, "r.1");
	is(r->target, "_blank");
	assert_null(cam_frame_attributes_find(&a, CAM_TEXT("read")));
	assert_non_null(cam_frame_attributes_find(&a, CAM_TEXT("a;b c")));
	cam_frame_attributes_free(&a);
}

static void test_what_is_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"href=javascript:alert(1)",
		"href=JavaScript:alert(1)",
		"href=data:text/html,x",
		"href=vbscript:x",
		"href= javascript:x",
		"href=\x01javascript:x",
		"href=",
		"id=a b",
		"id=\"x",
		"class=x\"",
		"target=a b",
		"g_extra=onclick=\"x\"",
		"a_extra=x",
		"onload=x",
		"nothing",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char line[128] = "f\t";
		struct cam_frame_attributes a;
		strcat(line, wrong[i]);
		assert_int_equal(cam_frame_attributes_read(cam_text_of(line), &a), 0);
		if (a.refused != 1 || a.n != 1 || a.v[0].href.n || a.v[0].id.n || a.v[0].cls.n)
			fail_msg("taken: %s", wrong[i]);
		cam_frame_attributes_free(&a);
	}
	static const char *const fine[] = {"href=HTTPS://x", "href=x/y:z",	"href=?a:b",
					   "href=#a:b",	     "href=mailto:a@b", "href=file:///x",
					   "href=a.html"};
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		char line[128] = "f\t";
		struct cam_frame_attributes a;
		strcat(line, fine[i]);
		assert_int_equal(cam_frame_attributes_read(cam_text_of(line), &a), 0);
		if (a.refused)
			fail_msg("not taken: %s", fine[i]);
		cam_frame_attributes_free(&a);
	}
}

static void test_line_without_tab(void **state)
{
	(void)state;
	struct cam_frame_attributes a;
	assert_int_equal(cam_frame_attributes_read(CAM_TEXT("x\tid=a\n\n"), &a), -EINVAL);
	assert_int_equal(a.first_bad, 2);
	assert_int_equal(cam_frame_attributes_read(CAM_TEXT("x\tid=a\ny\tid=b\nmain"), &a),
			 -EINVAL);
	assert_int_equal(a.first_bad, 3);
	assert_int_equal(cam_frame_attributes_read(CAM_TEXT(""), &a), 0);
	assert_int_equal(a.n, 0);
	assert_null(cam_frame_attributes_find(&a, CAM_TEXT("x")));
	cam_frame_attributes_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_line_without_tab),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
