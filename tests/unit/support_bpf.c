// SPDX-License-Identifier: Apache-2.0
#include "support_bpf.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Sections of their own, so that the linker says where each begins and ends. */
#define SPIN(name)                                                                  \
	__attribute__((noinline, section("text_" #name))) void name(unsigned units) \
	{                                                                           \
		for (volatile unsigned i = 0; i < units * 4000u; i++)               \
			;                                                           \
	}                                                                           \
	extern const char __start_text_##name[], __stop_text_##name[];

SPIN(spin_a)
SPIN(spin_b)

const struct bpf_text spin_a_text = {(uintptr_t)__start_text_spin_a, (uintptr_t)__stop_text_spin_a};
const struct bpf_text spin_b_text = {(uintptr_t)__start_text_spin_b, (uintptr_t)__stop_text_spin_b};

pid_t child_on(uint32_t cpu, void (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		fn(arg);
	_exit(0);
}

static void spin_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		spin_a(10);
}

pid_t spinner_on(uint32_t cpu)
{
	return child_on(cpu, spin_for_ever, NULL);
}

void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

uint64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void keep(struct log *l, const struct cam_raw *r)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 1024;
		l->at = realloc(l->at, l->cap * sizeof(*l->at));
		assert_non_null(l->at);
	}
	struct seen *s = &l->at[l->n++];
	memset(s, 0, sizeof(*s));
	s->raw = *r;
	if (r->type != CAM_RAW_SAMPLE)
		return;
	const uint64_t *from = r->sample.n_user ? r->sample.user : r->sample.kernel;
	uint32_t n = r->sample.n_user ? r->sample.n_user : r->sample.n_kernel;
	memcpy(s->frames, from, (n < SEEN_FRAMES ? n : SEEN_FRAMES) * sizeof(*from));
	s->raw.sample.kernel = s->raw.sample.user = NULL;
}

void drain(struct cam_capture *c, struct log *l)
{
	struct cam_stream **streams;
	size_t n;
	uint64_t t;
	struct cam_raw r;

	assert_int_equal(c->ops->begin_round(c, clock_ns(), &streams, &n), 0);
	for (size_t i = 0; i < n; i++)
		while (streams[i]->peek(streams[i], &t)) {
			streams[i]->take(streams[i], &r);
			/* A loss of the side band is announced by where it began (synth.c). */
			assert_int_equal(r.type == CAM_RAW_LOST && r.lost.side_band ? r.lost.from_ns
										    : r.time_ns,
					 t);
			keep(l, &r);
		}
	c->ops->end_round(c);
}

void drain_for(struct cam_capture *c, struct log *l, uint64_t ns)
{
	for (uint64_t end = clock_ns() + ns; clock_ns() < end;) {
		usleep(50000);
		drain(c, l);
	}
}

void log_clear(struct log *l)
{
	l->n = 0;
}

void log_free(struct log *l)
{
	free(l->at);
	*l = (struct log){0};
}

struct cam_capture *open_bpf(const struct cam_capture_options *o, const struct cam_perf_host *host)
{
	const struct cam_perf_host real = {cam_kernel_host(), "/proc", "/sys"};
	struct cam_bpf_refusal why;
	struct cam_capture *c = NULL;
	char text[128];
	int err = cam_bpf_source_open(o, host ? host : &real, &c, &why);
	if (err)
		fail_msg("%d: %s", err, cam_bpf_refusal_text(&why, text, sizeof(text)));
	return c;
}

static void write_list(const char *sys, const char *name, const char *list)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/devices/system/cpu/%s", sys, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", list);
	fclose(f);
}

static const char *const parts[] = {"/devices", "/devices/system", "/devices/system/cpu"};

void fake_host_make(struct fake_host *h, const char *online)
{
	char path[160];
	strcpy(h->sys, "/tmp/perfcam-sys-XXXXXX");
	assert_non_null(mkdtemp(h->sys));
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", h->sys, parts[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	h->host = (struct cam_perf_host){cam_kernel_host(), "/proc", h->sys};
	write_list(h->sys, "possible", online);
	write_list(h->sys, "present", online);
	fake_host_online(h, online);
}

void fake_host_online(struct fake_host *h, const char *online)
{
	write_list(h->sys, "online", online);
}

void fake_host_remove(struct fake_host *h)
{
	char path[160];
	static const char *const files[] = {"possible", "present", "online"};
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/devices/system/cpu/%s", h->sys, files[i]);
		unlink(path);
	}
	for (size_t i = 3; i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", h->sys, parts[i]);
		rmdir(path);
	}
	rmdir(h->sys);
}
