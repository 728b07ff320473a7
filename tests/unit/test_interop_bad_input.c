// SPDX-License-Identifier: Apache-2.0
/*
 * Inputs that are wrong, hostile or too much: what can be read is delivered, what cannot is
 * counted, in bounded memory.
 */
#include "interop/folded_in.h"
#include "interop/perf_script_in.h"
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
	char why[401];
	int err;
};

typedef int read_fn(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		    struct cam_import_stats *st);

/* res->r may be there already, with the test's wishes in it. */
static void read_bytes(struct result *res, read_fn *fn, const void *bytes, size_t n,
		       const struct cam_import_options *o)
{
	struct memory_source s = {0};
	struct cam_input *in = input_of(&s, bytes, n);
	if (!res->r)
		res->r = record_sink_new();
	res->err = fn(in, &res->r->sink, o, &res->st);
	cam_input_close(in);
	cam_import_explain(&res->st, res->why, sizeof(res->why));
	assert_int_equal(res->r->breaches, 0);
	assert_int_equal(res->st.samples, res->r->n_samples);
}

static struct result read_text(const char *text)
{
	struct result res = {0};
	read_bytes(&res, cam_perf_script_read, text, strlen(text), NULL);
	return res;
}

static void done(struct result *res)
{
	record_sink_free(res->r);
}

static void expect_same_sample(const struct sink_sample *a, const struct sink_sample *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->tid, b->tid);
	assert_string_equal(a->comm.p, b->comm.p);
	assert_int_equal(a->n_frames, b->n_frames);
	for (size_t i = 0; i < a->n_frames; i++) {
		assert_int_equal(a->frames[i].address, b->frames[i].address);
		assert_string_equal(a->frames[i].name.p, b->frames[i].name.p);
		assert_string_equal(a->frames[i].module.p, b->frames[i].module.p);
	}
}

static void a_cut_file_gives_the_samples_before_the_cut(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("nginx-997.stacks.gz"), gz = gzip_of(text.data, text.len);
	struct result whole = {0};
	read_bytes(&whole, cam_perf_script_read, text.data, text.len, NULL);
	assert_string_equal(whole.why, "");
	size_t before = 0;
	for (size_t part = 1; part < 8; part++) {
		struct result res = {0};
		read_bytes(&res, cam_perf_script_read, gz.data, gz.len * part / 8, NULL);
		assert_int_equal(res.err, 0);
		assert_int_equal(res.st.end, CAM_INPUT_CUT);
		assert_true(cam_import_is_partial(&res.st));
		assert_non_null(strstr(res.why, "ends in the middle"));
		assert_true(res.r->n_samples > before && res.r->n_samples < whole.r->n_samples);
		before = res.r->n_samples;
		for (size_t i = 0; i < before; i++)
			expect_same_sample(&res.r->samples[i], &whole.r->samples[i]);
		/* How many are not there nobody knows; the ledger says at least one. */
		assert_true(res.st.unfinished_samples <= 1);
		assert_int_equal(res.r->n_ledger, 1);
		assert_true(res.r->ledger[0].samples == 1);
		done(&res);
	}
	/* Plain text has no end to miss: the last sample, if cut, is all that can be noticed. */
	for (size_t n = text.len / 2; n < text.len / 2 + 3000; n += 7) {
		struct result res = {0};
		read_bytes(&res, cam_perf_script_read, text.data, n, NULL);
		for (size_t i = 0; i < res.r->n_samples; i++)
			expect_same_sample(&res.r->samples[i], &whole.r->samples[i]);
		done(&res);
		n += n % 3 ? 0 : 500;
	}
	done(&whole);
	cam_buf_free(&gz);
	cam_buf_free(&text);
}

