// SPDX-License-Identifier: Apache-2.0
/*
 * Journals that a crash, a bad disk or somebody has been at: cut at every byte, every bit flipped,
 * any block gone, sectors that cannot be read, power cut at every byte of a run. The oracle is the
 * plain window the journal was made of: what comes out was in it, or is called [damaged].
 */
#include "support_dump.h"
#include "support_every.h"
#include "support_journal.h"

#include "base/units.h"
#include "store/journal_format.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
	struct fake_window *f;
	struct sim_disk *d;
	struct written at;
	struct dump all; /* DUMP_SAMPLES | DUMP_OTHERS of the original */
	uint8_t *bytes;
	size_t n;
};

static void make(struct fixture *x, uint64_t seed, unsigned seconds, unsigned rate, bool compress)
{
	x->f = rich_window(seed, seconds, rate);
	x->d = sim_new();
	dump_window(&x->all, fake_window_ready(x->f), DUMP_SAMPLES | DUMP_OTHERS);
	struct cam_file *file = sim_open_file(x->d, "j", CAM_IO_CREATE);
	journal_write_fake(x->f, file, compress, true, &x->at);
	file->ops->close(file);
	const uint8_t *bytes = sim_get(x->d, "j", &x->n);
	x->bytes = malloc(x->n);
	assert_non_null(x->bytes);
	memcpy(x->bytes, bytes, x->n);
}

static void drop(struct fixture *x)
{
	dump_free(&x->all);
	free(x->bytes);
	fake_window_free(x->f);
	sim_free(x->d);
}

/* A glance at the file "x" says what opening it (w, NULL: failed) finds. */
static void check_peek(struct sim_disk *d, const struct cam_window *w)
{
	struct cam_journal_peek peek;
	struct cam_file *file = sim_open_file(d, "x", CAM_IO_READ);
	assert_int_equal(cam_journal_peek(file, &peek), w ? 0 : -EBADMSG);
	file->ops->close(file);
	if (!w)
		return;
	assert_int_equal(peek.info.clean_end, w->info.clean_end);
	assert_int_equal(peek.info.sequence, w->info.sequence);
	assert_memory_equal(&peek.info.boot_id, &w->info.boot_id, sizeof(w->info.boot_id));
	assert_true(cam_text_equal(peek.info.host, w->info.host));
	/* Samples that were there and are not: of blocks that are missing between good ones. */
	assert_true(peek.exact);
	assert_int_equal(peek.samples, w->info.samples + w->damage.samples);
	assert_true(peek.used || !w->info.samples);
	if (w->info.clean_end)
		assert_int_equal(peek.info.end_ns, w->info.end_ns);
	free(peek.host);
}

/* Opens a journal with this content; its file closes with it, the disk is the caller's. */
static int open_bytes(struct sim_disk *d, const uint8_t *bytes, size_t n, struct cam_window **out)
{
	sim_put(d, "x", bytes, n);
	int err = journal_open_at(d, "x", out);
	check_peek(d, err ? NULL : *out);
	return err;
}

/* Exactly the whole blocks before the cut, and no claim of a clean end. */
static void cut_at_every_byte(void **state)
{
	(void)state;
	for (int compress = 0; compress < 2; compress++) {
		struct fixture x;
		make(&x, 31, 12, 4, compress);
		for (size_t n = EVERY_FROM; n <= x.n; n += EVERY) {
			struct sim_disk *d = sim_new();
			struct cam_window *w = NULL;
			int err = open_bytes(d, x.bytes, n, &w);
			size_t k = 0;
			while (k < x.at.n && x.at.end[k] <= n)
				k++;
			assert_int_equal(err, k ? 0 : -EBADMSG);
			if (k) {
				struct dump got;
				assert_int_equal(w->info.samples, x.at.samples[k - 1]);
				assert_int_equal(w->info.clean_end, n == x.n);
				assert_int_equal(w->damage.chunks, 0);
				assert_int_equal(cam_journal_torn_bytes(w), n - x.at.end[k - 1]);
				dump_window(&got, w, DUMP_SAMPLES);
				assert_int_equal(got.n, x.at.samples[k - 1]);
				assert_int_equal(assert_dump_within(&got, &x.all), 0);
				dump_free(&got);
				w->ops->close(w);
			}
			assert_int_equal(sim_open_files(d), 0);
			sim_free(d);
		}
		drop(&x);
	}
}

