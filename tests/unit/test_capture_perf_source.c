// SPDX-License-Identifier: Apache-2.0
/* The plain source on a kernel of our own: CPUs, limits and rates that a test may not touch. */
#include "capture/perf_source.h"
#include "capture/witness.h"
#include "support_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull

struct fixture {
	struct fake_kernel kernel;
	char root[64];
	char proc[80], sys[80];
	struct cam_perf_host host;
	struct cam_capture_options options;
	struct cam_capture *capture;
};

static void put(const struct fixture *f, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", f->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void set_online(struct fixture *f, const char *list)
{
	struct cam_cpus online, before = f->kernel.online;
	assert_int_equal(cam_cpus_parse(cam_text_of(list), &online), 0);
	for (uint32_t cpu = 0; cpu < 64; cpu++)
		if (cam_cpus_has(&before, cpu) && !cam_cpus_has(&online, cpu))
			fake_kernel_offline(&f->kernel, cpu);
	f->kernel.online = online;
	put(f, "sys/devices/system/cpu/online", list);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->root, "/tmp/perfcam-test-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->proc, sizeof(f->proc), "%s/proc", f->root);
	snprintf(f->sys, sizeof(f->sys), "%s/sys", f->root);
	fake_kernel_init(&f->kernel, "0-3");
	put(f, "proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	put(f, "proc/sys/kernel/perf_event_max_stack", "127\n");
	put(f, "sys/devices/system/cpu/present", "0-3\n");
	set_online(f, "0-3\n");
	f->host = (struct cam_perf_host){&f->kernel.kernel, f->proc, f->sys};
	f->options = (struct cam_capture_options){.hz = 97};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {
		"proc/sys/kernel/perf_event_max_sample_rate",
		"proc/sys/kernel/perf_event_max_stack",
		"proc/sys/kernel",
		"proc/sys",
		"proc",
		"sys/devices/system/cpu/present",
		"sys/devices/system/cpu/online",
		"sys/devices/system/cpu",
		"sys/devices/system",
		"sys/devices",
		"sys",
		"",
	};
	char path[256];
	if (f->capture)
		f->capture->ops->close(f->capture);
	fake_kernel_check(&f->kernel);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->root, names[i]);
		assert_int_equal(remove(path), 0);
	}
	free(f);
	return 0;
}

static int start(struct fixture *f)
{
	return cam_perf_source_open(&f->options, &f->host, &f->capture);
}

/* A round; how many records of this type and CPU came. */
static size_t round_of(struct fixture *f, enum cam_raw_type type, uint32_t cpu,
		       struct cam_raw *last)
{
	struct cam_stream **streams;
	size_t n, found = 0;
	uint64_t time_ns;
	struct cam_capture *c = f->capture;
	assert_int_equal(c->ops->begin_round(c, f->kernel.now_ns, &streams, &n), 0);
	for (size_t i = 0; i < n; i++)
		while (streams[i]->peek(streams[i], &time_ns)) {
			struct cam_raw r;
			streams[i]->take(streams[i], &r);
			if (r.type != type || r.cpu != cpu)
				continue;
			found++;
			if (last)
				*last = r;
		}
	c->ops->end_round(c);
	return found;
}

static void opens_all(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f), 0);
	const struct cam_capture_info *info = &f->capture->info;
	assert_string_equal(info->source, "perf");
	assert_string_equal(info->event, "cpu-clock");
	assert_int_equal(info->hz, 97);
	assert_int_equal(info->cpus, 4);
	assert_int_equal(info->sample_ring_bytes, 512u << 10);
	assert_int_equal(info->side_ring_bytes, 512u << 10);
	assert_int_equal(info->ring_bytes, f->kernel.locked_bytes);
	assert_true(info->kernel_stacks);
	assert_false(info->rings_shrunk);
	const struct perf_event_attr *a = &fake_kernel_event(&f->kernel, 2, false)->attr;
	assert_int_equal(a->sample_period, 1000000000 / 97);
	assert_false(a->freq);
	assert_int_equal(a->sample_max_stack, 127);
	assert_int_equal(a->wakeup_watermark, 256u << 10);
	assert_false(a->exclude_kernel);
	/* The side band is opened first: no sample's process is unseen. */
	assert_ptr_equal(fake_kernel_event(&f->kernel, 0, true), &f->kernel.events[0]);
	assert_int_equal(f->capture->ops->filter_pids(f->capture, (int32_t[]){1}, 1), -EOPNOTSUPP);
	assert_int_equal(f->capture->ops->filter_pids(f->capture, NULL, 0), 0);
}

