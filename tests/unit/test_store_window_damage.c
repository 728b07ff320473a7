// SPDX-License-Identifier: Apache-2.0
/*
 * Damage: every bit of a small sealed window flipped, every truncation, chunks removed and
 * swapped, pages zeroed. What a chunk holds may be lost with it, and nothing else.
 *
 * A window is looked at from many sides (aspects), the samples span by span. Each kind of chunk
 * is allowed to change some of them; all others must stay as they were, to the byte.
 */
#include "base/crc32c.h"
#include "base/units.h"
#include "store/window.h"
#include "store/window_reader.h"
#include "store/window_writer.h"
#include "support_every.h"
#include "support_view.h"
#include "support_window.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define NS CAM_NS_PER_SEC

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Small, and with everything in it: in chunks of a few rows. */
static struct fake_window *small_window(unsigned n)
{
	struct fake_window *f = fake_window_new();
	uint64_t seed = 77;
	const char *const names[] = {"main",	      "parse@/bin/cc1", "lex@/bin/cc1",
				     "emit@/bin/cc1", "read@[kernel]",	"@/lib/libc.so",
				     "x@[jit]"};
	struct cam_etype_id cycles = fake_etype(f, "cycles", 0, true);
	struct cam_task_id tasks[5];
	for (unsigned i = 0; i < 5; i++) {
		struct cam_task k = {.pid = (int32_t)(100 + i / 2),
				     .tid = (int32_t)(100 + i),
				     .uid = i,
				     .comm = fake_str(f, i < 3 ? "cc1" : "sh"),
				     .exe = fake_str(f, i < 3 ? "/bin/cc1" : "/bin/sh"),
				     .cgroup = fake_str(f, "/user.slice"),
				     .start_ns = i * 10000000ull};
		assert_int_equal(cam_task_intern(&f->t, &k, &tasks[i]), 0);
	}
	f->w.info.has_places = true;
	for (unsigned i = 0; i < n; i++) {
		uint32_t node = 0;
		unsigned depth = (unsigned)(next_random(&seed) % (n > 500 ? 12 : 5));
		for (unsigned d = 0; d < depth; d++) {
			char name[32];
			snprintf(name, sizeof(name), "%s", names[next_random(&seed) % (d ? 7 : 2)]);
			if (n > 500 && name[0] == 'l')
				snprintf(name, sizeof(name), "l%u@/bin/cc1",
					 (unsigned)(next_random(&seed) % 200));
			struct cam_loc_id loc = fake_frame(f, name, next_random(&seed) % 3);
			assert_int_equal(cam_tree_intern(&f->t, &f->t.places, node, loc.v, &node),
					 0);
		}
		struct cam_sample s = {.time_ns = 50 * NS + i * (40 * NS / n) / 10000 * 10000,
				       .weight = 1,
				       .cpu = i % 2,
				       .task = tasks[next_random(&seed) % 5],
				       .place = {node}};
		if (i % 4 == 0) {
			s.etype = cycles;
			s.weight = next_random(&seed) % 1000;
			s.detail = fake_str(f, i % 8 ? "prev=cc1 next=sh" : "prev=sh");
		}
		fake_add_sample(f, &s);
	}
	fake_add_event(f, 51 * NS, CAM_SEVERITY_ERR, "kmsg", "oom");
	fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, 0, 50 * NS, 53 * NS, 30});
	fake_add_anchor(f, &(struct cam_anchor){50 * NS, 1, 2, 3, 4, 5});
	fake_add_fact(f, "kernel", "6.1");
	for (uint32_t i = 0; i < 30; i++)
		fake_add_counter(
			f, &(struct cam_counter){.time_ns = (50 + i / 6) * NS + i / 6 * 77,
						 .span_ns = NS + 77,
						 .kind = (enum cam_counter_kind)(i % 6),
						 .subject = i % 2,
						 .value = next_random(&seed) % 100 * 10000000});
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

#define OF_SPAN(a) (1u << (a))
#define ALL_SPAN   ((1u << SPAN_ASPECTS) - 1)