/* Which block a byte belongs to: 0 is the header. */
static size_t block_of(const struct fixture *x, size_t byte)
{
	size_t k = 0;
	while (x->at.end[k] <= byte)
		k++;
	return k;
}

/* One bad block: its own samples are lost, the rest is there, right or [damaged]. */
static void check_one_bad_block(const struct fixture *x, struct cam_window *w, size_t k)
{
	uint64_t own = x->at.samples[k] - x->at.samples[k - 1];
	/* A bad end is a torn tail, not damage. */
	bool tail = k == x->at.n - 1;
	struct dump got;
	dump_window(&got, w, DUMP_SAMPLES);
	/* A task or a text may be lost as well as a stack. */
	assert_true(assert_dump_within(&got, &x->all) >= w->damage.stacks);
	assert_int_equal(got.n, x->f->n_samples - own);
	assert_int_equal(w->info.samples, got.n);
	assert_int_equal(w->info.clean_end, !tail);
	assert_int_equal(w->damage.chunks, tail ? 0 : 1);
	assert_int_equal(w->damage.samples, own);
	dump_free(&got);
	dump_window(&got, w, DUMP_OTHERS);
	assert_dump_within(&got, &x->all);
	size_t gaps = 0;
	for (size_t i = 0; i < got.n; i++)
		gaps += strncmp(got.lines[i], "L 9 ", 4) == 0;
	assert_int_equal(gaps, !tail);
	dump_free(&got);
}

static void every_bit(void **state)
{
	(void)state;
	struct fixture x;
	make(&x, 41, 5, 5, true);
	for (uint64_t bit = EVERY_FROM; bit < x.n * 8; bit += EVERY) {
		struct sim_disk *d = sim_image(x.d, 0, SIM_DEATH, 0);
		struct cam_window *w = NULL;
		sim_flip(d, "j", bit);
		int err = journal_open_at(d, "j", &w);
		size_t k = block_of(&x, bit / 8);
		assert_int_equal(err, k ? 0 : -EBADMSG);
		if (k) {
			check_one_bad_block(&x, w, k);
			w->ops->close(w);
		}
		assert_int_equal(sim_open_files(d), 0);
		sim_free(d);
	}
	print_message("# %zu bits flipped\n", x.n * 8);
	drop(&x);
}

/* Each block in turn overwritten, over several epochs: no later epoch is touched. */
static void any_block_of(unsigned seed)
{
	struct fixture x;
	make(&x, seed, 45, 12, true);
	uint64_t whole = 0;
	for (size_t k = 1; k < x.at.n; k++) {
		struct sim_disk *d = sim_new();
		struct cam_window *w = NULL;
		uint8_t *bytes = malloc(x.n);
		memcpy(bytes, x.bytes, x.n);
		memset(bytes + x.at.end[k - 1], 0, x.at.end[k] - x.at.end[k - 1]);
		assert_int_equal(open_bytes(d, bytes, x.n, &w), 0);
		check_one_bad_block(&x, w, k);
		if (k < x.at.n - 1)
			assert_int_equal(w->damage.bytes, x.at.end[k] - x.at.end[k - 1]);
		whole += w->info.samples - w->damage.stacks;
		w->ops->close(w);
		free(bytes);
		sim_free(d);
	}
	/* On average most of the rest keeps its stacks. */
	assert_true(whole * 2 > (x.at.n - 1) * x.f->n_samples);
	drop(&x);
}

static void any_block_gone(void **state)
{
	(void)state;
	for (unsigned seed = 51; seed < 56; seed++)
		any_block_of(seed);
}

