// SPDX-License-Identifier: Apache-2.0
/*
 * The format, little-endian here (tools/perf/Documentation/jitdump-specification.txt of the kernel):
 *
 *	header	u32 magic "JiTD" as a number, u32 version, u32 its own bytes, u32 ELF machine, u32 0,
 *		u32 pid, u64 time, u64 flags
 *	record	u32 id, u32 bytes of all of it, u64 time, then
 *	  LOAD (0)  u32 pid, u32 tid, u64 vma, u64 address, u64 bytes, u64 index, name with its 0, code
 *	  MOVE (1)  u32 pid, u32 tid, u64 vma, u64 old address, u64 new address, u64 bytes, u64 index
 *	  others    DEBUG_INFO, CLOSE, UNWINDING_INFO, …: nothing for us
 *
 * Invariants
 *  1. Each record takes at least its 16 bytes, so reading ends; records read by one call are bounded by
 *     max_bytes, since each costs at least RECORD_COST of it.
 *  2. A move needs the name of what was loaded before: it settles first. That costs up to a fold of the
 *     young layer, so a call reads at most MAX_MOVES of them.
 *
 * Example: LOAD f at 0x1000, 16 bytes; MOVE from 0x1000 to 0x2000: both addresses are f until another
 * function is loaded there.
 */
#include "symbol/jitdump.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

#define MAGIC	     0x4a695444u
#define VERSION	     1u
#define HEADER_BYTES 40u
#define PREFIX_BYTES 16u
#define LOAD_BYTES   (PREFIX_BYTES + 40u)
#define MOVE_BYTES   (PREFIX_BYTES + 48u)
#define RECORD_COST  64u
#define MAX_MOVES    1024u
#define BLOCK_BYTES  65536u

enum { LOAD, MOVE };

int cam_jitdump_open(struct cam_jitdump *d)
{
	*d = (struct cam_jitdump){.code = cam_jitcode_new()};
	return d->code ? 0 : -ENOMEM;
}

void cam_jitdump_close(struct cam_jitdump *d)
{
	cam_jitcode_free(d->code);
	*d = (struct cam_jitdump){0};
}

/* A stretch of the file, read ahead. */
struct ahead {
	const struct cam_bytes *from;
	uint64_t at;
	size_t n;
	uint8_t bytes[BLOCK_BYTES];
};

/* n bytes (at most a block) from `at`; NULL: they are not there. */
static const uint8_t *look(struct ahead *a, uint64_t at, size_t n)
{
	if (at >= a->at && at - a->at <= a->n && n <= a->n - (at - a->at))
		return a->bytes + (at - a->at);
	uint64_t left = at < a->from->size ? a->from->size - at : 0;
	size_t room = left < sizeof(a->bytes) ? (size_t)left : sizeof(a->bytes);
	a->n = 0;
	if (n > room || cam_bytes_read(a->from, at, a->bytes, room))
		return NULL;
	a->at = at;
	a->n = room;
	return a->bytes;
}

/* 0, 1: it is not written yet, or -EBADMSG. */
static int read_header(struct cam_jitdump *d, struct ahead *a)
{
	const uint8_t *h = look(a, 0, HEADER_BYTES);
	if (!h)
		return 1;
	if (cam_get32(h) != MAGIC || cam_get32(h + 4) != VERSION || cam_get32(h + 8) < HEADER_BYTES)
		return -EBADMSG;
	if (d->at && d->stamp == cam_get64(h + 24) && a->from->size >= d->at)
		return 0;
	if (d->at)
		cam_jitcode_clear(d->code);
	*d = (struct cam_jitdump){
		.code = d->code,
		.at = cam_get32(h + 8),
		.stamp = cam_get64(h + 24),
		.bad_records = d->bad_records,
	};
	return 0;
}

static int take_load(struct cam_jitdump *d, struct ahead *a, uint32_t bytes)
{
	uint32_t most = bytes - LOAD_BYTES;
	if (most > CAM_JITCODE_MAX_NAME + 1)
		most = CAM_JITCODE_MAX_NAME + 1;
	const uint8_t *r = look(a, d->at, LOAD_BYTES + most);
	if (!r)
		return -EBADMSG;
	const char *name = (const char *)r + LOAD_BYTES;
	return cam_jitcode_add(d->code, cam_get64(r + 32), cam_get64(r + 40),
			       (struct cam_text){name, strnlen(name, most)});
}

static int take_move(struct cam_jitdump *d, struct ahead *a)
{
	struct cam_jitcode_hit hit;
	const uint8_t *r = look(a, d->at, MOVE_BYTES);
	if (!r)
		return -EBADMSG;
	uint64_t from = cam_get64(r + 32), to = cam_get64(r + 40), bytes = cam_get64(r + 48);
	int err = cam_jitcode_settle(d->code);
	if (err)
		return err;
	if (!cam_jitcode_find(d->code, from, &hit))
		return -EINVAL;
	char name[CAM_JITCODE_MAX_NAME];
	memcpy(name, hit.name.p, hit.name.n);
	return cam_jitcode_add(d->code, to, bytes, (struct cam_text){name, hit.name.n});
}

static int take_record(struct cam_jitdump *d, struct ahead *a, uint32_t id, uint32_t bytes)
{
	if (id == LOAD)
		return bytes >= LOAD_BYTES ? take_load(d, a, bytes) : -EINVAL;
	if (id == MOVE)
		return bytes >= MOVE_BYTES ? take_move(d, a) : -EINVAL;
	return 0;
}

static int read_records(struct cam_jitdump *d, struct ahead *a, uint64_t max_bytes, bool *behind)
{
	unsigned moves = 0;
	while (!d->broken) {
		const uint8_t *r = look(a, d->at, PREFIX_BYTES);
		if (!r)
			return 0;
		uint32_t id = cam_get32(r), bytes = cam_get32(r + 4);
		if (bytes < PREFIX_BYTES) {
			d->broken = true;
			return 0;
		}
		if (bytes > a->from->size - d->at)
			return 0;
		/* What is passed over costs no more than a look ahead. */
		uint64_t cost = bytes < BLOCK_BYTES ? bytes : BLOCK_BYTES;
		cost = cost < RECORD_COST ? RECORD_COST : cost;
		if (cost > max_bytes || (id == MOVE && moves == MAX_MOVES)) {
			*behind = true;
			return 0;
		}
		moves += id == MOVE;
		max_bytes -= cost;
		int err = take_record(d, a, id, bytes);
		if (err == -EINVAL)
			d->bad_records++;
		else if (err)
			return err;
		d->at += bytes;
	}
	return 0;
}

int cam_jitdump_read(struct cam_jitdump *d, const struct cam_bytes *b, uint64_t max_bytes,
		     bool *behind)
{
	CAM_AUTOFREE struct ahead *a = malloc(sizeof(*a));
	*behind = false;
	if (!a)
		return -ENOMEM;
	a->from = b;
	a->at = a->n = 0;
	int err = read_header(d, a);
	if (err)
		return err < 0 ? err : 0;
	err = read_records(d, a, max_bytes, behind);
	int settled = cam_jitcode_settle(d->code);
	return err ? err : settled;
}