/* What the loss of a chunk of each kind may change. */
static unsigned may_change(enum cam_chunk_kind kind)
{
	const unsigned stacks =
		OF_SPAN(STACKS) | OF_SPAN(PLACES) | 1u << TOTALS | 1u << SMALL_TOTALS;
	static const unsigned own[CAM_CHUNK_KINDS] = {
		[CAM_CHUNK_TASKS] = OF_SPAN(TASKS) | 1u << PROCESSES,
		[CAM_CHUNK_LEAVES] = OF_SPAN(LEAVES),
		[CAM_CHUNK_LOCATIONS] = OF_SPAN(PLACES),
		[CAM_CHUNK_PLACES] = OF_SPAN(PLACES),
		[CAM_CHUNK_ANCHORS] = 1u << ANCHORS,
		[CAM_CHUNK_EVENTS] = 1u << EVENTS,
		[CAM_CHUNK_LEDGER] = 1u << LEDGER | 1u << CELLS,
		[CAM_CHUNK_FACTS] = 1u << FACTS,
		[CAM_CHUNK_PROCESSES] = 1u << PROCESSES,
		[CAM_CHUNK_SMALL] = 1u << SMALL_TOTALS, /* another order, see below */
		[CAM_CHUNK_COUNTS] = ALL_SPAN | 1u << CELLS | 1u << LEDGER,
		[CAM_CHUNK_RANK] = (ALL_SPAN & ~(OF_SPAN(TIMES) | OF_SPAN(DETAILS))) | 1u << LEDGER,
		[CAM_CHUNK_TIME] = OF_SPAN(TIMES) | 1u << LEDGER,
		[CAM_CHUNK_TASK] = OF_SPAN(TASKS) | 1u << LEDGER,
		[CAM_CHUNK_WEIGHT] = OF_SPAN(WEIGHTS) | 1u << LEDGER,
		[CAM_CHUNK_LEAF] = OF_SPAN(LEAVES),
		[CAM_CHUNK_PLACE] = OF_SPAN(PLACES),
		[CAM_CHUNK_DETAIL] = OF_SPAN(DETAILS),
		[CAM_CHUNK_COUNTERS] = 1u << COUNTERS,
		[CAM_CHUNK_LINES] = 1u << LINES,
		[CAM_CHUNK_SECONDS] = 1u << NAMED,
		[CAM_CHUNK_SLOTS] = 1u << SLOTTED,
	};
	switch (kind) {
	case CAM_CHUNK_STRINGS:
		return stacks | OF_SPAN(TASKS) | OF_SPAN(GROUPS) | 1u << NAMED;
	case CAM_CHUNK_MODULES:
	case CAM_CHUNK_FUNCTIONS:
		return stacks;
	case CAM_CHUNK_TREE:
		return stacks | OF_SPAN(LEAVES);
	default:
		return own[kind];
	}
}

/* The span a column's chunk belongs to; MAX_SPANS: a table's, so all. */
static unsigned span_of(const struct cam_dir *d, enum cam_chunk_kind kind, size_t i)
{
	if (kind < CAM_CHUNK_FIRST_COLUMN || kind >= CAM_CHUNK_COUNTERS)
		return MAX_SPANS;
	if (kind == CAM_CHUNK_LEAF)
		return (unsigned)(i / d->n_trees);
	if (kind == CAM_CHUNK_PLACE)
		return (unsigned)(i / d->sections[CAM_CHUNK_PLACES].n);
	if (kind == CAM_CHUNK_DETAIL) {
		unsigned s = 0;
		while (s + 1 < d->n_spans && i >= d->spans[s + 1].first_detail)
			s++;
		return s;
	}
	return (unsigned)i;
}

/* The chunk a byte lies in; false: in none. */
static bool chunk_at(const struct cam_dir *d, uint64_t at, enum cam_chunk_kind *kind, size_t *i)
{
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		for (size_t c = 0; c < d->sections[k].n; c++) {
			const struct cam_dir_chunk *chunk = &d->sections[k].chunks[c];
			if (at - chunk->offset < chunk->bytes) {
				*kind = (enum cam_chunk_kind)k;
				*i = c;
				return true;
			}
		}
	}
	return false;
}

