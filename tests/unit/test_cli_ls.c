// SPDX-License-Identifier: Apache-2.0
/*
 * What people and programs read of a store that is being recorded into: `ls`, `flame`, `export` and
 * `verify`, run as programs beside a writer that has its journal open.
 */
#include "base/units.h"
#include "ingest/ledger.h"
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NS   CAM_NS_PER_SEC
#define REAL INT64_C(1776222000000000000)
#define HZ   97u

struct fixture {
	char dir[64];
	struct cam_io *io;
	struct cam_store *store;
	struct cam_journal *door;
	struct cam_tables t;
	struct cam_task_id task;
	struct cam_place_id named, late;
	struct cam_loc_id late_loc;
	struct cam_module_id file;
	int64_t step_ns; /* by which somebody set the wall clock forward */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int holder;
	strcpy(f->dir, "/tmp/perfcam-ls-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(cam_io_posix_open(f->dir, false, &f->io), 0);
	assert_int_equal(cam_store_open_live(f->io, &f->store, &holder), 0);
	f->door = cam_store_journal(f->store, 0);
	setenv("TZ", "UTC", 1);
	*state = f;
	return 0;
}

static int remove_file(void *arg, const char *name)
{
	struct cam_io *io = arg;
	return io->ops->unlink(io, name);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	cam_store_close(f->store);
	f->io->ops->list(f->io, remove_file, f->io);
	cam_io_posix_close(f->io);
	int err = rmdir(f->dir);
	cam_tables_free(&f->t);
	free(f);
	return err;
}

static struct cam_str_id string(struct fixture *f, const char *s)
{
	struct cam_str_id id;
	assert_int_equal(cam_string_intern(&f->t, cam_text_of(s), &id), 0);
	return id;
}

static struct cam_func_id function(struct fixture *f, const char *name)
{
	struct cam_function fn = {
		.name = string(f, name), .module = f->file, .source = CAM_NAME_SYMTAB};
	struct cam_func_id id;
	assert_int_equal(cam_function_intern(&f->t, &fn, &id), 0);
	return id;
}

static struct cam_place_id place(struct fixture *f, struct cam_location l, struct cam_loc_id *loc)
{
	struct cam_place_id id;
	l.module = f->file;
	assert_int_equal(cam_location_intern(&f->t, &l, loc), 0);
	assert_int_equal(cam_tree_intern(&f->t, &f->t.places, 0, loc->v, &id.v), 0);
	return id;
}

/* Begins a window of a live recording: a named function, and an address without a name so far. */
static void begin(struct fixture *f, uint8_t boot, uint64_t start_ns)
{
	cam_tables_free(&f->t);
	assert_int_equal(cam_tables_init(&f->t, 1 << 20), 0);
	struct cam_task task = {.pid = 7, .tid = 7, .comm = string(f, "worker")};
	struct cam_etype etype = {.name = string(f, "cpu-clock"), .period_ns = NS / HZ};
	struct cam_module module = {.path = string(f, "/bin/worker"), .kind = CAM_MODULE_FILE};
	struct cam_etype_id etype_id;
	struct cam_loc_id loc;
	assert_int_equal(cam_task_intern(&f->t, &task, &f->task), 0);
	assert_int_equal(cam_etype_intern(&f->t, &etype, &etype_id), 0);
	assert_int_equal(cam_module_intern(&f->t, &module, &f->file), 0);
	f->named = place(f,
			 (struct cam_location){.address = 0x1010,
					       .func = function(f, "compute"),
					       .func_offset = 0x10},
			 &loc);
	f->late = place(f,
			(struct cam_location){.address = 0x2000,
					      .func = {CAM_NONE},
					      .func_offset = CAM_OFFSET_NONE,
					      .late = true},
			&f->late_loc);
	struct cam_window_head head = {
		.host = string(f, "db1"), .start_ns = start_ns, .time_unit_ns = 10000};
	head.boot_id.bytes[0] = boot;
	assert_int_equal(f->door->begin(f->door, &f->t, &head), 0);
}

/* A second of two CPUs: 40 samples and 57 idle ones each, less `lost` on CPU 1. */
static void second(struct fixture *f, uint64_t at_ns, uint64_t lost)
{
	struct cam_sample samples[80];
	struct cam_ledger_row ledger[3];
	struct cam_counter counters[2];
	size_t n = 0, rows = 0;
	for (unsigned i = 0; i < 80; i++) {
		if (i % 2 && i / 2 < lost)
			continue;
		samples[n++] = (struct cam_sample){.time_ns = at_ns + i * 10000000ull,
						   .weight = 1,
						   .cpu = i % 2,
						   .task = f->task,
						   .place = i % 4 ? f->named : f->late};
	}
	for (unsigned c = 0; c < 2; c++) {
		ledger[rows++] = (struct cam_ledger_row){CAM_CAUSE_IDLE, c, at_ns, at_ns + NS, 57};
		counters[c] = (struct cam_counter){at_ns + NS, NS, CAM_COUNTER_IDLE, c, 590000000};
	}
	if (lost)
		ledger[rows++] =
			(struct cam_ledger_row){CAM_CAUSE_LOST_RING, 1, at_ns, at_ns + NS, lost};
	/* The kernel log's clock is 7 s ahead. */
	struct cam_anchor anchor = {.time_ns = at_ns,
				    .sched_ns = at_ns + 7 * NS,
				    .realtime_ns = REAL + (int64_t)at_ns + f->step_ns};
	struct cam_block block = {.samples = samples,
				  .n_samples = n,
				  .ledger = ledger,
				  .n_ledger = rows,
				  .counters = counters,
				  .n_counters = 2,
				  .anchors = &anchor,
				  .n_anchors = 1};
	assert_int_equal(f->door->append(f->door, &f->t, &block), 0);
}

/* The late address gets its name, as a helper gives it some time after the first sample. */
static void name_late(struct fixture *f)
{
	struct cam_block block = {.named = &f->late_loc, .n_named = 1};
	cam_location_name(&f->t, f->late_loc, function(f, "found_later"), 0x40);
	assert_int_equal(f->door->append(f->door, &f->t, &block), 0);
}

static void end(struct fixture *f, uint64_t end_ns)
{
	unsigned sealed;
	assert_int_equal(f->door->end(f->door, end_ns, true), 0);
	assert_int_equal(cam_store_seal_pending(f->store, &sealed), 0);
	assert_int_equal(sealed, 1);
}

/* What the program prints, and how it ends. */
static int run(const struct fixture *f, const char *arguments, char *out, size_t room)
{
	char command[512];
	snprintf(command, sizeof(command), "%s %s --store %s 2>/dev/null", getenv("PERFCAM_BIN"),
		 arguments, f->dir);
	FILE *p = popen(command, "r");
	assert_non_null(p);
	size_t n = fread(out, 1, room - 1, p);
	out[n] = '\0';
	assert_true(n < room - 1);
	int status = pclose(p);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Line i of a text, its runs of blanks made one. */
static const char *line(const char *text, unsigned i)
{
	static char out[256];
	size_t n = 0;
	for (; i; i--) {
		text = strchr(text, '\n');
		assert_non_null(text);
		text++;
	}
	for (; *text && *text != '\n' && n < sizeof(out) - 1; text++) {
		if (*text != ' ' || (n && out[n - 1] != ' '))
			out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

static void assert_fits(const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		assert_true(n <= 100);
	}
}

/* Two windows without a gap, one that lost samples, a gap, and one that is being written. */
static void test_text(void **state)
{
	struct fixture *f = *state;
	char out[8192];
	begin(f, 1, 100 * NS);
	for (unsigned s = 0; s < 4; s++)
		second(f, (100 + s) * NS, 0);
	end(f, 104 * NS);
	begin(f, 1, 104 * NS);
	second(f, 104 * NS, 10);
	second(f, 105 * NS, 0);
	end(f, 106 * NS);
	begin(f, 1, 200 * NS);
	second(f, 200 * NS, 0);
	assert_int_equal(run(f, "ls", out, sizeof(out)), 0);
	assert_fits(out);
	assert_string_equal(line(out, 0),
			    "START LENGTH SAMPLES BUSY% IDLE% SEEN% LOST SIZE EVENTS");
	assert_non_null(
		strstr(line(out, 1), "2026-04-15 03:01:40+00:00 4.0 s 320 41.2 58.8 100.0 0 "));
	assert_non_null(
		strstr(line(out, 2), "2026-04-15 03:01:44+00:00 2.0 s 150 38.7 58.8 97.4 10 "));
	assert_string_equal(line(out, 3), "ring full 10 (2.6 %)");
	assert_string_equal(line(out, 4), "-- 94.0 s: recording stopped");
	assert_non_null(
		strstr(line(out, 5), "2026-04-15 03:03:20+00:00 1.0 s 80 41.2 58.8 100.0 0 "));
	assert_non_null(strstr(line(out, 5), " 0 open"));
	assert_string_equal(line(out, 6), "");
	/* Nothing in a list is incomplete because a window has lost something. */
	assert_int_equal(run(f, "ls --names", out, sizeof(out)), 0);
	assert_non_null(strstr(out, "perfcam-db1-20260415-03-01-40-4s.pcw"));
	assert_non_null(strstr(out, "open-00000003.pcj"));
}

/* A crash, and another boot. */
static void test_gaps(void **state)
{
	struct fixture *f = *state;
	char out[8192];
	int holder;
	begin(f, 1, 100 * NS);
	second(f, 100 * NS, 0);
	cam_store_close(f->store); /* killed */
	assert_int_equal(cam_store_open_write(f->io, &f->store, &holder), 0);
	f->door = cam_store_journal(f->store, 0);
	begin(f, 1, 131 * NS);
	second(f, 131 * NS, 0);
	end(f, 132 * NS);
	begin(f, 2, 12 * NS);
	second(f, 12 * NS, 0);
	end(f, 13 * NS);
	assert_int_equal(run(f, "ls", out, sizeof(out)), 0);
	assert_string_equal(line(out, 2), "-- 30.0 s: recorder not running");
	assert_string_equal(line(out, 4), "-- another boot; 12.0 s of it: recording stopped");
	assert_int_equal(run(f, "ls --json", out, sizeof(out)), 0);
	assert_non_null(strstr(out, "\"gap_before\":null"));
	assert_non_null(strstr(out,
			       "\"gap_before\":{\"cause\":\"recorder_dead\",\"other_boot\":false,"
			       "\"from_ns\":101000000000,\"to_ns\":131000000000}"));
	assert_non_null(strstr(out,
			       "\"gap_before\":{\"cause\":\"not_recording\",\"other_boot\":true,"
			       "\"from_ns\":0,\"to_ns\":12000000000}"));
}

static void test_json(void **state)
{
	struct fixture *f = *state;
	char out[8192], expected[64];
	begin(f, 1, 104 * NS);
	second(f, 104 * NS, 10);
	end(f, 105 * NS);
	assert_int_equal(run(f, "ls --json", out, sizeof(out)), 0);
	assert_non_null(strstr(out, "\"samples\":70,\"lost\":10,\"due\":194,\"observed\":184,"));
	snprintf(expected, sizeof(expected), "\"error\":%u,", 2 * (unsigned)cam_ledger_error(HZ));
	assert_non_null(strstr(out, expected));
	assert_non_null(strstr(out, "\"ledger\":{\"idle\":114,\"lost_ring\":10,\"lost_queue\":0,"));
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		snprintf(expected, sizeof(expected), "\"%s\":", cam_cause_key((enum cam_cause)i));
		assert_non_null(strstr(out, expected));
	}
}

/* Views of a journal while it grows, named and unnamed; what was lost ends with status 3. */
static void test_beside_a_writer(void **state)
{
	struct fixture *f = *state;
	static char out[65536];
	begin(f, 1, 100 * NS);
	second(f, 100 * NS, 0);
	assert_int_equal(run(f, "export folded", out, sizeof(out)), 0);
	assert_non_null(strstr(out, "worker;compute 60\n"));
	assert_null(strstr(out, "found_later"));
	assert_non_null(strstr(out, " 20\n"));
	name_late(f);
	second(f, 101 * NS, 0);
	assert_int_equal(run(f, "export folded", out, sizeof(out)), 0);
	assert_string_equal(out, "worker;compute 120\nworker;found_later 40\n");
	assert_int_equal(run(f, "flame --json --top 5 -o /dev/null", out, sizeof(out)), 0);
	assert_non_null(strstr(out, "\"samples\":160"));
	assert_non_null(strstr(out, "found_later"));
	/* A journal without an end is no damage. */
	assert_int_equal(run(f, "verify", out, sizeof(out)), 0);
	second(f, 102 * NS, 3);
	assert_int_equal(run(f, "flame --json --top 5 -o /dev/null", out, sizeof(out)), 3);
	assert_int_equal(run(f, "ls", out, sizeof(out)), 0);
	end(f, 103 * NS);
	/* Sealed it says the same. */
	assert_int_equal(run(f, "export folded", out, sizeof(out)), 3);
	assert_non_null(strstr(out, "worker;compute "));
	assert_int_equal(run(f, "verify", out, sizeof(out)), 0);
}

/* How many windows are listed. */
static unsigned listed(const struct fixture *f, long from_s, long to_s)
{
	char command[128], out[8192];
	unsigned n = 0;
	snprintf(command, sizeof(command), "ls --from @%ld --to @%ld", REAL / (long)NS + from_s,
		 REAL / (long)NS + to_s);
	assert_int_equal(run(f, command, out, sizeof(out)), 0);
	for (const char *p = out; *p; p++)
		n += *p == '\n';
	return n - 1;
}

/* An hour forward within a window: what it showed is found, what it skipped is not. */
static void test_a_clock_that_was_set(void **state)
{
	struct fixture *f = *state;
	char out[8192];
	begin(f, 1, 100 * NS);
	for (unsigned s = 0; s < 10; s++) {
		f->step_ns = s < 5 ? 0 : (int64_t)(3600 * NS);
		second(f, (100 + s) * NS, 0);
	}
	end(f, 110 * NS);
	begin(f, 1, 110 * NS);
	second(f, 110 * NS, 0);
	end(f, 111 * NS);
	assert_int_equal(listed(f, 0, 10000), 2);
	assert_int_equal(listed(f, 102, 103), 1);
	assert_int_equal(listed(f, 3600 + 107, 3600 + 108), 1);
	assert_int_equal(listed(f, 3600 + 109, 3600 + 111), 2);
	assert_int_equal(listed(f, 1800, 1801), 0);
	assert_int_equal(listed(f, 106, 109), 0);
	/* A stamp of the kernel log is one moment, whatever the wall says. */
	assert_int_equal(run(f, "at boot+114 --around 1s --json", out, sizeof(out)), 0);
	assert_non_null(strstr(out, "\"offset_ns\":7000000000,\"clock_ns\":107000000000,"));
	assert_non_null(strstr(out, "\"samples\":160,"));
	assert_non_null(strstr(out, "\"time_ns\":1776225707000000000,"));
	assert_int_equal(run(f, "at boot+5", out, sizeof(out)), 1);
}

/* What was not seen is said, by cause, and never called idle. */
static void test_at(void **state)
{
	struct fixture *f = *state;
	char out[16384];
	int holder;
	begin(f, 1, 100 * NS);
	for (unsigned s = 0; s < 4; s++)
		second(f, (100 + s) * NS, s == 3 ? 20 : 0);
	cam_store_close(f->store); /* killed */
	assert_int_equal(cam_store_open_write(f->io, &f->store, &holder), 0);
	f->door = cam_store_journal(f->store, 0);
	begin(f, 1, 120 * NS);
	second(f, 120 * NS, 0);
	end(f, 121 * NS);
	assert_int_equal(run(f, "at 2026-04-15T03:01:41.5Z --around 500ms", out, sizeof(out)), 0);
	assert_string_equal(line(out, 1), "1.5 s into perfcam-db1-20260415-03-01-40-4s.pcw");
	assert_non_null(strstr(line(out, 2), "2 CPUs: 41.2\u202f% busy"));
	assert_non_null(strstr(line(out, 2), "58.8\u202f% idle"));
	assert_null(strstr(line(out, 2), "not seen"));
	assert_non_null(strstr(out, "busiest core: "));
	assert_non_null(strstr(out, "worker (7) in compute"));
	/* The second in which the ring was full. */
	assert_int_equal(run(f, "at 2026-04-15T03:01:43.5Z --around 500ms", out, sizeof(out)), 3);
	assert_non_null(strstr(line(out, 2), "30.9\u202f% busy"));
	assert_non_null(strstr(line(out, 2), "58.8\u202f% idle"));
	assert_non_null(strstr(line(out, 2), "10.3\u202f% not seen (ring full 10.3\u202f%)"));
	/* While nobody recorded: no window, no idle, and not a success. */
	assert_int_equal(run(f, "at 2026-04-15T03:01:50Z --around 1s", out, sizeof(out)), 3);
	assert_non_null(strstr(out, "no window holds that moment"));
	assert_null(strstr(out, "idle"));
	/* Before anything was recorded. */
	assert_int_equal(run(f, "at 2026-04-15T02:01:50Z", out, sizeof(out)), 1);
	/* Host counters come with the window. */
	assert_int_equal(run(f, "top --by core --json", out, sizeof(out)), 3);
	assert_non_null(strstr(out, "\"not_stored\":{\"idle\":570,\"lost_ring\":20}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gaps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_a_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_clock_that_was_set, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