/* Two bad blocks, a stretch of them, cut out instead of overwritten, put twice, of another file. */
static void rearranged(void **state)
{
	(void)state;
	struct fixture x, other;
	make(&x, 61, 10, 6, true);
	make(&other, 62, 10, 6, true);
	for (size_t from = 1; from < x.at.n - 1; from++) {
		for (size_t to = from; to < x.at.n - 1; to++) {
			struct sim_disk *d = sim_new();
			struct cam_window *w = NULL;
			struct dump got;
			/* Without the blocks from .. to. */
			size_t head = x.at.end[from - 1], n = head + x.n - x.at.end[to];
			uint8_t *bytes = malloc(2 * x.n + other.n);
			memcpy(bytes, x.bytes, head);
			memcpy(bytes + head, x.bytes + x.at.end[to], x.n - x.at.end[to]);
			assert_int_equal(open_bytes(d, bytes, n, &w), 0);
			dump_window(&got, w, DUMP_SAMPLES);
			assert_dump_within(&got, &x.all);
			uint64_t gone = x.at.samples[to] - x.at.samples[from - 1];
			assert_int_equal(got.n, x.f->n_samples - gone);
			assert_int_equal(w->damage.samples, gone);
			assert_int_equal(w->damage.chunks, to - from + 1);
			assert_true(w->info.clean_end);
			dump_free(&got);
			w->ops->close(w);
			/* All of it, with those blocks a second time, and another file's in between. */
			size_t piece = x.at.end[to] - head, used = x.at.end[to];
			memcpy(bytes, x.bytes, used);
			memcpy(bytes + used, x.bytes + head, piece);
			used += piece;
			memcpy(bytes + used, other.bytes, other.n);
			used += other.n;
			memcpy(bytes + used, x.bytes + x.at.end[to], x.n - x.at.end[to]);
			used += x.n - x.at.end[to];
			assert_int_equal(open_bytes(d, bytes, used, &w), 0);
			dump_window(&got, w, DUMP_SAMPLES);
			assert_int_equal(assert_dump_within(&got, &x.all), 0);
			assert_int_equal(got.n, x.f->n_samples);
			assert_int_equal(w->damage.samples, 0);
			assert_int_equal(w->damage.bytes, piece + other.n);
			dump_free(&got);
			w->ops->close(w);
			free(bytes);
			sim_free(d);
		}
	}
	drop(&other);
	drop(&x);
}

/* Every read in turn fails, when opening and when asking: never an error beyond the header. */
static void unreadable(void **state)
{
	(void)state;
	struct fixture x;
	make(&x, 71, 8, 6, true);
	for (int when = 0; when < 2; when++) {
		for (uint64_t call = 1;; call++) {
			struct sim_disk *d = sim_image(x.d, 0, SIM_DEATH, 0);
			struct cam_window *w = NULL;
			struct cam_file *file = sim_open_file(d, "j", CAM_IO_READ);
			struct sim_plan plan = {.at_call = call, .fail_errno = EIO};
			sim_set_plan(d, when ? &(struct sim_plan){0} : &plan);
			int err = cam_journal_open(file, 64u << 20, &w);
			bool reached = sim_plan_done(d);
			if (when)
				sim_set_plan(d, &plan);
			assert_true(err == 0 || (when == 0 && (err == -EIO || err == -EBADMSG)));
			if (!err) {
				struct dump got;
				dump_window(&got, w, DUMP_SAMPLES);
				assert_dump_within(&got, &x.all);
				assert_int_equal(got.n + w->damage.samples, x.f->n_samples);
				reached |= sim_plan_done(d);
				dump_free(&got);
				w->ops->close(w);
			}
			assert_int_equal(sim_open_files(d), 0);
			sim_free(d);
			if (!reached)
				break;
		}
	}
	drop(&x);
}

/* A file that is mostly hole. */
struct holey {
	struct cam_file file;
	const uint8_t *bytes;
	size_t n;
	uint64_t read_bytes;
};

static ssize_t holey_pread(struct cam_file *f, void *to, size_t n, uint64_t at)
{
	struct holey *h = (struct holey *)f;
	memset(to, 0, n);
	for (size_t i = 0; i < n && at + i < h->n; i++)
		((uint8_t *)to)[i] = h->bytes[at + i];
	h->read_bytes += n;
	return (ssize_t)n;
}

static int64_t holey_size(struct cam_file *f)
{
	(void)f;
	return INT64_C(1) << 45;
}

static void holey_close(struct cam_file *f)
{
	(void)f;
}

