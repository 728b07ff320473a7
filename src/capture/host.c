// SPDX-License-Identifier: Apache-2.0
/*
 * Host counters. Why these sources: /proc/stat is the only cheap one that has all CPUs; the kernel
 * makes its whole text (with every interrupt's count) at each read, whatever is read of it, so
 * the long `intr` line is passed over by memchr and the lines behind it cost nothing more.
 *
 * Invariants:
 *  1. A row's interval begins where the row before of its kind and subject ended.
 *  2. The sum of a counter's rows never runs ahead of the counter: after a step back nothing is given
 *     until it is past its old height.
 *  3. A read allocates nothing and holds at most one line of a file: cam_lines.
 *
 * Example of a step back: idle of CPU 3 reads 1000, 1100, 1098, 1199: rows of 100, 0 and 99 ticks, one
 * step back counted; the sum is 199, as the counter says.
 */
#include "capture/host.h"

#include "base/units.h"
#include "capture/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_NS	  (CAM_NS_PER_SEC / 100) /* USER_HZ */
#define PER_CPU	  (CAM_COUNTER_IDLE + 1)
#define NO_NUMBER UINT64_MAX

/* A counter that only grows, or should. */
struct meter {
	uint64_t at;
	bool known;
};

struct host_cpu {
	struct meter meter[PER_CPU]; /* USER to IDLE */
	uint64_t read;		     /* the number of the read that saw it last */
};

enum pressure { PSI_CPU, PSI_MEMORY, PSI_IO, PSI_FILES };

struct watch {
	struct cam_host_watch of;
	uint64_t delay_ns, last_ns;
	int fd; /* -1: free */
};

/* A line of /proc/modules; no name: there is none. */
struct module {
	char name[64];
	uint64_t address, bytes;
};

struct cam_host {
	struct cam_host_options o;
	struct cam_host_stats stats;
	uint64_t last_ns; /* of the read before; 0: none */
	uint64_t now_ns;
	int err; /* the callback's first failure in this read */
	int stat, pressure[PSI_FILES], softnet, cgroups, cgroup_stat, modules;
	struct meter switches, dropped, squeezed, psi[PSI_FILES][2];
	struct watch watch[CAM_HOST_WATCHES];
	struct module newest;
	struct host_cpu cpu[CAM_HOST_MAX_CPUS];
	struct cam_lines lines;
	char proc[256];
};

static int open_under(const char *dir, const char *file)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n > 0 && (size_t)n < sizeof(path))
		return open(path, O_RDONLY | O_CLOEXEC);
	errno = ENAMETOOLONG;
	return -1;
}

int cam_host_open(const struct cam_host_options *o, struct cam_host **out)
{
	static const char *const psi[] = {"pressure/cpu", "pressure/memory", "pressure/io"};
	const char *proc = o->proc ? o->proc : "/proc";
	const char *cgroup = o->cgroup ? o->cgroup : "/sys/fs/cgroup";
	if (!o->fn || strlen(proc) >= sizeof((*out)->proc))
		return -EINVAL;
	int stat = open_under(proc, "stat");
	if (stat < 0)
		return -errno;
	struct cam_host *h = calloc(1, sizeof(*h));
	if (!h) {
		close(stat);
		return -ENOMEM;
	}
	h->o = *o;
	memcpy(h->proc, proc, strlen(proc) + 1);
	h->stat = stat;
	for (unsigned i = 0; i < PSI_FILES; i++)
		h->pressure[i] = open_under(proc, psi[i]);
	h->softnet = open_under(proc, "net/softnet_stat");
	h->cgroups = open_under(proc, "cgroups");
	h->cgroup_stat = open_under(cgroup, "cgroup.stat");
	if (h->cgroup_stat < 0)
		h->cgroup_stat = open_under(cgroup, "unified/cgroup.stat");
	h->modules = open_under(proc, "modules");
	for (unsigned i = 0; i < CAM_HOST_WATCHES; i++)
		h->watch[i].fd = -1;
	uint64_t from, to;
	cam_host_modules_changed(h, &from, &to); /* who is there already did not come */
	*out = h;
	return 0;
}

