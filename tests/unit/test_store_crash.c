// SPDX-License-Identifier: Apache-2.0
/*
 * Crash-point enumeration.
 *
 * One workload runs on the simulated disk and is recorded: windows of two boots (the second one's
 * clock stands in 1970, and two of its windows get the same name), journals that queue, one that is
 * sealed beside the writer, late events, pins, a next generation, retention, a trimmed annex, a writer that leaves without a word
 * and another that recovers. Each operation notes its promise: at which change of the disk it
 * began, when it returned, when it said "durable".
 *
 * Then the recording is replayed, stopped before every change and inside every write after every
 * byte, and for each stop several disks are made that a restart could find: the process died (all
 * that was written is there), or the power went (what was not synced is lost, kept in part,
 * reordered, torn, turned to zeros). Each such disk is a crash point. On it a new writer opens the
 * store; then
 *
 *  1. every sample that was promised is there, once, with its names, and nothing else is: the death
 *     of the process costs at most the block being written, a power cut what came after the last
 *     sync, a sealed sample is never lost;
 *  2. events, pins and generations that were acknowledged are there;
 *  3. verify finds nothing to complain about;
 *  4. a second recovery changes no byte;
 *  5. the store takes and seals another window.
 *
 * Recoveries are cut in the same way.
 *
 * What is found on a disk depends on its bytes alone. So points whose disks are equal byte for
 * byte are recovered once, and disks that are equal after recovery are read once; the promises are
 * compared for each point. The bytes of temporary files do not count: every recovery here is
 * watched, and fails the test if it opens or renames one that it has not made itself. All numbers
 * are printed.
 */
#include "store/seal.h"
#include "store/store_parts.h"
#include "support_every.h"
#include "support_sim_io.h"
#include "support_store.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEVER	   SIZE_MAX
#define MIN_POINTS 100000u
#define MAX_PINS   8
/* A sync after every second block of three samples. */
#define SYNC_NS (5 * STEP_NS)
/* Numbers that the workload never uses: for the window that is written after recovery. */
#define AFTER 500u
/* Pin k is the range [k, k + 1) seconds after this. */
#define PINS_FROM INT64_C(1776222000000000000)

struct promise {
	size_t offered, written, durable; /* changes done so far, when … */
	size_t deletable, deleted;
	size_t replaced_from, replaced;
};

struct workload {
	struct sim_disk *disk;
	struct cam_io *io;
	struct cam_store *store;
	struct cam_journal *door;
	struct numbered n;
	struct promise samples[MAX_NUMBERS];
	struct promise marks[MAX_MARKS];
	struct promise pins[MAX_PINS];
	unsigned marks_of[MAX_MARKS]; /* a sample of the window that shows the event */
	unsigned next, window_first;
};

static struct workload new_workload(void)
{
	struct workload w = {.disk = sim_new()};
	struct promise none = {NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER};
	for (size_t i = 0; i < MAX_NUMBERS; i++)
		w.samples[i] = none;
	for (size_t i = 0; i < MAX_MARKS; i++)
		w.marks[i] = none;
	for (size_t i = 0; i < MAX_PINS; i++)
		w.pins[i] = none;
	w.io = sim_io(w.disk);
	sim_record(w.disk);
	return w;
}

static size_t now(const struct workload *w)
{
	return sim_recorded(w->disk);
}

static void open_store(struct workload *w)
{
	w->store = store_open(w->io);
	w->door = cam_store_journal(w->store, SYNC_NS);
	numbered_init(&w->n, w->door);
}

static void begin(struct workload *w, uint8_t boot, uint64_t start_ns, int64_t realtime_ns)
{
	struct numbered_window window = {boot, start_ns, realtime_ns, "h-1", false};
	assert_int_equal(numbered_begin(&w->n, &window), 0);
	w->window_first = w->next;
}

static void mark_durable(struct workload *w, unsigned from, unsigned to)
{
	for (unsigned k = from; k < to; k++) {
		if (w->samples[k].durable == NEVER)
			w->samples[k].durable = now(w);
	}
}

static void append(struct workload *w, unsigned count)
{
	unsigned syncs = sim_syncs(w->disk);
	size_t from = now(w);
	assert_int_equal(numbered_append(&w->n, w->next, count), 0);
	for (unsigned k = w->next; k < w->next + count; k++) {
		w->samples[k].offered = from;
		w->samples[k].written = now(w);
	}
	w->next += count;
	if (sim_syncs(w->disk) != syncs)
		mark_durable(w, w->window_first, w->next);
}

