// SPDX-License-Identifier: Apache-2.0
/*
 * The journal's writer: blocks of rows → bytes, one pwrite a block.
 *
 * Blocks are encoded (journal_encode.c), compressed where that pays, and written at once, head and
 * payload: a crash tears at most the last one.
 *
 * Why an epoch is not simply 10 s: a definition is paid for again in each epoch. Measured on
 * fork-heavy 97 Hz recordings (docs/journal-format.md), epochs of 10 s take 19 bytes a sample where
 * user stacks are short and 33 where they are complete; of 60 s, 13 and 20. So an epoch lasts at
 * least 10 s of samples, and goes on, to 60 s at most, while it has cost more than EPOCH_BYTES a
 * sample.
 *
 * Invariants
 *  1. bytes, sequence, samples and epoch change only when a block got into the file. One that could
 *     not be written leaves no trace: the next goes to the same place with the same sequence.
 *  2. After any error of a block the next one starts an epoch: the encoder's marks may name rows
 *     that no block in the file defines.
 *
 * Example: samples at 97 Hz on 2 CPUs, blocks of a second, 24 bytes a sample at first. At 10 s the
 * epoch has cost 20 bytes a sample and goes on; at 14 s it is down to 18, the next block starts
 * another.
 */
#include "base/buf.h"
#include "base/units.h"
#include "store/journal.h"
#include "store/journal_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define LEVEL 3
/* Smaller ones stay plain: to compress half a second of a quiet host took a quarter of all instructions, and the disk writes
 * whole pages anyway. */
#define PLAIN_BYTES	 1024u
#define EPOCH_MIN_NS	 (10 * CAM_NS_PER_SEC)
#define EPOCH_MAX_NS	 (60 * CAM_NS_PER_SEC)
#define EPOCH_BYTES	 18u
#define EPOCH_MAX_BLOCKS 1024u

struct cam_journal_writer {
	struct cam_file *file;
	ZSTD_CCtx *zstd; /* NULL: blocks stay plain */
	uint64_t bytes;
	uint32_t sequence, seed;
	uint64_t samples;

	struct cam_journal_encode encode;
	struct cam_buf plain, out;
	uint64_t epoch;
	bool epoch_starts; /* with the next block that gets written */
	uint64_t epoch_from_ns, epoch_to_ns;
	uint64_t epoch_bytes, epoch_samples;
	uint32_t epoch_blocks;
};

int cam_journal_writer_new(struct cam_file *file, bool compress, struct cam_journal_writer **out)
{
	struct cam_journal_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	if (compress) {
		w->zstd = ZSTD_createCCtx();
		if (!w->zstd) {
			free(w);
			return -ENOMEM;
		}
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_contentSizeFlag, 0);
	}
	w->file = file;
	cam_journal_encode_init(&w->encode);
	w->plain = CAM_BUF(CAM_JOURNAL_MAX_BYTES + CAM_JOURNAL_HEAD);
	w->out = CAM_BUF(CAM_JOURNAL_MAX_BYTES + CAM_JOURNAL_HEAD);
	w->epoch_starts = true;
	*out = w;
	return 0;
}

void cam_journal_writer_free(struct cam_journal_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCCtx(w->zstd);
	cam_journal_encode_free(&w->encode);
	cam_buf_free(&w->plain);
	cam_buf_free(&w->out);
	free(w);
}

uint64_t cam_journal_writer_bytes(const struct cam_journal_writer *w)
{
	return w->bytes;
}

/* Compresses `plain` into `out` where that pays; answers the payload's bytes, 0: it does not. */
static size_t compress(struct cam_journal_writer *w)
{
	size_t n = w->plain.len - CAM_JOURNAL_HEAD;
	if (!w->zstd || n < PLAIN_BYTES)
		return 0;
	cam_buf_clear(&w->out);
	uint8_t *to = cam_buf_reserve(&w->out, CAM_JOURNAL_HEAD + n);
	if (!to)
		return 0;
	/* Room for less than n: what does not shrink is an error, and stays plain. */
	size_t got = ZSTD_compress2(w->zstd, to + CAM_JOURNAL_HEAD, n - 1,
				    w->plain.data + CAM_JOURNAL_HEAD, n);
	if (ZSTD_isError(got) || n > CAM_JOURNAL_FREE_BYTES + CAM_JOURNAL_MAX_RATIO * got)
		return 0;
	return got;
}

