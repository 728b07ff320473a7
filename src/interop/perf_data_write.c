// SPDX-License-Identifier: Apache-2.0
/*
 * The file: header (104 bytes), records, ids of events, events, then one section for each feature (their
 * table directly behind the events' is where readers look: behind the records, so records are last but
 * the features).
 *
 *	header | ids | attrs | records | table of features | features
 */
#include "interop/perf_data_write.h"

#include "base/units.h"

#include <errno.h>
#include <time.h>

#define HEADER_BYTES  104u
#define ATTR_BYTES    112u
#define FEATURE_BYTES (64u << 20)
#define NAME_ALIGN    64u
#define MAX_NAME      4000u /* of a path or comm: records have 16 bits for their size */

enum record_type { RECORD_MMAP = 1, RECORD_COMM = 3, RECORD_SAMPLE = 9, RECORD_MMAP2 = 10 };
#define RECORD_HEADER_BUILD_ID 67u

enum misc {
	MISC_KERNEL = 1,
	MISC_USER = 2,
	MISC_MMAP_BUILD_ID = 1 << 14,
	MISC_BUILD_ID_SIZE = 1 << 15,
};

enum sample_type {
	SAMPLE_IP = 1 << 0,
	SAMPLE_TID = 1 << 1,
	SAMPLE_TIME = 1 << 2,
	SAMPLE_CALLCHAIN = 1 << 5,
	SAMPLE_CPU = 1 << 7,
	SAMPLE_PERIOD = 1 << 8,
	SAMPLE_IDENTIFIER = 1 << 16,
};

enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_CPUDESC = 8,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_MAX = 32,
};

static size_t record_open(struct cam_buf *b, uint32_t type, uint16_t misc)
{
	size_t at = b->len;
	cam_buf_put_u32(b, type);
	cam_buf_put_u16(b, misc);
	cam_buf_put_u16(b, 0);
	return at;
}

static void put_stamp(struct cam_buf *b, const struct cam_perf_stamp *s)
{
	cam_buf_put_u32(b, (uint32_t)s->pid);
	cam_buf_put_u32(b, (uint32_t)s->tid);
	cam_buf_put_u64(b, s->time_ns);
	if (s->has_cpu) {
		cam_buf_put_u32(b, s->cpu);
		cam_buf_put_u32(b, 0);
	}
	cam_buf_put_u64(b, s->event + 1ul);
}

static void record_close(struct cam_buf *b, size_t at)
{
	size_t n = b->len - at;
	if (cam_buf_error(b))
		return;
	if (n > UINT16_MAX) {
		b->error = -E2BIG;
		return;
	}
	b->data[at + 6] = (uint8_t)n;
	b->data[at + 7] = (uint8_t)(n >> 8);
}

/* Terminated, and filled to a multiple of 8. A zero byte ends a name for perf: it is written as '?'. */
static void put_name(struct cam_buf *b, struct cam_text s)
{
	size_t n = s.n < MAX_NAME ? s.n : MAX_NAME;
	for (size_t i = 0; i < n; i++)
		cam_buf_put_u8(b, s.p[i] ? (uint8_t)s.p[i] : '?');
	do
		cam_buf_put_u8(b, 0);
	while (++n % 8);
}

void cam_perf_write_comm(struct cam_buf *b, const struct cam_perf_stamp *s, struct cam_text comm)
{
	size_t at = record_open(b, RECORD_COMM, 0);
	cam_buf_put_u32(b, (uint32_t)s->pid);
	cam_buf_put_u32(b, (uint32_t)s->tid);
	put_name(b, comm);
	put_stamp(b, s);
	record_close(b, at);
}

static void put_build_id(struct cam_buf *b, struct cam_text id)
{
	for (size_t i = 0; i < CAM_PERF_BUILD_ID_BYTES; i++)
		cam_buf_put_u8(b, i < id.n ? (uint8_t)id.p[i] : 0);
}

void cam_perf_write_mapping(struct cam_buf *b, const struct cam_perf_stamp *s,
			    const struct cam_perf_mapping *m)
{
	bool kernel = m->pid < 0;
	bool identified = m->build_id.n && m->build_id.n <= CAM_PERF_BUILD_ID_BYTES;
	size_t at = record_open(b, kernel ? RECORD_MMAP : RECORD_MMAP2,
				kernel	     ? MISC_KERNEL
				: identified ? MISC_USER | MISC_MMAP_BUILD_ID
					     : MISC_USER);
	cam_buf_put_u32(b, (uint32_t)m->pid);
	cam_buf_put_u32(b, kernel ? 0 : (uint32_t)m->pid);
	cam_buf_put_u64(b, m->start);
	cam_buf_put_u64(b, m->bytes);
	cam_buf_put_u64(b, m->offset);
	if (!kernel) {
		if (identified) {
			cam_buf_put_u32(b, (uint32_t)m->build_id.n);
			put_build_id(b, m->build_id);
		} else {
			for (int i = 0; i < 3; i++)
				cam_buf_put_u64(b, 0);
		}
		cam_buf_put_u32(b, 5); /* readable, executable */
		cam_buf_put_u32(b, 2); /* private */
	}
	put_name(b, m->path);
	put_stamp(b, s);
	record_close(b, at);
}

