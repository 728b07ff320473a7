// SPDX-License-Identifier: Apache-2.0
#include "query/flame.h"
#include "query/reshape.h"
#include "support_folded.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char folded[] = "web;main;serve;read_[k];copy_[i] 30\n"
			     "web;main;serve;parse;parse;parse 20\n"
			     "web;main 5\n"
			     "db;main;query;scan_[j];inner_[i] 25\n";

static struct cam_flame flame_of(struct fake_window *w, struct cam_flame_options o)
{
	struct cam_source *source = fake_source_new(&w, 1);
	struct cam_selection s;
	struct cam_flame f;
	o.weight = CAM_WEIGHT_PERIOD;
	cam_selection_init(&s);
	assert_int_equal(cam_flame_build(source, &s, &o, &f), 0);
	source->ops->close(source);
	return f;
}

/* "name self/total" by depth; checks on the way that the tree is one. */
static char *dump(const struct cam_flame *f)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	for (size_t i = 0; i < f->n_nodes; i++) {
		const struct cam_flame_node *node = &f->nodes[i];
		struct cam_text name = cam_flame_name(f, i);
		uint64_t below = 0;
		for (uint32_t c = (uint32_t)i + 1; c < node->end; c = f->nodes[c].end) {
			assert_int_equal(f->nodes[c].parent, i);
			assert_int_equal(f->nodes[c].depth, node->depth + 1);
			below += f->nodes[c].total;
		}
		assert_int_equal(node->total, node->self + below);
		fprintf(out, "%*s%.*s %llu/%llu\n", (int)node->depth, "", (int)name.n, name.p,
			(unsigned long long)node->self, (unsigned long long)node->total);
	}
	fclose(out);
	return text;
}

static void check(struct cam_reshape *r, const char *hide, const char *focus, const char *want)
{
	char why[100];
	struct cam_flame f = flame_of(folded_window(folded, 1), (struct cam_flame_options){0});
	if (hide)
		assert_int_equal(cam_reshape_add(r, CAM_RESHAPE_HIDE, cam_text_of(hide), why,
						 sizeof(why)),
				 0);
	if (focus)
		assert_int_equal(cam_reshape_add(r, CAM_RESHAPE_FOCUS, cam_text_of(focus), why,
						 sizeof(why)),
				 0);
	assert_true(cam_reshape_is_any(r));
	assert_int_equal(cam_reshape_apply(r, &f, NULL), 0);
	char *got = dump(&f);
	assert_string_equal(got, want);
	free(got);
	cam_flame_free(&f);
	cam_reshape_free(r);
}

static void test_each(void **state)
{
	(void)state;
	check(&(struct cam_reshape){0}, "^main$|^web$", NULL,
	      "all 5/80\n db 0/25\n  query 0/25\n   scan 0/25\n    inner 25/25\n serve 0/50\n"
	      "  parse 0/20\n   parse 0/20\n    parse 20/20\n  read 0/30\n   copy 30/30\n");
	check(&(struct cam_reshape){0}, NULL, "^serve$|inner",
	      "all 0/75\n inner 25/25\n serve 0/50\n  parse 0/20\n   parse 0/20\n    parse 20/20\n"
	      "  read 0/30\n   copy 30/30\n");
	check(&(struct cam_reshape){.recursion = true}, NULL, "^serve$",
	      "all 0/50\n serve 0/50\n  parse 20/20\n  read 0/30\n   copy 30/30\n");
	check(&(struct cam_reshape){.frames = CAM_FRAMES_KERNEL}, NULL, NULL,
	      "all 0/80\n db 25/25\n web 25/55\n  read 0/30\n   copy 30/30\n");
	check(&(struct cam_reshape){.frames = CAM_FRAMES_USER}, "parse", NULL,
	      "all 0/80\n db 0/25\n  main 0/25\n   query 0/25\n    scan 0/25\n     inner 25/25\n"
	      " web 0/55\n  main 5/55\n   serve 50/50\n");
	check(&(struct cam_reshape){.reverse = true}, "parse|serve|read|query|scan", NULL,
	      "all 0/80\n copy 0/30\n  main 0/30\n   web 30/30\n inner 0/25\n  main 0/25\n"
	      "   db 25/25\n main 0/25\n  web 25/25\n");
	check(&(struct cam_reshape){.group = CAM_GROUP_MODULE}, NULL, "^serve",
	      "all 0/50\n [unknown] 20/50\n  [kernel] 0/30\n   [unknown] 30/30\n");
}

static void test_twice_reversed_is_as_before(void **state)
{
	(void)state;
	char *text = read_data("oracle/gcc-compile.folded.gz");
	struct cam_flame f = flame_of(folded_window(text, 1), (struct cam_flame_options){0});
	char *before = dump(&f);
	struct cam_reshape r = {.reverse = true};
	uint64_t total = f.nodes[0].total;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cam_reshape_apply(&r, &f, NULL), 0);
		assert_int_equal(f.nodes[0].total, total);
	}
	char *after = dump(&f);
	assert_string_equal(before, after);
	free(before);
	free(after);
	free(text);
	cam_flame_free(&f);
}

