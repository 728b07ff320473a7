// SPDX-License-Identifier: Apache-2.0
/*
 * Every call of the disk fails: with ENOSPC, with EIO, once, and from then on.
 *
 * The workload writes, queues, seals, marks, pins, replaces and deletes; what an operation refuses
 * is tried again, while the fault lasts and when it has ended. However it went, what was accepted
 * is there, once; what was acknowledged as durable survives a power cut at that moment (the
 * simulated disk loses the pages of a failed sync as Linux does, and reports the next sync as
 * good: whoever retries one is found out here); no file stays open; and the store ends as it does
 * without faults.
 */
#include "base/index.h"
#include "store/store_parts.h"
#include "support_every.h"
#include "support_sim_io.h"
#include "support_store.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SYNC_NS	 (5 * STEP_NS)
#define REAL	 INT64_C(1776222000000000000)
#define FAR	 INT64_C(1999999999000000000) /* pins there keep nothing */
#define WINDOW_2 "perfcam-h-20260415-03-01-40-1s.pcw"

struct late {
	struct cam_syncer door;
	bool busy;
	unsigned asked;
	int result;
};

struct run {
	struct sim_disk *disk;
	struct cam_io *io;
	struct sim_plan plan;
	struct cam_store *store;
	struct numbered n;
	unsigned next, durable, deleted; /* samples [deleted, durable) must survive */
	unsigned marks, pins;
	unsigned refused;
	struct late late;
	bool is_late;	      /* somebody syncs beside */
	struct memo *checked; /* (disk, what must be on it) → checked */
	bool full;	      /* the fault is a lack of room */
	bool ended;	      /* the fault */
};

static void end_fault(struct run *r)
{
	if (!r->ended)
		sim_set_plan(r->disk, &(struct sim_plan){0});
	if (r->full)
		sim_set_capacity(r->disk, 0);
	r->ended = true;
}

static bool fault_began(const struct run *r)
{
	return sim_plan_done(r->disk) || r->ended || r->full;
}

static int count_kind(void *arg, const char *name)
{
	unsigned *by_kind = arg;
	by_kind[cam_name_kind(name)]++;
	return 0;
}

/* Files of a kind on the disk; looking does not count as a call. */
static unsigned count_files(struct run *r, enum cam_file_kind kind)
{
	unsigned by_kind[16] = {0};
	struct sim_disk *image = sim_image(r->disk, 0, SIM_DEATH, 0);
	struct cam_io *io = sim_io(image);
	assert_int_equal(io->ops->list(io, count_kind, by_kind), 0);
	sim_free(image);
	return by_kind[kind];
}

/* Whether to try again: as it is, as it is once more, and when the fault has ended. */
static bool again(struct run *r, int err, unsigned *attempts)
{
	if (!err)
		return false;
	r->refused++;
	if (!fault_began(r))
		fail_msg("refused with %d before anything failed", err);
	/* What was refused leaves nothing behind that would take up room. */
	if (!r->plan.fail_forever)
		assert_int_equal(count_files(r, CAM_FILE_TEMPORARY), 0);
	if (++*attempts > 3)
		fail_msg("refused with %d though the fault has ended (call %" PRIu64
			 ", errno %d, %s)",
			 err, r->plan.at_call, r->plan.fail_errno,
			 r->plan.fail_forever ? "for ever" : "once");
	if (*attempts == 3)
		end_fault(r);
	return true;
}

#define INSIST(r, call)                            \
	do {                                       \
		unsigned attempts_ = 0;            \
		while (again(r, call, &attempts_)) \
			;                          \
	} while (0)

static void check_image(struct run *r, struct cam_io *io)
{
	struct numbers found;
	cam_store_close(store_open(io));
	store_read(io, &found);
	for (unsigned k = r->deleted; k < r->durable; k++) {
		if (found.times[k] != 1)
			fail_msg("sample %u is there %d times after a power cut (call %" PRIu64
				 ", errno %d, %s)",
				 k, found.times[k], r->plan.at_call, r->plan.fail_errno,
				 r->plan.fail_forever ? "for ever" : "once");
	}
	for (unsigned k = 0; k < r->marks && !r->deleted; k++)
		assert_int_equal(found.marks[k], 1);
	if (r->durable > 15)
		assert_int_equal(found.marks[20], 1);
	assert_int_equal(found.damaged, 0);
}