void cam_perf_write_sample(struct cam_buf *b, const struct cam_perf_stamp *s, bool kernel,
			   uint64_t ip, uint64_t period, const uint64_t *ips, size_t n)
{
	size_t at = record_open(b, RECORD_SAMPLE, kernel ? MISC_KERNEL : MISC_USER);
	cam_buf_put_u64(b, s->event + 1ul);
	cam_buf_put_u64(b, ip);
	cam_buf_put_u32(b, (uint32_t)s->pid);
	cam_buf_put_u32(b, (uint32_t)s->tid);
	cam_buf_put_u64(b, s->time_ns);
	if (s->has_cpu) {
		cam_buf_put_u32(b, s->cpu);
		cam_buf_put_u32(b, 0);
	}
	cam_buf_put_u64(b, period);
	if (!s->flat)
		cam_buf_put_u64(b, n);
	for (size_t i = 0; i < n && !s->flat; i++)
		cam_buf_put_u64(b, ips[i]);
	record_close(b, at);
}

/* What the kernel calls it; other events are raw: their name is among the features. */
static void type_of(struct cam_text name, uint32_t *type, uint64_t *config)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} known[] = {
		{"cpu-clock", 1, 0},	{"task-clock", 1, 1},	 {"page-faults", 1, 2},
		{"cycles", 0, 0},	{"cpu-cycles", 0, 0},	 {"instructions", 0, 1},
		{"cache-misses", 0, 3}, {"branch-misses", 0, 5},
	};
	const char *colon = name.n ? memchr(name.p, ':', name.n) : NULL;
	struct cam_text plain = {name.p, colon ? (size_t)(colon - name.p) : name.n};
	*type = 4;
	*config = 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (cam_text_equal(plain, cam_text_of(known[i].name))) {
			*type = known[i].type;
			*config = known[i].config;
		}
	}
}

static void put_attr(struct cam_buf *b, const struct cam_tables *t, const struct cam_etype *e,
		     const struct cam_perf_frame_facts *facts)
{
	uint64_t sample_type = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_PERIOD |
			       SAMPLE_IDENTIFIER | (e->flat ? 0u : SAMPLE_CALLCHAIN);
	uint64_t flags = 1 | 1ul << 18; /* disabled; sample_id_all */
	uint64_t freq = e->period_ns ? (CAM_NS_PER_SEC + e->period_ns / 2) / e->period_ns : 0;
	uint32_t type;
	uint64_t config;
	size_t at = b->len;
	type_of(cam_string(t, e->name), &type, &config);
	flags |= freq ? 1ul << 10 : 0;
	flags |= facts->monotonic ? 1ul << 25 : 0;
	cam_buf_put_u32(b, type);
	cam_buf_put_u32(b, ATTR_BYTES);
	cam_buf_put_u64(b, config);
	cam_buf_put_u64(b, freq ? freq : 1);
	cam_buf_put_u64(b, sample_type | (facts->has_cpu ? SAMPLE_CPU : 0u));
	cam_buf_put_u64(b, 0); /* read_format */
	cam_buf_put_u64(b, flags);
	while (b->len < at + 92 && !cam_buf_error(b))
		cam_buf_put_u8(b, 0);
	cam_buf_put_u32(b, facts->monotonic ? CLOCK_MONOTONIC : 0);
	while (b->len < at + ATTR_BYTES && !cam_buf_error(b))
		cam_buf_put_u8(b, 0);
}

