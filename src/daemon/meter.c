// SPDX-License-Identifier: Apache-2.0
#include "daemon/meter.h"

#include "base/units.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SHED_AFTER_S	10u
#define RESTORE_AFTER_S 60u
#define FAR_AFTER_S	3u
#define FAR_TIMES	3u
#define MAX_STEP	8u /* of the rate, up or down */
#define PPM		1000000u

static bool read_small(const char *path, char *room, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, room, bytes - 1);
	close(fd);
	room[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The process's own clock: of all its threads, to the nanosecond, in one call. */
static bool read_cpu(pid_t pid, uint64_t *ns)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return false;
	*ns = (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
	return true;
}

uint64_t cam_meter_resident(pid_t pid)
{
	char path[64], text[256];
	unsigned long resident = 0;
	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!read_small(path, text, sizeof(text)) || sscanf(text, "%*u %lu", &resident) != 1)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void cam_meter_read(struct cam_meter *m, uint64_t now_ns, const pid_t pids[CAM_METER_ROLES])
{
	size_t at = m->readings % CAM_METER_HISTORY;
	m->last_ns = 0;
	m->last_span_ns =
		m->readings ? now_ns - m->time_ns[(m->readings - 1) % CAM_METER_HISTORY] : 0;
	for (size_t i = 0; i < CAM_METER_ROLES; i++) {
		struct cam_meter_reading *r = &m->roles[i];
		uint64_t cpu;
		if (r->pid != pids[i])
			m->alive_cpu_ns[i] = 0;
		r->pid = pids[i];
		if (pids[i] && read_cpu(pids[i], &cpu) && cpu > m->alive_cpu_ns[i]) {
			r->cpu_ns += cpu - m->alive_cpu_ns[i];
			m->last_ns += cpu - m->alive_cpu_ns[i];
			m->alive_cpu_ns[i] = cpu;
		}
		/* The slot still holds the oldest reading. */
		bool full = m->readings >= CAM_METER_HISTORY;
		size_t oldest = full ? at : 0;
		if (m->readings) {
			r->minute_cpu_ns = r->cpu_ns - m->total[oldest][i];
			r->minute_ns = now_ns - m->time_ns[oldest];
		}
	}
	for (size_t i = 0; i < CAM_METER_ROLES; i++)
		m->total[at][i] = m->roles[i].cpu_ns;
	m->time_ns[at] = now_ns;
	m->readings++;
}

void cam_meter_add(struct cam_meter *m, enum cam_meter_role role, uint64_t cpu_ns)
{
	m->roles[role].cpu_ns += cpu_ns;
}

uint64_t cam_meter_used_ns(const struct rusage *u)
{
	return ((uint64_t)u->ru_utime.tv_sec + (uint64_t)u->ru_stime.tv_sec) * CAM_NS_PER_SEC +
	       ((uint64_t)u->ru_utime.tv_usec + (uint64_t)u->ru_stime.tv_usec) * CAM_NS_PER_US;
}

void cam_meter_end(struct cam_meter *m, enum cam_meter_role role, pid_t pid, uint64_t cpu_ns)
{
	uint64_t had = m->roles[role].pid == pid ? m->alive_cpu_ns[role] : 0;
	cam_meter_add(m, role, cpu_ns > had ? cpu_ns - had : 0);
	/* Its number may be another's soon. */
	m->roles[role].pid = 0;
	m->alive_cpu_ns[role] = 0;
}

uint64_t cam_meter_cpu_now(const struct cam_meter *m, enum cam_meter_role role, pid_t pid)
{
	const struct cam_meter_reading *r = &m->roles[role];
	uint64_t cpu = 0, had = r->pid == pid ? m->alive_cpu_ns[role] : 0;
	bool more = pid && read_cpu(pid, &cpu) && cpu > had;
	return r->cpu_ns + (more ? cpu - had : 0);
}

/* Whether fewer samples make it cheaper. */
static bool is_shed_for(size_t role)
{
	return role != CAM_METER_CAPSULE && role != CAM_METER_SERVER;
}

bool cam_meter_ppm(const struct cam_meter *m, unsigned seconds, uint64_t *ppm)
{
	size_t kept = m->readings < CAM_METER_HISTORY ? m->readings : CAM_METER_HISTORY;
	if (!kept)
		return false;
	size_t last = (m->readings - 1) % CAM_METER_HISTORY, first = last;
	for (size_t back = 1; back < kept; back++) {
		first = (m->readings - 1 - back) % CAM_METER_HISTORY;
		if (m->time_ns[last] - m->time_ns[first] >= seconds * CAM_NS_PER_SEC)
			break;
	}
	if (m->time_ns[last] - m->time_ns[first] < seconds * CAM_NS_PER_SEC)
		return false;
	uint64_t cpu = 0, span = m->time_ns[last] - m->time_ns[first];
	for (size_t i = 0; i < CAM_METER_ROLES; i++)
		cpu += is_shed_for(i) ? m->total[last][i] - m->total[first][i] : 0;
	if (!span)
		return false;
	*ppm = (uint64_t)((double)cpu * PPM / (double)span);
	return true;
}

uint64_t cam_meter_own_ns(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
		return 0;
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t cam_meter_written(void)
{
	char text[512];
	unsigned long long bytes = 0;
	if (!read_small("/proc/self/io", text, sizeof(text)))
		return 0;
	const char *p = strstr(text, "write_bytes:");
	return p && sscanf(p, "write_bytes: %llu", &bytes) == 1 ? bytes : 0;
}

bool cam_shedder_step(struct cam_shedder *s, const struct cam_meter *m, uint64_t now_ns)
{
	uint64_t ppm;
	uint64_t since = now_ns > s->changed_ns ? now_ns - s->changed_ns : 0;
	uint32_t before = s->hz;
	if (!s->max_ppm) {
		s->hz = s->wanted_hz;
	} else if (since >= SHED_AFTER_S * CAM_NS_PER_SEC && s->hz > 1 &&
		   cam_meter_ppm(m, SHED_AFTER_S, &ppm) && ppm > s->max_ppm) {
		s->hz = (s->hz + 1) / 2;
	} else if (since >= RESTORE_AFTER_S * CAM_NS_PER_SEC && s->hz < s->wanted_hz &&
		   cam_meter_ppm(m, RESTORE_AFTER_S, &ppm) && 2 * ppm < s->max_ppm) {
		/* A part of the cost does not grow with the rate: this leaves more room than a quarter. */
		uint64_t times = ppm ? 3 * s->max_ppm / (4 * ppm) : MAX_STEP;
		times = times < 2 ? 2 : times > MAX_STEP ? MAX_STEP : times;
		s->hz = times * s->hz < s->wanted_hz ? (uint32_t)times * s->hz : s->wanted_hz;
	}
	if (s->hz == before)
		return false;
	s->changed_ns = now_ns;
	s->look_ns = 0;
	return true;
}

bool cam_shedder_look(struct cam_shedder *s, uint64_t own_ns, uint64_t now_ns)
{
	uint64_t span = now_ns - s->look_ns, own = own_ns - s->look_own_ns;
	bool looks = s->max_ppm && s->hz > 1 && now_ns >= s->settled_ns;
	if (looks && s->look_ns && span < FAR_AFTER_S * CAM_NS_PER_SEC)
		return false;
	bool known = looks && s->look_ns;
	s->look_ns = looks ? now_ns : 0;
	s->look_own_ns = own_ns;
	if (!known)
		return false;
	double ppm = (double)own * PPM / (double)span, max = (double)s->max_ppm;
	if (ppm <= FAR_TIMES * max)
		return false;
	uint32_t hz = (uint32_t)(s->hz * max / ppm), least = (s->hz + MAX_STEP - 1) / MAX_STEP;
	s->hz = hz > least ? hz : least;
	s->changed_ns = now_ns;
	s->look_ns = 0;
	return true;
}
