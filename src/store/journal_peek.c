// SPDX-License-Identifier: Apache-2.0
/*
 * What a journal is, without reading it: which window, from when to when, how many samples.
 *
 * Opening a journal interns everything in it, which takes the time and the memory of a window.
 * The recorder has neither to spare, and needs only this: whether two files are the same window,
 * how old one is, and how many samples its sealed form must have.
 *
 * All blocks are read and their checksums compared; decompressed are the first that hold data, up to
 * one with an anchor, and where there is no end the last: and of these only the columns that refer to
 * nothing. 5 MB, 1.1 M samples: 2 ms.
 */
#include "base/units.h"
#include "store/journal.h"
#include "store/journal_decode.h"
#include "store/journal_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* A recorder has an anchor in every block; others have none at all. */
#define MAX_LOOKS 8u

int cam_journal_parse_header(const uint8_t *payload, size_t n, struct cam_window_info *info,
			     char **host)
{
	struct cam_rd r = cam_rd_make(payload, n);
	cam_rd_u32(&r);
	cam_rd_u32(&r);
	uint32_t incompatible = cam_rd_u32(&r);
	if (r.error)
		return -EBADMSG;
	if (incompatible & ~CAM_JOURNAL_INCOMPAT)
		return -EPROTONOSUPPORT;
	uint8_t clock = cam_rd_u8(&r), flags = cam_rd_u8(&r);
	const uint8_t *boot = cam_rd_bytes(&r, sizeof(info->boot_id.bytes));
	info->start_ns = cam_rd_u64(&r);
	info->time_unit_ns = cam_rd_u64(&r);
	info->sequence = cam_rd_u64(&r);
	size_t host_bytes;
	const uint8_t *text = cam_rd_string(&r, &host_bytes);
	if (r.error || clock >= CAM_CLOCK_KIND_MAX || flags > 3 || info->time_unit_ns == 0)
		return -EBADMSG;
	info->clock = (enum cam_clock_kind)clock;
	memcpy(info->boot_id.bytes, boot, sizeof(info->boot_id.bytes));
	info->has_places = flags & 1;
	info->imported = flags & 2;
	*host = malloc(host_bytes + 1);
	if (!*host)
		return -ENOMEM;
	memcpy(*host, text, host_bytes);
	info->host = (struct cam_text){*host, host_bytes};
	return 0;
}

struct peeking {
	struct cam_journal_scan scan;
	struct cam_journal_decode decode;
	struct cam_journal_peek *out;
	uint64_t first_ns, last_ns; /* of what was looked at */
	uint64_t last_at;	    /* of the last block with data; 0: there is none */
	unsigned looked;	    /* at so many of the first ones */
};

/* Something that ends there. */
static void see_end(struct peeking *p, uint64_t t)
{
	if (t != CAM_TIME_NONE && t > p->last_ns)
		p->last_ns = t;
}

static void see_sample(struct peeking *p, uint64_t t)
{
	if (t == CAM_TIME_NONE)
		return;
	if (t < p->first_ns)
		p->first_ns = t;
	see_end(p, t + 1);
}

/* The wall time of the start, by the first anchor that knows one. */
static void see_anchor(struct peeking *p, const struct cam_anchor *a)
{
	struct cam_window_info *info = &p->out->info;
	if (!info->imported)
		see_end(p, a->time_ns);
	if (info->realtime_ns != INT64_MIN || a->realtime_ns == INT64_MIN ||
	    a->time_ns == CAM_TIME_NONE || info->start_ns == CAM_TIME_NONE)
		return;
	info->realtime_ns = cam_time_add(a->realtime_ns, (__int128)info->start_ns - a->time_ns);
	info->realtime_uncertainty_ns = a->uncertainty_ns;
}