static void end(struct workload *w)
{
	assert_int_equal(numbered_end(&w->n), 0);
	mark_durable(w, w->window_first, w->next);
}

static void seal(struct workload *w, unsigned expected)
{
	unsigned sealed;
	assert_int_equal(cam_store_seal_pending(w->store, &sealed), 0);
	assert_int_equal(sealed, expected);
}

static void mark(struct workload *w, uint8_t boot, uint64_t time_ns, unsigned k, unsigned sample)
{
	w->marks_of[k] = sample;
	w->marks[k].offered = now(w);
	assert_int_equal(add_mark(w->store, boot, time_ns, k), 0);
	w->marks[k].written = w->marks[k].durable = now(w);
}

static void pin(struct workload *w, unsigned k)
{
	struct cam_pin p = {PINS_FROM + k * (int64_t)NS, PINS_FROM + (k + 1) * (int64_t)NS, "pin"};
	w->pins[k].offered = now(w);
	assert_int_equal(cam_store_pin(w->store, &p), 0);
	w->pins[k].durable = now(w);
}

static void unpin(struct workload *w, unsigned k)
{
	w->pins[k].deletable = now(w);
	assert_int_equal(cam_store_unpin(w->store, PINS_FROM + k * (int64_t)NS,
					 PINS_FROM + (k + 1) * (int64_t)NS),
			 0);
	w->pins[k].deleted = now(w);
}

static void replace(struct workload *w, const char *name, unsigned from, unsigned to)
{
	struct cam_window *better;
	assert_int_equal(cam_store_open_file(w->io, name, &better), 0);
	numbered_better(better);
	for (unsigned k = from; k < to; k++)
		w->samples[k].replaced_from = now(w);
	assert_int_equal(cam_store_replace(w->store, name, better), 0);
	for (unsigned k = from; k < to; k++)
		w->samples[k].replaced = now(w);
	better->ops->close(better);
}

/* Deletes exactly the samples from .. to - 1. */
static void retain(struct workload *w, uint64_t keep_ns, unsigned from, unsigned to)
{
	struct cam_retention limits = {.keep_ns = keep_ns};
	unsigned deleted;
	for (unsigned k = from; k < to; k++)
		w->samples[k].deletable = now(w);
	assert_int_equal(cam_store_retain(w->store, &limits, &deleted), 0);
	assert_int_equal(deleted, 1);
	for (unsigned k = from; k < to; k++)
		w->samples[k].deleted = now(w);
}

/* Drops the events of the window that retention took. */
static void trim(struct workload *w)
{
	struct cam_store_list list;
	assert_int_equal(cam_store_list_read(w->io, NULL, &list), 0);
	w->marks[0].deletable = w->marks[1].deletable = now(w);
	assert_int_equal(cam_annex_trim(w->io, &w->store->annex, &list, 0), 0);
	w->marks[0].deleted = w->marks[1].deleted = now(w);
	cam_store_list_free(&list);
}

/* The writer dies in the middle of a window; the next one recovers. */
static void die_and_recover(struct workload *w)
{
	cam_store_close(w->store);
	numbered_drop(&w->n);
	open_store(w);
	assert_int_equal(cam_store_counts(w->store)->recovered, 1);
	mark_durable(w, w->window_first, w->next);
}

/* A window without samples leaves nothing. */
static void begin_and_end_empty(struct workload *w)
{
	begin(w, 2, 1550 * NS, NS);
	assert_int_equal(numbered_end(&w->n), 0);
}

static void first_boot(struct workload *w)
{
	begin(w, 1, 100 * NS, PINS_FROM);
	append(w, 3);
	append(w, 3);
	end(w);
	seal(w, 1);
	mark(w, 1, 100 * NS + STEP_NS, 0, 0);
	mark(w, 1, 100 * NS + STEP_NS, 1, 0);

	begin(w, 1, 200 * NS, PINS_FROM + 100 * (int64_t)NS);
	append(w, 3);
	append(w, 3);
	append(w, 3);
	end(w);
	pin(w, 0);
	/* Sealed in another process, while the next window is being written. */
	struct cam_seal_job job;
	assert_int_equal(cam_store_seal_next(w->store, &job), 1);
	begin(w, 1, 300 * NS, PINS_FROM + 200 * (int64_t)NS);
	int result = cam_seal_files(job.journal, job.window);
	append(w, 3);
	assert_int_equal(cam_store_seal_done(w->store, &job, result), 0);
	end(w);
	seal(w, 1);
	replace(w, "perfcam-h-1-20260415-03-01-40-1s.pcw", 6, 15);
	pin(w, 4);
	unpin(w, 0);
	mark(w, 1, 200 * NS + STEP_NS, 2, 6);
}

