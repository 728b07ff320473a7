// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a BPF ring buffer ourselves: libbpf's reader has no peek, and gives each record's space
 * back before the next is looked at.
 *
 * Layout: a page with the consumer's position, a page with the producer's, the data, the data again.
 * Positions count bytes and never wrap; a place is position & (bytes - 1). A record is a head of 8
 * bytes (length and two flags, then a page offset that is the kernel's own) and its payload, rounded
 * up to 8 bytes. The kernel reserves under a lock, copies without it, and clears `busy` last.
 *
 * Invariants:
 * 1. consumer <= position <= head <= producer, and head - position <= bytes.
 * 2. Nothing is read beyond head, and no payload before its busy bit was seen cleared.
 * 3. The consumer's position is moved by end() alone: until then the kernel cannot overwrite what
 *    take() gave.
 * 4. Each begin()...end() moves forward or stands before a record that is still being written.
 *
 * Example: bytes = 4096, position 4080, producer 4176. At place 4080 stand length 88, not busy: the
 * record is 96 bytes, 4080 up to 4176, its payload read in one piece from the second mapping. After
 * take() position is 4176, after end() the consumer's too.
 */
#include "capture/bpf_ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Why not sizeof: the kernel calls it BPF_RINGBUF_HDR_SZ and promises it. */
#define HEAD_BYTES 8u

_Static_assert(sizeof(unsigned long) == 8, "positions are compared as 64-bit numbers");

/* What a record with these counts takes. */
static uint32_t announced(const struct cam_wire_sample *s)
{
	uint32_t frames = s->n_kernel + (uint32_t)s->n_user;
	uint32_t copy = s->copy_bytes ? (uint32_t)sizeof(struct cam_wire_registers) : 0;
	return (uint32_t)sizeof(*s) + frames * (uint32_t)sizeof(uint64_t) + copy + s->copy_bytes;
}

static bool whole(const struct cam_bpf_ring *r, const struct cam_wire_sample *s, uint32_t length)
{
	return s->magic == CAM_WIRE_MAGIC && s->n_kernel <= CAM_WIRE_MAX_FRAMES &&
	       s->n_user <= CAM_WIRE_MAX_USER_FRAMES && s->end < CAM_STACK_ENDS &&
	       s->copy_bytes <= CAM_WIRE_COPY_BYTES && s->copy_bytes % 8 == 0 &&
	       length == announced(s) && s->cpu - r->first_cpu < CAM_WIRE_CPUS_A_RING &&
	       s->pid <= INT32_MAX && s->tid <= INT32_MAX;
}

static uint64_t record_bytes(uint32_t length)
{
	return (HEAD_BYTES + (uint64_t)length + 7) & ~(uint64_t)7;
}

static void give_up_round(struct cam_bpf_ring *r)
{
	r->malformed++;
	r->ready = false;
	r->position = r->head;
}

/* Stands at a good record (true), or there is none now. */
static bool advance(struct cam_bpf_ring *r)
{
	while (!r->ready && r->position < r->head) {
		const char *at = r->memory.data + (r->position & (r->memory.bytes - 1));
		uint32_t word = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		uint32_t length = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (word & BPF_RINGBUF_BUSY_BIT)
			return false;
		if (record_bytes(length) > r->head - r->position) {
			give_up_round(r);
			return false;
		}
		if (!(word & BPF_RINGBUF_DISCARD_BIT)) {
			if (length >= sizeof(r->at)) {
				memcpy(&r->at, at + HEAD_BYTES, sizeof(r->at));
				r->ready = whole(r, &r->at, length);
			}
			r->malformed += !r->ready;
		}
		if (!r->ready)
			r->position += record_bytes(length);
	}
	return r->ready;
}

static bool peek(struct cam_stream *s, uint64_t *time_ns)
{
	struct cam_bpf_ring *r = (struct cam_bpf_ring *)s;
	if (!advance(r))
		return false;
	*time_ns = r->at.time_ns;
	return true;
}

static uint32_t raw_flags(uint32_t wire)
{
	return CAM_RAW_HAS_COMM | (wire & CAM_WIRE_USER_MODE ? CAM_RAW_USER_MODE : 0) |
	       (wire & CAM_WIRE_GUESSED ? CAM_RAW_GUESSED : 0) |
	       (wire & (CAM_WIRE_KERNEL_CUT | CAM_WIRE_USER_CUT) ? CAM_RAW_TRUNCATED : 0);
}

/* Registers and stack stand behind the frames. */
static struct cam_raw_copy copy_of(const struct cam_wire_sample *w, const uint64_t *after)
{
	if (!w->copy_bytes)
		return (struct cam_raw_copy){0};
	const struct cam_wire_registers *regs = (const struct cam_wire_registers *)after;
	return (struct cam_raw_copy){.ip = regs->ip,
				     .sp = regs->sp,
				     .bp = regs->bp,
				     .stack = (const uint8_t *)(regs + 1),
				     .stack_bytes = w->copy_bytes};
}

static void take(struct cam_stream *s, struct cam_raw *out)
{
	struct cam_bpf_ring *r = (struct cam_bpf_ring *)s;
	const struct cam_wire_sample *w = &r->at;
	const char *at = r->memory.data + (r->position & (r->memory.bytes - 1));
	const uint64_t *frames = (const uint64_t *)(at + HEAD_BYTES + sizeof(*w));
	*out = (struct cam_raw){
		.type = CAM_RAW_SAMPLE,
		.cpu = w->cpu,
		.time_ns = w->time_ns,
		.pid = (int32_t)w->pid,
		.tid = (int32_t)w->tid,
		.sample = {.kernel = frames,
			   .user = frames + w->n_kernel,
			   .n_kernel = w->n_kernel,
			   .n_user = w->n_user,
			   .flags = raw_flags(w->flags),
			   .end = w->end,
			   .image = w->image,
			   .copy = copy_of(w, frames + w->n_kernel + w->n_user),
			   .uid = w->uid,
			   .start_ns = w->start_ns,
			   .weight = 1},
	};
	_Static_assert(sizeof(w->comm) == CAM_COMM_BYTES, "");
	memcpy(out->sample.comm, w->comm, sizeof(w->comm) - 1);
	r->position += record_bytes(announced(w));
	r->ready = false;
}

void cam_bpf_ring_begin(struct cam_bpf_ring *r)
{
	r->head = __atomic_load_n(r->memory.producer, __ATOMIC_ACQUIRE);
	if (r->head - r->position > r->memory.bytes || r->head % 8)
		give_up_round(r);
}

void cam_bpf_ring_end(struct cam_bpf_ring *r)
{
	__atomic_store_n(r->memory.consumer, r->position, __ATOMIC_RELEASE);
}

void cam_bpf_ring_use(struct cam_bpf_ring *r, const struct cam_bpf_ring_memory *m,
		      uint32_t first_cpu)
{
	*r = (struct cam_bpf_ring){.stream = {peek, take},
				   .memory = *m,
				   .fd = -1,
				   .first_cpu = first_cpu,
				   .position = *m->consumer};
	r->head = r->position;
}

size_t cam_bpf_ring_mapped_bytes(size_t bytes, size_t page_bytes)
{
	return 2 * page_bytes + 2 * bytes;
}

int cam_bpf_ring_open(size_t bytes, uint32_t first_cpu, struct cam_bpf_ring *out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "cam_ring", 0, 0, (uint32_t)bytes, NULL);
	if (fd < 0)
		return -errno;
	struct cam_bpf_ring_memory m = {.bytes = bytes};
	void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (consumer == MAP_FAILED)
		goto no_consumer;
	void *rest = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (rest == MAP_FAILED)
		goto no_data;
	m.consumer = consumer;
	m.producer = rest;
	m.data = (const char *)rest + page;
	cam_bpf_ring_use(out, &m, first_cpu);
	out->fd = fd;
	return 0;

	int err;
no_data:
	err = -errno;
	munmap(consumer, page);
	close(fd);
	return err;
no_consumer:
	err = -errno;
	close(fd);
	return err;
}

void cam_bpf_ring_close(struct cam_bpf_ring *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (r->fd < 0)
		return;
	munmap(r->memory.consumer, page);
	munmap((void *)((uintptr_t)r->memory.data - page), page + 2 * r->memory.bytes);
	close(r->fd);
	*r = (struct cam_bpf_ring){.fd = -1};
}
