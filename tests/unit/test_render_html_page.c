// SPDX-License-Identifier: Apache-2.0
/* The page around pictures, and the timeline in it: with names, and pictures, of an attacker. */
#include "render/html_page.h"
#include "render/svg_timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct cam_buf page;
static struct cam_out out;

static int begin(void **state)
{
	(void)state;
	page = CAM_BUF(1 << 20);
	cam_out_to_buf(&out, &page);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cam_buf_free(&page);
	return 0;
}

static bool holds(const char *words)
{
	assert_int_equal(cam_out_finish(&out), 0);
	return memmem(page.data, page.len, words, strlen(words));
}

static void test_texts_are_no_markup(void **state)
{
	(void)state;
	struct cam_text evil = CAM_TEXT("<img onerror=x>\"'&\x1b\n");
	cam_html_open(&out, evil, evil);
	cam_html_section(&out, "A & B", evil);
	cam_html_sentence(&out, evil, evil);
	cam_html_lines(&out, evil);
	cam_html_facts_open(&out);
	cam_html_fact(&out, evil, evil);
	cam_html_facts_close(&out);
	cam_html_close(&out, evil);
	assert_false(holds("<img"));
	assert_false(holds("\x1b"));
	assert_true(holds("<h2>A &amp; B</h2>"));
	assert_true(holds("<pre>&lt;img onerror=x&gt;&quot;&#39;&amp;\\x1b\n</pre>") ||
		    holds("<pre>&lt;img onerror=x&gt;&quot;&apos;&amp;\\x1b\n</pre>"));
}

static void test_lines_stay_lines(void **state)
{
	(void)state;
	cam_html_lines(&out, CAM_TEXT("one\n\nthree"));
	assert_true(holds("<pre>one\n\nthree\n</pre>"));
}

static void test_a_picture_cannot_leave_its_frame(void **state)
{
	(void)state;
	cam_html_picture(&out, "p",
			 CAM_TEXT("<svg viewBox=\"0 0 900 450\">\"></iframe>&quot;</svg>"), false);
	assert_true(holds("aspect-ratio: 900 / 450"));
	/* Every quote of it is spelled; so is every ampersand, or its own spelling would become one. */
	assert_true(holds(
		"viewBox=&quot;0 0 900 450&quot;>&quot;></iframe>&amp;quot;</svg>\"></iframe>\n"));
	assert_true(holds("sandbox=\"allow-scripts\""));
}

static void test_a_picture_that_does_not_say_its_size(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "<svg>",
					  "viewBox=\"0 0 ",
					  "viewBox=\"0 0 1",
					  "viewBox=\"0 0 0 0\"",
					  "viewBox=\"0 0 x y\""};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* Exactly as long as it is, so that a sanitizer sees one byte too many. */
		size_t n = strlen(bad[i]);
		char *copy = malloc(n + !n);
		assert_non_null(copy);
		memcpy(copy, bad[i], n);
		cam_html_picture(&out, "p", (struct cam_text){copy, n}, true);
		free(copy);
	}
	assert_true(holds("height: 300px"));
	cam_html_picture(&out, "p", CAM_TEXT("<svg viewBox=\"0 0 1200 777\">"), true);
	assert_true(holds("height: 777px"));
}

static void test_timeline(void **state)
{
	(void)state;
	float busy[4] = {0.5f, 0, 0, 2}, peak[4] = {1, 0, 0, 2}, unseen[4] = {0, 1, 0, 0};
	uint8_t pinned[4] = {0};
	struct cam_overview o = {.from_ns = 1776222000000000000, /* 03:00 UTC */
				 .step_ns = 1000000000,
				 .n = 4,
				 .busy = busy,
				 .peak = peak,
				 .unseen = unseen,
				 .pinned = pinned};
	struct cam_moment_event events[] = {
		{.wall_ns = o.from_ns + 2000000000,
		 .severity = CAM_SEVERITY_ERR,
		 .text = CAM_TEXT("<x>")},
		{.wall_ns = INT64_MIN, .severity = CAM_SEVERITY_INFO, .text = CAM_TEXT("no time")},
		{.wall_ns = INT64_MAX, .severity = CAM_SEVERITY_WARNING, .text = CAM_TEXT("far")},
	};
	struct cam_svg_timeline t = {.overview = &o,
				     .from_ns = o.from_ns + 1000000000,
				     .to_ns = o.from_ns + 2000000000,
				     .events = events,
				     .n_events = 3};
	assert_int_equal(cam_svg_timeline_write(&t, &out), 0);
	assert_true(holds(
		"<rect class=\"b\" x=\"46.00\" y=\"72.00\" width=\"288.50\" height=\"48.00\"/>"));
	/* Not observed is hatched; idle that was observed is empty; nothing is higher than all. */
	assert_true(holds(
		"<rect class=\"u\" x=\"334.50\" y=\"24.00\" width=\"288.50\" height=\"96.00\"/>"));
	assert_false(holds("x=\"623.00\" y=\"24.00\" width=\"288.50\""));
	assert_true(holds(
		"<rect class=\"b\" x=\"911.50\" y=\"24.00\" width=\"288.50\" height=\"96.00\"/>"));
	assert_true(
		holds("<path class=\"bad\" d=\"M623.0 6V120\"><title>03:00:02 &lt;x&gt;</title>"));
	assert_false(holds("no time"));
	assert_true(holds("<path class=\"warn\" d=\"M1200.0 6V120\">"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_texts_are_no_markup, begin, end),
		cmocka_unit_test_setup_teardown(test_lines_stay_lines, begin, end),
		cmocka_unit_test_setup_teardown(test_a_picture_cannot_leave_its_frame, begin, end),
		cmocka_unit_test_setup_teardown(test_a_picture_that_does_not_say_its_size, begin,
						end),
		cmocka_unit_test_setup_teardown(test_timeline, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