static void nothing_and_noise(void **state)
{
	(void)state;
	struct result res = read_text("");
	assert_int_equal(res.err, 0);
	assert_false(cam_import_is_partial(&res.st));
	assert_int_equal(res.st.lines, 0);
	done(&res);

	struct cam_buf noise = CAM_BUF(1u << 21);
	uint64_t x = 1;
	for (size_t i = 0; i < 1u << 20; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		cam_buf_put_u8(&noise, (uint8_t)(x >> 56));
	}
	read_fn *const readers[] = {cam_perf_script_read, cam_folded_read};
	for (size_t i = 0; i < 2; i++) {
		res = (struct result){0};
		read_bytes(&res, readers[i], noise.data, noise.len, NULL);
		assert_int_equal(res.err, 0);
		assert_int_equal(res.r->n_samples, 0);
		assert_true(res.st.malformed_lines + res.st.malformed_samples > 1000);
		assert_true(strlen(res.why) > 0);
		done(&res);
	}
	cam_buf_free(&noise);
}

/* Every byte in a comm, at each end of it and inside; a good sample follows. */
static void any_byte_in_a_comm(void **state)
{
	(void)state;
	static const char *const before[] = {"", "x", "xy", ""}, *const after[] = {"xy", "y", "",
										   ""};
	for (int c = 0; c < 256; c++) {
		for (size_t k = 0; k < 4; k++) {
			char text[256];
			int n = snprintf(text, sizeof(text), "%s%c%s", before[k], c, after[k]);
			n += snprintf(
				text + n, sizeof(text) - (size_t)n,
				"  5298 [000]  1136.231005:    1003009 cycles: \n\t10 f (m)\n\n"
				"good  7 [001]  1136.232005:    1003009 cycles: \n\t10 f (m)\n\n");
			struct result res = {0};
			read_bytes(&res, cam_perf_script_read, text, (size_t)n, NULL);
			const struct record_sink *r = res.r;
			bool newline = c == '\n';
			/* A comm that makes the line a comment takes its sample with it, and says so. */
			bool comment = c == '#' && k == 3;
			assert_int_equal(r->n_samples, comment ? 1 : 2);
			assert_int_equal(res.st.malformed_samples, comment);
			assert_int_equal(res.st.malformed_lines, newline && (k == 1 || k == 2));
			assert_int_equal(r->samples[0].tid, comment ? 7 : 5298);
			assert_string_equal(r->samples[r->n_samples - 1].comm.p, "good");
			if (k == 1 && !newline) {
				const char want[] = {'x', (char)c, 'y', 0};
				assert_int_equal(r->samples[0].comm.n, 3);
				assert_memory_equal(r->samples[0].comm.p, want, 3);
			}
			done(&res);
		}
	}
}

/*
 * A process may name itself so that the text has a line more, but no such name makes a sample of
 * its own: random names of up to 15 bytes, of what heads are made of.
 */
static void a_comm_forges_no_sample(void **state)
{
	(void)state;
	static const char alphabet[] = "\n\n\t  11.00000:::e[]/#(a)";
	static const char *const tries[] = {
		"\na 1 1.000000:\n", "\n 1 1.000000:e:",  "a 1 1.000000: e",  "\n\na 1 1.0: e:\n",
		"x\ny 1 1.0: 9",     "\n1 1 1.000000:\n", "x\n\n\t1 f (m)\n", "\n\n1 1.000000:e\n",
	};
	uint64_t x = 42;
	for (size_t i = 0; i < 30000; i++) {
		char text[256] = {0};
		size_t n = i < 8 ? strlen(tries[i]) : i % 16;
		if (i < 8)
			memcpy(text, tries[i], n);
		for (size_t k = i < 8 ? n : 0; k < n; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			text[k] = alphabet[(x >> 33) % (sizeof(alphabet) - 1)];
		}
		size_t left = sizeof(text) - n;
		snprintf(text + n, left,
			 " 5298 [000]  1136.231005:    1003009 cycles: \n\t10 f (m)\n\n"
			 "good     7 [001]  1136.232005:    1003009 cycles: \n\t10 f (m)\n\n");
		struct result res = read_text(text);
		const struct record_sink *r = res.r;
		assert_in_range(r->n_samples, 1, 2);
		assert_int_equal(r->n_samples + res.st.malformed_samples >= 2, 1);
		if (r->n_samples == 2) {
			assert_int_equal(r->samples[0].tid, 5298);
			assert_int_equal(r->samples[0].time_ns, 1136231005000);
			assert_int_equal(r->samples[0].n_frames, 1);
		}
		assert_int_equal(r->samples[r->n_samples - 1].tid, 7);
		done(&res);
	}
}

