// SPDX-License-Identifier: Apache-2.0
#include "query/flame.h"
#include "render/embedded.h"
#include "render/svg_flame.h"
#include "support_folded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct cam_svg_flame_options plain;

static struct cam_flame flame_of(struct fake_window *w)
{
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s;
	struct cam_flame f;
	struct cam_flame_options o = {.weight = CAM_WEIGHT_PERIOD};
	cam_selection_init(&s);
	assert_int_equal(cam_flame_build(source, &s, &o, &f), 0);
	source->ops->close(source);
	return f;
}

/* The picture as a C string. */
static char *draw(const struct cam_flame *f, const struct cam_svg_flame_options *o)
{
	struct cam_buf buf = CAM_BUF(1u << 28);
	struct cam_out out;
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_svg_flame_write(f, o, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&buf, 0);
	assert_int_equal(cam_buf_error(&buf), 0);
	assert_int_equal(strlen((char *)buf.data), buf.len - 1);
	return (char *)buf.data;
}

static char *draw_folded(const char *text, const struct cam_svg_flame_options *o)
{
	struct cam_flame f = flame_of(folded_window(text, 1));
	char *svg = draw(&f, o);
	cam_flame_free(&f);
	return svg;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0, length = strlen(part);
	/* Not strstr(): the sanitizer's measures the whole rest of the text at each call. */
	for (const char *p = text; *p; p++)
		n += *p == part[0] && !strncmp(p, part, length);
	return n;
}

/* What a command prints about the text on its standard input; aborts the test if it fails. */
static void run_on(const char *command, const char *text, char *answer, size_t bytes)
{
	char path[] = "/tmp/perfcam-test-XXXXXX", line[512];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(line, sizeof(line), "cat %s | %s", path, command);
	FILE *in = popen(line, "r");
	assert_non_null(in);
	size_t n = fread(answer, 1, bytes - 1, in);
	answer[n] = 0;
	int status = pclose(in);
	unlink(path);
	assert_int_equal(status, 0);
}

static void check_well_formed(const char *svg)
{
	char answer[256];
	run_on("xmllint --noout --huge - 2>&1", svg, answer, sizeof(answer));
	assert_string_equal(answer, "");
}

static void test_real_profiles(void **state)
{
	(void)state;
	static const char *files[] = {"oracle/gcc-compile.folded.gz", "oracle/nginx-997.folded.gz",
				      "oracle/tmpl.folded-all-pid.gz"};
	for (size_t i = 0; i < 3; i++) {
		char *text = read_data(files[i]);
		struct cam_flame f = flame_of(folded_window(text, 1));
		struct cam_svg_flame_options o = {.icicle = i == 1, .width = i == 2 ? 3000 : 0};
		char *svg = draw(&f, &o);
		check_well_formed(svg);
		/* Real profiles of this size: a sample is wider than what is left out. */
		assert_int_equal(count(svg, "<g class=\""), f.n_nodes + 3);
		assert_int_equal(count(svg, "<script"), 1);
		/* Nothing from elsewhere: the two names of vocabularies, one of them twice. */
		assert_int_equal(count(svg, "://"), 3);
		free(svg);
		cam_flame_free(&f);
		free(text);
	}
}

/* Names of every kind of mischief; EVIL marks them. */
static const char *const mischief[] = {
	"EVIL<script>alert(1)</script>",
	"EVIL</title></text></g></svg><script>alert(1)</script>",
	"EVIL\" onload=\"alert(1)",
	"EVIL' onclick='alert(1)",
	"EVIL]]><script>alert(1)</script>",
	"EVIL&lt;script&gt;&amp;&#x3c;&unknown;",
	"EVILjavascript:alert(1)",
	"EVIL<!--",
	"EVIL-->",
	"EVIL<![CDATA[",
	"EVIL<?xml?>",
	"EVIL<!ENTITY x SYSTEM \"file:///\">",
	"EVIL\x01\x02\x1b[2J\x7f\xff\xfe\xc0\x80",
	"EVIL\xed\xa0\x80\xef\xbf\xbf\xef\xbf\xbe",
	"EVIL\xe2\x80\xae\xe2\x80\xa8",
	"EVIL$${alert(1)}`",
};
#define N_MISCHIEF (sizeof(mischief) / sizeof(mischief[0]))

static struct fake_window *evil_window(void)
{
	struct fake_window *w = fake_window_new();
	for (size_t i = 0; i < N_MISCHIEF; i++) {
		struct cam_function fn = {.name = fake_str(w, mischief[i]),
					  .kind = (enum cam_func_kind)(i % CAM_FUNC_KIND_MAX)};
		struct cam_module m = {.path = fake_str(w, mischief[i])};
		struct cam_location l = {.func_offset = CAM_OFFSET_NONE};
		struct cam_loc_id loc;
		struct cam_place_id place;
		cam_module_intern(&w->t, &m, &fn.module);
		cam_function_intern(&w->t, &fn, &l.func);
		cam_location_intern(&w->t, &l, &loc);
		assert_int_equal(cam_place_intern(&w->t, &loc, 1, &place), 0);
		fake_sample(w, i, 0, fake_task(w, 1, 1, mischief[i]), place);
	}
	w->t.etypes[0].name = fake_str(w, mischief[2]);
	w->t.etypes[0].has_weight = true;
	w->w.info.host = cam_text_of(mischief[2]);
	w->w.info.name = cam_text_of(mischief[3]);
	return w;
}