/* Its wall clock stands in 1970, and is stepped back once: two windows of one name. */
static void second_boot(struct workload *w)
{
	begin(w, 2, 5 * NS, NS);
	append(w, 3);
	append(w, 3);
	append(w, 3);
	die_and_recover(w);
	begin(w, 2, 1500 * NS, NS);
	append(w, 3);
	append(w, 3);
	append(w, 3);
	append(w, 3);
	end(w);
	seal(w, 1);
	mark(w, 2, 1500 * NS, 3, 27);
	retain(w, 1650 * NS, 0, 6);
	trim(w);
	begin_and_end_empty(w);
	begin(w, 2, 1600 * NS, 2 * NS);
	append(w, 3);
	mark(w, 2, 1600 * NS, 4, 39);
	append(w, 3);
	end(w);
}

static void run_workload(struct workload *w)
{
	size_t n;
	open_store(w);
	first_boot(w);
	second_boot(w);
	cam_store_close(w->store);
	assert_non_null(sim_get(w->disk, "perfcam-h-1-19700101-00-00-01-1s.pcw", &n));
	assert_non_null(sim_get(w->disk, "perfcam-h-1-19700101-00-00-01-1s.2.pcw", &n));
	assert_non_null(sim_get(w->disk, "open-00000007.pcj", &n));
	assert_int_equal(sim_open_files(w->disk), 0);
}

/* What a disk holds once it is recovered. */
struct state {
	struct numbers numbers;
	bool pins[MAX_PINS];
};

struct enumeration {
	struct workload *w;
	struct memo exact;     /* disks as found */
	struct memo disks;     /* the same, but for the bytes of temporary files → state */
	struct memo recovered; /* after recovery → state */
	struct state *states;
	size_t n_states;
	uint64_t points, nested;
	size_t position, cut; /* of the point at hand, for messages */
	enum sim_image how;
	uint64_t seed;
};

static int note_pin(void *arg, const struct cam_pin *p)
{
	struct state *s = arg;
	int64_t k = (p->from_ns - PINS_FROM) / (int64_t)NS;
	assert_in_range(k, 0, MAX_PINS - 1);
	assert_false(s->pins[k]);
	s->pins[k] = true;
	return 0;
}

static int check_verdict(void *arg, const struct cam_verify_report *r)
{
	(void)arg;
	if (strcmp(r->verdict, "ok") != 0 || strcmp(r->kind, "temporary") == 0 ||
	    strcmp(r->kind, "foreign") == 0)
		fail_msg("%s: %s, %s", r->name, r->kind, r->verdict);
	return 0;
}

/* 3, 4 and 5, and what there is to read. */
static void read_disk(struct sim_disk *d, uint64_t hash, struct state *out)
{
	struct cam_io *io = sim_io(d);
	*out = (struct state){0};
	store_read(io, &out->numbers);
	assert_int_equal(out->numbers.damaged, 0);
	assert_int_equal(out->numbers.journals, 0);
	assert_int_equal(cam_store_pins(io, note_pin, out), 0);
	assert_int_equal(cam_store_verify(io, check_verdict, NULL), 0);

	cam_store_close(store_open(io));
	assert_true(hash_disk(d, true) == hash);

	struct numbers after;
	struct cam_store *s = store_open(io);
	numbered_window(s, &(struct numbered_window){.boot = 9, .start_ns = NS}, AFTER, 3, true);
	cam_store_close(s);
	store_read(io, &after);
	for (unsigned k = AFTER; k < AFTER + 3; k++) {
		assert_int_equal(after.times[k], 1);
		after.times[k] = 0;
	}
	assert_true(numbers_equal(&after, &out->numbers));
	assert_int_equal(sim_open_files(d), 0);
}

/* A disk whose leftovers nobody may look into. */
struct guard {
	struct relay relay;
	char made[16][CAM_NAME_BYTES]; /* files made by whoever uses it */
	size_t n_made;
};

static void check_made(const struct guard *g, const char *name)
{
	bool made = cam_name_kind(name) != CAM_FILE_TEMPORARY;
	for (size_t i = 0; i < g->n_made; i++)
		made |= strcmp(g->made[i], name) == 0;
	if (!made)
		fail_msg("%s, left by a crash, was used", name);
}