/* 0, -EBADMSG: it cannot be understood; -ENOMEM. */
static int look_into(struct peeking *p, const struct cam_journal_head *head, const uint8_t *payload)
{
	struct cam_journal_view v;
	struct cam_anchor anchor;
	struct cam_ledger_row row;
	uint64_t time_ns;
	int err = cam_journal_decode_view(&p->decode, head, payload, &v), got;
	if (err)
		return err;
	uint64_t samples = v.samples_before + v.left[CAM_JN_SAMPLE];
	while ((got = cam_journal_decode_time(&v, &time_ns)) > 0)
		see_sample(p, time_ns);
	while (got == 0 && (got = cam_journal_decode_anchor(&v, &anchor)) > 0) {
		see_anchor(p, &anchor);
		got = 0;
	}
	while (got == 0 && (got = cam_journal_decode_ledger(&v, &row)) > 0) {
		see_end(p, row.to_ns);
		got = 0;
	}
	p->out->samples = samples;
	return got;
}

static bool look_at_end(struct cam_journal_peek *out, const struct cam_journal_span *span)
{
	struct cam_rd r = cam_rd_make(span->payload, span->head.bytes);
	uint64_t end_ns = cam_rd_u64(&r), samples = cam_rd_u64(&r);
	if (r.error || span->head.flags)
		return false;
	out->info.clean_end = true;
	out->info.end_ns = end_ns;
	out->samples = samples;
	return true;
}

static int walk(struct peeking *p)
{
	struct cam_journal_span span;
	int got, err = 0;
	while (!err && (got = cam_journal_scan_next(&p->scan, &span)) > 0) {
		if (span.head.type == CAM_JOURNAL_END) {
			if (look_at_end(p->out, &span))
				return 0;
			continue;
		}
		p->last_at = span.at;
		bool placed = p->out->info.realtime_ns != INT64_MIN;
		if (p->looked >= (placed ? 1 : MAX_LOOKS))
			continue;
		p->looked++;
		err = look_into(p, &span.head, span.payload);
		err = err == -EBADMSG ? 0 : err;
	}
	return err ? err : got;
}

/* The last block that has data, where none says that the window ended. */
static int look_at_last(struct peeking *p)
{
	struct cam_journal_head head;
	const uint8_t *payload;
	p->out->samples = 0;
	p->out->exact = true;
	if (!p->last_at)
		return 0;
	int got = cam_journal_scan_read(&p->scan, p->last_at, &head, &payload);
	int err = got < 0 ? got : got == 0 ? -EBADMSG : look_into(p, &head, payload);
	p->out->exact = err == 0;
	return err == -EBADMSG ? 0 : err;
}

static void finish(struct peeking *p)
{
	struct cam_window_info *info = &p->out->info;
	bool absent = info->clock == CAM_CLOCK_ABSENT || info->start_ns == CAM_TIME_NONE;
	p->out->used = p->last_at || info->clean_end;
	info->file_bytes = p->scan.size;
	if (absent)
		info->start_ns = 0;
	else if (p->first_ns < info->start_ns)
		info->start_ns = p->first_ns;
	if (!info->clean_end || info->end_ns == CAM_TIME_NONE)
		info->end_ns = p->last_ns;
	if (info->end_ns < info->start_ns)
		info->end_ns = info->start_ns;
	info->samples = p->out->samples;
}

int cam_journal_peek(struct cam_file *file, struct cam_journal_peek *out)
{
	struct peeking p = {.out = out, .first_ns = UINT64_MAX};
	*out = (struct cam_journal_peek){.info = {.name = CAM_TEXT(""), .realtime_ns = INT64_MIN}};
	int err = cam_journal_scan_open(&p.scan, file);
	if (err)
		return err;
	struct ZSTD_DCtx_s *zstd = ZSTD_createDCtx();
	cam_journal_decode_init(&p.decode, NULL, zstd);
	err = zstd ? cam_journal_parse_header(p.scan.block.data + CAM_JOURNAL_HEAD,
					      p.scan.good_end - CAM_JOURNAL_HEAD, &out->info,
					      &out->host)
		   : -ENOMEM;
	if (!err)
		err = walk(&p);
	if (!err && !out->info.clean_end)
		err = look_at_last(&p);
	else
		out->exact = !err;
	if (!err)
		finish(&p);
	cam_journal_decode_free(&p.decode);
	ZSTD_freeDCtx(zstd);
	cam_journal_scan_close(&p.scan);
	if (err) {
		free(out->host);
		out->host = NULL;
	}
	return err;
}
