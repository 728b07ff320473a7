// SPDX-License-Identifier: Apache-2.0
#include "support_kernel.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

static struct fake_kernel *self(const struct cam_kernel *k)
{
	return (struct fake_kernel *)(uintptr_t)k;
}

static struct fake_event *find(const struct cam_kernel *k, int fd)
{
	struct fake_kernel *f = self(k);
	for (int i = 0; i < FAKE_EVENTS; i++)
		if (f->events[i].open && f->events[i].fd == fd)
			return &f->events[i];
	fail_msg("no event has descriptor %d", fd);
	return NULL;
}

static int refuse(const struct fake_kernel *f, const struct perf_event_attr *attr, int32_t tid,
		  int cpu)
{
	if (attr->type == PERF_TYPE_HARDWARE && !f->cycles)
		return -ENOENT;
	if ((f->no_lost && (attr->read_format & PERF_FORMAT_LOST)) ||
	    (f->no_ksymbol && attr->ksymbol))
		return -EINVAL;
	if (f->no_kernel && !attr->exclude_kernel)
		return -EACCES;
	if (cpu >= 0 && !cam_cpus_has(&f->online, (uint32_t)cpu))
		return -ENODEV;
	return f->dead_tid && tid == f->dead_tid ? -ESRCH : 0;
}

static int fake_open(const struct cam_kernel *k, struct perf_event_attr *attr, int32_t tid, int cpu)
{
	struct fake_kernel *f = self(k);
	int err = refuse(f, attr, tid, cpu);
	if (err)
		return err;
	assert_int_equal(attr->size, sizeof(*attr));
	for (int i = 0; i < FAKE_EVENTS; i++) {
		struct fake_event *e = &f->events[i];
		if (e->open || e->base)
			continue;
		*e = (struct fake_event){
			.open = true, .fd = eventfd(0, 0), .tid = tid, .cpu = cpu, .attr = *attr};
		assert_true(e->fd >= 0);
		f->n_open++;
		return e->fd;
	}
	return -EMFILE;
}

static int fake_control(const struct cam_kernel *k, int fd, unsigned long request, uint64_t arg)
{
	struct fake_event *e = find(k, fd);
	if (request == PERF_EVENT_IOC_ENABLE)
		e->enabled = true;
	else if (request == PERF_EVENT_IOC_DISABLE)
		e->enabled = false;
	else if (request == PERF_EVENT_IOC_PERIOD)
		e->period = arg;
	else if (request == PERF_EVENT_IOC_SET_OUTPUT)
		e->output = find(k, (int)arg);
	else if (request == PERF_EVENT_IOC_SET_BPF)
		e->program = (int)arg;
	else
		fail_msg("request %lx", request);
	return 0;
}

static int fake_count(const struct cam_kernel *k, int fd, struct cam_kernel_count *out)
{
	struct fake_event *e = find(k, fd);
	e->reads++;
	if (e->unreadable)
		return -ENODATA;
	*out = e->count;
	/* Reading takes time; one that is dead does not notice. */
	if (e->enabled && !e->dead)
		out->enabled_ns += e->moved_ns++;
	if (e->attr.type == PERF_TYPE_HARDWARE && !self(k)->cycles_stand_still)
		out->value = 12345;
	return 0;
}

static int fake_map(const struct cam_kernel *k, int fd, size_t bytes, void **out)
{
	struct fake_kernel *f = self(k);
	struct fake_event *e = find(k, fd);
	if ((bytes - 4096) & (bytes - 4096 - 1))
		return -EINVAL;
	if (f->max_locked_bytes && f->locked_bytes + bytes > f->max_locked_bytes)
		return -EPERM;
	uint8_t *base = aligned_alloc(4096, bytes);
	assert_non_null(base);
	memset(base, 0, bytes);
	e->ring = (struct perf_builder){(void *)base, base + 4096, bytes - 4096};
	e->base = base;
	e->bytes = bytes;
	f->locked_bytes += bytes;
	f->n_mapped++;
	*out = base;
	return 0;
}