static void compare(const struct view *good, const struct view *now, unsigned changes,
		    unsigned span, bool table, uint64_t at)
{
	for (unsigned a = 0; a < ASPECTS; a++) {
		for (unsigned s = 0; s < (a < SPAN_ASPECTS ? good->n_spans : 1); s++) {
			const struct cam_buf *x = &good->text[a][s], *y = &now->text[a][s];
			bool here = a >= SPAN_ASPECTS || span == MAX_SPANS || span == s;
			if ((changes >> a & 1) && here) {
				/* Tables rename, they do not lose samples. */
				if (table && a < SPAN_ASPECTS && a != LEAVES)
					count_damaged(good, now, a, s);
				else if (table && a <= SMALL_TOTALS)
					assert_int_equal(good->lines[a][s], now->lines[a][s]);
				else if (!table && a == LEDGER)
					/* The lost span has a row of its own. */
					assert_int_equal(now->lines[a][s], good->lines[a][s] + 1);
				else if (a != CELLS)
					assert_true(now->lines[a][s] <= good->lines[a][s]);
				continue;
			}
			if (x->len != y->len || memcmp(x->data, y->data, x->len) != 0)
				fail_msg("byte %" PRIu64 ": aspect %u of span %u changed", at, a,
					 s);
		}
	}
}

struct fixture {
	struct cam_buf bytes;
	struct memory_file file;
	struct cam_window *good;
	const struct cam_dir *dir;
	struct view view, now;
};

static void set_up(struct fixture *x, unsigned samples, uint32_t chunk_bytes)
{
	struct fake_window *f = small_window(samples);
	for (uint32_t i = 0; i < f->t.n_locations; i++)
		cam_location_source(&f->t, (struct cam_loc_id){i},
				    fake_str(f, i % 3 ? "/a.c" : "/b.h"), 1 + i % 7);
	x->bytes = seal(fake_window_ready(f), chunk_bytes);
	fake_window_free(f);
	memory_file_init(&x->file, x->bytes.data, x->bytes.len);
	assert_int_equal(cam_window_open(&x->file.file, &x->good), 0);
	x->dir = &cam_reader_of(x->good)->dir;
	assert_in_range(x->dir->n_spans, 2, MAX_SPANS);
	look(x->good, x->dir, &x->view);
	assert_int_equal(x->good->damage.chunks, 0);
}

static void tear_down(struct fixture *x)
{
	x->good->ops->close(x->good);
	view_free(&x->view);
	view_free(&x->now);
	cam_buf_free(&x->bytes);
}

