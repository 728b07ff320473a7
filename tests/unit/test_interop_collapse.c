// SPDX-License-Identifier: Apache-2.0
/*
 * The naming rules, case by case against what stackcollapse-perf.pl printed for them
 * (the tables of tests/golden/collapse, made by tests/golden/regenerate.py), and what is ours alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interop/collapse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FIELDS 6

static FILE *open_golden(const char *name)
{
	char path[4096];
	const char *root = getenv("PERFCAM_SOURCE");
	assert_non_null(root);
	snprintf(path, sizeof(path), "%s/tests/golden/collapse/%s", root, name);
	FILE *f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s", path);
	return f;
}

/* The next row of a table, split at tabs in place; its number of fields, 0 at the end. */
static size_t next_row(FILE *f, char *line, size_t line_bytes, char **fields)
{
	while (fgets(line, (int)line_bytes, f)) {
		size_t n = 0;
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#')
			continue;
		for (char *p = line; p && n < MAX_FIELDS; n++) {
			fields[n] = p;
			p = strchr(p, '\t');
			if (p)
				*p++ = '\0';
		}
		return n;
	}
	return 0;
}

/* The peer's options as ours. */
static struct cam_collapse_rules rules_of(const char *options)
{
	return (struct cam_collapse_rules){
		.mode = CAM_COLLAPSE_TEXT,
		.with_pid = strstr(options, "--pid"),
		.with_tid = strstr(options, "--tid"),
		.addrs = strstr(options, "--addrs"),
		.mark_kernel = strstr(options, "--kernel") || strstr(options, "--all"),
		.mark_jit = strstr(options, "--jit") || strstr(options, "--all"),
	};
}

/* As an importer takes "name+0x1f" apart. */
static struct cam_text split_offset(char *symbol, uint64_t *offset)
{
	size_t n = strlen(symbol), i = n;
	while (i && strchr("0123456789abcdef", symbol[i - 1]))
		i--;
	*offset = CAM_OFFSET_NONE;
	if (i == n || i < 3 || strncmp(symbol + i - 3, "+0x", 3) != 0)
		return (struct cam_text){symbol, n};
	if (n - i <= 16)
		*offset = strtoull(symbol + i, NULL, 16);
	return (struct cam_text){symbol, i - 3};
}

static struct cam_collapse_frame frame_of(char **fields)
{
	struct cam_collapse_frame f = {
		.address = strtoull(fields[2], NULL, 16),
		.module = cam_text_of(fields[4]),
		.java = cam_collapse_is_java(cam_text_of(fields[0])),
	};
	f.name = split_offset(fields[3], &f.offset);
	if (cam_text_equal(f.name, CAM_TEXT("[unknown]")))
		f.name.n = 0;
	if (f.name.n && cam_text_equal(f.module, CAM_TEXT("inlined"))) {
		f.module.n = 0;
		f.kind = CAM_FUNC_INLINED;
	}
	return f;
}

static void frames_equal_the_peer(void **state)
{
	(void)state;
	char line[4096], *fields[MAX_FIELDS];
	struct cam_buf scratch = CAM_BUF(1 << 20), out = CAM_BUF(1 << 20);
	FILE *table = open_golden("frames.tsv");
	size_t rows = 0, wrong = 0;
	while (next_row(table, line, sizeof(line), fields) == MAX_FIELDS) {
		struct cam_collapse_rules r = rules_of(fields[1]);
		struct cam_collapse_frame f = frame_of(fields);
		cam_buf_clear(&out);
		/* The table's column starts with the ';' behind the root. */
		cam_buf_put_u8(&out, ';');
		if (!cam_collapse_frame(&r, &f, &scratch, &out))
			cam_buf_clear(&out);
		cam_buf_put_u8(&out, '\0');
		assert_int_equal(cam_buf_error(&out), 0);
		rows++;
		if (strcmp((char *)out.data, fields[5]) == 0)
			continue;
		wrong++;
		print_error("%s %s (%s) [%s]: `%s`, peer `%s`\n", fields[0], fields[3], fields[4],
			    fields[1], (char *)out.data, fields[5]);
	}
	fclose(table);
	cam_buf_free(&scratch);
	cam_buf_free(&out);
	assert_int_equal(wrong, 0);
	assert_true(rows > 500);
}

static void unescape_tabs(char *s)
{
	for (char *p; (p = strstr(s, "\\t"));) {
		*p = '\t';
		memmove(p + 1, p + 2, strlen(p + 2) + 1);
	}
}