static const struct cam_io_ops holey_ops = {
	.pread = holey_pread, .size = holey_size, .close = holey_close};

/* Heads that promise long payloads, everywhere: the search ends. */
static void bounded_search(void **state)
{
	(void)state;
	struct fixture x;
	make(&x, 81, 2, 3, false);
	const size_t n = 4u << 20;
	uint8_t *bytes = malloc(n);
	memcpy(bytes, x.bytes, x.at.end[1]);
	for (size_t at = x.at.end[1]; at + CAM_JOURNAL_HEAD <= n; at += CAM_JOURNAL_HEAD) {
		struct cam_journal_head h = {.bytes = (uint32_t)(n - at - CAM_JOURNAL_HEAD) / 2,
					     .sequence = 7,
					     .type = CAM_JOURNAL_DATA};
		h.plain_bytes = h.bytes;
		cam_journal_put_head(bytes + at, &(struct cam_journal_head){0}, 0);
		cam_journal_put_u32(bytes + at + 4, h.bytes);
		cam_journal_put_u32(bytes + at + 8, h.sequence);
		bytes[at + 12] = h.type;
		cam_journal_put_u32(bytes + at + 16, h.plain_bytes);
	}
	struct sim_disk *d = sim_new();
	struct cam_window *w = NULL;
	sim_set_plan(d, &(struct sim_plan){0});
	assert_int_equal(open_bytes(d, bytes, n, &w), 0);
	/* 16 MiB and 1 of budget, 1 MiB a look: some dozens of reads. */
	assert_true(sim_calls(d) < 200);
	assert_int_equal(w->info.samples, x.at.samples[1]);
	w->ops->close(w);
	/* The magic and nothing else. */
	for (size_t at = x.at.end[1]; at + 4 <= n; at += 4)
		cam_journal_put_u32(bytes + at, CAM_JOURNAL_MAGIC);
	sim_set_plan(d, &(struct sim_plan){0});
	assert_int_equal(open_bytes(d, bytes, n, &w), 0);
	assert_true(sim_calls(d) < n / 4);
	assert_int_equal(w->info.samples, x.at.samples[1]);
	w->ops->close(w);
	sim_free(d);
	free(bytes);
	/* A hole of many gigabytes. */
	struct holey h = {.file = {&holey_ops}, .bytes = x.bytes, .n = x.at.end[1]};
	assert_int_equal(cam_journal_open(&h.file, 64u << 20, &w), 0);
	assert_int_equal(w->info.samples, x.at.samples[1]);
	assert_true(h.read_bytes < 100u << 20);
	w->ops->close(w);
	drop(&x);
}

/*
 * A power cut or a death at every byte of a run that syncs every third block: what was synced is
 * there and right; of the rest, what comes out is right or [damaged].
 */