/* Opens what x->bytes now is, looks at all of it, and compares. */
static void check_damaged(struct fixture *x, const uint8_t *bytes, uint64_t at, bool fully)
{
	struct memory_file m;
	struct cam_window *w;
	enum cam_chunk_kind kind = CAM_CHUNK_KINDS;
	size_t i = 0;
	memory_file_init(&m, bytes, x->bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	bool in_chunk = chunk_at(x->dir, at, &kind, &i);
	if (fully) {
		look(w, x->dir, &x->now);
		compare(&x->view, &x->now, in_chunk ? may_change(kind) : 0,
			in_chunk ? span_of(x->dir, kind, i) : 0,
			in_chunk && kind < CAM_CHUNK_FIRST_COLUMN, at);
		assert_true(window_totals_agree(w, CAM_RANGE_ALL));
		/* It was noticed, unless nobody needs that byte. */
		assert_true(w->damage.chunks > 0 || !in_chunk);
	}
	assert_int_equal(cam_window_verify(w), -EBADMSG);
	if (w->damage.chunks != 1)
		fail_msg("byte %" PRIu64 ", kind %d %zu: %" PRIu64 " chunks damaged", at, kind, i,
			 w->damage.chunks);
	if (in_chunk)
		assert_int_equal(w->damage.bytes, x->dir->sections[kind].chunks[i].bytes);
	w->ops->close(w);
}

static void every_bit_flipped(void **state)
{
	(void)state;
	struct fixture x = {0};
	set_up(&x, 48, 128);
	/* It has what it is meant to have. */
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		assert_true(x.dir->sections[k].n > 0);
	assert_true(x.dir->n_trees > 1);
	uint8_t *bytes = malloc(x.bytes.len);
	memcpy(bytes, x.bytes.data, x.bytes.len);
	for (uint64_t bit = EVERY_FROM; bit < x.bytes.len * 8; bit += EVERY) {
		bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		/* All bits of a byte lose the same chunk: look closely at one of them. */
		check_damaged(&x, bytes, bit / 8, bit % 8 == (bit / 8) % 8);
		bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	free(bytes);
	tear_down(&x);
}

/* Larger, so that each table has many chunks that others depend on. */
static void any_chunk_of_a_larger_window(void **state)
{
	(void)state;
	struct fixture x = {0};
	uint64_t seed = 5;
	set_up(&x, 900, 1024);
	assert_true(x.dir->n_trees > 2);
	uint8_t *bytes = malloc(x.bytes.len);
	memcpy(bytes, x.bytes.data, x.bytes.len);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		for (size_t c = 0; c < x.dir->sections[k].n; c++) {
			const struct cam_dir_chunk *chunk = &x.dir->sections[k].chunks[c];
			if (!chunk->bytes || (x.dir->sections[k].n > 20 && c % 17))
				continue;
			uint64_t at = chunk->offset + next_random(&seed) % chunk->bytes;
			bytes[at] ^= 0x10;
			check_damaged(&x, bytes, at, true);
			bytes[at] ^= 0x10;
		}
	}
	free(bytes);
	tear_down(&x);
}

/* Exactly the samples whose stacks the chunk holds are [damaged], and counted. */
static void a_lost_tree_chunk_costs_its_own_stacks(void **state)
{
	(void)state;
	struct fixture x = {0};
	set_up(&x, 900, 1024);
	uint64_t lost_of_all = 0;
	for (size_t k = 0; k < x.dir->n_trees; k++) {
		const struct cam_dir_chunk *chunk = &x.dir->sections[CAM_CHUNK_TREE].chunks[k];
		struct memory_file m;
		struct cam_window *w;
		unsigned differ = 0;
		x.bytes.data[chunk->offset + 9] ^= 1;
		memory_file_init(&m, x.bytes.data, x.bytes.len);
		assert_int_equal(cam_window_open(&m.file, &w), 0);
		look(w, x.dir, &x.now);
		for (unsigned s = 0; s < x.view.n_spans; s++)
			differ += count_damaged(&x.view, &x.now, STACKS, s);
		assert_int_equal(differ, w->damage.stacks);
		assert_int_equal(w->damage.samples, 0);
		assert_true(window_totals_agree(w, CAM_RANGE_ALL));
		assert_true(k == 0 || differ < 900);
		lost_of_all += differ;
		w->ops->close(w);
		x.bytes.data[chunk->offset + 9] ^= 1;
	}
	/* Every sample's stack is in one chunk (the empty stack is never damaged). */
	assert_in_range(lost_of_all, 600, 900);
	tear_down(&x);
}

/* Without its chunk the small tree is made from the whole one, and is the same. */
static void the_small_tree_is_only_a_copy(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct memory_file m;
	struct cam_window *w;
	struct cam_buf was = CAM_BUF(SIZE_MAX / 2), is = CAM_BUF(SIZE_MAX / 2);
	set_up(&x, 900, 1024);
	window_dump(x.good, WINDOW_DUMP_ALL, &was);
	x.bytes.data[x.dir->sections[CAM_CHUNK_SMALL].chunks[0].offset + 20] ^= 4;
	memory_file_init(&m, x.bytes.data, x.bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	window_dump(w, WINDOW_DUMP_ALL, &is);
	assert_int_equal(w->damage.chunks, 1);
	assert_int_equal(was.len, is.len);
	assert_memory_equal(was.data, is.data, is.len);
	w->ops->close(w);
	cam_buf_free(&was);
	cam_buf_free(&is);
	tear_down(&x);
}

/* What is delivered was there before: a span's aspect is as it was, or has fewer samples. */
static void check_less(struct fixture *x, const uint8_t *bytes, size_t n, bool may_fail)
{
	struct memory_file m;
	struct cam_window *w;
	memory_file_init(&m, bytes, n);
	int err = cam_window_open(&m.file, &w);
	if (err) {
		assert_true(may_fail);
		assert_int_equal(err, -EBADMSG);
		return;
	}
	look(w, x->dir, &x->now);
	for (unsigned a = 0; a < SPAN_ASPECTS; a++) {
		for (unsigned s = 0; s < x->view.n_spans; s++) {
			const struct cam_buf *was = &x->view.text[a][s], *is = &x->now.text[a][s];
			if (is->len == was->len && memcmp(is->data, was->data, was->len) == 0)
				continue;
			if (x->now.lines[a][s] && a != LEAVES)
				assert_true(count_damaged(&x->view, &x->now, a, s) > 0);
			assert_true(w->damage.chunks > 0);
		}
	}
	w->ops->close(w);
}

static void truncated_at_every_byte(void **state)
{
	(void)state;
	struct fixture x = {0};
	set_up(&x, 60, 256);
	uint64_t front = CAM_HEADER_BYTES + cam_reader_of(x.good)->directory_bytes;
	for (size_t n = EVERY_FROM; n < x.bytes.len; n += EVERY) {
		/* A copy of that size, so that a sanitizer sees a read past its end. */
		uint8_t *bytes = malloc(n + 1);
		memcpy(bytes, x.bytes.data, n);
		check_less(&x, bytes, n, n < front);
		free(bytes);
	}
	tear_down(&x);
}

static void bytes_removed_or_zeroed(void **state)
{
	(void)state;
	struct fixture x = {0};
	set_up(&x, 2000, 2048);
	size_t n = x.bytes.len;
	uint8_t *bytes = malloc(n);
	/* Any chunk taken out: what is behind it is not where it should be. */
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		const struct cam_dir_chunk *c = &x.dir->sections[k].chunks[0];
		memcpy(bytes, x.bytes.data, c->offset);
		memcpy(bytes + c->offset, x.bytes.data + c->offset + c->bytes,
		       n - c->offset - c->bytes);
		check_less(&x, bytes, n - c->bytes, false);
	}
	/* Any page zeroed: one of the directories is always left. */
	for (size_t page = 0; page < n; page += CAM_PAGE_BYTES) {
		memcpy(bytes, x.bytes.data, n);
		memset(bytes + page, 0, n - page < CAM_PAGE_BYTES ? n - page : CAM_PAGE_BYTES);
		check_less(&x, bytes, n, false);
	}
	/* Two chunks of a kind and a length exchanged. */
	unsigned exchanged = 0;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		const struct cam_dir_section *s = &x.dir->sections[k];
		for (size_t i = 1; i < s->n; i++) {
			const struct cam_dir_chunk *a = &s->chunks[i - 1], *b = &s->chunks[i];
			if (a->bytes != b->bytes || !a->bytes)
				continue;
			memcpy(bytes, x.bytes.data, n);
			memcpy(bytes + a->offset, x.bytes.data + b->offset, b->bytes);
			memcpy(bytes + b->offset, x.bytes.data + a->offset, a->bytes);
			check_less(&x, bytes, n, false);
			exchanged++;
		}
	}
	assert_true(exchanged > 0);
	free(bytes);
	tear_down(&x);
}