/* Cycles have a control beside them: it counts in records of 8 bytes that nobody reads. */
static void the_witness_is_heard(struct fixture *f)
{
	struct fake_event *witness = NULL;
	for (size_t i = 0; i < FAKE_EVENTS; i++) {
		struct fake_event *e = &f->kernel.events[i];
		if (e->open && e->cpu == 2 && e->attr.config == PERF_COUNT_SW_CPU_CLOCK &&
		    e->attr.type == PERF_TYPE_SOFTWARE)
			witness = e;
	}
	assert_non_null(witness);
	assert_true(witness->enabled);
	assert_int_equal(witness->attr.sample_freq, CAM_WITNESS_HZ);
	assert_int_equal(witness->attr.sample_type, 0);
	((struct perf_event_mmap_page *)witness->base)->data_head = 13 * 8;
	struct cam_raw_counts counts = {0};
	struct cam_stream **streams;
	size_t n;
	f->capture->ops->count(f->capture);
	assert_int_equal(f->capture->ops->begin_round(f->capture, f->kernel.now_ns, &streams, &n),
			 0);
	for (size_t i = 0; i < n; i++) {
		struct cam_raw r;
		for (uint64_t t; streams[i]->peek(streams[i], &t);) {
			streams[i]->take(streams[i], &r);
			if (r.type == CAM_RAW_COUNTS && r.cpu == 2)
				counts = r.counts;
		}
	}
	f->capture->ops->end_round(f->capture);
	assert_int_equal(counts.control, 13);
	assert_int_equal(counts.control_hz, CAM_WITNESS_HZ);
}

static void chooses_event(void **state)
{
	struct fixture *f = *state;
	f->options.event = CAM_EVENT_CYCLES;
	assert_int_equal(start(f), -EOPNOTSUPP);
	f->kernel.cycles = true;
	f->options.event = CAM_EVENT_AUTO;
	assert_int_equal(start(f), 0);
	assert_string_equal(f->capture->info.event, "cycles");
	const struct perf_event_attr *a = &fake_kernel_event(&f->kernel, 2, false)->attr;
	assert_true(a->freq);
	assert_int_equal(a->sample_freq, 97);
	/* A frequency stays one when it is changed. */
	assert_int_equal(f->capture->ops->set_rate(f->capture, 49), 0);
	assert_int_equal(fake_kernel_event(&f->kernel, 2, false)->period, 49);
	the_witness_is_heard(f);
	f->capture->ops->close(f->capture);
	f->capture = NULL;
	/* A virtual PMU may accept the event and never count. */
	f->kernel.cycles_stand_still = true;
	assert_int_equal(start(f), 0);
	assert_string_equal(f->capture->info.event, "cpu-clock");
}

static void follows_the_kernels_rate(void **state)
{
	struct fixture *f = *state;
	struct cam_raw r;
	put(f, "proc/sys/kernel/perf_event_max_sample_rate", "50\n");
	assert_int_equal(start(f), 0);
	struct cam_capture *c = f->capture;
	assert_int_equal(c->info.hz, 50);
	assert_int_equal(fake_kernel_event(&f->kernel, 0, false)->attr.sample_period, 20000000);
	fake_kernel_pass(&f->kernel, SECOND);
	assert_int_equal(round_of(f, CAM_RAW_COUNTS, 0, &r), 1);
	assert_int_equal(r.counts.hz, 50);
	/* The kernel takes it further down while we run, and an admin up again. */
	put(f, "proc/sys/kernel/perf_event_max_sample_rate", "25\n");
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->info.hz, 25);
	assert_int_equal(fake_kernel_event(&f->kernel, 0, false)->period, 40000000);
	put(f, "proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->info.hz, 97);
	assert_int_equal(c->ops->set_rate(c, 11), 0);
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->info.hz, 11);
	assert_int_equal(c->ops->set_rate(c, 0), -EINVAL);
	fake_kernel_pass(&f->kernel, SECOND);
	assert_int_equal(round_of(f, CAM_RAW_COUNTS, 3, &r), 1);
	assert_int_equal(r.counts.hz, 11);
}