static void crash_at_every_byte(void **state)
{
	(void)state;
	struct fake_window *f = rich_window(91, 7, 3);
	struct dump all, got;
	dump_window(&all, fake_window_ready(f), DUMP_SAMPLES);
	struct sim_disk *d = sim_new();
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	assert_int_equal(sim_io(d)->ops->sync_dir(sim_io(d)), 0);
	sim_record(d);
	struct cam_journal_writer *writer = NULL;
	struct cam_window_head head = journal_head(f);
	/* By operation: samples that are written, and that are synced, when it has been done. */
	uint64_t written[32] = {0}, synced[32] = {0}, samples = 0;
	assert_int_equal(cam_journal_writer_new(file, true, &writer), 0);
	assert_int_equal(cam_journal_writer_begin(writer, &f->t, &head), 0);
	assert_int_equal(file->ops->fdatasync(file), 0);
	for (uint64_t nth = 0; nth < 7; nth++) {
		struct cam_block b = journal_second(f, nth);
		uint64_t safe = synced[sim_recorded(d)];
		assert_int_equal(cam_journal_writer_append(writer, &f->t, &b), 0);
		samples += b.n_samples;
		written[sim_recorded(d)] = samples;
		synced[sim_recorded(d)] = safe;
		if (nth % 3 == 2) {
			assert_int_equal(file->ops->fdatasync(file), 0);
			written[sim_recorded(d)] = synced[sim_recorded(d)] = samples;
		}
	}
	cam_journal_writer_free(writer);
	struct sim_disk *r = sim_replay_new(d);
	uint64_t images = 0;
	do {
		size_t done = sim_replay_position(r);
		for (size_t cut = EVERY_FROM; cut <= sim_replay_bytes(r); cut += EVERY) {
			for (enum sim_image how = SIM_DEATH; how < SIM_IMAGES; how++, images++) {
				struct sim_disk *image = sim_image(r, cut, how, images);
				struct cam_window *w = NULL;
				int err = journal_open_at(image, "j", &w);
				assert_true(err == 0 || (err == -EBADMSG && done < 2));
				if (!err) {
					dump_window(&got, w, DUMP_SAMPLES);
					size_t bad = assert_dump_within(&got, &all);
					assert_true(got.n - bad >= synced[done]);
					assert_false(w->info.clean_end);
					if (how == SIM_DEATH)
						assert_true(got.n >= written[done]);
					if (how == SIM_DEATH)
						assert_int_equal(bad, 0);
					dump_free(&got);
					w->ops->close(w);
				}
				sim_free(image);
			}
		}
	} while (sim_replay_step(r));
	print_message("# %llu images\n", (unsigned long long)images);
	assert_true(images > 10000 / EVERY);
	sim_free(r);
	file->ops->close(file);
	sim_free(d);
	dump_free(&all);
	fake_window_free(f);
}

static int note_row(void *arg, const struct cam_ledger_row *row)
{
	*(struct cam_ledger_row *)arg = *row;
	return 0;
}

/* A cause that only a later perfcam knows: the row stays, unexplained, and so does its block. */
static void a_newer_cause_is_unexplained(void **state)
{
	(void)state;
	struct fake_window *f = fake_window_new();
	struct sim_disk *d = sim_new();
	struct cam_ledger_row row = {CAM_CAUSE_LOST_RING, 4, 5 * CAM_NS_PER_SEC, 5 * CAM_NS_PER_SEC,
				     77};
	/* CPU + 1, from, to - from, samples: as they stand behind the cause. */
	static const uint8_t rest[] = {5, 0x80, 0xc8, 0xaf, 0xa0, 0x25, 0, 77};
	struct cam_window *w;
	size_t n;
	fake_sample(f, 5 * CAM_NS_PER_SEC, 0, fake_task(f, 1, 1, "sh"), fake_place(f, "main"));
	fake_add_ledger(f, &row);
	f->w.info.end_ns = 6 * CAM_NS_PER_SEC;
	fake_window_ready(f);
	struct cam_file *file = sim_open_file(d, "j", CAM_IO_CREATE);
	struct written at;
	journal_write_fake(f, file, false, true, &at);
	file->ops->close(file);
	uint8_t *bytes = (uint8_t *)sim_get(d, "j", &n), *block = bytes + at.end[0];
	uint8_t *found = memmem(block, n - at.end[0], rest, sizeof(rest));
	assert_non_null(found);
	assert_int_equal(found[-1], CAM_CAUSE_LOST_RING);
	found[-1] = CAM_CAUSE_MAX + 3;
	cam_journal_put_u32(block + 20, cam_journal_crc(block, cam_journal_get_u32(block + 4),
							cam_journal_get_u32(bytes + 20)));
	assert_int_equal(journal_open_at(d, "j", &w), 0);
	assert_int_equal(w->damage.chunks, 0);
	assert_int_equal(w->info.samples, 1);
	assert_int_equal(w->info.lost, 0);
	assert_int_equal(w->ops->ledger(w, note_row, &row), 0);
	assert_int_equal(row.cause, CAM_CAUSE_UNEXPLAINED);
	assert_int_equal(row.cpu, 4);
	assert_int_equal(row.samples, 77);
	w->ops->close(w);
	fake_window_free(f);
	sim_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_bit),
		cmocka_unit_test(any_block_gone),
		cmocka_unit_test(rearranged),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(bounded_search),
		cmocka_unit_test(crash_at_every_byte),
		cmocka_unit_test(a_newer_cause_is_unexplained),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