static void test_too_much(void **state)
{
	(void)state;
	char why[100];
	struct cam_flame f = flame_of(folded_window(folded, 1), (struct cam_flame_options){0});
	char *before = dump(&f);
	struct cam_reshape r = {.recursion = true, .max_bytes = 64};
	assert_int_equal(cam_reshape_apply(&r, &f, NULL), -E2BIG);
	char *after = dump(&f);
	assert_string_equal(before, after);
	free(before);
	free(after);
	cam_flame_free(&f);
	assert_int_equal(cam_reshape_add(&r, CAM_RESHAPE_HIDE, CAM_TEXT(""), why, sizeof(why)),
			 -EINVAL);
	assert_non_null(strstr(why, "empty"));
	assert_int_equal(cam_reshape_add(&r, CAM_RESHAPE_FOCUS, CAM_TEXT("("), why, sizeof(why)),
			 -EINVAL);
	assert_true(strlen(why) > 3);
	for (unsigned i = 0; i < CAM_SELECT_MAX_EXPRESSIONS; i++)
		assert_int_equal(
			cam_reshape_add(&r, CAM_RESHAPE_HIDE, CAM_TEXT("x"), why, sizeof(why)), 0);
	assert_int_equal(cam_reshape_add(&r, CAM_RESHAPE_HIDE, CAM_TEXT("x"), why, sizeof(why)),
			 -E2BIG);
	cam_reshape_free(&r);
}

/* One sample a second: a a b a, on two CPUs in turn. */
static struct fake_window *four(void)
{
	struct fake_window *w = fake_window_new();
	static const char *const stacks[] = {"main;a;x", "main;a;y", "main;b", "main;a;x"};
	for (unsigned i = 0; i < 4; i++)
		fake_sample(w, i * 1000000000ull, i % 2, fake_task(w, 7, 7 + (int)i % 2, "t"),
			    fake_place(w, stacks[i]));
	return w;
}

static void check_chart(struct cam_chart c, enum cam_flame_by by, struct cam_reshape *r,
			const char *want)
{
	struct cam_flame f = flame_of(four(), (struct cam_flame_options){.by = by, .chart = &c});
	if (r)
		assert_int_equal(cam_reshape_apply(r, &f, &c), 0);
	assert_int_equal(cam_chart_draw(&c, &f), 0);
	char *got = dump(&f);
	assert_string_equal(got, want);
	for (size_t i = 1; i < f.n_nodes; i++) {
		const struct cam_flame_node *n = &f.nodes[i], *up = &f.nodes[n->parent];
		assert_true(f.starts[i] >= f.starts[n->parent]);
		assert_true(f.starts[i] + n->total <= f.starts[n->parent] + up->total);
	}
	free(got);
	cam_chart_free(&c);
	cam_flame_free(&f);
}

static void test_chart(void **state)
{
	(void)state;
	check_chart(
		(struct cam_chart){0}, CAM_BY_COMM, NULL,
		"all 0/4\n t 0/4\n  main 0/4\n   a 0/2\n    x 1/1\n    y 1/1\n   b 1/1\n   a 0/1\n"
		"    x 1/1\n");
	check_chart((struct cam_chart){.by_group = true}, CAM_BY_THREAD, NULL,
		    "all 0/4\n t (7) 0/2\n  main 0/2\n   a 0/1\n    x 1/1\n   b 1/1\n t (8) 0/2\n"
		    "  main 0/2\n   a 0/2\n    y 1/1\n    x 1/1\n");
	check_chart(
		(struct cam_chart){0}, CAM_BY_COMM, &(struct cam_reshape){.reverse = true},
		"all 0/4\n x 0/1\n  a 0/1\n   main 0/1\n    t 1/1\n y 0/1\n  a 0/1\n   main 0/1\n"
		"    t 1/1\n b 0/1\n  main 0/1\n   t 1/1\n x 0/1\n  a 0/1\n   main 0/1\n    t 1/1\n");
	/* What is short is put together, and keeps its place. */
	check_chart((struct cam_chart){.min_share = 0.4}, CAM_BY_COMM, NULL,
		    "all 0/4\n t 0/4\n  main 0/4\n   a 0/2\n    [small] 2/2\n   [small] 2/2\n");
}

static void test_by(void **state)
{
	(void)state;
	static const struct {
		enum cam_flame_by by;
		const char *want;
	} facts[] = {
		{CAM_BY_CPU, "CPU 00"},	      {CAM_BY_PROCESS, "t (7)"}, {CAM_BY_THREAD, "t (7)"},
		{CAM_BY_CGROUP, "[unknown]"}, {CAM_BY_EXE, "t"},	 {CAM_BY_COMM, "t"},
	};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct cam_flame f =
			flame_of(four(), (struct cam_flame_options){.by = facts[i].by});
		struct cam_text name = cam_flame_name(&f, 1);
		bool half = facts[i].by == CAM_BY_CPU || facts[i].by == CAM_BY_THREAD;
		assert_int_equal(name.n, strlen(facts[i].want));
		assert_memory_equal(name.p, facts[i].want, name.n);
		assert_int_equal(f.nodes[1].total, half ? 2 : 4);
		cam_flame_free(&f);
	}
}