static void follows_cpus(void **state)
{
	struct fixture *f = *state;
	struct cam_raw r;
	assert_int_equal(start(f), 0);
	struct cam_capture *c = f->capture;
	uint32_t generation = c->generation;
	assert_int_equal(round_of(f, CAM_RAW_CPU, 3, &r), 1);
	assert_true(r.cpu_state.online);
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->generation, generation);
	assert_false(c->ops->cpus_changed(c));

	set_online(f, "0-2\n");
	assert_true(c->ops->cpus_changed(c));
	assert_int_equal(c->ops->rescan(c), 0);
	assert_false(c->ops->cpus_changed(c));
	assert_int_equal(c->info.cpus, 3);
	assert_int_equal(round_of(f, CAM_RAW_CPU, 3, &r), 1);
	assert_false(r.cpu_state.online);
	assert_int_equal(c->ops->rescan(c), 0);
	assert_int_equal(c->info.ring_bytes, 3 * 2 * (4096 + (512u << 10)));

	set_online(f, "0-3\n");
	assert_true(c->ops->cpus_changed(c));
	assert_int_equal(c->ops->rescan(c), 0);
	assert_true(c->generation > generation);
	assert_int_equal(c->info.cpus, 4);
	fake_event_sample(fake_kernel_event(&f->kernel, 3, false), f->kernel.now_ns);
	fake_event_fork(fake_kernel_event(&f->kernel, 3, true), f->kernel.now_ns, 77);
	assert_int_equal(round_of(f, CAM_RAW_SAMPLE, 3, NULL), 1);

	/* The file cannot be read: what is open stays. */
	put(f, "sys/devices/system/cpu/online", "nonsense");
	assert_false(c->ops->cpus_changed(c));
	assert_int_equal(c->ops->rescan(c), -EINVAL);
	assert_int_equal(c->info.cpus, 4);
}

/* Off and on between two rescans: samples and side band are both opened anew. */
static void follows_a_blink(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f), 0);
	struct cam_capture *c = f->capture;
	for (int i = 0; i < 12; i++) {
		fake_kernel_pass(&f->kernel, SECOND / 10);
		round_of(f, CAM_RAW_CPU, 1, NULL);
	}
	set_online(f, "0,2-3\n");
	set_online(f, "0-3\n");
	for (int i = 0; i < 20; i++) {
		fake_kernel_pass(&f->kernel, SECOND / 10);
		round_of(f, CAM_RAW_CPU, 1, NULL);
	}
	assert_true(fake_kernel_event(&f->kernel, 1, true)->dead);
	assert_int_equal(c->ops->rescan(c), 0);
	assert_false(fake_kernel_event(&f->kernel, 1, true)->dead);
	assert_false(fake_kernel_event(&f->kernel, 1, false)->dead);
	assert_int_equal(round_of(f, CAM_RAW_CPU, 1, NULL), 2);
	assert_int_equal(c->info.cpus, 4);
}

/* The same of a busy CPU: it is not asked once a second, but as soon as it falls silent. */
static void a_busy_cpu_that_blinked_is_missed_at_once(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f), 0);
	struct cam_capture *c = f->capture;
	for (int i = 0; i < 3; i++) {
		fake_kernel_pass(&f->kernel, SECOND / 10);
		for (uint32_t cpu = 0; cpu < 4; cpu += 2)
			fake_event_sample(fake_kernel_event(&f->kernel, cpu, false),
					  f->kernel.now_ns);
		round_of(f, CAM_RAW_CPU, 1, NULL);
		assert_false(c->ops->cpus_changed(c));
	}
	set_online(f, "0-1,3\n");
	set_online(f, "0-3\n");
	fake_kernel_pass(&f->kernel, SECOND / 10);
	round_of(f, CAM_RAW_CPU, 1, NULL);
	/* CPU 0 fell silent too, and was found to be alive. */
	assert_true(c->ops->cpus_changed(c));
	assert_int_equal(c->ops->rescan(c), 0);
	assert_false(c->ops->cpus_changed(c));
	assert_false(fake_kernel_event(&f->kernel, 2, false)->dead);
	assert_false(fake_kernel_event(&f->kernel, 2, true)->dead);
	assert_int_equal(round_of(f, CAM_RAW_CPU, 0, NULL), 0);
}

/* Samples of some CPUs; but a process forks and maps wherever it runs. */
static void some_cpus(void **state)
{
	struct fixture *f = *state;
	f->options.cpus = (uint32_t[]){1, 3, 9};
	f->options.n_cpus = 3;
	assert_int_equal(start(f), 0);
	assert_int_equal(f->capture->info.cpus, 2);
	for (uint32_t cpu = 0; cpu < 4; cpu++) {
		assert_non_null(fake_kernel_event(&f->kernel, cpu, true));
		assert_int_equal(fake_kernel_event(&f->kernel, cpu, false) != NULL, cpu % 2);
	}
	f->capture->ops->close(f->capture);
	f->capture = NULL;
	f->options.cpus = (uint32_t[]){9};
	f->options.n_cpus = 1;
	assert_int_equal(start(f), -ENODEV);
}