static void pages_of_tiny_windows_too(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	fake_sample(f, 5 * NS, 0, fake_task(f, 1, 1, "a"), fake_place(f, "x"));
	struct cam_buf bytes = seal(fake_window_ready(f), CAM_CHUNK_BYTES);
	fake_window_free(f);
	for (size_t page = 0; page < bytes.len; page += CAM_PAGE_BYTES) {
		struct cam_buf copy = CAM_BUF(SIZE_MAX / 2);
		struct memory_file m;
		struct cam_window *w;
		cam_buf_put(&copy, bytes.data, bytes.len);
		size_t left = bytes.len - page;
		memset(copy.data + page, 0xff, left < CAM_PAGE_BYTES ? left : CAM_PAGE_BYTES);
		memory_file_init(&m, copy.data, copy.len);
		assert_int_equal(cam_window_open(&m.file, &w), 0);
		assert_int_equal(w->info.samples, 1);
		w->ops->close(w);
		cam_buf_free(&copy);
	}
	cam_buf_free(&bytes);
}

/* The header says it first, but may be damaged. */
static void a_newer_directory_is_refused(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct cam_buf b = CAM_BUF(1u << 20);
	struct cam_dir again;
	set_up(&x, 50, 512);
	struct cam_dir d = *x.dir;
	assert_int_equal(cam_dir_write(&d, &b), 0);
	assert_int_equal(cam_dir_read_head(&again, b.data, b.len, x.bytes.len), 0);
	cam_dir_free(&again);
	cam_buf_clear(&b);
	d.incompat |= 1u << 30;
	assert_int_equal(cam_dir_write(&d, &b), 0);
	assert_int_equal(cam_dir_read_head(&again, b.data, b.len, x.bytes.len), -EPROTONOSUPPORT);
	cam_buf_free(&b);
	tear_down(&x);
}