/* What a power cut now would leave: all that is acknowledged. */
static void check_power_cut(struct run *r)
{
	if (!fault_began(r))
		return;
	struct sim_disk *image = sim_image(r->disk, 0, SIM_NONE, 0);
	uint64_t expected = (uint64_t)r->deleted << 32 | r->durable << 8 | r->marks;
	uint32_t *checked = memo_find(r->checked, cam_hash_u64(hash_disk(image, true), expected));
	sim_set_capacity(image, 0);
	if (!*checked) {
		*checked = 1;
		check_image(r, sim_io(image));
	}
	sim_free(image);
}

static int open_once(struct run *r)
{
	int holder;
	return cam_store_open_write(r->io, &r->store, &holder);
}

/* Syncs at once, and says so when it is asked for the second time: blocks are appended meanwhile. */
static bool late_start(void *self, struct cam_file *f)
{
	struct late *l = self;
	if (l->busy)
		return false;
	l->busy = true;
	l->asked = 0;
	l->result = f->ops->fdatasync(f);
	return true;
}

static bool late_is_done(void *self, bool wait, int *result)
{
	struct late *l = self;
	if (l->busy && !wait && ++l->asked < 2)
		return false;
	l->busy = false;
	*result = l->result;
	return true;
}

static void open_store(struct run *r)
{
	INSIST(r, open_once(r));
	r->late.door = (struct cam_syncer){&r->late, late_start, late_is_done};
	if (r->is_late)
		cam_store_set_syncer(r->store, &r->late.door);
	numbered_init(&r->n, cam_store_journal(r->store, SYNC_NS));
}

static void window(struct run *r, uint8_t boot, uint64_t start_ns, int64_t realtime_ns,
		   unsigned blocks, unsigned own_mark)
{
	struct numbered_window w = {.boot = boot, .start_ns = start_ns, .realtime_ns = realtime_ns};
	unsigned journals = count_files(r, CAM_FILE_JOURNAL);
	INSIST(r, numbered_begin(&r->n, &w));
	if (!r->plan.fail_forever)
		assert_int_equal(count_files(r, CAM_FILE_JOURNAL), journals + 1);
	if (own_mark)
		INSIST(r, numbered_mark(&r->n, start_ns, own_mark));
	for (unsigned i = 0; i < blocks; i++, r->next += 3)
		INSIST(r, numbered_append(&r->n, r->next, 3));
	INSIST(r, numbered_end(&r->n));
	r->durable = r->next;
	check_power_cut(r);
}

static void seal(struct run *r)
{
	unsigned sealed;
	INSIST(r, cam_store_seal_pending(r->store, &sealed));
	check_power_cut(r);
}

static void mark(struct run *r, uint8_t boot, uint64_t time_ns)
{
	INSIST(r, add_mark(r->store, boot, time_ns, r->marks));
	r->marks++;
	check_power_cut(r);
}

static void pin(struct run *r)
{
	struct cam_pin p = {FAR + r->pins, FAR + r->pins + 1, "a pin"};
	INSIST(r, cam_store_pin(r->store, &p));
	r->pins++;
}

static int replace_once(struct run *r, const char *name)
{
	struct cam_window *better;
	int err = cam_store_open_file(r->io, name, &better);
	if (err)
		return err;
	numbered_better(better);
	err = cam_store_replace(r->store, name, better);
	better->ops->close(better);
	return err;
}

/* A window that could not be read while the list was made is spared, until the next time. */
static void retain(struct run *r, unsigned from)
{
	struct cam_retention limits = {.keep_ns = 1650 * NS};
	unsigned deleted = 0;
	for (unsigned i = 0; i < 2 && !deleted; i++)
		INSIST(r, cam_store_retain(r->store, &limits, &deleted));
	assert_int_equal(deleted, 1);
	r->deleted = from;
	check_power_cut(r);
}

static void run_workload(struct run *r)
{
	open_store(r);
	window(r, 1, 100 * NS, REAL, 2, 0);
	seal(r);
	mark(r, 1, 100 * NS);
	mark(r, 1, 100 * NS);
	window(r, 1, 200 * NS, REAL + 100 * (int64_t)NS, 3, 20);
	window(r, 1, 300 * NS, REAL + 200 * (int64_t)NS, 4, 0);
	pin(r);
	seal(r);
	INSIST(r, replace_once(r, WINDOW_2));
	pin(r);
	window(r, 2, 5 * NS, NS, 1, 0);
	window(r, 2, 1500 * NS, NS, 2, 21);
	cam_store_close(r->store);
	open_store(r);
	seal(r);
	retain(r, 6);
	window(r, 2, 1600 * NS, NS, 2, 0);
	cam_store_close(r->store);
}

