// SPDX-License-Identifier: Apache-2.0
/* Host counters in both forms of a window: what goes in comes out, in few bytes. */
#include "base/units.h"
#include "store/journal_counter.h"
#include "store/window.h"
#include "store/window_reader.h"
#include "store/window_writer.h"
#include "support_dump.h"
#include "support_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NS   CAM_NS_PER_SEC
#define TICK 10000000u

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static struct fake_window *new_window(void)
{
	struct fake_window *f = fake_window_new();
	fake_sample(f, 1000 * NS, 0, fake_task(f, 1, 1, "sh"), fake_place(f, "main"));
	f->w.info.start_ns = 1000 * NS;
	return f;
}

static struct cam_buf seal(struct cam_window *w, uint32_t chunk_bytes)
{
	struct cam_buf bytes = CAM_BUF(SIZE_MAX / 2);
	struct cam_out out;
	cam_out_to_buf(&out, &bytes);
	assert_int_equal(cam_window_write_chunks(w, &out, chunk_bytes), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	return bytes;
}

/* Sealed directly, by way of a journal, and read from that: all say the same. */
static void check_forms(struct fake_window *f, uint32_t chunk_bytes)
{
	struct dump expected, got;
	struct memory_file m;
	struct cam_window *w, *j;
	f->w.info.end_ns = f->w.info.start_ns + 3 * NS;
	dump_window(&expected, fake_window_ready(f), DUMP_OTHERS);
	struct cam_buf bytes = seal(&f->w, chunk_bytes);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(cam_window_verify(w), 0);
	dump_window(&got, w, DUMP_OTHERS);
	assert_dumps_equal(&expected, &got);
	dump_free(&got);
	w->ops->close(w);

	struct sim_disk *d = sim_new();
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	journal_write_fake(f, file, true, true, NULL);
	file->ops->close(file);
	assert_int_equal(journal_open_at(d, "j", &j), 0);
	assert_int_equal(j->damage.chunks, 0);
	dump_window(&got, j, DUMP_OTHERS);
	assert_dumps_equal(&expected, &got);
	dump_free(&got);
	struct cam_buf again = seal(j, chunk_bytes);
	assert_int_equal(again.len, bytes.len);
	j->ops->close(j);
	sim_free(d);
	dump_free(&expected);
	cam_buf_free(&again);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

/* The ends of every range; gaps; two values of one instant; subjects that come and go. */
static void extremes(void **state)
{
	(void)state;
	static const uint64_t values[] = {
		0,     1,	  TICK - 1,	  TICK,	      7 * TICK,
		NS,    10 * NS,	  UINT64_MAX / 2, UINT64_MAX, UINT64_MAX - 1,
		12345, UINT64_MAX};
	static const uint32_t subjects[] = {0, 1, 95, 70000, UINT32_MAX - 1, UINT32_MAX};
	for (uint32_t chunk = 64; chunk <= 65536; chunk *= 32) {
		struct fake_window *f = new_window();
		uint64_t seed = 42 + chunk;
		for (unsigned kind = 0; kind < CAM_COUNTER_MAX; kind++)
			for (size_t s = 0; s < 6; s++)
				for (size_t i = 0; i < 12; i++) {
					struct cam_counter c = {
						.time_ns =
							1000 * NS + i * NS + next_random(&seed) % 9,
						.span_ns = i == 3 ? 0 : NS + i,
						.kind = (enum cam_counter_kind)kind,
						.subject = subjects[s],
						.value = values[(i + s) % 12],
					};
					if (next_random(&seed) % 3)
						fake_add_counter(f, &c);
				}
		fake_add_counter(f, &(struct cam_counter){.time_ns = 0});
		fake_add_counter(f, &(struct cam_counter){.time_ns = UINT64_MAX - 1,
							  .span_ns = UINT64_MAX});
		/* One instant, two readings. */
		for (uint64_t v = 5; v < 8; v++)
			fake_add_counter(f, &(struct cam_counter){.time_ns = 77,
								  .kind = CAM_COUNTER_RUNNABLE,
								  .subject = 3,
								  .value = v});
		check_forms(f, chunk);
	}
}

/* One, and none at all. */
static void few(void **state)
{
	(void)state;
	struct fake_window *f = new_window();
	fake_add_counter(f, &(struct cam_counter){
				    .time_ns = 1001 * NS, .kind = CAM_COUNTER_OWN_CPU, .value = 5});
	check_forms(f, 65536);
	f = new_window();
	struct cam_buf bytes = seal(fake_window_ready(f), 65536);
	struct memory_file m;
	struct cam_window *w;
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(cam_reader_of(w)->dir.sections[CAM_CHUNK_COUNTERS].n, 0);
	w->ops->close(w);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

static int note_order(void *arg, const struct cam_counter *c)
{
	struct cam_counter *last = arg;
	bool after = c->kind > last->kind ||
		     (c->kind == last->kind &&
		      (c->subject > last->subject ||
		       (c->subject == last->subject && c->time_ns >= last->time_ns)));
	assert_true(after);
	*last = *c;
	return 0;
}

/* What a host does: each CPU at its own level, which drifts. busy: 0 to 100, −1: any. */
static struct fake_window *host_window(unsigned cpus, unsigned seconds, int busy)
{
	struct fake_window *f = new_window();
	uint64_t seed = 2026, before = 1000 * NS;
	int level[512];
	for (unsigned c = 0; c < cpus; c++)
		level[c] = busy >= 0 ? busy : (int)(next_random(&seed) % 101);
	for (unsigned s = 1; s <= seconds; s++) {
		uint64_t now = (1000 + s) * NS + 20000 + next_random(&seed) % 300000;
		for (unsigned c = 0; c < cpus; c++) {
			if (busy < 0)
				level[c] += (int)(next_random(&seed) % 21) - 10;
			level[c] = level[c] < 0 ? 0 : level[c] > 100 ? 100 : level[c];
			int system = level[c] * (8 + (int)(next_random(&seed) % 5)) / 100;
			int soft = level[c] > 2 && next_random(&seed) % 3 == 0;
			int v[] = {level[c] - system - soft, system, 0, soft, 0, 100 - level[c]};
			if (v[0] > 0 && next_random(&seed) % 8 == 0)
				v[0]--; /* a tick late */
			for (unsigned k = 0; k < 6; k++)
				fake_add_counter(
					f, &(struct cam_counter){
						   now, now - before, (enum cam_counter_kind)k, c,
						   (uint64_t)(v[k] < 0 ? 0 : v[k]) * TICK});
		}
		before = now;
	}
	return f;
}

static uint64_t section_bytes(struct fake_window *f)
{
	struct cam_buf bytes = seal(fake_window_ready(f), CAM_CHUNK_BYTES);
	struct memory_file m;
	struct cam_window *w;
	struct cam_counter last = {0};
	uint64_t n = 0;
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(w->ops->counters(w, note_order, &last), 0);
	assert_int_equal(w->damage.chunks, 0);
	const struct cam_dir_section *s = &cam_reader_of(w)->dir.sections[CAM_CHUNK_COUNTERS];
	for (size_t i = 0; i < s->n; i++) {
		assert_true(s->chunks[i].bytes <= CAM_CHUNK_BYTES);
		n += s->chunks[i].bytes;
	}
	w->ops->close(w);
	cam_buf_free(&bytes);
	return n;
}

/* A guard against losing size: hundredths of a byte a CPU and second, six counters each. */
static void sizes(void **state)
{
	(void)state;
	static const struct {
		unsigned cpus;
		int busy;
		uint64_t most;
	} hosts[] = {{2, 0, 225},   {2, -1, 420}, {96, 0, 16},	 {96, 100, 135},
		     {96, -1, 145}, {512, 0, 12}, {512, -1, 142}};
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct fake_window *f = host_window(hosts[i].cpus, 120, hosts[i].busy);
		uint64_t bytes = section_bytes(f), each = bytes * 100 / (hosts[i].cpus * 120);
		print_message("# %u CPUs, busy %d: %" PRIu64 " bytes, %" PRIu64
			      "/100 a CPU and second\n",
			      hosts[i].cpus, hosts[i].busy, bytes, each);
		assert_true(each <= hosts[i].most);
		fake_window_free(f);
	}
}

static int count_rows(void *arg, const struct cam_counter *c)
{
	assert_int_equal(c->subject, 7);
	assert_int_equal(c->kind, CAM_COUNTER_RUN_DELAY);
	++*(unsigned *)arg;
	return 0;
}

/* Kinds that only a later perfcam knows are passed over; those beside them are read. */
static void newer_kinds(void **state)
{
	(void)state;
	struct cam_counter row;
	unsigned rows = 0;
	/* Journal: a run of kind 99 and one of run delays. */
	static const uint8_t runs[] = {99, 2, 2, 0, 0, 0, 1, 0, 2, 16, 1, 0, 0, 0, 14, 5};
	struct cam_journal_counters c = {.bytes = cam_rd_make(runs, sizeof(runs)), .rows = 3};
	assert_int_equal(cam_journal_get_counter(&c, &row), 1);
	assert_int_equal(row.kind, CAM_COUNTER_RUN_DELAY);
	assert_int_equal(row.subject, 7);
	assert_int_equal(row.value, 5);
	assert_int_equal(cam_journal_get_counter(&c, &row), 0);
	/* Window: the kind of one series, whose stream is stored, not coded, for it is so short. */
	struct fake_window *f = new_window();
	struct memory_file m;
	struct cam_window *w;
	for (unsigned i = 0; i < 4; i++)
		fake_add_counter(f, &(struct cam_counter){.time_ns = (1001 + i % 2) * NS,
							  .kind = i < 2 ? CAM_COUNTER_SWITCHES
									: CAM_COUNTER_RUN_DELAY,
							  .subject = i < 2 ? 0 : 7,
							  .value = i});
	struct cam_buf bytes = seal(fake_window_ready(f), CAM_CHUNK_BYTES);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	const struct cam_dir_chunk *chunk =
		&cam_reader_of(w)->dir.sections[CAM_CHUNK_COUNTERS].chunks[0];
	uint8_t *content = bytes.data + chunk->offset + CAM_CHUNK_HEAD_BYTES;
	uint32_t n = chunk->bytes - CAM_CHUNK_HEAD_BYTES;
	/* Stored: coder, two tokens, no raw bits, the two kinds. */
	static const uint8_t kinds[] = {CAM_CODER_STORED, 2, 0, CAM_COUNTER_SWITCHES,
					CAM_COUNTER_RUN_DELAY};
	uint8_t *at = memmem(content, n, kinds, sizeof(kinds));
	assert_non_null(at);
	at[3] = 31;
	struct cam_buf crc = CAM_BUF(4);
	cam_buf_put_u32(&crc, cam_chunk_crc(CAM_CHUNK_COUNTERS, 0, content, n));
	memcpy(content - CAM_CHUNK_HEAD_BYTES, crc.data, 4);
	assert_int_equal(w->ops->counters(w, count_rows, &rows), 0);
	assert_int_equal(rows, 2);
	assert_int_equal(cam_window_verify(w), 0);
	w->ops->close(w);
	cam_buf_free(&crc);
	cam_buf_free(&bytes);
	fake_window_free(f);
}

/* A writer refuses what it does not know. */
static void unknown_kind_refused(void **state)
{
	(void)state;
	struct cam_counter c = {.kind = CAM_COUNTER_MAX};
	struct cam_buf out = CAM_BUF(100);
	assert_int_equal(cam_journal_put_counters(&c, 1, &out), -EINVAL);
	cam_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extremes),
		cmocka_unit_test(few),
		cmocka_unit_test(sizes),
		cmocka_unit_test(newer_kinds),
		cmocka_unit_test(unknown_kind_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