/* More CPUs than are online may come: rings are sized for those present. */
static void sizes_for_present(void **state)
{
	struct fixture *f = *state;
	put(f, "sys/devices/system/cpu/present", "0-95\n");
	assert_int_equal(start(f), 0);
	assert_int_equal(f->capture->info.sample_ring_bytes, 64u << 10);
	assert_int_equal(f->capture->info.side_ring_bytes, 128u << 10);
}

static void locked_memory(void **state)
{
	struct fixture *f = *state;
	/* What the kernel lets a user without privileges lock here. */
	f->kernel.max_locked_bytes = 4 * 516u << 10;
	assert_int_equal(start(f), 0);
	const struct cam_capture_info *info = &f->capture->info;
	assert_true(info->rings_shrunk);
	assert_true(info->ring_bytes <= f->kernel.max_locked_bytes);
	assert_int_equal(info->sample_ring_bytes, 128u << 10);
	assert_int_equal(info->side_ring_bytes, 256u << 10);
	assert_int_equal(fake_kernel_event(&f->kernel, 0, true)->attr.wakeup_watermark, 64u << 10);
	f->capture->ops->close(f->capture);
	f->capture = NULL;
	f->kernel.max_locked_bytes = 4 * 4 * 4096 - 1;
	assert_int_equal(start(f), -EPERM);
}

static void budget(void **state)
{
	struct fixture *f = *state;
	f->options.max_ring_bytes = 1u << 20;
	assert_int_equal(start(f), 0);
	assert_true(f->kernel.locked_bytes <= 1u << 20);
	assert_true(f->kernel.locked_bytes > 1u << 19);
	assert_false(f->capture->info.rings_shrunk);
	f->capture->ops->close(f->capture);
	f->capture = NULL;
	f->options.ring_bytes = 4096;
	assert_int_equal(start(f), 0);
	assert_int_equal(f->capture->info.sample_ring_bytes, 4096);
	assert_true(f->kernel.locked_bytes <= 1u << 20);
	f->capture->ops->close(f->capture);
	f->capture = NULL;
	f->options.max_ring_bytes = 4 * 16384 - 1;
	assert_int_equal(start(f), -ENOMEM);
}

static void privileges(void **state)
{
	struct fixture *f = *state;
	f->kernel.no_kernel = true;
	assert_int_equal(start(f), -EACCES);
	f->options.user_only = true;
	assert_int_equal(start(f), 0);
	assert_false(f->capture->info.kernel_stacks);
	assert_true(fake_kernel_event(&f->kernel, 0, false)->attr.exclude_kernel);
	f->capture->ops->close(f->capture);
	f->capture = NULL;
	/* Allowed, but not wanted: time in the kernel is sampled, its stacks are not. */
	f->kernel.no_kernel = false;
	assert_int_equal(start(f), 0);
	const struct perf_event_attr *a = &fake_kernel_event(&f->kernel, 0, false)->attr;
	assert_false(a->exclude_kernel);
	assert_true(a->exclude_callchain_kernel);
	assert_false(a->exclude_idle);
}

/* There the idle task's pid is that of others, too. */
static void the_idle_task_may_be_left_out(void **state)
{
	struct fixture *f = *state;
	f->options.no_idle = true;
	assert_int_equal(start(f), 0);
	assert_true(fake_kernel_event(&f->kernel, 0, false)->attr.exclude_idle);
}

static void nonsense(void **state)
{
	struct fixture *f = *state;
	f->options.hz = 0;
	assert_int_equal(start(f), -EINVAL);
	f->options.hz = 97;
	f->options.tids = (int32_t[]){55};
	f->options.n_tids = 1;
	f->kernel.dead_tid = 55;
	assert_int_equal(start(f), -ESRCH);
	f->options.tids = NULL;
	f->options.ring_bytes = 5000;
	assert_int_equal(start(f), -EINVAL);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(opens_all),
		T(chooses_event),
		T(follows_the_kernels_rate),
		T(follows_cpus),
		T(follows_a_blink),
		T(a_busy_cpu_that_blinked_is_missed_at_once),
		T(some_cpus),
		T(sizes_for_present),
		T(locked_memory),
		T(budget),
		T(privileges),
		T(nonsense),
		T(the_idle_task_may_be_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