static void a_newer_file_is_refused(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct memory_file m;
	struct cam_window *w;
	set_up(&x, 50, 512);
	/* The header's word for features that must be known, with its checksum. */
	struct cam_buf b = CAM_BUF(CAM_HEADER_BYTES);
	cam_buf_put(&b, x.bytes.data, 16);
	cam_buf_put_u32(&b, 1u << 31);
	cam_buf_put_u32(&b, cam_crc32c(0, b.data, b.len));
	memcpy(x.bytes.data, b.data, b.len);
	memory_file_init(&m, x.bytes.data, x.bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), -EPROTONOSUPPORT);
	assert_true(m.preads <= 1);
	/* One for features that may be ignored. */
	cam_buf_clear(&b);
	cam_buf_put(&b, x.bytes.data, 8);
	cam_buf_put_u32(&b, 7);
	cam_buf_put_u32(&b, 7);
	cam_buf_put_u32(&b, 0);
	cam_buf_put_u32(&b, cam_crc32c(0, b.data, b.len));
	memcpy(x.bytes.data, b.data, b.len);
	memory_file_init(&m, x.bytes.data, x.bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	w->ops->close(w);
	cam_buf_free(&b);
	tear_down(&x);
}

/* The bytes of a directory, uncompressed. */
static struct cam_buf raw_directory(const struct fixture *x)
{
	struct cam_buf raw = CAM_BUF(SIZE_MAX / 2);
	assert_int_equal(cam_dir_write(x->dir, &raw), 0);
	return raw;
}

/* As window_dir.c describes them. */
static void put_sections(const struct cam_dir *d, unsigned more, struct cam_buf *out)
{
	unsigned n = more;
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++)
		n += d->sections[k].n > 0;
	cam_buf_put_varint(out, n);
	for (unsigned k = 0; k < CAM_CHUNK_KINDS; k++) {
		const struct cam_dir_section *s = &d->sections[k];
		if (s->n) {
			cam_buf_put_varint(out, k);
			cam_buf_put_varint(out, s->n);
		}
		for (size_t i = 0; i < s->n; i++) {
			cam_buf_put_varint(out, s->chunks[i].bytes);
			if (k < CAM_CHUNK_FIRST_COLUMN || k == CAM_CHUNK_DETAIL)
				cam_buf_put_varint(out, s->chunks[i].rows);
			if (k == CAM_CHUNK_PLACES)
				cam_buf_put_varint(out, s->chunks[i].places);
		}
	}
}

/* Chunks of a later perfcam, and more behind the spans: both are left alone. */
static void what_a_newer_writer_adds_is_ignored(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct cam_dir d;
	struct cam_buf was = CAM_BUF(SIZE_MAX / 2), is = CAM_BUF(SIZE_MAX / 2);
	struct cam_buf grown = CAM_BUF(SIZE_MAX / 2);
	set_up(&x, 50, 512);
	struct cam_buf raw = raw_directory(&x);
	put_sections(x.dir, 0, &was);
	put_sections(x.dir, 1, &is);
	cam_buf_put_varint(&is, CAM_CHUNK_KINDS + 3);
	cam_buf_put(&is, "\x02\x09\x11", 3); /* two chunks, of 9 and 17 bytes */
	const uint8_t *at = memmem(raw.data, raw.len, was.data, was.len);
	assert_non_null(at);
	cam_buf_put(&grown, raw.data, (size_t)(at - raw.data));
	cam_buf_put(&grown, is.data, is.len);
	cam_buf_put(&grown, at + was.len, (size_t)(raw.data + raw.len - at) - was.len);
	cam_buf_put(&grown, "more", 4);
	size_t n = grown.len;
	cam_buf_put(&grown, "\0\0\0\0\0\0\0\0", 8);
	assert_int_equal(cam_dir_read(&d, grown.data, n, x.bytes.len), 0);
	assert_int_equal(d.unknown_bytes, 26);
	assert_int_equal(d.n_spans, x.dir->n_spans);
	assert_int_equal(d.info.samples, x.dir->info.samples);
	cam_dir_free(&d);
	/* Cut anywhere, it is no directory; and what it claims must fit the file. */
	for (size_t cut = 0; cut < raw.len; cut++) {
		assert_int_equal(cam_dir_read(&d, raw.data, cut, x.bytes.len), -EBADMSG);
		cam_dir_free(&d);
	}
	assert_int_equal(cam_dir_read(&d, raw.data, raw.len, 0), -EBADMSG);
	cam_dir_free(&d);
	cam_buf_free(&raw);
	cam_buf_free(&was);
	cam_buf_free(&is);
	cam_buf_free(&grown);
	tear_down(&x);
}