static void frames_without_a_head_are_one_malformed_sample(void **state)
{
	(void)state;
	struct result res = read_text("a 1 1.000000: e: \n\t10 f (m)\n\n"
				      "\t11 g (m)\n\t12 h (m)\n\n"
				      "what is this?\n\t13 i (m)\n\n"
				      "a 1 2.000000: e: \n\t10 f (m)\n\n");
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.st.malformed_samples, 2);
	assert_int_equal(res.st.malformed_lines, 1);
	assert_int_equal(res.st.bad_line, 4);
	assert_int_equal(res.r->samples[1].n_frames, 1);
	assert_int_equal(res.r->n_ledger, 1);
	assert_int_equal(res.r->ledger[0].cause, CAM_CAUSE_MALFORMED);
	assert_int_equal(res.r->ledger[0].samples, 2);
	assert_int_equal(res.r->ledger[0].from_ns, 1000000000);
	assert_int_equal(res.r->ledger[0].to_ns, 2000000000);
	assert_string_equal(res.why,
			    "2 malformed samples, 1 lines not understood (the first: line 4)");
	done(&res);
	/* perf script -F ip,sym,dso prints no heads at all. */
	res = read_text("\n\t10 f (m)\n\t11 g (m)\n\n\n\t10 f (m)\n\n");
	assert_int_equal(res.err, 0);
	assert_int_equal(res.st.malformed_samples, 2);
	done(&res);
}

static void samples_need_no_empty_line_between_them(void **state)
{
	(void)state;
	struct result res = read_text("a 1 1.000000: e: \n\t10 f (m)\n"
				      "b 2 2.000000: e: \n\t11 g (m)\n\t12 h (m)\n\n");
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.r->samples[0].n_frames, 1);
	assert_int_equal(res.r->samples[1].n_frames, 2);
	done(&res);
	res = read_text("a 1 1.000000: e: \n\t10 f (m)\n\nb 2 2.000000: e: \n\t11 g (m)\n");
	assert_int_equal(res.r->n_samples, 1);
	assert_int_equal(res.st.unfinished_samples, 1);
	assert_true(cam_import_is_partial(&res.st));
	done(&res);
}

static void heads_of_another_shape_are_none(void **state)
{
	(void)state;
	struct result res = read_text("a 1 1.000000: cycles: \n\t10 f (m)\n\n"
				      "b 2 2.000000: \n\t10 f (m)\n\n"
				      "c 3 cycles: \n\t10 f (m)\n\n"
				      "d 4 4.0: cycles: \n\t10 f (m)\n\n"
				      "e 5 99999999999999.000000: cycles: \n\t10 f (m)\n\n"
				      "f 99999999999 6.000000: cycles: \n\t10 f (m)\n\n"
				      "g 7 7.000000: cycles: \n\t10 f (m)\n\n");
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.st.malformed_samples, 5);
	assert_int_equal(res.st.malformed_lines, 5);
	done(&res);
}

