// SPDX-License-Identifier: Apache-2.0
/* The oracle is stackcollapse-perf.pl's own output: read, and written again name by name. */
#include "interop/collapse.h"
#include "interop/folded_in.h"
#include "support_input.h"
#include "support_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct result {
	struct record_sink *r;
	struct cam_import_stats st;
};

static struct result read_bytes(const void *bytes, size_t n, size_t step)
{
	struct memory_source s = {.step = step};
	struct cam_input *in = input_of(&s, bytes, n);
	struct result res = {.r = record_sink_new()};
	res.r->new_window_every = step;
	assert_int_equal(cam_folded_read(in, &res.r->sink, NULL, &res.st), 0);
	cam_input_close(in);
	assert_int_equal(res.r->breaches, 0);
	assert_int_equal(res.st.samples, res.r->n_samples);
	assert_int_equal(res.st.clock, CAM_CLOCK_ABSENT);
	return res;
}

static struct result read_text(const char *text)
{
	return read_bytes(text, strlen(text), 0);
}

static void done(struct result *res)
{
	record_sink_free(res->r);
}

/* "comm;root;…;leaf", as the exporter names them. */
static void put_stack(struct cam_buf *out, const struct sink_sample *s)
{
	const struct cam_collapse_rules rules = {.mode = CAM_COLLAPSE_VERBATIM};
	struct cam_buf scratch = CAM_BUF(1u << 16);
	cam_collapse_task(&rules, s->comm, s->pid, s->tid, out);
	for (size_t i = s->n_frames; i-- > 0;) {
		struct cam_collapse_frame f = {.name = s->frames[i].name,
					       .kind = s->frames[i].kind};
		cam_buf_put_u8(out, ';');
		assert_int_equal(cam_collapse_frame(&rules, &f, &scratch, out), 1);
	}
	cam_buf_free(&scratch);
}

static void put_lines(struct cam_buf *out, const struct record_sink *r)
{
	for (size_t i = 0; i < r->n_samples; i++) {
		put_stack(out, &r->samples[i]);
		cam_buf_printf(out, " %" PRIu64 "\n", r->samples[i].weight);
	}
	assert_int_equal(cam_buf_error(out), 0);
}

static void reading_and_writing_gives_the_same_lines(void **state)
{
	(void)state;
	static const char *const names[] = {"gcc-compile", "java",	"nginx-997",
					    "pg-sched",	   "redis-pid", "tmpl"};
	for (size_t i = 0; i < 12; i++) {
		char name[64];
		snprintf(name, sizeof(name), "oracle/%s.folded%s.gz", names[i / 2],
			 i % 2 ? "-all-pid" : "");
		struct cam_buf want = slurp_data(name), got = CAM_BUF(1u << 26);
		/* In small steps the ids die every so often. */
		struct result res = read_bytes(want.data, want.len, i % 3 ? 0 : 37);
		put_lines(&got, res.r);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, got.len);
		assert_false(cam_import_is_partial(&res.st));
		assert_true(res.st.samples > 50);
		done(&res);
		cam_buf_free(&want);
		cam_buf_free(&got);
	}
}

static void kinds_come_from_suffixes(void **state)
{
	(void)state;
	struct result res = read_text("java;main;Foo:.bar_[j];baz_[i];sys_read_[k];_[k];x_[w] 7\n");
	assert_int_equal(res.r->n_samples, 1);
	const struct sink_sample *s = &res.r->samples[0];
	static const struct {
		const char *name;
		enum cam_func_kind kind;
	} want[] = {
		{"x_[w]", CAM_FUNC_USER},      {"_[k]", CAM_FUNC_USER},
		{"sys_read", CAM_FUNC_KERNEL}, {"baz", CAM_FUNC_INLINED},
		{"Foo:.bar", CAM_FUNC_JIT},    {"main", CAM_FUNC_USER},
	};
	assert_int_equal(s->n_frames, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(s->frames[i].name.p, want[i].name);
		assert_int_equal(s->frames[i].kind, want[i].kind);
		assert_int_equal(s->frames[i].source, CAM_NAME_IMPORTED);
		assert_string_equal(s->frames[i].module.p, "");
	}
	assert_string_equal(s->comm.p, "java");
	assert_string_equal(s->event.p, "samples");
	assert_int_equal(s->weight, 7);
	assert_true(s->has_weight);
	assert_int_equal(s->pid, CAM_PID_NONE);
	assert_int_equal(s->time_ns, CAM_TIME_NONE);
	assert_int_equal(s->cpu, CAM_CPU_NONE);
	done(&res);
}

