// SPDX-License-Identifier: Apache-2.0
/*
 * The oracles are perf's own prints. A text read and printed again in perf's format must give the
 * same bytes; and what perf prints of one recording in two ways must give the same samples.
 */
#include "base/out.h"
#include "interop/perf_script_in.h"
#include "support_input.h"
#include "support_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct result {
	struct record_sink *r;
	struct cam_import_stats st;
	int err;
};

static void read_input(struct result *res, struct cam_input *in, const struct cam_import_options *o)
{
	if (!res->r)
		res->r = record_sink_new();
	res->err = cam_perf_script_read(in, &res->r->sink, o, &res->st);
	cam_input_close(in);
	assert_int_equal(res->r->breaches, 0);
	assert_int_equal(res->st.samples, res->r->n_samples);
}

static void read_text_stepped(struct result *res, const char *text, size_t step)
{
	struct memory_source s = {.step = step};
	read_input(res, input_of(&s, text, strlen(text)), NULL);
}

static struct result read_text(const char *text)
{
	struct result res = {0};
	read_text_stepped(&res, text, 0);
	return res;
}

static struct result read_data(const char *name)
{
	struct result res = {0};
	struct cam_input *in;
	int fd = open_data(name);
	assert_int_equal(cam_input_open_fd(&in, fd, NULL), 0);
	read_input(&res, in, NULL);
	close(fd);
	assert_int_equal(res.err, 0);
	assert_false(cam_import_is_partial(&res.st));
	assert_int_equal(res.st.malformed_lines, 0);
	return res;
}

static void done(struct result *res)
{
	record_sink_free(res->r);
}

/* As `perf script -F comm,pid,tid,cpu,time,event,ip` prints it; without the pid if so asked. */
static void print_samples(struct cam_buf *out, const struct record_sink *r, bool pids)
{
	for (size_t i = 0; i < r->n_samples; i++) {
		const struct sink_sample *s = &r->samples[i];
		cam_buf_printf(out, "%s ", s->comm.p);
		if (pids)
			cam_buf_printf(out, "%5d/%-5d ", s->pid, s->tid);
		else
			cam_buf_printf(out, "%5d ", s->tid);
		if (s->cpu != CAM_CPU_NONE)
			cam_buf_printf(out, "[%03" PRIu32 "] ", s->cpu);
		cam_buf_printf(out, "%5" PRIu64 ".%06" PRIu64 ": %s: \n", s->time_ns / 1000000000,
			       s->time_ns % 1000000000 / 1000, s->event.p);
		for (size_t k = 0; k < s->n_frames; k++)
			cam_buf_printf(out, "\t%16" PRIx64 "\n", s->frames[k].address);
		cam_buf_put(out, "\n", 1);
	}
	assert_int_equal(cam_buf_error(out), 0);
}

static void same_bytes(const struct cam_buf *a, const struct cam_buf *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len);
}

static const char *const fixtures[] = {
	"gcc-compile", "java", "nginx-997", "pg-sched", "redis-pid", "tmpl",
};

static void reading_and_printing_gives_perfs_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s.raw.gz", fixtures[i]);
		struct cam_buf want = slurp_data(name), got = CAM_BUF(64u << 20);
		struct result res = read_data(name);
		print_samples(&got, res.r, true);
		same_bytes(&got, &want);
		assert_true(res.r->n_samples > 500);
		done(&res);
		cam_buf_free(&want);
		cam_buf_free(&got);
	}
}

/* perf's default print has names, modules and periods around the same samples. */
static void two_prints_of_a_recording_give_the_same_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		struct cam_buf want = CAM_BUF(64u << 20), got = CAM_BUF(64u << 20);
		char raw[64], stacks[64];
		snprintf(raw, sizeof(raw), "%s.raw.gz", fixtures[i]);
		snprintf(stacks, sizeof(stacks), "%s.stacks.gz", fixtures[i]);
		struct result a = read_data(raw), b = read_data(stacks);
		print_samples(&want, a.r, false);
		print_samples(&got, b.r, false);
		same_bytes(&got, &want);
		done(&a);
		done(&b);
		cam_buf_free(&want);
		cam_buf_free(&got);
	}
}

/* Lines end anywhere in what a read gives; windows change under way: nothing of it may show. */
static void neither_block_nor_window_bounds_show(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("nginx-997.stacks.gz"), want = CAM_BUF(64u << 20);
	cam_buf_put_u8(&text, 0);
	struct result whole = read_text((const char *)text.data);
	print_samples(&want, whole.r, false);
	static const size_t steps[] = {1, 7, 1000, 65537};
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct cam_buf got = CAM_BUF(64u << 20);
		struct result res = {.r = record_sink_new()};
		res.r->new_window_every = i ? 1 + i * 100 : 0;
		read_text_stepped(&res, (const char *)text.data, steps[i]);
		assert_int_equal(res.r->sink.generation == 0, i == 0);
		print_samples(&got, res.r, false);
		same_bytes(&got, &want);
		done(&res);
		cam_buf_free(&got);
	}
	done(&whole);
	cam_buf_free(&text);
	cam_buf_free(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_and_printing_gives_perfs_bytes),
		cmocka_unit_test(two_prints_of_a_recording_give_the_same_samples),
		cmocka_unit_test(neither_block_nor_window_bounds_show),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
