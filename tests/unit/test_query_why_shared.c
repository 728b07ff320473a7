// SPDX-License-Identifier: Apache-2.0
/* What is nobody's alone: a control group of many names, a core that many are on, a path through the kernel; asked about, and among
 * the moments that nobody asked about. And what was usual in the minute before. Loads without any chance in them. */
#include "base/units.h"
#include "query/moments.h"
#include "query/why.h"
#include "support_window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NS     CAM_NS_PER_SEC
#define FIRST  1000u
#define LENGTH 420u
#define MOMENT (FIRST + 200u)
#define CPUS   16u
#define NAMES  12u

static struct cam_task_id task_in(struct fake_window *f, int32_t pid, const char *name,
				  const char *cgroup)
{
	const struct cam_task k = {
		.pid = pid, .tid = pid, .comm = fake_str(f, name), .cgroup = fake_str(f, cgroup)};
	struct cam_task_id id = {0};
	assert_int_equal(cam_task_intern(&f->t, &k, &id), 0);
	return id;
}

/* n samples within a second, on CPUs in turn from one on. */
static void second(struct fake_window *f, uint64_t at, unsigned n, uint32_t cpu,
		   struct cam_task_id task, struct cam_place_id place)
{
	for (unsigned i = 0; i < n; i++)
		fake_sample(f, at * NS + (i + 1) * NS / (n + 2), (cpu + i) % CPUS, task, place);
}

static struct cam_source *source_of(struct fake_window **f)
{
	(*f)->w.info.start_ns = FIRST * NS;
	(*f)->w.info.end_ns = (FIRST + LENGTH) * NS;
	(*f)->w.info.sealed = true;
	(*f)->w.info.cpus = CPUS;
	fake_window_ready(*f);
	return fake_source_new(f, 1);
}

typedef int build_fn(struct cam_source *source, const struct cam_selection *s,
		     const struct cam_why_options *o, struct cam_why *out);

static struct cam_why ask(struct fake_window *f, build_fn *build, uint64_t from, uint64_t to)
{
	struct cam_source *source = source_of(&f);
	const struct cam_why_options o = {.limit = 8};
	struct cam_selection s;
	struct cam_why out;
	cam_selection_init(&s);
	s.clock = CAM_SELECT_CLOCK;
	s.from_ns = (int64_t)(from * NS);
	s.to_ns = (int64_t)(to * NS);
	assert_int_equal(build(source, &s, &o, &out), 0);
	cam_selection_free(&s);
	source->ops->close(source);
	return out;
}

/* The one that is told, and that it is of the moment. */
static const struct cam_why_finding *only(const struct cam_why *w, enum cam_why_kind kind)
{
	assert_int_equal(w->n_significant, 1);
	assert_int_equal(w->findings[0].kind, kind);
	assert_in_range(w->findings[0].clock_ns, (MOMENT - 2) * NS, (MOMENT + 1) * NS);
	return &w->findings[0];
}

static void a_cgroup_of_many_names_with_little_each_is_found(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id web = task_in(f, 10, "web", "/web.service"), jobs[NAMES];
	struct cam_place_id place = fake_place(f, "serve"), places[NAMES];
	for (unsigned i = 0; i < NAMES; i++) {
		char name[16], stack[32];
		snprintf(name, sizeof(name), "job%u", i);
		snprintf(stack, sizeof(stack), "main%u;work%u", i, i);
		jobs[i] = task_in(f, 100 + (int32_t)i, name, "/batch.slice");
		places[i] = fake_place(f, stack);
	}
	for (uint64_t t = FIRST; t < FIRST + LENGTH; t++) {
		second(f, t, 40, 0, web, place);
		/* Eight more of each: less than what is told of one. */
		for (unsigned i = 0; i < NAMES; i++)
			second(f, t, t == MOMENT ? 9 : 1, i, jobs[i], places[i]);
	}
	struct cam_why w = ask(f, cam_why_build, MOMENT - 1, MOMENT + 2);
	const struct cam_why_finding *found = only(&w, CAM_WHY_MORE_CGROUP);
	assert_true(cam_text_equal(found->cgroup, CAM_TEXT("/batch.slice")));
	assert_int_equal(found->process.n, 0);
	assert_int_equal(found->processes, NAMES);
	assert_int_equal(found->samples, 9 * NAMES);
	cam_why_free(&w);
}

