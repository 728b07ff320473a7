// SPDX-License-Identifier: Apache-2.0
/*
 * Decoding of perf records (layouts: record.h, perf_event_open(2)).
 *
 * Invariants: 1. No byte outside the record is read; 2. A text ends at its first NUL, or where the
 * trailer begins; 3. A stack is the first run of frames of its kind. The kernel writes one run of
 * kernel frames, then one of user frames, each after its marker; frames of a guest or a hypervisor
 * belong to no address space we could name, and are passed over.
 *
 * Example: ips = [KERNEL, k0, k1, USER, u0, u1, u2]: kernel = {k0, k1}, user = {u0, u1, u2}, both
 * in place, leaf first.
 */
#include "capture/record.h"

#include <string.h>
#include <sys/mman.h>

#define TRAILER_BYTES 24u

/* What is left of a record's body; `p` is NULL once it was read past its end. */
struct body {
	const uint8_t *p;
	size_t n;
};

static uint64_t take_u64(struct body *b)
{
	uint64_t v;
	if (!b->p || b->n < sizeof(v)) {
		b->p = NULL;
		return 0;
	}
	memcpy(&v, b->p, sizeof(v));
	b->p += sizeof(v);
	b->n -= sizeof(v);
	return v;
}

static uint32_t take_u32(struct body *b)
{
	uint32_t v;
	if (!b->p || b->n < sizeof(v)) {
		b->p = NULL;
		return 0;
	}
	memcpy(&v, b->p, sizeof(v));
	b->p += sizeof(v);
	b->n -= sizeof(v);
	return v;
}

/* The rest of the body as text. */
static struct cam_text take_text(struct body *b)
{
	if (!b->p)
		return (struct cam_text){0};
	const char *text = (const char *)b->p;
	return (struct cam_text){text, strnlen(text, b->n)};
}

static void take_task(struct body *b, struct cam_raw *out)
{
	out->pid = (int32_t)take_u32(b);
	out->tid = (int32_t)take_u32(b);
}

static void take_time_and_cpu(struct body *b, struct cam_raw *out)
{
	out->time_ns = take_u64(b);
	out->cpu = take_u32(b);
	take_u32(b);
}

static bool is_marker(uint64_t ip)
{
	return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The kind of the frames that follow a marker. */
enum run { RUN_KERNEL, RUN_USER, RUN_OTHER };

static enum run run_of_marker(uint64_t marker)
{
	if (marker == (uint64_t)PERF_CONTEXT_KERNEL)
		return RUN_KERNEL;
	return marker == (uint64_t)PERF_CONTEXT_USER ? RUN_USER : RUN_OTHER;
}

static void split_chain(const uint64_t *ips, uint64_t n, struct cam_raw_sample *s)
{
	enum run run = s->flags & CAM_RAW_USER_MODE ? RUN_USER : RUN_KERNEL;
	bool closed[] = {false, false, true};

	for (uint64_t i = 0; i < n; i++) {
		if (is_marker(ips[i])) {
			closed[RUN_KERNEL] |= s->n_kernel > 0;
			closed[RUN_USER] |= s->n_user > 0;
			run = run_of_marker(ips[i]);
			continue;
		}
		if (closed[run]) {
			s->flags |= run == RUN_OTHER ? 0 : CAM_RAW_TRUNCATED;
			continue;
		}
		const uint64_t **frames = run == RUN_KERNEL ? &s->kernel : &s->user;
		uint32_t *count = run == RUN_KERNEL ? &s->n_kernel : &s->n_user;
		if (!*count)
			*frames = &ips[i];
		++*count;
	}
}

/*
 * The user's half as registers and stack. Who has none is not the kernel's to tell from one it lost. A worker
 * of io_uring has the memory of its process, and in some kernels registers, too: nothing is in them.
 */
static enum cam_record_result decode_copy(struct body b, struct cam_raw_sample *s)
{
	uint64_t abi = take_u64(&b);
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		s->copy.bp = take_u64(&b);
		s->copy.sp = take_u64(&b);
		s->user = (const uint64_t *)b.p;
		s->copy.ip = take_u64(&b);
		s->n_user = b.p != NULL;
	}
	uint64_t size = take_u64(&b);
	if (!b.p || size > b.n)
		return CAM_RECORD_MALFORMED;
	struct body tail = {b.p + size, b.n - size};
	uint64_t used = size ? take_u64(&tail) : 0;
	if (!tail.p || used > size)
		return CAM_RECORD_MALFORMED;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE || (!s->copy.ip && !s->copy.sp)) {
		s->n_user = 0;
		s->end = CAM_STACK_NO_USER;
	} else if (abi == PERF_SAMPLE_REGS_ABI_32) {
		s->end = CAM_STACK_COMPAT;
	} else if (used < sizeof(uint64_t)) {
		s->end = CAM_STACK_UNREADABLE;
	} else {
		s->end = CAM_STACK_PENDING;
		s->copy.stack = b.p;
		s->copy.stack_bytes = (uint32_t)used & ~7u;
	}
	return CAM_RECORD_OK;
}