static int count_pin(void *arg, const struct cam_pin *p)
{
	unsigned *n = arg;
	assert_string_equal(p->note, "a pin");
	assert_int_equal(p->from_ns, FAR + *n);
	++*n;
	return 0;
}

static int check_verdict(void *arg, const struct cam_verify_report *r)
{
	(void)arg;
	if (strcmp(r->verdict, "ok") != 0 || strcmp(r->kind, "temporary") == 0)
		fail_msg("%s: %s, %s", r->name, r->kind, r->verdict);
	return 0;
}

static void check_end(struct run *r)
{
	struct numbers found;
	unsigned pins = 0;
	end_fault(r);
	assert_int_equal(sim_open_files(r->disk), 0);
	cam_store_close(store_open(r->io));
	store_read(r->io, &found);
	for (unsigned k = 0; k < MAX_NUMBERS; k++) {
		assert_int_equal(found.times[k], k >= r->deleted && k < r->next);
		assert_int_equal(found.generation[k], k >= 6 && k < 15);
	}
	assert_int_equal(found.marks[20], 1);
	assert_int_equal(found.marks[21], 1);
	assert_int_equal(cam_store_pins(r->io, count_pin, &pins), 0);
	assert_int_equal(pins, r->pins);
	assert_int_equal(found.journals, 0);
	assert_int_equal(found.damaged, 0);
	assert_int_equal(cam_store_verify(r->io, check_verdict, NULL), 0);
}

/* True: the planned call was reached. */
static bool run_with(struct sim_plan plan, bool late, struct memo *checked, uint64_t *refused)
{
	struct run r = {.disk = sim_new(), .plan = plan, .is_late = late, .checked = checked};
	r.io = sim_io(r.disk);
	sim_set_plan(r.disk, &plan);
	run_workload(&r);
	bool reached = fault_began(&r);
	check_end(&r);
	sim_free(r.disk);
	*refused += r.refused;
	return reached;
}

static void fail_every_call(int error, bool for_ever)
{
	struct memo checked = {0};
	uint64_t call = 1 + EVERY_FROM, refused = 0;
	for (bool reached = true; reached; call += reached ? EVERY : 0) {
		const struct sim_plan plan = {.at_call = call,
					      .at_byte = call % 50,
					      .fail_errno = error,
					      .fail_forever = for_ever};
		reached = run_with(plan, false, &checked, &refused);
		/* A sync that fails behind one's back is another matter. */
		reached |= error == EIO && run_with(plan, true, &checked, &refused);
	}
	memo_free(&checked);
	print_message("# %s %s: %" PRIu64 " calls failed, %" PRIu64 " refusals\n", strerror(error),
		      for_ever ? "from then on" : "once", call / EVERY, refused);
	assert_true(call > 300 && refused > 100 / EVERY);
}

static void test_enospc_once(void **state)
{
	(void)state;
	fail_every_call(ENOSPC, false);
}

static void test_enospc_for_ever(void **state)
{
	(void)state;
	fail_every_call(ENOSPC, true);
}

static void test_eio_once(void **state)
{
	(void)state;
	fail_every_call(EIO, false);
}

static void test_eio_for_ever(void **state)
{
	(void)state;
	fail_every_call(EIO, true);
}

/* A disk that really fills up, at many sizes. */
static void test_full_disk(void **state)
{
	(void)state;
	struct memo checked = {0};
	struct run whole = {.disk = sim_new(), .checked = &checked};
	uint64_t total, free_bytes, runs = 0;
	whole.io = sim_io(whole.disk);
	run_workload(&whole);
	assert_int_equal(whole.io->ops->space(whole.io, &total, &free_bytes), 0);
	uint64_t used = total - free_bytes;
	for (uint64_t room = 16; room < used * 2; room += used / 50 + 1, runs++) {
		struct run r = {.disk = sim_new(), .checked = &checked, .full = true};
		r.io = sim_io(r.disk);
		sim_set_capacity(r.disk, room);
		run_workload(&r);
		check_end(&r);
		sim_free(r.disk);
	}
	assert_true(runs > 50);
	memo_free(&checked);
	sim_free(whole.disk);
}