/* Writes `plain` (room for the head, then the payload) as the next block. */
static int write_block(struct cam_journal_writer *w, enum cam_journal_type type)
{
	if (cam_buf_error(&w->plain))
		return cam_buf_error(&w->plain);
	if (w->sequence == UINT32_MAX)
		return -E2BIG;
	size_t small = type == CAM_JOURNAL_DATA ? compress(w) : 0;
	uint8_t *block = small ? w->out.data : w->plain.data;
	struct cam_journal_head head = {
		.plain_bytes = (uint32_t)(w->plain.len - CAM_JOURNAL_HEAD),
		.sequence = w->sequence,
		.type = (uint8_t)type,
		.flags = small ? CAM_JOURNAL_ZSTD : 0,
	};
	head.bytes = small ? (uint32_t)small : head.plain_bytes;
	uint32_t crc = cam_journal_put_head(block, &head, w->seed);
	size_t n = CAM_JOURNAL_HEAD + head.bytes;
	int err = w->file->ops->pwrite(w->file, block, n, w->bytes);
	if (err)
		return err;
	if (type == CAM_JOURNAL_HEADER)
		w->seed = crc;
	w->bytes += n;
	w->sequence++;
	return 0;
}

static void start_payload(struct cam_journal_writer *w)
{
	static const uint8_t head[CAM_JOURNAL_HEAD];
	cam_buf_clear(&w->plain);
	cam_buf_put(&w->plain, head, sizeof(head));
}

int cam_journal_writer_begin(struct cam_journal_writer *w, const struct cam_tables *t,
			     const struct cam_window_head *head)
{
	struct cam_buf *b = &w->plain;
	struct cam_text host = cam_string(t, head->host);
	if (w->bytes)
		return -EINVAL;
	start_payload(w);
	cam_buf_put_u32(b, 0); /* compatible features */
	cam_buf_put_u32(b, 0); /* compatible for reading */
	cam_buf_put_u32(b, CAM_JOURNAL_INCOMPAT);
	cam_buf_put_u8(b, (uint8_t)head->clock);
	cam_buf_put_u8(b, (uint8_t)(head->keep_places | head->imported << 1));
	cam_buf_put(b, head->boot_id.bytes, sizeof(head->boot_id.bytes));
	cam_buf_put_u64(b, head->start_ns);
	cam_buf_put_u64(b, head->time_unit_ns);
	cam_buf_put_u64(b, head->sequence);
	cam_buf_put_string(b, host.p, host.n);
	return write_block(w, CAM_JOURNAL_HEADER);
}

/* The times a block's samples span; from > to: none carries a time. */
static void block_span(const struct cam_block *b, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = UINT64_MAX;
	*to_ns = 0;
	for (size_t i = 0; i < b->n_samples; i++) {
		uint64_t t = b->samples[i].time_ns;
		if (t == CAM_TIME_NONE)
			continue;
		if (t < *from_ns)
			*from_ns = t;
		if (t > *to_ns)
			*to_ns = t;
	}
}

static bool epoch_is_over(const struct cam_journal_writer *w, const struct cam_block *b)
{
	uint64_t from, to;
	if (w->epoch_blocks >= EPOCH_MAX_BLOCKS)
		return true;
	block_span(b, &from, &to);
	if (w->epoch_from_ns < from)
		from = w->epoch_from_ns;
	if (w->epoch_to_ns > to)
		to = w->epoch_to_ns;
	if (from > to || to - from <= EPOCH_MIN_NS)
		return false;
	return to - from > EPOCH_MAX_NS || w->epoch_bytes <= w->epoch_samples * EPOCH_BYTES;
}

/* A block has got into the file. */
static void account(struct cam_journal_writer *w, const struct cam_block *b, uint64_t bytes)
{
	uint64_t from_ns, to_ns;
	if (w->epoch_starts) {
		w->epoch++;
		w->epoch_starts = false;
		w->epoch_bytes = w->epoch_samples = w->epoch_blocks = 0;
		w->epoch_from_ns = UINT64_MAX;
		w->epoch_to_ns = 0;
	}
	block_span(b, &from_ns, &to_ns);
	if (from_ns < w->epoch_from_ns)
		w->epoch_from_ns = from_ns;
	if (to_ns > w->epoch_to_ns)
		w->epoch_to_ns = to_ns;
	w->epoch_blocks++;
	w->epoch_bytes += bytes;
	w->epoch_samples += b->n_samples;
	w->samples += b->n_samples;
}

int cam_journal_writer_append(struct cam_journal_writer *w, const struct cam_tables *t,
			      const struct cam_block *block)
{
	uint64_t at = w->bytes;
	if (!at)
		return -EINVAL;
	if (epoch_is_over(w, block))
		w->epoch_starts = true;
	struct cam_journal_place place = {
		.epoch = w->epoch + w->epoch_starts,
		.starts_epoch = w->epoch_starts,
		.samples_before = w->samples,
	};
	start_payload(w);
	int err = cam_journal_encode_block(&w->encode, t, block, &place, &w->plain);
	if (!err)
		err = write_block(w, CAM_JOURNAL_DATA);
	if (err)
		w->epoch_starts = true;
	else
		account(w, block, w->bytes - at);
	return err;
}

int cam_journal_writer_end(struct cam_journal_writer *w, uint64_t end_ns)
{
	if (!w->bytes)
		return -EINVAL;
	start_payload(w);
	cam_buf_put_u64(&w->plain, end_ns);
	cam_buf_put_u64(&w->plain, w->samples);
	return write_block(w, CAM_JOURNAL_END);
}