static enum cam_record_result decode_sample(const struct perf_event_header *h, struct body b,
					    uint32_t max_stack, bool copies, struct cam_raw *out)
{
	struct cam_raw_sample *s = &out->sample;

	out->type = CAM_RAW_SAMPLE;
	take_task(&b, out);
	take_time_and_cpu(&b, out);
	uint64_t n = take_u64(&b);
	if (!b.p || n > b.n / sizeof(uint64_t))
		return CAM_RECORD_MALFORMED;
	s->weight = 1;
	if ((h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		s->flags |= CAM_RAW_USER_MODE;
	split_chain((const uint64_t *)b.p, n, s);
	if (max_stack && (uint64_t)s->n_kernel + s->n_user >= max_stack)
		s->flags |= CAM_RAW_TRUNCATED;
	if (s->n_user > 1)
		s->flags |= CAM_RAW_GUESSED;
	struct body rest = {b.p + n * sizeof(uint64_t), b.n - n * sizeof(uint64_t)};
	return copies ? decode_copy(rest, s) : CAM_RECORD_OK;
}

static enum cam_record_result decode_mmap(const struct perf_event_header *h, struct body *b,
					  struct cam_raw *out)
{
	struct cam_mapping *m = &out->mmap;

	out->type = CAM_RAW_MMAP;
	take_task(b, out);
	m->start = take_u64(b);
	uint64_t bytes = take_u64(b);
	m->file_offset = take_u64(b);
	uint32_t major = take_u32(b), minor = take_u32(b);
	uint64_t inode = take_u64(b), generation = take_u64(b);
	/* With a build id these bytes say something else; we do not ask for one. */
	if (!(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		m->major = major;
		m->minor = minor;
		m->inode = inode;
		m->generation = generation;
	}
	uint32_t prot = take_u32(b);
	take_u32(b);
	m->path = take_text(b);
	if (!b->p || __builtin_add_overflow(m->start, bytes, &m->end))
		return CAM_RECORD_MALFORMED;
	return prot & PROT_EXEC ? CAM_RECORD_OK : CAM_RECORD_UNWANTED;
}

static void decode_task(bool is_fork, struct body *b, struct cam_raw *out)
{
	out->type = is_fork ? CAM_RAW_FORK : CAM_RAW_EXIT;
	out->pid = (int32_t)take_u32(b);
	out->fork.parent_pid = (int32_t)take_u32(b);
	out->tid = (int32_t)take_u32(b);
	out->fork.parent_tid = (int32_t)take_u32(b);
	take_u64(b); /* the time, once more */
}

/*
 * Read from its front: the kernel adds the trailer's length to header.size once more for each event
 * that gets the record (up to 6.18 at least), so that behind the trailer stale bytes of the ring may
 * follow. perf 6.1 stops reading its own file at such a record.
 */
static enum cam_record_result decode_ksymbol(struct body b, struct cam_raw *out)
{
	struct cam_raw_ksymbol *k = &out->ksymbol;

	out->type = CAM_RAW_KSYMBOL;
	k->address = take_u64(&b);
	k->bytes = take_u32(&b);
	uint32_t type_and_flags = take_u32(&b);
	k->removed = (type_and_flags >> 16) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	k->name = take_text(&b);
	size_t name_bytes = (k->name.n + 8) & ~(size_t)7; /* with its NUL */
	if (!b.p || b.n < name_bytes)
		return CAM_RECORD_MALFORMED;
	b = (struct body){b.p + name_bytes, b.n - name_bytes};
	take_task(&b, out);
	take_time_and_cpu(&b, out);
	return b.p ? CAM_RECORD_OK : CAM_RECORD_MALFORMED;
}

static enum cam_record_result decode_body(const struct perf_event_header *h, struct body *b,
					  struct cam_raw *out)
{
	switch (h->type) {
	case PERF_RECORD_MMAP2:
		return decode_mmap(h, b, out);
	case PERF_RECORD_COMM:
		out->type = CAM_RAW_COMM;
		take_task(b, out);
		out->comm.exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		out->comm.comm = take_text(b);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		decode_task(h->type == PERF_RECORD_FORK, b, out);
		break;
	case PERF_RECORD_LOST:
		take_u64(b); /* the event's id */
		__attribute__((fallthrough));
	case PERF_RECORD_LOST_SAMPLES:
		out->type = CAM_RAW_LOST;
		out->lost.records = take_u64(b);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		out->type = h->type == PERF_RECORD_THROTTLE ? CAM_RAW_THROTTLE : CAM_RAW_UNTHROTTLE;
		take_u64(b);
		take_u64(b);
		take_u64(b);
		break;
	default:
		return CAM_RECORD_UNKNOWN;
	}
	return b->p ? CAM_RECORD_OK : CAM_RECORD_MALFORMED;
}

enum cam_record_result cam_record_decode(const struct perf_event_header *h, uint32_t max_stack,
					 bool copies, struct cam_raw *out)
{
	struct body b = {(const uint8_t *)(h + 1), h->size - sizeof(*h)};

	memset(out, 0, sizeof(*out));
	if (h->type == PERF_RECORD_SAMPLE)
		return decode_sample(h, b, max_stack, copies, out);
	if (h->type == PERF_RECORD_KSYMBOL)
		return decode_ksymbol(b, out);
	if (b.n < TRAILER_BYTES)
		return CAM_RECORD_MALFORMED;
	b.n -= TRAILER_BYTES;
	struct body trailer = {b.p + b.n, TRAILER_BYTES};
	/* Who ran while the record was made; the body of most says better whom it is about. */
	take_task(&trailer, out);
	take_time_and_cpu(&trailer, out);
	return decode_body(h, &b, out);
}
