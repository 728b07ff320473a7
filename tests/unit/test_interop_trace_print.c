// SPDX-License-Identifier: Apache-2.0
/* Formats of the kernel's, with fields that are known, against what libtraceevent prints of them. */
#include "interop/trace_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define HEAD                                                                     \
	"name: test\nID: 7\nformat:\n"                                           \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" \
	"\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"                 \
	"\tfield:int a;\toffset:16;\tsize:4;\tsigned:1;\n"                       \
	"\tfield:unsigned long b;\toffset:24;\tsize:8;\tsigned:0;\n"             \
	"\tfield:__data_loc char[] text;\toffset:32;\tsize:4;\tsigned:0;\n"      \
	"\tfield:u16 list[3];\toffset:36;\tsize:6;\tsigned:0;\n"                 \
	"\tfield:void * p;\toffset:48;\tsize:8;\tsigned:0;\n\nprint fmt: "

/* comm "sh", a = -2, b = 0x1234567890, text "hello", list 1 2 3, p = 0xffff0000. */
static const uint8_t raw[] = {
	7,    0,    0,	  0,	0, 0, 0, 0, 's',  'h',	0,    0,    0,	  0, 0, 0,
	0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x90, 0x78, 0x56, 0x34, 0x12, 0, 0, 0,
	56,   0,    6,	  0,	1, 0, 2, 0, 3,	  0,	0,    0,    0,	  0, 0, 0,
	0,    0,    0xff, 0xff, 0, 0, 0, 0, 'h',  'e',	'l',  'l',  'o',  0,
};

static bool find(void *arg, uint64_t address, struct cam_text *name, uint64_t *offset)
{
	(void)arg;
	*name = CAM_TEXT("do_it");
	*offset = 0x10;
	return address == 0xffff0000;
}

static void expect_of(size_t bytes, const char *print, const char *want)
{
	char format[2048];
	int n = snprintf(format, sizeof(format), HEAD "%s\n", print);
	struct cam_trace_format f;
	struct cam_buf out = CAM_BUF(4096);
	const struct cam_trace_symbols symbols = {.find = find};
	assert_int_equal(cam_trace_format_parse(CAM_TEXT("sys"),
						(struct cam_text){format, (size_t)n}, &f),
			 0);
	cam_trace_print(&f, raw, bytes, false, &symbols, &out);
	cam_buf_put_u8(&out, 0);
	assert_string_equal((char *)out.data, want);
	cam_buf_free(&out);
	cam_trace_format_free(&f);
}

static void expect(const char *print, const char *want)
{
	expect_of(sizeof(raw), print, want);
}

static void numbers(void **state)
{
	(void)state;
	expect("\"%d %u %x %08lx %lu\", REC->a, REC->a, REC->a, REC->b, REC->b",
	       "-2 4294967294 fffffffe 1234567890 78187493520");
	expect("\"[%5d] [%-5d] [%05d] [%+d] [%#x]\", 7, 7, 7, 7, 255",
	       "[    7] [7    ] [00007] [+7] [0xff]");
	expect("\"%hhd %hd %lld %c%%\", 255, 65535, REC->b, 'x'", "-1 -1 78187493520 x%");
	expect("\"%*d|%.3d\", 4, 5, 6", "   5|006");
}

static void operators(void **state)
{
	(void)state;
	expect("\"%d\", 2 + 3 * 4 - 6 / 2 % 2", "13");
	expect("\"%d %d %d\", 1 << 4 | 3 & 2, (1 + 2) * 3, ~0 & 0xf", "18 9 15");
	expect("\"%d%d%d%d\", 1 == 1, 2 != 2, 3 <= 2 || 1, 1 && 0", "1010");
	expect("\"%s %d\", REC->b > 5 ? \"big\" : \"small\", 0 ? 1 : 0 ? 2 : 3", "big 3");
	expect("\"%d %lu\", -(5), (unsigned char)REC->b", "-5 144");
	expect("\"%d %d\", ((struct page *)vmemmap) + 3, 5 / 0", "3 0");
	/* Fields are not extended by their sign: as in perf. */
	expect("\"%d\", REC->a < 0", "0");
}