/* Two threads of one process, one of another; in a container, and not. */
static void test_by_what_a_task_is(void **state)
{
	(void)state;
	static const char pod[] =
		"/kubepods.slice/kubepods-burstable.slice/"
		"kubepods-burstable-pod1f2e3d4c_0000_1111_2222_333344445555.slice/"
		"cri-containerd-"
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";
	static const struct {
		enum cam_flame_by by;
		const char *want;
	} facts[] = {
		{CAM_BY_PROCESS, "postgres (50) 1\nserver (40) 2\n"},
		{CAM_BY_THREAD, "main (40) 1\npostgres (50) 1\nworker (41) 1\n"},
		{CAM_BY_EXE, "/usr/sbin/server 2\npostgres 1\n"},
		{CAM_BY_USER, "[unknown] 1\nuid 33 2\n"},
		{CAM_BY_CGROUP, "%s 2\n[unknown] 1\n"},
		{CAM_BY_CONTAINER, "[host] 1\ncri-containerd 0123456789ab 2\n"},
		{CAM_BY_POD, "1f2e3d4c-0000-1111-2222-333344445555 2\n[no pod] 1\n"},
	};
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct fake_window *w = fake_window_new();
		struct cam_task tasks[] = {
			{.pid = 40, .tid = 41, .uid = 33, .comm = fake_str(w, "worker")},
			{.pid = 40, .tid = 40, .uid = 33, .comm = fake_str(w, "main")},
			{.pid = 50,
			 .tid = 50,
			 .uid = CAM_UID_NONE,
			 .comm = fake_str(w, "postgres")},
		};
		for (unsigned k = 0; k < 3; k++) {
			struct cam_task_id id;
			if (k < 2) {
				tasks[k].cgroup = fake_str(w, pod);
				tasks[k].exe = fake_str(w, "/usr/sbin/server");
			}
			assert_int_equal(cam_task_intern(&w->t, &tasks[k], &id), 0);
			fake_sample(w, k, 0, id, fake_place(w, "run"));
		}
		struct cam_flame f = flame_of(w, (struct cam_flame_options){.by = facts[i].by});
		char got[512] = "", want[512];
		for (uint32_t c = 1; c < f.n_nodes; c = f.nodes[c].end) {
			struct cam_text name = cam_flame_name(&f, c);
			size_t n = strlen(got);
			snprintf(got + n, sizeof(got) - n, "%.*s %llu\n", (int)name.n, name.p,
				 (unsigned long long)f.nodes[c].total);
		}
		if (facts[i].want[0] == '%')
			snprintf(want, sizeof(want), "%s%s", pod, facts[i].want + 2);
		else
			snprintf(want, sizeof(want), "%s", facts[i].want);
		assert_string_equal(got, want);
		cam_flame_free(&f);
	}
}

/* Two builds of one file are one module by its path, and two by build-id. */
static void test_builds(void **state)
{
	(void)state;
	for (int builds = 0; builds < 2; builds++) {
		struct fake_window *w = fake_window_new();
		struct cam_task_id task = fake_task(w, 1, 1, "t");
		for (int i = 0; i < 2; i++) {
			struct cam_module m = {.path = fake_str(w, "/usr/lib/libx.so"),
					       .build_id = fake_str(w, i ? "\x01\xabZZZZZZZZ"
									 : "\xff\x02"),
					       .kind = CAM_MODULE_FILE};
			struct cam_function fn = {.name = fake_str(w, i ? "one" : "two")};
			struct cam_location l = {.func_offset = CAM_OFFSET_NONE};
			struct cam_loc_id loc;
			struct cam_place_id place;
			assert_int_equal(cam_module_intern(&w->t, &m, &fn.module), 0);
			assert_int_equal(cam_function_intern(&w->t, &fn, &l.func), 0);
			assert_int_equal(cam_location_intern(&w->t, &l, &loc), 0);
			assert_int_equal(cam_place_intern(&w->t, &loc, 1, &place), 0);
			fake_sample(w, (uint64_t)i, 0, task, place);
		}
		struct cam_flame f = flame_of(w, (struct cam_flame_options){.builds = builds});
		struct cam_reshape r = {.group = CAM_GROUP_MODULE};
		assert_int_equal(cam_reshape_apply(&r, &f, NULL), 0);
		char *got = dump(&f);
		assert_string_equal(got,
				    builds ? "all 0/2\n t 0/2\n  libx.so 01ab5a5a5a5a5a5a 1/1\n"
					     "  libx.so ff02 1/1\n"
					   : "all 0/2\n t 0/2\n  libx.so 2/2\n");
		free(got);
		cam_flame_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),	 cmocka_unit_test(test_twice_reversed_is_as_before),
		cmocka_unit_test(test_too_much), cmocka_unit_test(test_chart),
		cmocka_unit_test(test_by),	 cmocka_unit_test(test_by_what_a_task_is),
		cmocka_unit_test(test_builds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
