// SPDX-License-Identifier: Apache-2.0
/*
 * A window in memory, for tests of whoever stands on either side of door D: build it from
 * frames and samples, then hand out &f->w as if a store had opened it.
 *
 * Written to be obviously right rather than fast: every answer is computed from the plain list
 * of samples, so that it can serve as the oracle for the real implementations. Anything that
 * fails here is a bug of the test: it aborts.
 *
 *	struct fake_window *f = fake_window_new();
 *	struct cam_task_id task = fake_task(f, 100, 100, "cc1");
 *	fake_sample(f, 5 * NS, 0, task, fake_place(f, "main;parse;lex"));
 *	query_something(fake_window_ready(f));
 *	fake_window_free(f);
 */
#pragma once
#include "base/buf.h"
#include "model/cursor.h"
#include "store/io.h"

struct fake_window {
	struct cam_window w; /* first: ops find the rest from it */
	struct cam_tables t; /* intern what you like */
	struct cam_sample *samples;
	struct cam_event *events;
	struct cam_ledger_row *ledger;
	struct cam_anchor *anchors;
	struct cam_fact *facts;
	struct cam_counter *counters;
	size_t n_samples, n_events, n_ledger, n_anchors, n_facts, n_counters;
	size_t cap_samples, cap_events, cap_ledger, cap_anchors, cap_facts, cap_counters;
	size_t batch;		 /* samples a batch; 1000 unless set */
	int fail_samples;	 /* what samples() answers, 0: it works */
	unsigned samples_calls;	 /* how often a sample column was asked for */
	bool own_start, own_end; /* start and end are computed, not the test's */
	bool keep_on_close;	 /* ops->close() does nothing: the test still needs it */
};

/* Monotonic clock in units of 10 us, one event type: id 0, "cpu-clock", 97 Hz, no weights. */
struct fake_window *fake_window_new(void);
void fake_window_free(struct fake_window *f);

struct cam_str_id fake_str(struct fake_window *f, const char *s);
struct cam_etype_id fake_etype(struct fake_window *f, const char *name, uint64_t period_ns,
			       bool has_weight);
struct cam_task_id fake_task(struct fake_window *f, int32_t pid, int32_t tid, const char *comm);
/*
 * A frame: "name" is a user function of no module, "name@/path" one of that file, "name@[kernel]"
 * a kernel function, "name@[jit]" and "name@[vdso]" likewise; "@/path" is unnamed. The address
 * is made up from the name; it lies `offset` into its function.
 */
struct cam_loc_id fake_frame(struct fake_window *f, const char *frame, uint64_t offset);
/* A whole stack of such frames, root first, ';' between them, offset 0; "" is the empty one. */
struct cam_place_id fake_place(struct fake_window *f, const char *folded);

/* One sample of event type 0, weight 1. */
void fake_sample(struct fake_window *f, uint64_t time_ns, uint32_t cpu, struct cam_task_id task,
		 struct cam_place_id place);
void fake_add_sample(struct fake_window *f, const struct cam_sample *s);
void fake_add_event(struct fake_window *f, uint64_t time_ns, enum cam_severity severity,
		    const char *source, const char *text);
void fake_add_ledger(struct fake_window *f, const struct cam_ledger_row *row);
void fake_add_anchor(struct fake_window *f, const struct cam_anchor *a);
void fake_add_fact(struct fake_window *f, const char *key, const char *value);
void fake_add_counter(struct fake_window *f, const struct cam_counter *c);

/*
 * Sorts samples and counters and fills in w.info what the test has not set: start and end (first sample,
 * last sample + 1 ns), realtime, and always the counts. May be called again after adding more.
 */
struct cam_window *fake_window_ready(struct fake_window *f);

/* Windows as a source, in the order given; takes them over. */
struct cam_source *fake_source_new(struct fake_window **windows, size_t n);

/*
 * How a ledger row counts in the cells: spread evenly over the seconds it covers, to the first
 * one when it covers more than 4,096 (or none).
 */
#define FAKE_MAX_SPREAD_SECONDS 4096u

/*
 * Everything a window says, as text: two windows with the same content give the same bytes,
 * whatever ids they use.
 */
enum window_dump_option {
	WINDOW_DUMP_ALL = 0,
	WINDOW_DUMP_NO_SMALL = 1 << 0, /* small totals: they depend on the size of chunks */
};
void window_dump(struct cam_window *w, unsigned options, struct cam_buf *out);
/* One line a sample, in the order delivered. */
void window_dump_samples(struct cam_window *w, struct cam_range range, struct cam_buf *out);
/* Whether totals_in() says of a range what its samples say. */
bool window_totals_agree(struct cam_window *w, struct cam_range range);

/* Bytes as a file to read; borrowed. It counts what is read of it. */
struct memory_file {
	struct cam_file file; /* first */
	const uint8_t *bytes;
	size_t n;
	unsigned preads;
	uint64_t bytes_read;
	/* Called for each read, where set. */
	void (*on_read)(void *arg, uint64_t at, size_t n);
	void *arg;
};
void memory_file_init(struct memory_file *m, const void *bytes, size_t n);