static void tasks_equal_the_peer(void **state)
{
	(void)state;
	char line[4096], *fields[MAX_FIELDS];
	struct cam_buf out = CAM_BUF(1 << 20);
	FILE *table = open_golden("tasks.tsv");
	size_t rows = 0, wrong = 0;
	while (next_row(table, line, sizeof(line), fields) == 4) {
		struct cam_collapse_rules r = rules_of(fields[2]);
		const char *slash = strchr(fields[1], '/');
		int32_t pid = slash ? atoi(fields[1]) : CAM_PID_NONE;
		unescape_tabs(fields[0]);
		unescape_tabs(fields[3]);
		cam_buf_clear(&out);
		cam_collapse_task(&r, cam_text_of(fields[0]), pid,
				  atoi(slash ? slash + 1 : fields[1]), &out);
		cam_buf_put_u8(&out, '\0');
		assert_int_equal(cam_buf_error(&out), 0);
		rows++;
		if (strcmp((char *)out.data, fields[3]) == 0)
			continue;
		wrong++;
		print_error("%s %s [%s]: `%s`, peer `%s`\n", fields[0], fields[1], fields[2],
			    (char *)out.data, fields[3]);
	}
	fclose(table);
	cam_buf_free(&out);
	assert_int_equal(wrong, 0);
	assert_true(rows > 800);
}

struct own_frame {
	struct cam_collapse_rules rules;
	struct cam_collapse_frame frame;
	const char *expected; /* NULL: left out */
};

static void check_frame(const struct own_frame *c)
{
	struct cam_buf scratch = CAM_BUF(1 << 20), out = CAM_BUF(1 << 20);
	size_t n = cam_collapse_frame(&c->rules, &c->frame, &scratch, &out);
	cam_buf_put_u8(&out, '\0');
	assert_int_equal(cam_buf_error(&out), 0);
	assert_int_equal(n > 0, c->expected != NULL);
	assert_string_equal((char *)out.data, c->expected ? c->expected : "");
	cam_buf_free(&scratch);
	cam_buf_free(&out);
}

#define LIVE	 .mode = CAM_COLLAPSE_LIVE
#define VERBATIM .mode = CAM_COLLAPSE_VERBATIM
#define NAMED(s) .name = {s, sizeof(s) - 1}
#define IN(s)	 .module = {s, sizeof(s) - 1}

