// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of all CPUs in each fiftieth of a second: what hours are drawn of by parts of a second, without the time of
 * any sample. A spike of 20 ms drowns in its second; in its slot it does not.
 *
 * Only windows of a recorder have them: what is imported may hold idle samples, which nobody wants to see there. Nor
 * have windows with samples without a time, or of more than CAM_SLOT_SECONDS seconds.
 *
 * A chunk: varint rows, each a second that has samples; streams: step (S4; second - the second in which the window starts,
 * then second - the one before - 1), samples of its slots (S7), CAM_SLOTS a row.
 *
 * Example: a window begins in second 10; second 11 has 3 samples at 5 ms and one at 990 ms:
 *	1   step 1   samples 3 0 0 … 0 1
 */
#include "base/units.h"
#include "store/window_layout.h"
#include "store/window_writer.h"

#include <errno.h>
#include <stdlib.h>

static int count_slots(const struct cam_rows *rows, struct cam_slots *all, uint32_t *n)
{
	struct cam_slots *last = NULL;
	for (size_t i = 0; i < rows->n; i++) {
		uint64_t second = cam_rows_second(rows->time_ns[i]);
		/* Samples are in order of their seconds; those without a time are the last. */
		if (rows->time_ns[i] == CAM_TIME_NONE)
			return -ENODATA;
		if (!last || last->second != second) {
			if (*n == CAM_SLOT_SECONDS)
				return -ENODATA;
			last = &all[(*n)++];
			last->second = second;
		}
		last->samples[rows->time_ns[i] % CAM_NS_PER_SEC / CAM_SLOT_NS]++;
	}
	return 0;
}

static int put_slots(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_stream_out s[CAM_SLOT_STREAMS];
	uint64_t next = cam_rows_second(w->dir.info.start_ns);
	for (unsigned i = 0; i < CAM_SLOT_STREAMS; i++)
		cam_stream_out_init(&s[i], cam_slot_splits[i]);
	cam_buf_put_varint(out, to - from);
	for (uint32_t i = from; i < to; i++) {
		const struct cam_slots *row = &w->slots[i];
		cam_stream_put(&s[CAM_SLOT_STEP], 0, row->second - next);
		next = row->second + 1;
		for (unsigned k = 0; k < CAM_SLOTS; k++)
			cam_stream_put(&s[CAM_SLOT_SAMPLES], 0, row->samples[k]);
	}
	int err = 0;
	for (unsigned i = 0; i < CAM_SLOT_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&s[i], 1, out);
		cam_stream_out_free(&s[i]);
	}
	return err;
}

int cam_write_slots(struct cam_writer *w)
{
	const struct cam_rows *rows = &w->rows;
	const struct cam_window_info *info = &w->dir.info;
	if (!rows->n || info->clock == CAM_CLOCK_ABSENT || info->imported ||
	    rows->time_ns[0] < info->start_ns)
		return 0;
	struct cam_slots *all = calloc(CAM_SLOT_SECONDS, sizeof(*all));
	uint32_t n = 0;
	int err = all ? count_slots(rows, all, &n) : -ENOMEM;
	w->slots = all;
	if (!err)
		err = cam_writer_cut(w, CAM_CHUNK_SLOTS, n, put_slots);
	if (!err)
		w->dir.compat |= CAM_FEATURE_SLOTS;
	w->slots = NULL;
	free(all);
	return err == -ENODATA ? 0 : err;
}