/* All at once, or what stacks need later: the same errors, and the same content. */
static int read_both_ways(const uint8_t *bytes, size_t n, uint64_t file_bytes)
{
	struct cam_dir whole, parts;
	struct cam_buf a = CAM_BUF(SIZE_MAX / 2), b = CAM_BUF(SIZE_MAX / 2);
	int err = cam_dir_read(&whole, bytes, n, file_bytes);
	int late = cam_dir_read_plain(&parts, bytes, n, file_bytes);
	if (!late) {
		assert_null(parts.classes);
		assert_null(parts.leaf_sizes);
		late = cam_dir_read_stacks(&parts, bytes, n);
		/* As after want of memory: once more changes nothing. */
		assert_int_equal(cam_dir_read_stacks(&parts, bytes, n), late);
	}
	assert_int_equal(late, err);
	if (!err) {
		assert_int_equal(cam_dir_write(&whole, &a), 0);
		assert_int_equal(cam_dir_write(&parts, &b), 0);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
	}
	cam_dir_free(&whole);
	cam_dir_free(&parts);
	cam_buf_free(&a);
	cam_buf_free(&b);
	return err;
}

static void a_directory_in_two_steps_is_the_same(void **state)
{
	(void)state;
	struct fixture x = {0};
	set_up(&x, 50, 512);
	struct cam_buf raw = raw_directory(&x);
	size_t n = raw.len, good = 0;
	cam_buf_put(&raw, "\0\0\0\0\0\0\0\0", CAM_STREAM_SLACK);
	assert_int_equal(read_both_ways(raw.data, n, x.bytes.len), 0);
	for (size_t at = 0; at < n; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			raw.data[at] ^= (uint8_t)(1u << bit);
			good += !read_both_ways(raw.data, n, x.bytes.len);
			raw.data[at] ^= (uint8_t)(1u << bit);
		}
	assert_in_range(good, 1, n * 8 - 1);
	cam_buf_free(&raw);
	tear_down(&x);
}

static int note_row(void *arg, const struct cam_ledger_row *row)
{
	*(struct cam_ledger_row *)arg = *row;
	return 0;
}

/* A cause that only a later perfcam knows: the row stays, unexplained. */
static void a_newer_cause_is_unexplained(void **state)
{
	(void)state;
	static const uint8_t unknown[] = {CAM_CAUSE_MAX, 64, 127};
	struct fixture x = {0};
	struct memory_file m;
	struct cam_window *w;
	set_up(&x, 50, 512);
	const struct cam_dir_chunk *c = &x.dir->sections[CAM_CHUNK_LEDGER].chunks[0];
	uint8_t *chunk = x.bytes.data + c->offset, *content = chunk + CAM_CHUNK_HEAD_BYTES;
	uint32_t n = c->bytes - CAM_CHUNK_HEAD_BYTES;
	assert_int_equal(content[0], CAM_CODER_STORED);
	assert_int_equal(content[2], CAM_CAUSE_IDLE);
	for (size_t i = 0; i < sizeof(unknown); i++) {
		struct cam_ledger_row row = {0};
		struct cam_buf crc = CAM_BUF(4);
		content[2] = unknown[i];
		cam_buf_put_u32(&crc, cam_chunk_crc(CAM_CHUNK_LEDGER, 0, content, n));
		memcpy(chunk, crc.data, 4);
		memory_file_init(&m, x.bytes.data, x.bytes.len);
		assert_int_equal(cam_window_open(&m.file, &w), 0);
		assert_int_equal(cam_window_verify(w), 0);
		assert_int_equal(w->ops->ledger(w, note_row, &row), 0);
		assert_int_equal(row.cause, CAM_CAUSE_UNEXPLAINED);
		assert_int_equal(row.samples, 30);
		assert_int_equal(row.to_ns, 53 * NS);
		w->ops->close(w);
		cam_buf_free(&crc);
	}
	tear_down(&x);
}

static int add_idle(void *arg, const struct cam_cell *cell)
{
	*(uint64_t *)arg += cell->by_cause[CAM_CAUSE_IDLE];
	return 0;
}