static void texts(void **state)
{
	(void)state;
	expect("\"%s|%4s|%-4s|%.1s\", REC->comm, REC->comm, REC->comm, REC->comm",
	       "sh|  sh|sh  |s");
	expect("\"%s %d\", __get_str(text), __get_dynamic_array_len(text)", "hello 6");
	expect("\"a\\\"b\" \"c\\n%s\", \"d\" \"e\"", "a\"bc\nde");
	expect("\"%s %s\", __print_hex(REC->comm, 3), __print_hex_str(REC->comm, 2)",
	       "73 68 00 7368");
	expect("\"%s %d\", __print_array(REC->list, 3, 2), REC->list[1]", "{0x1,0x2,0x3} 2");
}

static void flags_and_symbols(void **state)
{
	(void)state;
	const struct {
		unsigned mask;
		const char *want;
	} rows[] = {
		{0x90, "A|B"}, {0x80, "B"}, {0x890, "A|B|0x800"}, {0, "none"}, {0x800, "0x800"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char print[256];
		snprintf(print, sizeof(print),
			 "\"%%s\", __print_flags(REC->b & 0x%x, \"|\", { 0x10, \"A\" }, { 0x80, "
			 "\"B\" }, { 0, \"none\" })",
			 rows[i].mask);
		expect(print, rows[i].want);
	}
	expect("\"%s %s\", __print_symbolic(REC->list[0], { 0, \"zero\" }, { 1, \"one\" }), "
	       "__print_symbolic(9, { UNKNOWN, \"x\" }, { 1, \"one\" })",
	       "one 0x9");
}

static void pointers(void **state)
{
	(void)state;
	expect("\"%p %ps %pS %pS\", REC->p, REC->p, REC->p, REC->b",
	       "0xffff0000 do_it do_it+0x10 0x1234567890");
	expect("\"%p\", (void *)0", "(nil)");
	expect("\"%pI4\", REC->list", "1.0.2.0");
}

static void what_is_not_understood(void **state)
{
	(void)state;
	const char *want =
		"[FAILED TO PARSE] comm=sh a=-2 b=0x1234567890 text=hello list=ARRAY[01, 00, 02, "
		"00, 03, 00] p=0xffff0000";
	expect("\"%d\", some_function(REC->a)", want);
	expect("\"%d\", REC->nothing", want);
	expect("\"%d\", (REC->a", want);
	expect("no text", want);
}

/* Whatever is cut off is empty or 0, and nothing behind it is read (ASan looks). */
static void cut_fields(void **state)
{
	(void)state;
	expect_of(8, "\"%s|%d|%s\", REC->comm, REC->a, __get_str(text)", "|0|");
	expect_of(17, "\"%s|%d\", REC->comm, REC->a", "sh|0");
	expect_of(58, "\"%s\", __get_str(text)", "he");
}

static void depth_and_size_are_bounded(void **state)
{
	(void)state;
	static char print[8192];
	size_t n = (size_t)snprintf(print, sizeof(print), "\"%%d\", ");
	memset(print + n, '(', 500);
	memcpy(print + n + 500, "1", 1);
	memset(print + n + 501, ')', 500);
	struct cam_trace_format f;
	char format[10000];
	int bytes = snprintf(format, sizeof(format), HEAD "%s\n", print);
	assert_int_equal(cam_trace_format_parse(CAM_TEXT("s"),
						(struct cam_text){format, (size_t)bytes}, &f),
			 0);
	assert_true(f.failed);
	cam_trace_format_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),    cmocka_unit_test(operators),
		cmocka_unit_test(texts),      cmocka_unit_test(flags_and_symbols),
		cmocka_unit_test(pointers),   cmocka_unit_test(what_is_not_understood),
		cmocka_unit_test(cut_fields), cmocka_unit_test(depth_and_size_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