static int guard_open(struct cam_io *io, const char *name, enum cam_io_mode mode,
		      struct cam_file **out)
{
	struct guard *g = (struct guard *)io;
	if (mode == CAM_IO_CREATE) {
		assert_true(g->n_made < 16);
		strcpy(g->made[g->n_made++], name);
	}
	check_made(g, name);
	return relay_ops.open(io, name, mode, out);
}

static int guard_rename(struct cam_io *io, const char *from, const char *to, bool replace)
{
	check_made((struct guard *)io, from);
	return relay_ops.rename(io, from, to, replace);
}

/* The state that recovery makes of a disk; takes it over. */
static const struct state *recover(struct enumeration *e, struct sim_disk *d)
{
	*memo_find(&e->exact, hash_disk(d, true)) = 1;
	uint32_t *known = memo_find(&e->disks, hash_disk(d, false));
	if (!*known) {
		struct cam_io_ops ops = relay_ops;
		struct guard g = {.relay = {{&ops}, sim_io(d)}};
		ops.open = guard_open;
		ops.rename = guard_rename;
		cam_store_close(store_open(&g.relay.io));
		uint64_t hash = hash_disk(d, true);
		uint32_t *same = memo_find(&e->recovered, hash);
		if (!*same) {
			e->states = reallocarray(e->states, e->n_states + 1, sizeof(*e->states));
			assert_non_null(e->states);
			read_disk(d, hash, &e->states[e->n_states]);
			*same = (uint32_t)++e->n_states;
		}
		*known = *same;
	}
	sim_free(d);
	return &e->states[*known - 1];
}

static void complain(const struct enumeration *e, const char *what, unsigned k)
{
	fail_msg("%s %u, crash at change %zu, byte %zu, image %d, seed %" PRIu64, what, k,
		 e->position, e->cut, (int)e->how, e->seed);
}

/* Once, not at all, or either. */
static void check_one(const struct enumeration *e, const struct promise *p, unsigned times,
		      const char *what, unsigned k)
{
	size_t at = e->position;
	size_t promised = e->how == SIM_DEATH ? p->written : p->durable;
	bool must = promised <= at && p->deletable > at;
	bool may = p->offered <= at;
	/* What was deleted may come back after a power cut, not after the death of a process. */
	if (e->how == SIM_DEATH && p->deleted <= at)
		may = false;
	if (times > 1 || (must && !times) || (!may && times))
		complain(e, times > 1 ? "doubled" : times ? "unexpected" : what, k);
}

static void check_generation(const struct enumeration *e, const struct state *s, unsigned k)
{
	const struct promise *p = &e->w->samples[k];
	unsigned generation = s->numbers.generation[k];
	if (!s->numbers.times[k])
		return;
	if (p->replaced <= e->position && generation != 1)
		complain(e, "old names: sample", k);
	if (p->replaced_from > e->position && generation != 0)
		complain(e, "new names: sample", k);
	if (k && e->w->samples[k - 1].replaced_from == p->replaced_from &&
	    s->numbers.times[k - 1] && s->numbers.generation[k - 1] != generation)
		complain(e, "names of two generations: sample", k);
}

static void check_promises(const struct enumeration *e, const struct state *s)
{
	const struct workload *w = e->w;
	for (unsigned k = 0; k < w->next; k++) {
		check_one(e, &w->samples[k], s->numbers.times[k], "lost: sample", k);
		check_generation(e, s, k);
	}
	if (e->how == SIM_DEATH && s->numbers.nameless)
		complain(e, "nameless:", s->numbers.nameless);
	for (unsigned k = w->next; k < MAX_NUMBERS; k++) {
		if (s->numbers.times[k])
			complain(e, "from nowhere: sample", k);
	}
	for (unsigned k = 0; k < MAX_MARKS; k++) {
		/* An event is seen only while its window is there. */
		bool window = w->marks[k].offered == NEVER || s->numbers.times[w->marks_of[k]];
		if (window)
			check_one(e, &w->marks[k], s->numbers.marks[k], "lost: event", k);
	}
	for (unsigned k = 0; k < MAX_PINS; k++) {
		const struct promise *p = &w->pins[k];
		if (p->durable <= e->position && p->deletable > e->position && !s->pins[k])
			complain(e, "lost: pin", k);
		if ((p->offered > e->position || p->deleted <= e->position) && s->pins[k])
			complain(e, "unexpected: pin", k);
	}
}

static void point(struct enumeration *e, const struct sim_disk *d, size_t cut, enum sim_image how,
		  uint64_t seed)
{
	e->cut = cut;
	e->how = how;
	e->seed = seed;
	e->points++;
	check_promises(e, recover(e, sim_image(d, cut, how, seed)));
}