/* Nothing says how small a chunk is at least: one for each row of a ledger of an hour. */
static void chunks_of_a_ledger_cost_no_more_than_their_rows(void **state)
{
	(void)state;
	enum { ROWS = 60000 };
	struct fake_window *f = fake_window_new();
	struct memory_file m;
	struct cam_window *w;
	uint64_t idle = 0;
	fake_sample(f, 5 * NS, 0, fake_task(f, 1, 1, "a"), fake_place(f, "x"));
	for (uint64_t i = 0; i < ROWS; i++)
		fake_add_ledger(f, &(struct cam_ledger_row){CAM_CAUSE_IDLE, 0, (5 + i % 3600) * NS,
							    (6 + i % 3600) * NS, 3});
	f->w.info.end_ns = 3605 * NS;
	struct cam_buf bytes = seal(fake_window_ready(f), 8);
	fake_window_free(f);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(w->info.end_ns, 3605 * NS);
	assert_true(cam_reader_of(w)->dir.sections[CAM_CHUNK_LEDGER].n >= ROWS / 2);
	clock_t begun = clock();
	assert_int_equal(cam_read_seconds(w, add_idle, &idle), 0);
	assert_true(clock() - begun < CLOCKS_PER_SEC / 2);
	assert_int_equal(idle, 3 * ROWS);
	w->ops->close(w);
	cam_buf_free(&bytes);
}

static int count_damaged_rows(void *arg, const struct cam_ledger_row *row)
{
	if (row->cause == CAM_CAUSE_DAMAGED)
		*(uint64_t *)arg += row->samples;
	return 0;
}

/* A window made from a damaged one holds what is left, and says what is missing. */
static void sealed_again_the_loss_is_on_record(void **state)
{
	(void)state;
	struct fixture x = {0};
	struct memory_file m;
	struct cam_window *w, *again;
	set_up(&x, 60, 256);
	x.bytes.data[x.dir->sections[CAM_CHUNK_TIME].chunks[1].offset + 5] ^= 1;
	x.bytes.data[x.dir->sections[CAM_CHUNK_TREE].chunks[1].offset + 5] ^= 1;
	memory_file_init(&m, x.bytes.data, x.bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	struct cam_buf bytes = seal(w, CAM_CHUNK_BYTES);
	struct cam_damage was = w->damage;
	uint64_t lost = 0;
	assert_int_equal(was.samples, x.dir->spans[1].samples);
	assert_true(was.stacks > 0);
	w->ops->close(w);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &again), 0);
	assert_int_equal(cam_window_verify(again), 0);
	assert_int_equal(again->info.samples, 60 - was.samples);
	assert_int_equal(again->ops->ledger(again, count_damaged_rows, &lost), 0);
	assert_int_equal(lost, was.samples);
	assert_int_equal(again->info.lost, was.samples);
	again->ops->close(again);
	cam_buf_free(&bytes);
	tear_down(&x);
}

static void other_files_are_no_windows(void **state)
{
	(void)state;
	uint8_t bytes[5000];
	uint64_t seed = 3;
	for (size_t n = 0; n < sizeof(bytes); n += 1 + n / 10) {
		struct memory_file m;
		struct cam_window *w;
		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)next_random(&seed);
		memory_file_init(&m, bytes, n);
		assert_int_equal(cam_window_open(&m.file, &w), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_flipped),
		cmocka_unit_test(any_chunk_of_a_larger_window),
		cmocka_unit_test(a_lost_tree_chunk_costs_its_own_stacks),
		cmocka_unit_test(the_small_tree_is_only_a_copy),
		cmocka_unit_test(truncated_at_every_byte),
		cmocka_unit_test(bytes_removed_or_zeroed),
		cmocka_unit_test(pages_of_tiny_windows_too),
		cmocka_unit_test(a_newer_directory_is_refused),
		cmocka_unit_test(a_newer_file_is_refused),
		cmocka_unit_test(what_a_newer_writer_adds_is_ignored),
		cmocka_unit_test(a_directory_in_two_steps_is_the_same),
		cmocka_unit_test(a_newer_cause_is_unexplained),
		cmocka_unit_test(chunks_of_a_ledger_cost_no_more_than_their_rows),
		cmocka_unit_test(sealed_again_the_loss_is_on_record),
		cmocka_unit_test(other_files_are_no_windows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