static void fake_unmap(const struct cam_kernel *k, void *base, size_t bytes)
{
	struct fake_kernel *f = self(k);
	for (int i = 0; i < FAKE_EVENTS; i++)
		if (f->events[i].base == base) {
			assert_int_equal(f->events[i].bytes, bytes);
			free(base);
			f->events[i].base = NULL;
			f->locked_bytes -= bytes;
			f->n_mapped--;
			return;
		}
	fail_msg("not mapped");
}

static void fake_close(const struct cam_kernel *k, int fd)
{
	struct fake_event *e = find(k, fd);
	close(fd);
	e->open = false;
	self(k)->n_open--;
}

/* Each look takes a microsecond, so that who waits for a time does not wait for ever. */
static uint64_t fake_now(const struct cam_kernel *k)
{
	return self(k)->now_ns += 1000;
}

void fake_kernel_init(struct fake_kernel *f, const char *online)
{
	memset(f, 0, sizeof(*f));
	f->kernel = (struct cam_kernel){.open = fake_open,
					.control = fake_control,
					.count = fake_count,
					.map = fake_map,
					.map_to_read = fake_map,
					.unmap = fake_unmap,
					.close = fake_close,
					.now_ns = fake_now};
	f->now_ns = 1000000000000;
	assert_int_equal(cam_cpus_parse(cam_text_of(online), &f->online), 0);
}

void fake_kernel_check(const struct fake_kernel *f)
{
	assert_int_equal(f->n_open, 0);
	assert_int_equal(f->n_mapped, 0);
	assert_int_equal(f->locked_bytes, 0);
}

void fake_kernel_pass(struct fake_kernel *f, uint64_t ns)
{
	f->now_ns += ns;
	for (int i = 0; i < FAKE_EVENTS; i++) {
		struct fake_event *e = &f->events[i];
		e->moved_ns = 0;
		if (!e->open || !e->enabled || e->dead)
			continue;
		e->count.enabled_ns += ns;
		e->count.running_ns += ns / 2;
	}
}

void fake_kernel_offline(struct fake_kernel *f, uint32_t cpu)
{
	cam_cpus_remove(&f->online, cpu);
	for (int i = 0; i < FAKE_EVENTS; i++)
		if (f->events[i].open && f->events[i].cpu == (int)cpu)
			f->events[i].dead = true;
}

struct fake_event *fake_kernel_event(struct fake_kernel *f, uint32_t cpu, bool side)
{
	for (int i = 0; i < FAKE_EVENTS; i++) {
		struct fake_event *e = &f->events[i];
		bool dummy =
			e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_DUMMY;
		if (e->open && e->base && e->cpu == (int)cpu && dummy == side)
			return e;
	}
	return NULL;
}

static void emit(struct fake_event *e, struct perf_record *r)
{
	if (e->dead || !e->enabled)
		return;
	struct fake_event *to = e->output ? e->output : e;
	if (!perf_builder_write(&to->ring, r))
		e->count.lost++;
}

void fake_event_sample(struct fake_event *e, uint64_t time_ns)
{
	struct perf_record r;
	uint64_t ips[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
	perf_record_sample(&r, PERF_RECORD_MISC_USER, time_ns, (uint32_t)e->cpu, ips, 2);
	emit(e, &r);
}

void fake_event_fork(struct fake_event *e, uint64_t time_ns, uint32_t child)
{
	struct perf_record r;
	perf_record_begin(&r, PERF_RECORD_FORK, 0);
	for (int i = 0; i < 2; i++) {
		perf_record_u32(&r, child);
		perf_record_u32(&r, 1);
	}
	perf_record_u64(&r, time_ns);
	perf_record_trailer(&r, 1, 1, time_ns, (uint32_t)e->cpu);
	emit(e, &r);
}
