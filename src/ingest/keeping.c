// SPDX-License-Identifier: Apache-2.0
#include "ingest/keeping.h"

#include "base/vec.h"

#include <string.h>

#define CPUS 4096u

struct keeper {
	struct cam_kept_run run;
	int32_t pid, tid;
	bool told;
};

struct cam_keeping_core {
	uint64_t last_ns; /* 0: none yet */
	struct keeper now;
	struct keeper ended; /* the last that was long enough, and not told */
};

void cam_keeping_period(struct cam_keeping *k, uint64_t period_ns)
{
	if (k->period_ns == period_ns)
		return;
	if (k->n)
		memset(k->cores, 0, k->n * sizeof(k->cores[0]));
	memset(k->tenths, 0, sizeof(k->tenths));
	k->period_ns = period_ns;
}

static void end(const struct cam_keeping *k, struct cam_keeping_core *c)
{
	if (!c->now.told && cam_kept_length(&c->now.run, k->period_ns) >= CAM_KEPT_LEAST_NS)
		c->ended = c->now;
	c->now = (struct keeper){0};
}

static void count_tenth(struct cam_keeping *k, uint64_t time_ns)
{
	uint64_t tenth = time_ns / CAM_KEPT_TENTH_NS;
	if (tenth > k->last_tenth) {
		uint64_t gone = tenth - k->last_tenth;
		for (uint64_t i = 0; i < gone && i < CAM_KEEPING_TENTHS; i++)
			k->tenths[(tenth - i) % CAM_KEEPING_TENTHS] = 0;
		k->last_tenth = tenth;
	}
	if (k->last_tenth - tenth < CAM_KEEPING_TENTHS)
		k->tenths[tenth % CAM_KEEPING_TENTHS]++;
}

void cam_keeping_sample(struct cam_keeping *k, uint32_t cpu, uint64_t time_ns, int32_t pid,
			int32_t tid)
{
	if (!k->period_ns || tid <= 0 ||
	    cam_vec_reserve(&k->cores, &k->cap, (size_t)cpu + 1, sizeof(k->cores[0]), CPUS))
		return;
	if (cpu >= k->n) {
		memset(k->cores + k->n, 0, (cpu + 1 - k->n) * sizeof(k->cores[0]));
		k->n = (size_t)cpu + 1;
	}
	count_tenth(k, time_ns);
	k->newest_ns = time_ns > k->newest_ns ? time_ns : k->newest_ns;
	struct cam_keeping_core *c = &k->cores[cpu];
	if (c->last_ns && cam_kept_is_hole(c->last_ns, time_ns, k->period_ns))
		end(k, c);
	c->last_ns = time_ns;
	if (!c->now.run.all || !cam_kept_extend(&c->now.run, time_ns, tid == c->now.tid)) {
		end(k, c);
		c->now = (struct keeper){.pid = pid, .tid = tid};
		cam_kept_begin(&c->now.run, time_ns);
	}
}

void cam_keeping_renamed(struct cam_keeping *k, int32_t tid)
{
	for (size_t i = 0; i < k->n; i++) {
		if (k->cores[i].now.tid == tid)
			k->cores[i].now = (struct keeper){0};
		if (k->cores[i].ended.tid == tid)
			k->cores[i].ended = (struct keeper){0};
	}
}

/* By the whole tenths of it that are known; 100 where there is none. */
static uint32_t busy_percent(const struct cam_keeping *k, const struct cam_kept_run *r,
			     uint32_t cpus)
{
	uint64_t from = (r->from_ns + CAM_KEPT_TENTH_NS - 1) / CAM_KEPT_TENTH_NS;
	uint64_t to = r->end_ns / CAM_KEPT_TENTH_NS, samples = 0;
	uint64_t oldest =
		k->last_tenth < CAM_KEEPING_TENTHS ? 0 : k->last_tenth - CAM_KEEPING_TENTHS + 1;
	from = from > oldest ? from : oldest;
	for (uint64_t i = from; i < to; i++)
		samples += k->tenths[i % CAM_KEEPING_TENTHS];
	return to > from ? (uint32_t)(samples * k->period_ns * 100 /
				      ((to - from) * CAM_KEPT_TENTH_NS * cpus))
			 : 100;
}

static bool look(const struct cam_keeping *k, const struct keeper *who, uint32_t cpu, uint32_t cpus,
		 struct cam_kept_core *out)
{
	const struct cam_kept_run *r = &who->run;
	uint64_t length_ns = cam_kept_length(r, k->period_ns);
	if (who->told || length_ns < CAM_KEPT_LEAST_NS)
		return false;
	*out = (struct cam_kept_core){
		.cpu = cpu,
		.pid = who->pid,
		.tid = who->tid,
		.from_ns = r->from_ns,
		.length_ns = length_ns,
		.goes_on = who == &k->cores[cpu].now &&
			   !cam_kept_is_hole(r->end_ns, k->newest_ns, k->period_ns),
		.busy_percent = busy_percent(k, r, cpus),
	};
	return out->busy_percent < CAM_KEPT_BUSY_PERCENT;
}

bool cam_keeping_next(struct cam_keeping *k, uint32_t cpus, size_t *at, struct cam_kept_core *out)
{
	/* One that has ended and the one that goes on are two of a core. */
	for (; *at < 2 * k->n && cpus > 1; ++*at) {
		uint32_t cpu = (uint32_t)(*at / 2);
		const struct cam_keeping_core *c = &k->cores[cpu];
		if (look(k, *at % 2 ? &c->now : &c->ended, cpu, cpus, out)) {
			++*at;
			return true;
		}
	}
	return false;
}

void cam_keeping_told(struct cam_keeping *k, const struct cam_kept_core *told)
{
	struct cam_keeping_core *c = &k->cores[told->cpu];
	if (c->ended.tid == told->tid && c->ended.run.from_ns == told->from_ns)
		c->ended = (struct keeper){0};
	else if (c->now.tid == told->tid && c->now.run.from_ns == told->from_ns)
		c->now.told = true;
}

void cam_keeping_free(struct cam_keeping *k)
{
	free(k->cores);
	*k = (struct cam_keeping){0};
}