static void live_frames_lose_nothing(void **state)
{
	(void)state;
	static const struct own_frame cases[] = {
		{{LIVE},
		 {NAMED("(anonymous namespace)::f(int)"), IN("/bin/a")},
		 "(anonymous namespace)::f"},
		{{LIVE}, {NAMED("f"), IN("/bin/a (deleted)"), .offset = 16}, "f"},
		{{LIVE}, {NAMED("f+0x10"), IN("/bin/a"), .offset = 4}, "f+0x10"},
		{{LIVE}, {IN("/bin/a (deleted)")}, "[a]"},
		{{LIVE}, {.address = 7}, "[unknown]"},
		{{LIVE, .addrs = true}, {.address = 0xbeef, IN("/bin/a")}, "[a <beef>]"},
		{{LIVE}, {NAMED("P::operator->() const"), IN("/bin/a")}, "P::operator->"},
		{{LIVE}, {NAMED("a->b"), .kind = CAM_FUNC_JIT}, "a;b_[i]"},
		{{LIVE, .mark_kernel = true}, {NAMED("f"), .kind = CAM_FUNC_KERNEL}, "f_[k]"},
		{{LIVE, .mark_jit = true}, {NAMED("f"), IN("[x]"), .kind = CAM_FUNC_JIT}, "f_[j]"},
		{{LIVE, .mark_inlined = true}, {NAMED("f"), .kind = CAM_FUNC_INLINED}, "f_[i]"},
		{{LIVE}, {NAMED("f"), .kind = CAM_FUNC_INLINED}, "f"},
		{{LIVE}, {NAMED("a;b(c)"), IN("/bin/a")}, "a:b"},
		{{VERBATIM}, {NAMED("f(int) const")}, "f(int) const"},
		{{VERBATIM}, {NAMED("->"), .kind = CAM_FUNC_KERNEL}, "->_[k]"},
		{{VERBATIM}, {NAMED("f"), .kind = CAM_FUNC_JIT}, "f_[j]"},
		{{VERBATIM}, {NAMED("f"), .kind = CAM_FUNC_INLINED}, "f_[i]"},
		{{VERBATIM, .mark_kernel = true}, {NAMED("f"), IN("[x]")}, "f"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_frame(&cases[i]);
}

static void text_frames_without_a_module(void **state)
{
	(void)state;
	static const struct own_frame cases[] = {
		{{0}, {.address = 16, .offset = CAM_OFFSET_NONE}, NULL},
		{{.addrs = true}, {.address = 16, .offset = CAM_OFFSET_NONE}, NULL},
		{{0}, {NAMED("main"), .offset = 3}, "main"},
		{{.mark_inlined = true}, {NAMED("g"), .kind = CAM_FUNC_INLINED}, "g_[i]"},
		{{0}, {NAMED("[truncated]"), .kind = CAM_FUNC_MARK}, "[truncated]"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_frame(&cases[i]);
}

static void control_characters_are_escaped(void **state)
{
	(void)state;
	static const char bytes[] = "a\nb\0c\x1b[1m\x7f\r\t\xc3\xa9";
	struct cam_text name = {bytes, sizeof(bytes) - 1};
	const char *expected = "a\\x0ab\\x00c\\x1b[1m\\x7f\\x0d\t\xc3\xa9";
	for (int mode = CAM_COLLAPSE_TEXT; mode <= CAM_COLLAPSE_VERBATIM; mode++) {
		struct own_frame c = {{.mode = (enum cam_collapse_mode)mode},
				      {.name = name, IN("/bin/a"), .offset = CAM_OFFSET_NONE},
				      expected};
		check_frame(&c);
		struct cam_buf out = CAM_BUF(100);
		cam_collapse_task(&c.rules, name, 10, 11, &out);
		cam_buf_put_u8(&out, '\0');
		assert_string_equal((char *)out.data, expected);
		cam_buf_free(&out);
	}
}

static void check_task(struct cam_collapse_rules r, const char *comm, int32_t pid, int32_t tid,
		       const char *expected)
{
	struct cam_buf out = CAM_BUF(100);
	cam_collapse_task(&r, cam_text_of(comm), pid, tid, &out);
	cam_buf_put_u8(&out, '\0');
	assert_string_equal((char *)out.data, expected);
	cam_buf_free(&out);
}

static void live_tasks_keep_their_names(void **state)
{
	(void)state;
	struct cam_collapse_rules r = {LIVE};
	check_task(r, "pool 7", 1, 2, "pool_7");
	check_task(r, "x", 1, 2, "x");
	check_task(r, "", 1, 2, "");
	r.with_pid = true;
	check_task(r, "swapper", 0, 0, "swapper-0");
	check_task(r, "x", CAM_PID_NONE, 2, "x-?");
	r.with_tid = true;
	check_task(r, "pool 7", 1, 2, "pool_7-1/2");
	r.mode = CAM_COLLAPSE_VERBATIM;
	check_task(r, "a b;c", 1, 2, "a b;c");
	/* What the peer would not read as a task at all keeps its name. */
	r.mode = CAM_COLLAPSE_TEXT;
	check_task(r, " x", 1, 2, "_x-1/2");
	check_task(r, ":-1", -1, -1, ":-1-?/-1");
}

static void check_event(const char *event, bool has_time, const char *detail, const char *name,
			const char *period)
{
	struct cam_collapse_event e;
	bool found = cam_collapse_event(cam_text_of(event), has_time, cam_text_of(detail), &e);
	assert_int_equal(found, name != NULL);
	if (!found)
		return;
	assert_true(cam_text_equal(e.name, cam_text_of(name)));
	assert_int_equal(e.own_period, period == NULL);
	if (period)
		assert_true(cam_text_equal(e.period, cam_text_of(period)));
}

static void events_are_read_from_the_end_of_the_line(void **state)
{
	(void)state;
	check_event("cycles:u", true, "", "cycles:u", NULL);
	check_event("cycles", true, "  ", "cycles", NULL);
	check_event("cycles", false, "", NULL, NULL);
	check_event("", true, "", NULL, NULL);
	check_event("raw 0x1c2", true, "", NULL, NULL);
	check_event("s:t", true, "a=1 b=2", NULL, NULL);
	check_event("s:t", true, "comm: 77 cycles:", "cycles", "77");
	check_event("s:t", true, "comm:77  cycles: ", "cycles", "77");
	check_event("s:t", true, "78 cycles:", "cycles", "78");
	check_event("s:t", true, "x: other:", "other", "");
	check_event("s:t", true, "other:", "other", "");
	check_event("s:t", true, "x 5 cycles:", NULL, NULL);
	check_event("s:t", true, "x5 cycles:", NULL, NULL);
	check_event("s:t", true, "a :", NULL, NULL);
	check_event("s:t", true, ":", NULL, NULL);
}

static void errors_stick_to_the_buffers(void **state)
{
	(void)state;
	struct cam_collapse_rules r = {0};
	struct cam_collapse_frame f = {NAMED("a_rather_long_name"), IN("/bin/a")};
	struct cam_buf small = CAM_BUF(8), out = CAM_BUF(1000);
	cam_collapse_frame(&r, &f, &small, &out);
	assert_int_equal(cam_buf_error(&small), -E2BIG);
	cam_buf_free(&small);
	small = CAM_BUF(8);
	cam_collapse_frame(&r, &f, &out, &small);
	assert_int_equal(cam_buf_error(&small), -E2BIG);
	cam_buf_free(&small);
	small = CAM_BUF(8);
	cam_collapse_task(&r, f.name, 1, 2, &small);
	assert_int_equal(cam_buf_error(&small), -E2BIG);
	cam_buf_free(&small);
	cam_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_equal_the_peer),
		cmocka_unit_test(tasks_equal_the_peer),
		cmocka_unit_test(live_frames_lose_nothing),
		cmocka_unit_test(text_frames_without_a_module),
		cmocka_unit_test(control_characters_are_escaped),
		cmocka_unit_test(live_tasks_keep_their_names),
		cmocka_unit_test(events_are_read_from_the_end_of_the_line),
		cmocka_unit_test(errors_stick_to_the_buffers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