static void times_far_apart_are_kept(void **state)
{
	(void)state;
	struct result res = read_text("a 1 0.000001: e: \n\t10 f (m)\n\n"
				      "a 1 1000000000.000000: e: \n\t10 f (m)\n\n"
				      "a 1 5.000000: e: \n\t10 f (m)\n\n");
	assert_int_equal(res.r->n_samples, 3);
	assert_int_equal(res.r->samples[0].time_ns, 1000);
	assert_int_equal(res.r->samples[1].time_ns, 1000000000000000000);
	assert_int_equal(res.r->samples[2].time_ns, 5000000000);
	done(&res);
}

static void deep_stacks_hang_under_truncated(void **state)
{
	(void)state;
	static const size_t depths[] = {CAM_MAX_STACK_FRAMES, CAM_MAX_STACK_FRAMES + 1, 5000};
	for (size_t k = 0; k < 6; k++) {
		size_t depth = depths[k % 3];
		struct cam_buf text = CAM_BUF(1u << 20);
		struct result res = {0};
		if (k < 3) {
			cam_buf_printf(&text, "a 1 1.000000: e: \n");
			for (size_t i = 0; i < depth; i++)
				cam_buf_printf(&text, "\t%zx f%zu (m)\n", i + 1, i);
			cam_buf_printf(&text, "\n");
		} else {
			cam_buf_printf(&text, "a");
			for (size_t i = depth; i-- > 0;)
				cam_buf_printf(&text, ";f%zu", i);
			cam_buf_printf(&text, " 1\n");
		}
		read_bytes(&res, k < 3 ? cam_perf_script_read : cam_folded_read, text.data,
			   text.len, NULL);
		assert_int_equal(res.r->n_samples, 1);
		const struct sink_sample *s = &res.r->samples[0];
		bool cut = depth > CAM_MAX_STACK_FRAMES;
		assert_int_equal(s->n_frames, CAM_MAX_STACK_FRAMES);
		assert_int_equal(res.st.truncated_stacks, cut);
		assert_int_equal(cam_import_is_partial(&res.st), cut);
		for (size_t i = 0; i < s->n_frames - cut; i++) {
			char name[32];
			snprintf(name, sizeof(name), "f%zu", i);
			assert_string_equal(s->frames[i].name.p, name);
		}
		if (cut) {
			const struct sink_frame *root = &s->frames[CAM_MAX_STACK_FRAMES - 1];
			assert_string_equal(root->name.p, "[truncated]");
			assert_int_equal(root->kind, CAM_FUNC_MARK);
			assert_int_equal(root->source, CAM_NAME_OWN);
		}
		assert_string_equal(s->comm.p, "a");
		done(&res);
		cam_buf_free(&text);
	}
}

static void refusals_cost_their_sample_only(void **state)
{
	(void)state;
	static const char text[] = "a 1 1.000000: e: \n\t10 f (m)\n\t11 g (m)\n\n"
				   "a 1 2.000000: e: \n\t10 f (m)\n\t12 h (m)\n\t11 g (m)\n\n"
				   "a 1 3.000000: e: \n\t10 f (m)\n\t12 h (m)\n\t11 g (m)\n\n";
	for (int k = 0; k < 2; k++) {
		struct result res = {.r = record_sink_new()};
		res.r->refuse_begin = k ? 2 : 0;
		res.r->refuse_location = k ? 0 : 3; /* h, in the second sample */
		res.r->refusal = k ? -ERANGE : -E2BIG;
		read_bytes(&res, cam_perf_script_read, text, strlen(text), NULL);
		assert_int_equal(res.err, 0);
		assert_int_equal(res.r->n_samples, 2);
		assert_int_equal(res.st.refused_samples, 1);
		assert_int_equal(res.r->samples[1].time_ns, 3000000000);
		assert_int_equal(res.r->samples[1].n_frames, 3);
		assert_string_equal(res.r->samples[1].frames[1].name.p, "h");
		done(&res);
	}
	/* Other errors end the import. */
	struct result res = {.r = record_sink_new()};
	res.r->refuse_location = 3;
	res.r->refusal = -EIO;
	read_bytes(&res, cam_perf_script_read, text, strlen(text), NULL);
	assert_int_equal(res.err, -EIO);
	assert_int_equal(res.r->n_samples, 1);
	done(&res);
}

