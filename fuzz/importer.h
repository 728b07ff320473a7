// SPDX-License-Identifier: Apache-2.0
/*
 * Runs an importer over bytes into ingest, in windows of a second so that ids die often. It must
 * come to an end, hand over no id that ingest does not know (-EINVAL), and account for all bytes. Where
 * some bytes stand for very many samples (a slice of years) the disk is full after MOST_SAMPLES.
 */
#pragma once
#include "ingest/collect.h"
#include "interop/detect.h"
#include "interop/import.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_SAMPLES 4096

struct fuzz_bytes {
	const uint8_t *p;
	size_t left, step;
};

static ssize_t fuzz_read(void *arg, void *room, size_t n)
{
	struct fuzz_bytes *b = arg;
	n = n < b->left ? n : b->left;
	n = n < b->step ? n : b->step;
	memcpy(room, b->p, n);
	b->p += n;
	b->left -= n;
	return (ssize_t)n;
}

static int fuzz_begin(struct cam_journal *j, const struct cam_tables *t,
		      const struct cam_window_head *head)
{
	(void)j;
	(void)t;
	(void)head;
	return 0;
}

static int fuzz_append(struct cam_journal *j, const struct cam_tables *t, const struct cam_block *b)
{
	size_t *samples = j->self;
	(void)t;
	*samples += b->n_samples;
	return *samples > MOST_SAMPLES ? -ENOSPC : 0;
}

static int fuzz_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	(void)j;
	(void)end_ns;
	(void)keep_empty;
	return 0;
}

static int fuzz_import(const uint8_t *data, size_t size,
		       int (*fn)(struct cam_input *, struct cam_sink *,
				 const struct cam_import_options *, struct cam_import_stats *))
{
	struct fuzz_bytes bytes = {data, size, (size & 255) + 1};
	size_t samples = 0;
	struct cam_journal journal = {&samples, fuzz_begin, fuzz_append, fuzz_end, NULL};
	struct cam_collect_options to = {
		.window_ns = 1000000000,
		.max_table_bytes = 1u << 20,
		.clock = CAM_CLOCK_FOREIGN,
		.imported = true,
	};
	struct cam_import_options o = {.cache_bytes = 20000,
				       .drop_details = size & 1,
				       .drop_stacks = size & 2,
				       .drop_tasks = (size & 6) == 6};
	struct cam_input_limits limits = {.free_bytes = 1u << 20};
	struct cam_import_stats st;
	struct cam_collect *c = NULL;
	struct cam_input *in = NULL;
	char why[401];
	if (cam_collect_new(&journal, &to, &c) ||
	    cam_input_open_fn(&in, fuzz_read, &bytes, &limits))
		abort();
	cam_detect(cam_input_peek(in));
	int err = fn(in, cam_collect_sink(c), &o, &st);
	cam_import_explain(&st, why, sizeof(why));
	bool full = err == -ENOSPC && samples > MOST_SAMPLES;
	if ((err && err != -EFBIG && err != -ENOMEM && !full) ||
	    (!full && st.samples != cam_collect_stats(c).samples) ||
	    (!err && st.end == CAM_INPUT_WHOLE && st.bytes_in != size))
		abort();
	cam_input_close(in);
	cam_collect_free(c);
	return 0;
}