static void test_names_are_only_text(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(evil_window());
	struct cam_svg_flame_options o = {.title = cam_text_of(mischief[1]),
					  .subtitle = cam_text_of(mischief[2])};
	char *svg = draw(&f, &o);
	check_well_formed(svg);
	assert_int_equal(f.n_nodes, 1 + 2 * N_MISCHIEF);
	assert_true(count(svg, "EVIL") >= 4 * N_MISCHIEF);
	assert_int_equal(count(svg, "<script"), 1);
	assert_int_equal(count(svg, "<g class=\""), f.n_nodes + 3);
	bool in_tag = false;
	const char *script = strstr(svg, "<script>");
	for (const char *p = svg; p < script; p++) {
		in_tag = *p == '<' || (in_tag && *p != '>');
		assert_false(in_tag && !strncmp(p, "EVIL", 4));
		assert_false((unsigned char)*p < 0x20 && *p != '\n');
	}
	/* The script is the last thing, and nobody wrote into it. */
	size_t n = strlen(cam_embedded_flame_js);
	assert_memory_equal(script, "<script><![CDATA[", 17);
	assert_memory_equal(script + 17, cam_embedded_flame_js, n);
	assert_string_equal(script + 17 + n, "]]></script>\n</svg>\n");
	free(svg);
	cam_flame_free(&f);
}

static void test_script_is_the_documented_one(void **state)
{
	(void)state;
	const char *root = getenv("PERFCAM_SOURCE");
	char path[4096], sum[128], base64[128], doc[16384];
	snprintf(path, sizeof(path), "%s/docs/svg.md", root ? root : ".");
	FILE *in = fopen(path, "r");
	assert_non_null(in);
	doc[fread(doc, 1, sizeof(doc) - 1, in)] = 0;
	fclose(in);
	run_on("sha256sum | cut -d' ' -f1", cam_embedded_flame_js, sum, sizeof(sum));
	sum[strcspn(sum, "\n")] = 0;
	assert_int_equal(strlen(sum), 64);
	if (!strstr(doc, sum))
		fail_msg("docs/svg.md should name the script's SHA-256, %s", sum);
	run_on("python3 -c 'import base64, hashlib, sys; d = sys.stdin.buffer.read(); "
	       "print(base64.b64encode(hashlib.sha256(d).digest()).decode())'",
	       cam_embedded_flame_js, base64, sizeof(base64));
	base64[strcspn(base64, "\n")] = 0;
	if (!strstr(doc, base64))
		fail_msg("docs/svg.md should name the script's CSP source, sha256-%s", base64);
	assert_null(strstr(cam_embedded_flame_js, "]]>"));
	static const char *const forbidden[] = {"innerHTML",	  "outerHTML", "eval(",
						"insertAdjacent", "Function(", "document.write",
						"fetch(",	  "XMLHttp",   "import",
						"setTimeout"};
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		assert_null(strstr(cam_embedded_flame_js, forbidden[i]));
}

static void test_same_samples_same_bytes(void **state)
{
	(void)state;
	uint64_t seed = cam_hash_seed;
	char *first = draw_folded("b;x;y 3\na;x 2\na;y_[k] 1\nb;z_[j];q_[i] 4\n", &plain);
	cam_hash_seed = ~seed; /* another process */
	char *second = draw_folded("b;z_[j];q_[i] 4\na;y_[k] 1\na;x 2\nb;x;y 3\n", &plain);
	cam_hash_seed = seed;
	assert_string_equal(first, second);
	free(first);
	free(second);
}

/* The class of the first frame of this name. */
static void class_of(const char *svg, const char *name, char cls[4])
{
	char title[64];
	snprintf(title, sizeof(title), "<title>%s\n", name);
	const char *p = strstr(svg, title);
	assert_non_null(p);
	while (strncmp(p, "<g class=\"", 10))
		p--;
	snprintf(cls, 4, "%.*s", (int)strcspn(p + 10, "\""), p + 10);
}

static void test_colours(void **state)
{
	(void)state;
	char *a = draw_folded("one;main;read_[k] 3\none;main;jitted_[j] 1\none;main;small_[i] 1\n",
			      &plain);
	char *b = draw_folded("two;start;main;work 7\ntwo;read_[k];[damaged] 3\n", &plain);
	char x[4], y[4];
	static const char *const shared[] = {"main", "read"};
	for (size_t i = 0; i < 2; i++) {
		class_of(a, shared[i], x);
		class_of(b, shared[i], y);
		assert_string_equal(x, y);
	}
	static const struct {
		const char *name;
		char letter;
	} kinds[] = {{"all", 'a'},  {"one", 'p'},    {"main", 'u'},
		     {"read", 'k'}, {"jitted", 'j'}, {"small", 'i'}};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		class_of(a, kinds[i].name, x);
		assert_int_equal(x[0], kinds[i].letter);
	}
	free(a);
	free(b);
}