static void a_small_cache_changes_nothing(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("gcc-compile.stacks.gz");
	struct result big = {0}, small = {0};
	struct cam_import_options o = {.cache_bytes = 20000};
	read_bytes(&big, cam_perf_script_read, text.data, text.len, NULL);
	read_bytes(&small, cam_perf_script_read, text.data, text.len, &o);
	assert_int_equal(small.r->n_samples, big.r->n_samples);
	for (size_t i = 0; i < big.r->n_samples; i++)
		expect_same_sample(&small.r->samples[i], &big.r->samples[i]);
	done(&big);
	done(&small);
	cam_buf_free(&text);
}

static void bombs_end_with_their_name(void **state)
{
	(void)state;
	struct cam_buf gz = gzip_of_many('\n', 64u << 20);
	read_fn *const readers[] = {cam_perf_script_read, cam_folded_read};
	for (size_t i = 0; i < 2; i++) {
		struct result res = {0};
		read_bytes(&res, readers[i], gz.data, gz.len, NULL);
		assert_int_equal(res.err, -EFBIG);
		assert_int_equal(res.st.end, CAM_INPUT_BOMB);
		assert_non_null(strstr(res.why, "decompression bomb"));
		assert_true(res.st.bytes < 17u << 20);
		done(&res);
	}
	cam_buf_free(&gz);
}

static void long_lines_are_cut(void **state)
{
	(void)state;
	struct cam_buf text = CAM_BUF(1u << 20);
	cam_buf_printf(&text, "a 1 1.000000: e: \n\t10 ");
	for (size_t i = 0; i < 100000; i++)
		cam_buf_put_u8(&text, 'n');
	cam_buf_printf(&text, "+0x1 (m)\n\t11 g (m)\n\na 1 2.000000: sched:x: ");
	for (size_t i = 0; i < 100000; i++)
		cam_buf_put_u8(&text, 't');
	cam_buf_printf(&text, "\n\t10 f (m)\n\n");
	struct result res = {0};
	read_bytes(&res, cam_perf_script_read, text.data, text.len, NULL);
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.st.long_lines, 2);
	assert_true(cam_import_is_partial(&res.st));
	assert_int_equal(res.r->samples[0].n_frames, 2);
	assert_in_range(res.r->samples[0].frames[0].name.n, 4000, CAM_INPUT_HEAD_BYTES);
	assert_int_equal(res.r->samples[1].n_frames, 1);
	assert_in_range(res.r->samples[1].detail.n, 4000, CAM_INPUT_HEAD_BYTES);
	done(&res);
	cam_buf_free(&text);
}

/* A sink that keeps nothing, so that what remains is the importer's memory. */
static int drop_begin(struct cam_sink *s, uint64_t time_ns)
{
	(void)time_ns;
	s->generation += s->self != NULL;
	return 0;
}
#define DROP(noun, row_type, id_type)                                          \
	static int drop_##noun(struct cam_sink *s, row_type row, id_type *out) \
	{                                                                      \
		(void)s;                                                       \
		(void)row;                                                     \
		out->v = 0;                                                    \
		return 0;                                                      \
	}
DROP(string, struct cam_text, struct cam_str_id)
DROP(module, const struct cam_module *, struct cam_module_id)
DROP(function, const struct cam_function *, struct cam_func_id)
DROP(location, const struct cam_location *, struct cam_loc_id)
DROP(task, const struct cam_task *, struct cam_task_id)
DROP(etype, const struct cam_etype *, struct cam_etype_id)

static int drop_sample(struct cam_sink *s, const struct cam_sink_sample *sample)
{
	(void)s;
	(void)sample;
	return 0;
}