static void what_the_minute_before_had_is_told(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id web = task_in(f, 10, "web", ""), batch = task_in(f, 20, "batch", "");
	struct cam_place_id place = fake_place(f, "serve"), own = fake_place(f, "main;work");
	for (uint64_t t = FIRST; t < FIRST + LENGTH; t++) {
		bool before = t >= MOMENT - 80 && t < MOMENT;
		second(f, t, 40, 0, web, place);
		second(f, t, t == MOMENT ? 90 : before ? 20 : 4, 3, batch, own);
	}
	struct cam_why w = ask(f, cam_why_build, MOMENT, MOMENT + 1);
	const struct cam_why_finding *found = only(&w, CAM_WHY_MORE_PROCESS);
	assert_true(cam_text_equal(found->process, CAM_TEXT("batch")));
	assert_int_equal(found->length_ns, NS);
	assert_true(found->before > 19.5 && found->before < 20.5);
	assert_true(found->expected < 10);
	cam_why_free(&w);
}

/* Everybody does what they always do; at the moment one core has it. */
static void a_core_is_among_the_moments(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id workers[2 * NAMES];
	struct cam_place_id places[2 * NAMES];
	for (unsigned i = 0; i < 2 * NAMES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "worker%u", i);
		workers[i] = task_in(f, 100 + (int32_t)i, name, "");
		places[i] = fake_place(f, name);
	}
	for (uint64_t t = FIRST; t < FIRST + LENGTH; t++) {
		for (unsigned i = 0; i < 8 * NAMES; i++) {
			uint64_t at = t * NS + (i + 1) * NS / (8 * NAMES + 2);
			fake_sample(f, at, t == MOMENT ? 5 : i % CPUS, workers[i % (2 * NAMES)],
				    places[i % (2 * NAMES)]);
		}
	}
	struct cam_why w = ask(f, cam_moments_build, FIRST, FIRST + LENGTH);
	const struct cam_why_finding *found = only(&w, CAM_WHY_MORE_CORE);
	assert_int_equal(found->cpu, 5);
	assert_int_equal(found->process.n, 0);
	assert_int_equal(found->processes, 2 * NAMES);
	assert_int_equal(found->samples, 8 * NAMES);
	cam_why_free(&w);
}

#define ENTERED "main;entry_SYSCALL_64_after_hwframe@[kernel];do_syscall_64@[kernel]"
#define WAIT	"__x64_sys_epoll_wait@[kernel];ep_poll@[kernel]"
#define FUTEX	"__x64_sys_futex@[kernel];do_futex@[kernel]"
#define LOCK	"_raw_spin_lock@[kernel];native_queued_spin_lock_slowpath@[kernel]"
#define SEND	"do_epoll_wait@[kernel];ep_send_events@[kernel]"

/* Both its ends are as usual; one from the other is not. */
static void a_kernel_path_is_among_the_moments(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct cam_task_id tasks[4];
	struct cam_place_id locks = fake_place(f, ENTERED ";" FUTEX ";" LOCK),
			    sends = fake_place(f, ENTERED ";" WAIT ";" SEND),
			    crossed = fake_place(f, ENTERED ";" WAIT ";" LOCK);
	for (unsigned i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof(name), "service%u", i);
		tasks[i] = task_in(f, 100 + (int32_t)i, name, "");
	}
	for (uint64_t t = FIRST; t < FIRST + LENGTH; t++) {
		unsigned more = t == MOMENT ? 8 : 0;
		for (unsigned i = 0; i < 4; i++) {
			second(f, t, 16 - more, i, tasks[i], locks);
			second(f, t, 16 - more, 4 + i, tasks[i], sends);
			second(f, t, more, 8 + i, tasks[i], crossed);
		}
	}
	struct cam_why w = ask(f, cam_moments_build, FIRST, FIRST + LENGTH);
	const struct cam_why_finding *found = only(&w, CAM_WHY_MORE_PATH);
	assert_true(cam_text_equal(found->entry, CAM_TEXT("__x64_sys_epoll_wait")));
	assert_true(cam_text_equal(found->path[0], CAM_TEXT("native_queued_spin_lock_slowpath")));
	assert_int_equal(found->samples, 32);
	cam_why_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_of_many_names_with_little_each_is_found),
		cmocka_unit_test(what_the_minute_before_had_is_told),
		cmocka_unit_test(a_core_is_among_the_moments),
		cmocka_unit_test(a_kernel_path_is_among_the_moments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
