// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_data_sample.h"

#include "model/nouns.h"

#include <linux/perf_event.h>

#define HEADER_BYTES	    8u
#define KNOWN_BITS	    25
#define BRANCH_ENTRY_BYTES  24u
#define BRANCH_COUNTERS_BIT (1ull << 19)
#define WEIGHTS		    (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)

static void skip_words(struct cam_perf_bytes *b, uint64_t n)
{
	/* n comes from the file: n * 8 might wrap. */
	cam_perf_bytes_take(b, n > cam_perf_bytes_left(b) / 8 ? UINT64_MAX : n * 8);
}

static void take_values(struct cam_perf_bytes *b, uint64_t format, struct cam_perf_sample *s)
{
	uint64_t times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1u : 0u) +
			 (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1u : 0u);
	unsigned each = 1u + (format & PERF_FORMAT_ID ? 1u : 0u) +
			(format & (1u << 4) ? 1u : 0u); /* PERF_FORMAT_LOST */
	uint64_t n = format & PERF_FORMAT_GROUP ? cam_perf_bytes_u64(b) : 1;
	/* Of one alone the times stand between the count and the id. */
	if (format & PERF_FORMAT_GROUP)
		skip_words(b, times);
	if ((format & PERF_FORMAT_ID) && (format & PERF_FORMAT_GROUP)) {
		s->values = b->p;
		s->n_values = n;
		s->value_words = each;
	}
	skip_words(b, n > cam_perf_bytes_left(b) / 8 ? UINT64_MAX : n * each);
	if (!(format & PERF_FORMAT_GROUP))
		skip_words(b, times);
}

static void take_chain(struct cam_perf_bytes *b, struct cam_perf_sample *s)
{
	s->has_chain = true;
	s->n_chain = cam_perf_bytes_u64(b);
	s->chain = b->p;
	skip_words(b, s->n_chain);
}

static void take_raw(struct cam_perf_bytes *b, struct cam_perf_sample *s)
{
	s->raw_bytes = cam_perf_bytes_u32(b);
	s->raw = cam_perf_bytes_take(b, s->raw_bytes);
	/* A kernel says a size that keeps the rest aligned; others might not. */
	cam_perf_bytes_take(b, (8 - (4 + s->raw_bytes) % 8) % 8);
}

static void skip_branches(struct cam_perf_bytes *b, uint64_t type)
{
	uint64_t n = cam_perf_bytes_u64(b);
	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		skip_words(b, 1);
	if (n > cam_perf_bytes_left(b) / BRANCH_ENTRY_BYTES)
		n = UINT64_MAX / BRANCH_ENTRY_BYTES;
	cam_perf_bytes_take(b, n * BRANCH_ENTRY_BYTES);
	if (type & BRANCH_COUNTERS_BIT)
		skip_words(b, n);
}

static void take_user_copy(struct cam_perf_bytes *b, const struct cam_perf_attr *a,
			   struct cam_perf_sample *s)
{
	if (a->sample_type & PERF_SAMPLE_REGS_USER) {
		s->regs_abi = cam_perf_bytes_u64(b);
		s->regs = b->p;
		s->regs_mask = s->regs_abi ? a->regs_user : 0;
		s->n_regs = s->regs_abi ? (unsigned)__builtin_popcountll(a->regs_user) : 0;
		skip_words(b, s->n_regs);
	}
	if (a->sample_type & PERF_SAMPLE_STACK_USER) {
		uint64_t room = cam_perf_bytes_u64(b);
		s->stack = cam_perf_bytes_take(b, room);
		uint64_t used = room ? cam_perf_bytes_u64(b) : 0;
		s->stack_bytes = (size_t)(used < room ? used : room);
	}
}