static void close_if(int fd)
{
	if (fd >= 0)
		close(fd);
}

void cam_host_close(struct cam_host *h)
{
	if (!h)
		return;
	close_if(h->stat);
	for (unsigned i = 0; i < PSI_FILES; i++)
		close_if(h->pressure[i]);
	close_if(h->softnet);
	close_if(h->cgroups);
	close_if(h->cgroup_stat);
	close_if(h->modules);
	for (unsigned i = 0; i < CAM_HOST_WATCHES; i++)
		close_if(h->watch[i].fd);
	free(h);
}

static void give(struct cam_host *h, enum cam_counter_kind kind, uint32_t subject, uint64_t from_ns,
		 uint64_t value)
{
	struct cam_counter row = {h->now_ns, from_ns ? h->now_ns - from_ns : 0, kind, subject,
				  value};
	int err = h->o.fn(h->o.arg, &row);
	if (err && !h->err)
		h->err = err;
}

/* How far the meter went; false: this only notes where it stands. most_back: what it may lose and
 * be waited for. */
static bool advance(struct cam_host *h, struct meter *m, uint64_t now, uint64_t most_back,
		    uint64_t *by)
{
	bool known = m->known;
	m->known = true;
	*by = known && now > m->at ? now - m->at : 0;
	if (known && now < m->at) {
		h->stats.backwards++;
		if (m->at - now <= most_back)
			return true;
	}
	m->at = now;
	return known;
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" */
static void take_cpu_line(struct cam_host *h, struct cam_text line)
{
	uint64_t number, field[8], ticks[PER_CPU];
	bool ok = cam_number_take(&line, 10, &number);
	unsigned n = 0;
	while (ok && n < 8 && cam_number_take(&line, 10, &field[n]))
		n++;
	if (!ok || n < 8) {
		h->stats.unreadable++;
		return;
	}
	if (number >= CAM_HOST_MAX_CPUS) {
		h->stats.no_room++;
		return;
	}
	ticks[CAM_COUNTER_USER] = field[0] + field[1];
	ticks[CAM_COUNTER_SYSTEM] = field[2];
	ticks[CAM_COUNTER_IRQ] = field[5];
	ticks[CAM_COUNTER_SOFTIRQ] = field[6];
	ticks[CAM_COUNTER_STEAL] = field[7];
	ticks[CAM_COUNTER_IDLE] = field[3] + field[4];
	struct host_cpu *c = &h->cpu[number];
	if (c->read + 1 != h->stats.reads)
		memset(c->meter, 0, sizeof(c->meter));
	c->read = h->stats.reads;
	h->stats.cpus++;
	for (unsigned kind = 0; kind < PER_CPU; kind++) {
		uint64_t by;
		if (advance(h, &c->meter[kind], ticks[kind], CAM_NS_PER_SEC / TICK_NS, &by) &&
		    (by || kind == CAM_COUNTER_IDLE))
			give(h, (enum cam_counter_kind)kind, (uint32_t)number, h->last_ns,
			     by * TICK_NS);
	}
}

static bool take_word(struct cam_text *line, struct cam_text word)
{
	if (!cam_text_starts(*line, word))
		return false;
	*line = (struct cam_text){line->p + word.n, line->n - word.n};
	return true;
}

static int read_stat(struct cam_host *h)
{
	struct cam_text line;
	uint64_t v, by;
	h->stats.cpus = 0;
	cam_lines_start(&h->lines, h->stat);
	while (cam_lines_next(&h->lines, &line)) {
		if (take_word(&line, CAM_TEXT("cpu"))) {
			if (line.n && line.p[0] != ' ')
				take_cpu_line(h, line);
		} else if (take_word(&line, CAM_TEXT("ctxt"))) {
			if (cam_number_take(&line, 10, &v) && advance(h, &h->switches, v, 0, &by))
				give(h, CAM_COUNTER_SWITCHES, 0, h->last_ns, by);
		} else if (take_word(&line, CAM_TEXT("procs_running"))) {
			if (cam_number_take(&line, 10, &v))
				give(h, CAM_COUNTER_RUNNABLE, 0, 0, v);
			break; /* nothing behind it is wanted */
		}
	}
	return h->lines.error;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345": µs. */
static void read_pressure(struct cam_host *h, enum pressure which)
{
	static const enum cam_counter_kind kinds[PSI_FILES][2] = {
		{CAM_COUNTER_PSI_CPU, CAM_COUNTER_MAX}, /* "full" has no meaning for the host's */
		{CAM_COUNTER_PSI_MEMORY, CAM_COUNTER_PSI_MEMORY_FULL},
		{CAM_COUNTER_PSI_IO, CAM_COUNTER_PSI_IO_FULL},
	};
	struct cam_text line;
	/* Behind the last line that counts there is nothing to read: to be told so would be another call. */
	bool last = false;
	cam_lines_start(&h->lines, h->pressure[which]);
	while (!last && cam_lines_next(&h->lines, &line)) {
		bool full = cam_text_starts(line, CAM_TEXT("full "));
		const char *total = memmem(line.p, line.n, "total=", 6);
		if (!total || (!full && !cam_text_starts(line, CAM_TEXT("some "))))
			continue;
		last = full || kinds[which][1] == CAM_COUNTER_MAX;
		struct cam_text rest = {total + 6, line.n - (size_t)(total + 6 - line.p)};
		uint64_t v, by;
		if (kinds[which][full] != CAM_COUNTER_MAX && cam_number_take(&rest, 10, &v) &&
		    advance(h, &h->psi[which][full], v, 0, &by))
			give(h, kinds[which][full], 0, h->last_ns, by * CAM_NS_PER_US);
	}
}

/* A line a CPU, hexadecimal: processed, dropped, squeezed, … CPUs that went take their counts with
 * them: that second's difference is not known. */
static void read_softnet(struct cam_host *h)
{
	uint64_t dropped = 0, squeezed = 0, by;
	struct cam_text line;
	cam_lines_start(&h->lines, h->softnet);
	while (cam_lines_next(&h->lines, &line)) {
		uint64_t v[3];
		if (cam_number_take(&line, 16, &v[0]) && cam_number_take(&line, 16, &v[1]) &&
		    cam_number_take(&line, 16, &v[2])) {
			dropped += v[1];
			squeezed += v[2];
		}
	}
	if (h->lines.error)
		return;
	if (advance(h, &h->dropped, dropped, 0, &by) && by)
		give(h, CAM_COUNTER_SOFTNET_DROPPED, 0, h->last_ns, by);
	if (advance(h, &h->squeezed, squeezed, 0, &by) && by)
		give(h, CAM_COUNTER_SOFTNET_SQUEEZED, 0, h->last_ns, by);
}

/* The number behind `word` (and, where there are several columns, the second number). */
static uint64_t number_of(struct cam_host *h, int fd, struct cam_text word, bool second)
{
	struct cam_text line;
	uint64_t v;
	cam_lines_start(&h->lines, fd);
	while (fd >= 0 && cam_lines_next(&h->lines, &line)) {
		if (!take_word(&line, word) || !line.n || (line.p[0] != ' ' && line.p[0] != '\t'))
			continue;
		bool ok = cam_number_take(&line, 10, &v);
		if (ok && second)
			ok = cam_number_take(&line, 10, &v);
		return ok ? v : NO_NUMBER;
	}
	return NO_NUMBER;
}

/*
 * With those that were removed and are still held: they are what slows a host down. /proc/cgroups
 * counts them; where it does not know memory (cgroup v2 alone), cgroup.stat does, or counts all.
 */
static void read_cgroups(struct cam_host *h)
{
	uint64_t n = number_of(h, h->cgroups, CAM_TEXT("memory"), true);
	if (n == NO_NUMBER) {
		uint64_t dying =
			number_of(h, h->cgroup_stat, CAM_TEXT("nr_dying_subsys_memory"), false);
		n = number_of(h, h->cgroup_stat, CAM_TEXT("nr_subsys_memory"), false);
		if (n == NO_NUMBER) {
			n = number_of(h, h->cgroup_stat, CAM_TEXT("nr_descendants"), false);
			dying = number_of(h, h->cgroup_stat, CAM_TEXT("nr_dying_descendants"),
					  false);
		}
		if (n != NO_NUMBER)
			n += dying != NO_NUMBER ? dying : 0;
	}
	if (n != NO_NUMBER)
		give(h, CAM_COUNTER_MEMORY_CGROUPS, 0, 0, n);
}

/* "ran_ns waited_ns slices" */
static bool read_delay(const struct watch *w, uint64_t *ns)
{
	char bytes[128];
	ssize_t n = pread(w->fd, bytes, sizeof(bytes), 0);
	struct cam_text s = {bytes, n > 0 ? (size_t)n : 0};
	uint64_t ran;
	return cam_number_take(&s, 10, &ran) && cam_number_take(&s, 10, ns);
}

static void drop_watch(struct cam_host *h, struct watch *w)
{
	close(w->fd);
	w->fd = -1;
	h->stats.watched--;
}

static void read_watches(struct cam_host *h)
{
	for (unsigned i = 0; i < CAM_HOST_WATCHES; i++) {
		struct watch *w = &h->watch[i];
		uint64_t delay;
		if (w->fd < 0)
			continue;
		if (!read_delay(w, &delay)) {
			drop_watch(h, w); /* it ended */
			continue;
		}
		if (delay < w->delay_ns)
			h->stats.backwards++;
		else if (h->now_ns > w->last_ns)
			give(h, CAM_COUNTER_RUN_DELAY, (uint32_t)w->of.tid, w->last_ns,
			     delay - w->delay_ns);
		w->delay_ns = delay;
		w->last_ns = h->now_ns;
	}
}

int cam_host_read(struct cam_host *h, uint64_t now_ns)
{
	if (now_ns <= h->last_ns)
		return -EINVAL;
	h->now_ns = now_ns;
	h->err = 0;
	h->stats.reads++;
	int err = read_stat(h);
	if (err) {
		h->stats.failed++;
		h->switches.known = false; /* the next difference would be of two intervals */
	}
	for (unsigned i = 0; i < PSI_FILES; i++)
		if (h->pressure[i] >= 0)
			read_pressure(h, (enum pressure)i);
	if (h->softnet >= 0)
		read_softnet(h);
	read_cgroups(h);
	read_watches(h);
	h->last_ns = now_ns;
	return h->err ? h->err : err;
}

/* Field 22 of /proc/PID/stat, behind the name, which may hold anything: ticks since boot. */
static bool started_at(int dir, uint64_t start_ns)
{
	char bytes[1024];
	int fd = openat(dir, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), 0);
	close_if(fd);
	const char *name_end = n > 0 ? memrchr(bytes, ')', (size_t)n) : NULL;
	if (!name_end)
		return false;
	struct cam_text s = {name_end + 1, (size_t)(bytes + n - (name_end + 1))};
	for (unsigned field = 2; s.n; s = (struct cam_text){s.p + 1, s.n - 1}) {
		uint64_t ticks;
		if (s.p[0] != ' ' || ++field != 22)
			continue;
		if (!cam_number_take(&s, 10, &ticks))
			return false;
		/* The kernel cuts to ticks. */
		return ticks <= start_ns / TICK_NS + 1 && ticks + 1 >= start_ns / TICK_NS;
	}
	return false;
}

static void start_watch(struct cam_host *h, struct watch *w, const struct cam_host_watch *of,
			uint64_t now_ns)
{
	char path[sizeof(h->proc) + 16];
	snprintf(path, sizeof(path), "%s/%d", h->proc, of->tid);
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	/* Of one thread from here on: both are opened under what was opened once. */
	if (!of->start_ns || started_at(dir, of->start_ns))
		w->fd = openat(dir, "schedstat", O_RDONLY | O_CLOEXEC);
	close(dir);
	if (w->fd < 0)
		return;
	h->stats.watched++;
	w->of = *of;
	w->last_ns = now_ns;
	if (!read_delay(w, &w->delay_ns))
		drop_watch(h, w);
}

static bool same_watch(const struct cam_host_watch *a, const struct cam_host_watch *b)
{
	return a->tid == b->tid && a->start_ns == b->start_ns;
}

void cam_host_watch(struct cam_host *h, uint64_t now_ns, const struct cam_host_watch *want,
		    size_t n)
{
	bool has[CAM_HOST_WATCHES] = {false};
	if (n > CAM_HOST_WATCHES)
		n = CAM_HOST_WATCHES;
	for (unsigned i = 0; i < CAM_HOST_WATCHES; i++) {
		struct watch *w = &h->watch[i];
		size_t k = 0;
		while (w->fd >= 0 && k < n && !same_watch(&w->of, &want[k]))
			k++;
		if (w->fd >= 0 && (k == n || has[k]))
			drop_watch(h, w);
		else if (w->fd >= 0)
			has[k] = true;
	}
	for (size_t k = 0; k < n; k++) {
		unsigned i = 0;
		while (i < CAM_HOST_WATCHES && h->watch[i].fd >= 0)
			i++;
		if (!has[k] && want[k].tid > 0 && i < CAM_HOST_WATCHES)
			start_watch(h, &h->watch[i], &want[k], now_ns);
	}
}

static struct cam_text next_word(struct cam_text *line)
{
	size_t from = 0;
	while (from < line->n && line->p[from] == ' ')
		from++;
	size_t to = from;
	while (to < line->n && line->p[to] != ' ')
		to++;
	struct cam_text word = {line->p + from, to - from};
	*line = (struct cam_text){line->p + to, line->n - to};
	return word;
}

/* "name bytes uses users, state 0xaddress (taints)". Address 0: it is not shown. */
static bool parse_module(struct cam_text line, struct module *out)
{
	*out = (struct module){0};
	struct cam_text name = next_word(&line);
	if (!name.n || name.n >= sizeof(out->name) || !cam_number_take(&line, 10, &out->bytes))
		return false;
	memcpy(out->name, name.p, name.n);
	/* Uses, users and state come and go without another module. */
	for (unsigned i = 0; i < 3; i++)
		next_word(&line);
	struct cam_text address = next_word(&line);
	uint64_t end;
	return take_word(&address, CAM_TEXT("0x")) &&
	       cam_number_take(&address, 16, &out->address) && !address.n && out->address &&
	       !__builtin_add_overflow(out->address, out->bytes, &end);
}

static bool same_module(const struct module *a, const struct module *b)
{
	return a->address == b->address && a->bytes == b->bytes && strcmp(a->name, b->name) == 0;
}

bool cam_host_modules_changed(struct cam_host *h, uint64_t *from, uint64_t *to)
{
	char bytes[256]; /* the kernel makes no more lines than these need */
	ssize_t n = h->modules < 0 ? -1 : pread(h->modules, bytes, sizeof(bytes), 0);
	const char *end = n > 0 ? memchr(bytes, '\n', (size_t)n) : NULL;
	struct module newest = {0}, before = h->newest, m;
	if (n < 0 ||
	    (n > 0 &&
	     (!end || !parse_module((struct cam_text){bytes, (size_t)(end - bytes)}, &newest))))
		return false;
	h->newest = newest;
	if (same_module(&newest, &before))
		return false;
	*from = UINT64_MAX;
	*to = 0;
	struct cam_text line;
	cam_lines_start(&h->lines, h->modules);
	while (cam_lines_next(&h->lines, &line)) {
		if (!parse_module(line, &m))
			continue;
		if (same_module(&m, &before))
			break;
		if (m.address < *from)
			*from = m.address;
		if (m.address + m.bytes > *to)
			*to = m.address + m.bytes;
	}
	return *from < *to;
}

struct cam_host_stats cam_host_stats(const struct cam_host *h)
{
	return h->stats;
}