/* A string of the features: its length, filled to a multiple of 64, then that many bytes. */
static void put_string(struct cam_buf *b, struct cam_text s)
{
	size_t n = s.n < MAX_NAME ? s.n : MAX_NAME,
	       room = (n + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN;
	cam_buf_put_u32(b, (uint32_t)room);
	cam_buf_put(b, s.p, n);
	for (; n < room; n++)
		cam_buf_put_u8(b, 0);
}

static void put_build_ids(struct cam_buf *b, const struct cam_perf_frame_facts *facts)
{
	static const char name[NAME_ALIGN] = "[kernel.kallsyms]";
	size_t at = record_open(b, RECORD_HEADER_BUILD_ID, MISC_KERNEL | MISC_BUILD_ID_SIZE);
	cam_buf_put_u32(b, UINT32_MAX);
	put_build_id(b, facts->kernel_build_id);
	cam_buf_put_u8(b, (uint8_t)(facts->kernel_build_id.n < CAM_PERF_BUILD_ID_BYTES
					    ? facts->kernel_build_id.n
					    : CAM_PERF_BUILD_ID_BYTES));
	for (int i = 0; i < 3; i++)
		cam_buf_put_u8(b, 0);
	cam_buf_put(b, name, sizeof(name));
	record_close(b, at);
}

static void put_event_desc(struct cam_buf *b, const struct cam_tables *t,
			   const struct cam_perf_frame_facts *facts)
{
	cam_buf_put_u32(b, (uint32_t)t->n_etypes);
	cam_buf_put_u32(b, ATTR_BYTES);
	for (size_t i = 0; i < t->n_etypes; i++) {
		put_attr(b, t, &t->etypes[i], facts);
		cam_buf_put_u32(b, 1);
		put_string(b, cam_string(t, t->etypes[i].name));
		cam_buf_put_u64(b, i + 1);
	}
}

/* The content of a feature; nothing: it is not there. */
static void put_feature(struct cam_buf *b, unsigned feature, const struct cam_tables *t,
			const struct cam_perf_frame_facts *f)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
		if (f->kernel_build_id.n)
			put_build_ids(b, f);
		break;
	case FEATURE_HOSTNAME:
		if (f->host.n)
			put_string(b, f->host);
		break;
	case FEATURE_OSRELEASE:
		if (f->kernel.n)
			put_string(b, f->kernel);
		break;
	case FEATURE_ARCH:
		if (f->machine.n)
			put_string(b, f->machine);
		break;
	case FEATURE_NRCPUS:
		if (!f->cpus)
			break;
		cam_buf_put_u32(b, f->cpus);
		cam_buf_put_u32(b, f->cpus);
		break;
	case FEATURE_CPUDESC:
		if (f->model.n)
			put_string(b, f->model);
		break;
	case FEATURE_EVENT_DESC:
		put_event_desc(b, t, f);
		break;
	case FEATURE_SAMPLE_TIME:
		cam_buf_put_u64(b, f->first_ns);
		cam_buf_put_u64(b, f->last_ns);
		break;
	case FEATURE_CLOCK_DATA:
		if (!f->monotonic || !f->has_wall)
			break;
		cam_buf_put_u32(b, 1); /* version */
		cam_buf_put_u32(b, CLOCK_MONOTONIC);
		cam_buf_put_u64(b, f->wall_ns);
		cam_buf_put_u64(b, f->clock_ns);
		break;
	default:
		break;
	}
}

struct sections {
	struct cam_buf content;
	uint64_t bits;
	uint64_t bytes[FEATURE_MAX];
	size_t n;
};

static void put_features(struct sections *s, const struct cam_tables *t,
			 const struct cam_perf_frame_facts *facts)
{
	for (unsigned i = 0; i < FEATURE_MAX; i++) {
		size_t at = s->content.len;
		put_feature(&s->content, i, t, facts);
		if (s->content.len == at)
			continue;
		s->bits |= 1ul << i;
		s->bytes[s->n++] = s->content.len - at;
	}
}

static void put_section(struct cam_buf *b, uint64_t offset, uint64_t bytes)
{
	cam_buf_put_u64(b, offset);
	cam_buf_put_u64(b, bytes);
}

static void put_head(struct cam_buf *b, const struct cam_tables *t, uint64_t record_bytes,
		     const struct cam_perf_frame_facts *facts, uint64_t bits)
{
	uint64_t n = t->n_etypes, ids = HEADER_BYTES, attrs = ids + n * 8;
	uint64_t records = attrs + n * (ATTR_BYTES + 16);
	cam_buf_put(b, "PERFILE2", 8);
	cam_buf_put_u64(b, HEADER_BYTES);
	cam_buf_put_u64(b, ATTR_BYTES + 16);
	put_section(b, attrs, n * (ATTR_BYTES + 16));
	put_section(b, records, record_bytes);
	put_section(b, 0, 0);
	cam_buf_put_u64(b, bits);
	for (int i = 0; i < 3; i++)
		cam_buf_put_u64(b, 0);
	for (uint64_t i = 0; i < n; i++)
		cam_buf_put_u64(b, i + 1);
	for (uint64_t i = 0; i < n; i++) {
		put_attr(b, t, &t->etypes[i], facts);
		put_section(b, ids + i * 8, 8);
	}
}

int cam_perf_write_file(struct cam_out *out, struct cam_spool *records, const struct cam_tables *t,
			const struct cam_perf_frame_facts *facts)
{
	struct cam_buf head = CAM_BUF(FEATURE_BYTES);
	struct sections s = {.content = CAM_BUF(FEATURE_BYTES)};
	put_features(&s, t, facts);
	put_head(&head, t, records->bytes, facts, s.bits);
	int err = cam_buf_error(&head) ? cam_buf_error(&head) : cam_buf_error(&s.content);
	uint64_t at = head.len + records->bytes + s.n * 16;
	if (!err) {
		cam_out_bytes(out, head.data, head.len);
		err = cam_spool_copy(records, out);
	}
	cam_buf_clear(&head);
	for (size_t i = 0; i < s.n; i++) {
		put_section(&head, at, s.bytes[i]);
		at += s.bytes[i];
	}
	err = err ? err : cam_buf_error(&head);
	if (!err) {
		cam_out_bytes(out, head.data, head.len);
		cam_out_bytes(out, s.content.data, s.content.len);
	}
	cam_buf_free(&head);
	cam_buf_free(&s.content);
	return err;
}