static void test_differential_colours(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(folded_window("x;grew 9\nx;shrank 1\nx;same 5\n", 1));
	f.differential = true;
	static const uint64_t before[] = {15, 15, 0, 5, 10}; /* all, x, grew, same, shrank */
	for (size_t i = 0; i < 5; i++)
		f.nodes[i].before_total = before[i];
	char *svg = draw(&f, &plain), cls[4];
	class_of(svg, "grew", cls);
	assert_string_equal(cls, "r5");
	class_of(svg, "shrank", cls);
	assert_string_equal(cls, "b5");
	class_of(svg, "same", cls);
	assert_string_equal(cls, "g0");
	assert_non_null(strstr(svg, "before: 0 ns, new"));
	assert_non_null(strstr(svg, "before: 10 ns, −90.0"));
	check_well_formed(svg);
	free(svg);
	cam_flame_free(&f);
}

/* 200,000 nodes: one wide path and very many that nobody could see. */
static void test_narrow_frames_are_left_out(void **state)
{
	(void)state;
	struct fake_window *w = fake_window_new();
	struct cam_task_id task = fake_task(w, 1, 1, "x");
	w->t.etypes[0].has_weight = true;
	for (unsigned i = 0; i < 100000; i++) {
		char stack[64];
		snprintf(stack, sizeof(stack), "main;f%u;g%u", i, i);
		struct cam_sample s = {.time_ns = i, .weight = i ? 1 : 1000000, .task = task};
		s.place = fake_place(w, stack);
		fake_add_sample(w, &s);
	}
	struct cam_flame f = flame_of(w);
	assert_int_equal(f.n_nodes, 200003);
	char *svg = draw(&f, &plain);
	assert_int_equal(count(svg, "<g class=\""), 5 + 3);
	assert_non_null(strstr(svg, "199\u202f998 frames too narrow to draw"));
	assert_true(strlen(svg) < 40000);
	free(svg);
	struct cam_svg_flame_options o = {.min_width = 0.0001};
	svg = draw(&f, &o);
	assert_int_equal(count(svg, "<g class=\""), 200003 + 3);
	assert_null(strstr(svg, "too narrow"));
	free(svg);
	cam_flame_free(&f);
}

static void test_notes(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(folded_window("x;a 1\n", 1));
	f.seen.lost = 1;
	f.seen.damaged = 1234;
	f.seen.damaged_stacks = 2;
	f.seen.idle = 3;
	f.seen.other_events = 4;
	f.seen.gap_ns = 1900000000;
	f.seen.unreadable = 5;
	f.seen.realtime_from_ns = 1776222847254000000;
	f.seen.realtime_to_ns = 1776222852254000000;
	f.seen.observed_ns = 5000000000;
	char *svg = draw(&f, &plain);
	static const char *const notes[] = {
		"1 sample lost",
		"1\u202f234 samples damaged",
		"2 stacks damaged",
		"3 idle samples hidden",
		"5 windows unreadable",
		"4 samples of other events not shown",
		"1.90 s not observed",
		"2026-04-15 03:14:07.254 – 03:14:12.254 UTC, 5.00 s",
		"testhost",
		"fake.pcw",
	};
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		if (!strstr(svg, notes[i]))
			fail_msg("not said: %s", notes[i]);
	}
	free(svg);
	cam_flame_free(&f);
}

static void test_nothing_to_show(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(fake_window_new());
	char *svg = draw(&f, &plain);
	assert_non_null(strstr(svg, "No sample matches the selection."));
	assert_int_equal(count(svg, "<script"), 0);
	check_well_formed(svg);
	free(svg);
	f.seen.idle = 7;
	svg = draw(&f, &plain);
	assert_non_null(strstr(svg, "all 7 samples are idle"));
	free(svg);
	f.seen.idle = 0;
	f.seen.lost = 7;
	svg = draw(&f, &plain);
	assert_non_null(strstr(svg, "this is not idle time"));
	free(svg);
	cam_flame_free(&f);
}

static int full(struct cam_out *out, const void *bytes, size_t n)
{
	(void)out;
	(void)bytes;
	(void)n;
	return -ENOSPC;
}

static void test_full_disk(void **state)
{
	(void)state;
	struct cam_flame f = flame_of(folded_window("x;a 1\n", 1));
	struct cam_out out;
	cam_out_init(&out, full, NULL);
	/* What fits into a piece of output is not written before its end. */
	int err = cam_svg_flame_write(&f, &plain, &out);
	assert_true(err == 0 || err == -ENOSPC);
	assert_int_equal(cam_out_finish(&out), -ENOSPC);
	cam_flame_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_profiles),
		cmocka_unit_test(test_names_are_only_text),
		cmocka_unit_test(test_script_is_the_documented_one),
		cmocka_unit_test(test_same_samples_same_bytes),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_differential_colours),
		cmocka_unit_test(test_narrow_frames_are_left_out),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_nothing_to_show),
		cmocka_unit_test(test_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
