// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the blocks of a file that a crash, a bad disk or somebody has been at.
 *
 * A good block is one whose head is plausible, whose crc is right and whose sequence is higher than
 * that of the good block before it. Where none follows at once, the next one is searched for byte
 * by byte: its magic first, then all of it.
 *
 * Invariants
 *  1. Blocks come in order of offset and of sequence, none overlaps another.
 *  2. The search looks at FAR bytes behind a good block, and spends `budget` bytes of crc on
 *     candidates that turn out bad: a file of holes, or of heads that claim long payloads, ends the
 *     scan, not the day.
 *  3. What cannot be read (EIO) is bad, in pieces of PIECE bytes, as bad sectors are.
 *
 * Example: blocks 0 1 2 3, a byte of 1 flipped. After 0 the crc at 1 is wrong; the search finds the
 * magic of 2 and its crc is right: skipped = bytes of 1, missing = 1.
 */
#include "store/journal_scan.h"

#include <errno.h>
#include <stdlib.h>

#define WINDOW 65536u
#define PIECE  4096u
/* Some of the longest blocks in a row. */
#define FAR (4ull * CAM_JOURNAL_MAX_BYTES)
/* What a look at a candidate costs beside its bytes. */
#define LOOK 64u

/* All n bytes, or false. */
static bool read_exactly(struct cam_file *f, uint8_t *to, size_t n, uint64_t at)
{
	return f->ops->pread(f, to, n, at) == (ssize_t)n;
}

/* 1: a block with a good crc is in s->block; 0: none; -ENOMEM. */
static int load(struct cam_journal_scan *s, uint64_t at, struct cam_journal_head *head)
{
	uint8_t bytes[CAM_JOURNAL_HEAD];
	s->looked = 0;
	if (at > s->size || s->size - at < CAM_JOURNAL_HEAD ||
	    !read_exactly(s->file, bytes, sizeof(bytes), at) ||
	    !cam_journal_get_head(bytes, head) || s->size - at - CAM_JOURNAL_HEAD < head->bytes)
		return 0;
	cam_buf_clear(&s->block);
	uint8_t *to = cam_buf_reserve(&s->block, CAM_JOURNAL_HEAD + head->bytes);
	if (!to)
		return cam_buf_error(&s->block);
	memcpy(to, bytes, sizeof(bytes));
	s->looked = head->bytes;
	if (!read_exactly(s->file, to + sizeof(bytes), head->bytes, at + sizeof(bytes)))
		return 0;
	return cam_journal_crc(to, head->bytes, s->seed) == head->crc;
}

int cam_journal_scan_read(struct cam_journal_scan *s, uint64_t at, struct cam_journal_head *head,
			  const uint8_t **payload)
{
	int got = load(s, at, head);
	*payload = got > 0 ? s->block.data + CAM_JOURNAL_HEAD : NULL;
	return got;
}

int cam_journal_scan_open(struct cam_journal_scan *s, struct cam_file *file)
{
	struct cam_journal_head head;
	uint8_t byte;
	*s = (struct cam_journal_scan){.file = file};
	int64_t size = file->ops->size(file);
	ssize_t readable = size < 0 ? (ssize_t)size : file->ops->pread(file, &byte, 1, 0);
	if (readable < 0)
		return (int)readable;
	s->size = (uint64_t)size;
	s->budget = 4 * s->size + (1u << 20);
	s->block = CAM_BUF(CAM_JOURNAL_HEAD + CAM_JOURNAL_MAX_BYTES);
	s->window = malloc(WINDOW);
	int got = s->window ? load(s, 0, &head) : -ENOMEM;
	if (got <= 0 || head.type != CAM_JOURNAL_HEADER || head.sequence != 0 || head.flags) {
		cam_journal_scan_close(s);
		return got < 0 ? got : -EBADMSG;
	}
	s->seed = head.crc;
	s->good_end = CAM_JOURNAL_HEAD + head.bytes;
	return 0;
}

void cam_journal_scan_close(struct cam_journal_scan *s)
{
	cam_buf_free(&s->block);
	free(s->window);
	s->window = NULL;
}

/* A block of this place in the order? If not, what the look cost comes off the budget. */
static int try_block(struct cam_journal_scan *s, uint64_t at, struct cam_journal_head *head)
{
	int got = load(s, at, head);
	if (got < 0)
		return got;
	if (got && head->sequence > s->sequence && head->type != CAM_JOURNAL_HEADER)
		return 1;
	uint64_t cost = LOOK + s->looked;
	s->budget = s->budget > cost ? s->budget - cost : 0;
	return 0;
}

/* The piece of the file at `at`; false: it cannot be read, and *skip bytes are bad. */
static bool fill_window(struct cam_journal_scan *s, uint64_t at, size_t *skip)
{
	uint64_t left = s->size - at;
	s->window_at = at;
	s->window_bytes = left < WINDOW ? (size_t)left : WINDOW;
	if (read_exactly(s->file, s->window, s->window_bytes, at))
		return true;
	s->window_bytes = left < PIECE ? (size_t)left : PIECE;
	if (read_exactly(s->file, s->window, s->window_bytes, at))
		return true;
	*skip = s->window_bytes;
	s->window_bytes = 0;
	return false;
}

/* The next place from `at` on where the magic stands; size: there is none near. */
static uint64_t find_magic(struct cam_journal_scan *s, uint64_t at)
{
	uint8_t magic[4];
	cam_journal_put_u32(magic, CAM_JOURNAL_MAGIC);
	while (at < s->size && s->size - at >= CAM_JOURNAL_HEAD && at - s->good_end <= FAR) {
		size_t skip;
		bool inside = at >= s->window_at && at - s->window_at + 4 <= s->window_bytes;
		if (!inside && !fill_window(s, at, &skip)) {
			at += skip;
			continue;
		}
		size_t from = (size_t)(at - s->window_at);
		const uint8_t *found = memmem(s->window + from, s->window_bytes - from, magic, 4);
		if (found)
			return s->window_at + (uint64_t)(found - s->window);
		/* A magic may lie across the border. */
		at = s->window_at + s->window_bytes - 3;
		if (s->window_at + s->window_bytes == s->size)
			break;
	}
	return s->size;
}

int cam_journal_scan_next(struct cam_journal_scan *s, struct cam_journal_span *out)
{
	uint64_t at = s->good_end;
	int got = try_block(s, at, &out->head);
	while (!got && s->budget) {
		at = find_magic(s, at + 1 < s->size ? at + 1 : s->size);
		if (at == s->size)
			return 0;
		got = try_block(s, at, &out->head);
	}
	if (got <= 0)
		return got;
	out->at = at;
	out->skipped = at - s->good_end;
	out->missing = out->head.sequence - s->sequence - 1;
	out->payload = s->block.data + CAM_JOURNAL_HEAD;
	s->good_end = at + CAM_JOURNAL_HEAD + out->head.bytes;
	s->sequence = out->head.sequence;
	return 1;
}