static void odd_lines(void **state)
{
	(void)state;
	static const struct {
		const char *line, *stack;
		uint64_t weight;
	} cases[] = {
		{"a 1", "a", 1},
		{"a;b c d;e(int, f) 12", "a;b c d;e(int, f)", 12},
		{"a;Thread 5 10", "a;Thread 5", 10},
		{"a;StubRoutines  10", "a;StubRoutines ", 10},
		{"a;b\t3", "a;b", 3},
		{"a;b 3\r", "a;b", 3},
		{"a;;b; 3", "a;;b;", 3},
		{"a;-;b;--;c 3", "a;-;b;--;c", 3},
		{"#hash;b 3", "#hash;b", 3},
		{"a;b 18446744073709551615", "a;b", UINT64_MAX},
		{"a;b 0", "a;b", 0},
		{"a;\xff\x01\x1b[0m 1", "a;\xff\\x01\\x1b[0m", 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];
		struct cam_buf got = CAM_BUF(4096);
		/* A second line with one count only: the file is not a differential. */
		snprintf(text, sizeof(text), "%s\nx;y 1\n", cases[i].line);
		struct result res = read_text(text);
		assert_int_equal(res.r->n_samples, 2);
		assert_int_equal(res.r->samples[0].weight, cases[i].weight);
		put_stack(&got, &res.r->samples[0]);
		cam_buf_put_u8(&got, 0);
		assert_string_equal((char *)got.data, cases[i].stack);
		assert_false(cam_import_is_partial(&res.st));
		done(&res);
		cam_buf_free(&got);
	}
}

static void lines_that_are_none(void **state)
{
	(void)state;
	struct result res = read_text("# a comment\n\n   \na;b 1\nno count\n12\n a\n"
				      "a;b 18446744073709551616\na;b 1e3\na;b -1\na;b 1.x\na;b 2");
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.st.malformed_samples, 7);
	assert_int_equal(res.st.bad_line, 5);
	assert_int_equal(res.r->samples[1].weight, 2);
	assert_true(cam_import_is_partial(&res.st));
	char why[401];
	cam_import_explain(&res.st, why, sizeof(why));
	assert_string_equal(why, "7 malformed samples (the first: line 5)");
	done(&res);
}

static void two_columns_are_before_and_after(void **state)
{
	(void)state;
	struct result res = read_text("a;b 10 12\na;c 0 5\na;d 7 0\na;e 0 0\na;f 3\n");
	/* The last line has one count: so has every line, and names end in a number. */
	assert_int_equal(res.r->n_samples, 5);
	assert_string_equal(res.r->samples[0].frames[0].name.p, "b 10");
	done(&res);
	res = read_text("a;b 10 12\na;c 0 5\na;d 7 0\na;e 0 0\n");
	static const struct {
		const char *event, *leaf;
		uint64_t weight;
	} want[] = {{"before", "b", 10},
		    {"after", "b", 12},
		    {"after", "c", 5},
		    {"before", "d", 7},
		    {"after", "e", 0}};
	assert_int_equal(res.r->n_samples, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(res.r->samples[i].event.p, want[i].event);
		assert_string_equal(res.r->samples[i].frames[0].name.p, want[i].leaf);
		assert_int_equal(res.r->samples[i].weight, want[i].weight);
	}
	done(&res);
}

static void fractions_are_read_in_thousandths(void **state)
{
	(void)state;
	struct result res =
		read_text("a;b 1.5\na;c 2\na;d 0.0004\na;e 0.0005\na;f 3.14159\na;g 2.9999\n"
			  "a;h 18446744073709551615\n");
	static const uint64_t want[] = {1500, 2000, 0, 1, 3142, 3000};
	assert_int_equal(res.r->n_samples, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(res.r->samples[i].weight, want[i]);
		assert_string_equal(res.r->samples[i].event.p, "thousandths");
	}
	assert_int_equal(res.st.malformed_samples, 1);
	assert_int_equal(res.st.rounded_counts, 0);
	done(&res);
	/* "2.0" is no fraction. */
	res = read_text("a;b 2.0\n");
	assert_int_equal(res.r->samples[0].weight, 2);
	assert_string_equal(res.r->samples[0].event.p, "samples");
	done(&res);
	/* One that comes after 64 KiB without is rounded. */
	struct cam_buf text = CAM_BUF(1u << 22);
	for (size_t i = 0; i < 50000; i++)
		cam_buf_printf(&text, "comm;function_%zu 2\n", i);
	cam_buf_printf(&text, "comm;f 2.5\ncomm;f 2.4\n");
	res = read_bytes(text.data, text.len, 0);
	assert_int_equal(res.r->n_samples, 50002);
	assert_int_equal(res.r->samples[50000].weight, 3);
	assert_int_equal(res.r->samples[50001].weight, 2);
	assert_int_equal(res.st.rounded_counts, 2);
	done(&res);
	cam_buf_free(&text);
}

static void a_cut_file_loses_its_last_line(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("oracle/nginx-997.folded.gz");
	struct cam_buf gz = gzip_of(text.data, text.len);
	struct result res = read_bytes(gz.data, gz.len / 2, 0);
	assert_int_equal(res.st.end, CAM_INPUT_CUT);
	assert_true(cam_import_is_partial(&res.st));
	struct cam_buf got = CAM_BUF(1u << 26);
	put_lines(&got, res.r);
	assert_true(got.len > 1000 && got.len < text.len);
	assert_memory_equal(got.data, text.data, got.len);
	done(&res);
	cam_buf_free(&got);
	cam_buf_free(&gz);
	cam_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_and_writing_gives_the_same_lines),
		cmocka_unit_test(kinds_come_from_suffixes),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(two_columns_are_before_and_after),
		cmocka_unit_test(fractions_are_read_in_thousandths),
		cmocka_unit_test(a_cut_file_loses_its_last_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
