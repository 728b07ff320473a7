// SPDX-License-Identifier: Apache-2.0
#include "render/figure.h"
#include "render/label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* What comes out for a name, as a C string; valid until the next call. */
static const char *put(struct cam_text name, size_t columns, enum cam_label_form form)
{
	static char text[4096];
	struct cam_buf buf = CAM_BUF(sizeof(text) - 1);
	struct cam_out out;
	cam_out_to_buf(&out, &buf);
	cam_label_put(&out, name, columns, form);
	assert_int_equal(cam_out_finish(&out), 0);
	memcpy(text, buf.data ? (char *)buf.data : "", buf.len);
	text[buf.len] = 0;
	cam_buf_free(&buf);
	return text;
}

static const char *plain(const char *name)
{
	return put(cam_text_of(name), 1000, CAM_LABEL_PLAIN);
}

static void test_safe_text(void **state)
{
	(void)state;
	assert_string_equal(plain("main"), "main");
	assert_string_equal(plain("std::vector<int>::at(größe)"), "std::vector<int>::at(größe)");
	assert_string_equal(plain("a\nb\tc\x1b[31m\x7f"), "a\\x0ab\\x09c\\x1b[31m\\x7f");
	assert_string_equal(put((struct cam_text){"a\0b", 3}, 9, CAM_LABEL_PLAIN), "a\\x00b");
	/* Control characters of the second kind, also in two bytes. */
	assert_string_equal(plain("x\xc2\x9b"
				  "31m"),
			    "x\\x9b31m");
	/* Not UTF-8: a lone byte, overlong, a surrogate, too large, cut off. */
	assert_string_equal(plain("\xff"), "\\xff");
	assert_string_equal(plain("\xc0\xaf"), "\\xc0\\xaf");
	assert_string_equal(plain("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	assert_string_equal(plain("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
	assert_string_equal(plain("\xe2\x82"), "\\xe2\\x82");
	/* Text that runs backwards or hides, and what XML may not hold. */
	assert_string_equal(plain("a\u202eb"), "a\\u202eb");
	assert_string_equal(plain("a\u200bb"), "a\\u200bb");
	assert_string_equal(plain("\ufffe\uffff"), "\\ufffe\\uffff");
	assert_string_equal(plain("\U0001fffe"), "\\u1fffe");
}

static void test_xml(void **state)
{
	(void)state;
	assert_string_equal(put(CAM_TEXT("<a href=\"x\">&'</script>]]>"), 100, CAM_LABEL_XML),
			    "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/script&gt;]]&gt;");
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(cam_label_columns(CAM_TEXT("abc")), 3);
	assert_int_equal(cam_label_columns(CAM_TEXT("größe")), 5);
	assert_int_equal(cam_label_columns(CAM_TEXT("函数")), 4);
	assert_int_equal(cam_label_columns(CAM_TEXT("a\x1b")), 5);
	assert_string_equal(put(CAM_TEXT("abcdef"), 6, CAM_LABEL_PLAIN), "abcdef");
	assert_string_equal(put(CAM_TEXT("abcdef"), 5, CAM_LABEL_PLAIN), "abcd…");
	assert_string_equal(put(CAM_TEXT("函数函数"), 6, CAM_LABEL_PLAIN), "函数…");
	/* An escape is shown whole or not at all. */
	assert_string_equal(put(CAM_TEXT("ab\x1b"
					 "c"),
				6, CAM_LABEL_PLAIN),
			    "ab…");
	assert_string_equal(put(CAM_TEXT("<<<<"), 3, CAM_LABEL_XML), "&lt;&lt;…");
	assert_string_equal(put(CAM_TEXT("abc"), 1, CAM_LABEL_PLAIN), "…");
	assert_string_equal(put(CAM_TEXT("abc"), 0, CAM_LABEL_PLAIN), "");
}

static const char *tail(const char *name, size_t columns)
{
	return put(cam_label_tail(cam_text_of(name), columns), 1000, CAM_LABEL_PLAIN);
}

static void test_tails(void **state)
{
	(void)state;
	assert_string_equal(tail("acme::detail::Poly<20>::eval", 100),
			    "acme::detail::Poly<20>::eval");
	assert_string_equal(tail("acme::detail::Poly<20>::eval", 25), "detail::Poly<20>::eval");
	assert_string_equal(tail("acme::detail::Poly<20>::eval", 3), "eval");
	assert_string_equal(tail("void java.util.Sort.run", 12), "Sort.run");
	assert_string_equal(tail("std::f(a::b, c::d)", 16), "f(a::b, c::d)");
	assert_string_equal(tail("finish_task_switch.isra.0", 10), "finish_task_switch.isra.0");
	assert_string_equal(tail("[libstdc++.so.6.0.30]", 5), "[libstdc++.so.6.0.30]");
	assert_string_equal(tail("plain_long_name", 5), "plain_long_name");
	assert_string_equal(tail("", 0), "");
}

static void test_figures(void **state)
{
	(void)state;
	assert_string_equal(cam_figure_count(0).s, "0");
	assert_string_equal(cam_figure_count(999).s, "999");
	assert_string_equal(cam_figure_count(1234567).s, "1\u202f234\u202f567");
	assert_string_equal(cam_figure_count(UINT64_MAX).s,
			    "18\u202f446\u202f744\u202f073\u202f709\u202f551\u202f615");
	assert_string_equal(cam_figure_percent(1, 8).s, "12.5\u202f%");
	assert_string_equal(cam_figure_percent(0, 8).s, "0.0\u202f%");
	assert_string_equal(cam_figure_percent(34, 100000).s, "0.034\u202f%");
	assert_string_equal(cam_figure_percent(1, 0).s, "–");
	assert_string_equal(cam_figure_duration(0).s, "0 ns");
	assert_string_equal(cam_figure_duration(1500).s, "1.5 µs");
	assert_string_equal(cam_figure_duration(490000000).s, "490 ms");
	assert_string_equal(cam_figure_duration(1900000000).s, "1.90 s");
	assert_string_equal(cam_figure_duration(125000000000).s, "2 min 5 s");
	assert_string_equal(cam_figure_duration(43380000000000).s, "12 h 3 min");
	assert_string_equal(cam_figure_utc(1776222847254000000, true).s, "2026-04-15 03:14:07.254");
	assert_string_equal(cam_figure_utc(1776222847254000000, false).s, "03:14:07.254");
	assert_string_equal(cam_figure_stamp(12345678000000).s, "12345.678 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe_text), cmocka_unit_test(test_xml),
		cmocka_unit_test(test_columns),	  cmocka_unit_test(test_tails),
		cmocka_unit_test(test_figures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