/* After a failed sync the bytes go to another file, and the old one is not synced again. */
static void test_abandoned(void **state)
{
	(void)state;
	for (unsigned more = 1; more <= 3; more++) {
		struct memo checked = {0};
		struct run r = {.disk = sim_new(), .checked = &checked};
		struct numbered_window w = {.boot = 1, .start_ns = NS};
		struct numbers seen = {0};
		struct cam_window *reader;
		r.io = sim_io(r.disk);
		open_store(&r);
		assert_int_equal(numbered_begin(&r.n, &w), 0);
		assert_int_equal(numbered_append(&r.n, 0, 3), 0);
		assert_int_equal(cam_store_open_file(r.io, "open-00000001.pcj", &reader), 0);
		/* Calls of the next block: pwrite, fdatasync, then those of the rewrite. */
		sim_set_plan(r.disk, &(struct sim_plan){.at_call = 2, .fail_errno = EIO});
		assert_int_equal(numbered_append(&r.n, 3, 3), 0);
		assert_int_equal(cam_store_counts(r.store)->failed_syncs, 1);
		assert_int_equal(cam_store_counts(r.store)->rewritten, 1);
		r.ended = true;
		r.durable = 6;
		check_power_cut(&r);
		for (unsigned i = 0; i < more; i++)
			assert_int_equal(numbered_append(&r.n, 6 + 3 * i, 3), 0);
		assert_int_equal(numbered_end(&r.n), 0);
		r.durable = 6 + 3 * more;
		check_power_cut(&r);
		/* A reader that has the abandoned file open goes on reading it. */
		window_read(reader, &seen);
		assert_int_equal(seen.total, 3);
		reader->ops->close(reader);
		cam_store_close(r.store);
		sim_free(r.disk);
		memo_free(&checked);
	}
}

struct no_directory {
	struct relay relay;
	bool fails;
};

static int failing_sync_dir(struct cam_io *io)
{
	return ((struct no_directory *)io)->fails ? -EIO : relay_ops.sync_dir(io);
}

/* Two faults: a sync fails, and so does making the new file's name durable. */
static void test_abandoned_without_a_name(void **state)
{
	(void)state;
	struct memo checked = {0};
	struct run r = {.disk = sim_new(), .checked = &checked, .ended = true};
	struct numbered_window w = {.boot = 1, .start_ns = NS};
	struct cam_io_ops ops = relay_ops;
	struct no_directory io = {.relay = {{&ops}, sim_io(r.disk)}};
	ops.sync_dir = failing_sync_dir;
	r.io = &io.relay.io;
	open_store(&r);
	assert_int_equal(numbered_begin(&r.n, &w), 0);
	assert_int_equal(numbered_append(&r.n, 0, 3), 0);
	sim_set_plan(r.disk, &(struct sim_plan){.at_call = 2, .fail_errno = EIO});
	io.fails = true;
	assert_int_equal(numbered_append(&r.n, 3, 3), 0);
	/* The name may still lead to the old file: nothing is accepted before it does not. */
	assert_int_equal(numbered_append(&r.n, 6, 3), -EIO);
	assert_int_equal(numbered_end(&r.n), -EIO);
	io.fails = false;
	assert_int_equal(numbered_append(&r.n, 6, 3), 0);
	r.durable = 6;
	check_power_cut(&r);
	assert_int_equal(numbered_end(&r.n), 0);
	r.durable = 9;
	check_power_cut(&r);
	cam_store_close(r.store);
	sim_free(r.disk);
	memo_free(&checked);
}

/* No sync works any more: what is refused stays bounded, what was accepted is not lost. */
static void test_no_sync_works(void **state)
{
	(void)state;
	struct memo checked = {0};
	struct run r = {.disk = sim_new(), .checked = &checked};
	struct numbered_window w = {.boot = 1, .start_ns = NS};
	r.io = sim_io(r.disk);
	open_store(&r);
	assert_int_equal(numbered_begin(&r.n, &w), 0);
	assert_int_equal(numbered_append(&r.n, 0, 3), 0);
	sim_set_plan(r.disk,
		     &(struct sim_plan){.at_call = 2, .fail_errno = EIO, .fail_forever = true});
	/* Accepted: it is in memory. The next ones wait. */
	assert_int_equal(numbered_append(&r.n, 3, 3), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(numbered_append(&r.n, 6, 3), -EIO);
	assert_int_equal(numbered_end(&r.n), -EIO);
	end_fault(&r);
	assert_int_equal(numbered_append(&r.n, 6, 3), 0);
	r.durable = 6;
	check_power_cut(&r);
	assert_int_equal(numbered_end(&r.n), 0);
	r.durable = 9;
	check_power_cut(&r);
	cam_store_close(r.store);
	sim_free(r.disk);
	memo_free(&checked);
}

int main(void)
{
	keep_memory();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enospc_once),
		cmocka_unit_test(test_enospc_for_ever),
		cmocka_unit_test(test_eio_once),
		cmocka_unit_test(test_eio_for_ever),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_abandoned_without_a_name),
		cmocka_unit_test(test_no_sync_works),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