/* What stands behind the copy of the stack; of this only the cgroup is of use here. */
static void take_tail(struct cam_perf_bytes *b, const struct cam_perf_attr *a,
		      struct cam_perf_sample *s)
{
	uint64_t type = a->sample_type;
	skip_words(b, (type & WEIGHTS ? 1u : 0u) + (type & PERF_SAMPLE_DATA_SRC ? 1u : 0u) +
			      (type & PERF_SAMPLE_TRANSACTION ? 1u : 0u));
	if (type & PERF_SAMPLE_REGS_INTR && cam_perf_bytes_u64(b))
		skip_words(b, (unsigned)__builtin_popcountll(a->regs_intr));
	skip_words(b, type & PERF_SAMPLE_PHYS_ADDR ? 1u : 0u);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = cam_perf_bytes_u64(b);
	skip_words(b, (type & PERF_SAMPLE_DATA_PAGE_SIZE ? 1u : 0u) +
			      (type & PERF_SAMPLE_CODE_PAGE_SIZE ? 1u : 0u));
	if (type & PERF_SAMPLE_AUX)
		cam_perf_bytes_take(b, cam_perf_bytes_u64(b));
}

/* Nearly all are like this: fields at places that are known ahead, and a chain behind them. */
static bool take_plain(const struct cam_perf_event *e, const uint8_t *p, size_t bytes, bool swap,
		       struct cam_perf_sample *out)
{
	size_t at = e->last_chain_at;
	if (at + 8 > bytes)
		return false;
	if (e->ip_at)
		out->ip = cam_perf_load_u64(p + e->ip_at, swap);
	out->pid = (int32_t)cam_perf_load_u32(p + e->pid_at, swap);
	out->tid = (int32_t)cam_perf_load_u32(p + e->pid_at + 4, swap);
	if (e->time_at)
		out->time_ns = cam_perf_load_u64(p + e->time_at, swap);
	if (e->cpu_at)
		out->cpu = cam_perf_load_u32(p + e->cpu_at, swap);
	if (e->period_at)
		out->period = cam_perf_load_u64(p + e->period_at, swap);
	out->has_chain = true;
	out->n_chain = cam_perf_load_u64(p + at, swap);
	out->chain = p + at + 8;
	out->left = bytes - at - 8;
	if (out->n_chain > out->left / 8)
		return false;
	out->left -= out->n_chain * 8;
	return true;
}

bool cam_perf_sample_parse(const struct cam_perf_event *e, const uint8_t *record, size_t bytes,
			   bool swap, struct cam_perf_sample *out)
{
	const struct cam_perf_attr *a = &e->attr;
	uint64_t type = a->sample_type;
	*out = (struct cam_perf_sample){
		.time_ns = CAM_TIME_NONE,
		.period = a->period,
		.pid = -1,
		.tid = -1,
		.cpu = CAM_CPU_NONE,
		.misc = cam_perf_load_u16(record + 4, swap),
	};
	if (e->last_chain_at)
		return take_plain(e, record, bytes, swap, out);
	struct cam_perf_bytes b = cam_perf_bytes_make(record, bytes, swap);
	b.p += HEADER_BYTES;
	if (type & PERF_SAMPLE_IDENTIFIER)
		cam_perf_bytes_u64(&b);
	if (type & PERF_SAMPLE_IP)
		out->ip = cam_perf_bytes_u64(&b);
	if (type & PERF_SAMPLE_TID) {
		out->pid = (int32_t)cam_perf_bytes_u32(&b);
		out->tid = (int32_t)cam_perf_bytes_u32(&b);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time_ns = cam_perf_bytes_u64(&b);
	skip_words(&b, (type & PERF_SAMPLE_ADDR ? 1u : 0u) + (type & PERF_SAMPLE_ID ? 1u : 0u) +
			       (type & PERF_SAMPLE_STREAM_ID ? 1u : 0u));
	if (type & PERF_SAMPLE_CPU) {
		out->cpu = cam_perf_bytes_u32(&b);
		cam_perf_bytes_u32(&b);
	}
	if (type & PERF_SAMPLE_PERIOD)
		out->period = cam_perf_bytes_u64(&b);
	if (type & PERF_SAMPLE_READ)
		take_values(&b, a->read_format, out);
	if (type & PERF_SAMPLE_CALLCHAIN)
		take_chain(&b, out);
	if (type & PERF_SAMPLE_RAW)
		take_raw(&b, out);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&b, a->branch_type);
	take_user_copy(&b, a, out);
	if (type >> 14)
		take_tail(&b, a, out);
	/* What a newer kernel may put behind all these is not known here. */
	out->left = type >> KNOWN_BITS ? 0 : cam_perf_bytes_left(&b);
	return !b.bad;
}