static const struct cam_sink drop_sink = {
	.begin = drop_begin,
	.string = drop_string,
	.module = drop_module,
	.function = drop_function,
	.location = drop_location,
	.task = drop_task,
	.etype = drop_etype,
	.sample = drop_sample,
};

/* A text that never repeats itself, made as it is read. */
struct endless {
	uint64_t left; /* bytes */
	uint64_t n;
	bool one_line;
	read_fn *reader;
	int want;
	uint64_t want_samples;
	size_t at, fill;
	char text[512];
};

static void next_part(struct endless *e)
{
	uint64_t n = e->n++;
	int len;
	e->at = 0;
	if (e->one_line && n > 1)
		return;
	if (e->one_line && n)
		len = snprintf(e->text, sizeof(e->text), "%0500d", 0);
	else if (e->reader == cam_folded_read)
		len = snprintf(e->text, sizeof(e->text),
			       "comm%" PRIu64 ";function_with_a_long_name_%" PRIu64 " 1\n", n, n);
	else
		len = snprintf(e->text, sizeof(e->text),
			       "comm%" PRIu64 " %" PRIu64 " %" PRIu64 ".000000: e: \n"
			       "\t%" PRIx64 " function_%" PRIu64 " (/some/path/to/a/library)\n"
			       "\t%" PRIx64 " caller_%" PRIu64 " (/some/path/to/a/library)\n\n",
			       n % 100000000, n % 1000000, 100 + n, n, n, n, n);
	e->fill = (size_t)len;
}

static ssize_t endless_read(void *arg, void *room, size_t n)
{
	struct endless *e = arg;
	size_t done_bytes = 0;
	while (done_bytes < n && e->left) {
		if (e->at == e->fill)
			next_part(e);
		size_t part = e->fill - e->at;
		part = part < n - done_bytes ? part : n - done_bytes;
		part = part < e->left ? part : (size_t)e->left;
		memcpy((char *)room + done_bytes, e->text + e->at, part);
		e->at += part;
		e->left -= part;
		done_bytes += part;
	}
	return (ssize_t)done_bytes;
}

static int read_endless(void *arg)
{
	struct endless *e = arg;
	struct cam_input *in;
	struct cam_import_stats st;
	struct cam_sink sink = drop_sink;
	if (cam_input_open_fn(&in, endless_read, e, NULL))
		return 1;
	int err = e->reader(in, &sink, NULL, &st);
	cam_input_close(in);
	return err != e->want || st.samples < e->want_samples || st.long_lines != e->one_line;
}

static void memory_is_bounded(void **state)
{
	(void)state;
	read_fn *const readers[] = {cam_perf_script_read, cam_folded_read};
	for (size_t i = 0; i < 2; i++) {
		struct endless line = {.left = 1ull << 30, .one_line = true, .reader = readers[i]};
		assert_true(peak_growth_kib(read_endless, &line) < (8 << 10) + SANITIZER_SLACK_KIB);
		struct endless unique = {.left = 100u << 20, .reader = readers[i]};
		unique.want_samples = 500000;
		assert_true(peak_growth_kib(read_endless, &unique) <
			    (96 << 10) + SANITIZER_SLACK_KIB);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_file_gives_the_samples_before_the_cut),
		cmocka_unit_test(nothing_and_noise),
		cmocka_unit_test(any_byte_in_a_comm),
		cmocka_unit_test(a_comm_forges_no_sample),
		cmocka_unit_test(frames_without_a_head_are_one_malformed_sample),
		cmocka_unit_test(samples_need_no_empty_line_between_them),
		cmocka_unit_test(heads_of_another_shape_are_none),
		cmocka_unit_test(times_far_apart_are_kept),
		cmocka_unit_test(deep_stacks_hang_under_truncated),
		cmocka_unit_test(refusals_cost_their_sample_only),
		cmocka_unit_test(a_small_cache_changes_nothing),
		cmocka_unit_test(bombs_end_with_their_name),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(memory_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