/* A point inside a recovery. */
static void nested(struct enumeration *e, struct sim_disk *d)
{
	e->points++;
	e->nested++;
	check_promises(e, recover(e, d));
}

/* Inside a write: the kinds of images for which the byte matters. */
static void points_in_write(struct enumeration *e, const struct sim_disk *d)
{
	for (size_t cut = 1 + EVERY_FROM; cut <= sim_replay_bytes(d); cut += EVERY) {
		uint64_t seed = e->position * 100003 + cut;
		point(e, d, cut, SIM_DEATH, 0);
		point(e, d, cut, SIM_ZEROS, 0);
		point(e, d, cut, SIM_PREFIX, seed);
		point(e, d, cut, SIM_SECTOR, seed);
		point(e, d, cut, SIM_BYTE, seed);
	}
}

static void points_before_change(struct enumeration *e, const struct sim_disk *d)
{
	for (int how = SIM_DEATH; how < SIM_PREFIX; how++)
		point(e, d, 0, (enum sim_image)how, 0);
	for (uint64_t seed = 0; seed < 24 && sim_pending(d); seed++) {
		point(e, d, 0, SIM_PREFIX, seed);
		point(e, d, 0, SIM_SECTOR, seed);
		point(e, d, 0, SIM_BYTE, seed);
	}
}

/* The recovery after a power cut crashes itself: before each of its changes, and in its writes. */
static void points_in_recovery(struct enumeration *e, struct sim_disk *d)
{
	static const enum sim_image kinds[] = {SIM_DEATH, SIM_NONE, SIM_PREFIX, SIM_BYTE};
	sim_record(d);
	cam_store_close(store_open(sim_io(d)));
	struct sim_disk *r = sim_replay_new(d);
	e->how = SIM_BYTE;
	do {
		size_t bytes = sim_replay_bytes(r);
		for (size_t cut = 0; cut <= bytes; cut += bytes / 3 + 1) {
			for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
				nested(e, sim_image(r, cut, kinds[i], cut));
		}
	} while (sim_replay_step(r));
	sim_free(r);
	sim_free(d);
}

/*
 * The process dies, the next one begins to recover what the page cache holds, and the power goes:
 * before any of the calls of the recovery. What the first process had not synced can go with it. Which calls those are that
 * EVERY leaves is another thing at each position.
 */
static void points_of_two_crashes(struct enumeration *e)
{
	static const enum sim_image kinds[] = {SIM_NONE, SIM_NAMES,  SIM_DATA, SIM_PREFIX,
					       SIM_BYTE, SIM_SECTOR, SIM_BYTE};
	bool more = true;
	e->how = SIM_NONE;
	for (uint64_t call = 1 + (EVERY_FROM + e->position) % EVERY; more; call += EVERY) {
		struct sim_disk *d = sim_replay_new(e->w->disk);
		struct cam_store *s = NULL;
		int holder;
		while (sim_replay_position(d) < e->position)
			sim_replay_step(d);
		sim_set_plan(d, &(struct sim_plan){.at_call = call});
		if (cam_store_open_write(sim_io(d), &s, &holder) == 0)
			cam_store_close(s);
		more = sim_plan_done(d);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			nested(e, sim_image(d, 0, kinds[i], call * 7 + i));
		sim_free(d);
	}
}

static void test_every_crash(void **state)
{
	(void)state;
	struct workload w = new_workload();
	run_workload(&w);
	struct enumeration e = {.w = &w};
	struct sim_disk *r = sim_replay_new(w.disk);
	do {
		e.position = sim_replay_position(r);
		points_before_change(&e, r);
		points_in_write(&e, r);
		points_of_two_crashes(&e);
		points_in_recovery(&e, sim_image(r, 0, SIM_BYTE, e.position));
	} while (sim_replay_step(r));
	print_message("# crash points: %" PRIu64 "\n", e.points);
	print_message("# of these inside recoveries: %" PRIu64 "; distinct disks: %zu, "
		      "but for temporary files: %zu, after recovery: %zu; changes: %zu\n",
		      e.nested, e.exact.n, e.disks.n, e.n_states, sim_recorded(w.disk));
	assert_true(e.points >= MIN_POINTS / EVERY);
	sim_free(r);
	sim_free(w.disk);
	memo_free(&e.exact);
	memo_free(&e.disks);
	memo_free(&e.recovered);
	free(e.states);
}

int main(void)
{
	keep_memory();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_crash),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
