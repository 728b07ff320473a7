// SPDX-License-Identifier: Apache-2.0
#include "support_journal.h"

#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct cam_file *sim_open_file(struct sim_disk *d, const char *name, enum cam_io_mode mode)
{
	struct cam_file *file = NULL;
	assert_int_equal(sim_io(d)->ops->open(sim_io(d), name, mode, &file), 0);
	return file;
}

int journal_open_at(struct sim_disk *d, const char *name, struct cam_window **out)
{
	struct cam_file *file = NULL;
	int err = sim_io(d)->ops->open(sim_io(d), name, CAM_IO_READ, &file);
	return err ? err : cam_journal_open(file, 64u << 20, out);
}

struct cam_window_head journal_head(struct fake_window *f)
{
	struct cam_window_head head = {
		.clock = f->w.info.clock,
		.start_ns = f->w.info.start_ns,
		.time_unit_ns = f->w.info.time_unit_ns,
		.boot_id = f->w.info.boot_id,
		.sequence = f->w.info.sequence,
		.keep_places = f->w.info.has_places,
		.imported = f->w.info.imported,
	};
	assert_int_equal(cam_string_intern(&f->t, f->w.info.host, &head.host), 0);
	return head;
}

struct cam_block journal_second(const struct fake_window *f, uint64_t nth)
{
	uint64_t second = f->w.info.start_ns / CAM_NS_PER_SEC + nth;
	size_t from = 0, to;
	while (from < f->n_samples && f->samples[from].time_ns / CAM_NS_PER_SEC != second)
		from++;
	to = from;
	while (to < f->n_samples && f->samples[to].time_ns / CAM_NS_PER_SEC == second)
		to++;
	struct cam_block b = {.samples = f->samples, .n_samples = to - from};
	if (from)
		b.samples += from;
	if ((b.n_events = nth < f->n_events))
		b.events = f->events + nth;
	if ((b.n_ledger = nth < f->n_ledger))
		b.ledger = f->ledger + nth;
	if ((b.n_anchors = nth < f->n_anchors))
		b.anchors = f->anchors + nth;
	/* They are sorted by kind: those of a second are not together. Block by block, all the
	 * same. */
	uint64_t seconds = (f->w.info.end_ns - f->w.info.start_ns) / CAM_NS_PER_SEC;
	size_t first = f->n_counters * nth / (seconds ? seconds : 1);
	b.n_counters = f->n_counters * (nth + 1) / (seconds ? seconds : 1) - first;
	if (b.n_counters)
		b.counters = f->counters + first;
	if (nth == 0) {
		b.facts = f->facts;
		b.n_facts = f->n_facts;
	}
	return b;
}

static void note(struct written *out, const struct cam_journal_writer *w, uint64_t samples)
{
	if (!out)
		return;
	assert_true(out->n < MAX_WRITTEN);
	out->end[out->n] = cam_journal_writer_bytes(w);
	out->samples[out->n++] = samples;
}

void journal_write_fake(struct fake_window *f, struct cam_file *file, bool compress, bool end,
			struct written *out)
{
	struct cam_window_head head = journal_head(f);
	struct cam_journal_writer *w = NULL;
	uint64_t samples = 0;
	uint64_t seconds = (f->w.info.end_ns - f->w.info.start_ns) / CAM_NS_PER_SEC;
	if (out)
		*out = (struct written){.ended = end};
	assert_int_equal(cam_journal_writer_new(file, compress, &w), 0);
	assert_int_equal(cam_journal_writer_begin(w, &f->t, &head), 0);
	note(out, w, 0);
	for (uint64_t nth = 0; nth < seconds; nth++) {
		struct cam_block b = journal_second(f, nth);
		assert_int_equal(cam_journal_writer_append(w, &f->t, &b), 0);
		samples += b.n_samples;
		note(out, w, samples);
	}
	assert_int_equal(samples, f->n_samples);
	if (end) {
		assert_int_equal(cam_journal_writer_end(w, f->w.info.end_ns), 0);
		note(out, w, samples);
	}
	assert_int_equal(file->ops->size(file), cam_journal_writer_bytes(w));
	cam_journal_writer_free(w);
}
