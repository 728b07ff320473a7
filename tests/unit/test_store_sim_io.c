// SPDX-License-Identifier: Apache-2.0
/* The simulated disk itself: crashes, errors and images, against results worked out by hand. */
#include "support_sim_io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cam_file *create(struct sim_disk *d, const char *name)
{
	struct cam_file *f = NULL;
	assert_int_equal(sim_io(d)->ops->open(sim_io(d), name, CAM_IO_CREATE, &f), 0);
	return f;
}

static int put(struct cam_file *f, const char *text, uint64_t at)
{
	return f->ops->pwrite(f, text, strlen(text), at);
}

/* The content of a file as text; "-" where there is none, zeros as '0'. */
static const char *show(const struct sim_disk *d, const char *name)
{
	static char text[64];
	size_t n;
	const uint8_t *p = sim_get(d, name, &n);
	if (!p)
		return "-";
	assert_true(n < sizeof(text));
	for (size_t i = 0; i < n; i++)
		text[i] = p[i] ? (char)p[i] : '0';
	text[n] = '\0';
	return text;
}

#define assert_image(d, how, name, expect)                         \
	do {                                                       \
		struct sim_disk *image_ = sim_image(d, 0, how, 1); \
		assert_string_equal(show(image_, name), expect);   \
		sim_free(image_);                                  \
	} while (0)

static void behaves_like_a_disk(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_file *f = create(d, "a"), *g = NULL;
	char room[8];
	assert_int_equal(put(f, "hello", 0), 0);
	assert_int_equal(put(f, "HE", 0), 0);
	assert_int_equal(f->ops->pread(f, room, sizeof(room), 0), 5);
	assert_memory_equal(room, "HEllo", 5);
	assert_int_equal(f->ops->pread(f, room, sizeof(room), 5), 0);
	assert_int_equal(f->ops->size(f), 5);
	assert_int_equal(io->ops->open(io, "a", CAM_IO_CREATE, &g), -EEXIST);
	assert_int_equal(io->ops->open(io, "b", CAM_IO_READ, &g), -ENOENT);
	assert_int_equal(io->ops->open(io, "a", CAM_IO_READ, &g), 0);
	assert_int_equal(put(g, "x", 0), -EBADF);
	assert_int_equal(io->ops->rename(io, "a", "b", false), 0);
	assert_int_equal(io->ops->rename(io, "a", "b", false), -ENOENT);
	f->ops->close(f);
	f = create(d, "a");
	assert_int_equal(io->ops->rename(io, "a", "b", false), -EEXIST);
	assert_int_equal(io->ops->rename(io, "a", "b", true), 0);
	assert_string_equal(show(d, "b"), "");
	assert_int_equal(g->ops->size(g), 5);
	assert_int_equal(io->ops->unlink(io, "b"), 0);
	assert_int_equal(io->ops->unlink(io, "b"), -ENOENT);
	assert_int_equal(sim_open_files(d), 2);
	f->ops->close(f);
	g->ops->close(g);
	assert_int_equal(sim_open_files(d), 0);
	sim_free(d);
}

static void one_lock(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_file *f = NULL, *g = NULL;
	int holder;
	assert_int_equal(io->ops->lock(io, "lock", &f, &holder), 0);
	assert_int_equal(io->ops->lock(io, "lock", &g, &holder), -EWOULDBLOCK);
	assert_true(holder > 0);
	f->ops->close(f);
	assert_int_equal(io->ops->lock(io, "lock", &f, &holder), 0);
	f->ops->close(f);
	sim_free(d);
}

/* A file with a durable half and an un-synced half, and each kind of image of it. */
static void images(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_file *f = create(d, "a");
	put(f, "11", 0);
	/* Content is not a name … */
	assert_int_equal(f->ops->fdatasync(f), 0);
	assert_image(d, SIM_NONE, "a", "-");
	assert_image(d, SIM_NAMES, "a", "11");
	/* … and a name is not content. */
	assert_int_equal(io->ops->sync_dir(io), 0);
	put(f, "22", 2);
	struct cam_file *g = create(d, "b");
	put(g, "3", 0);
	assert_int_equal(sim_pending(d), 3);
	assert_image(d, SIM_DEATH, "a", "1122");
	assert_image(d, SIM_DEATH, "b", "3");
	assert_image(d, SIM_ALL, "b", "3");
	assert_image(d, SIM_NONE, "a", "11");
	assert_image(d, SIM_NONE, "b", "-");
	assert_image(d, SIM_NAMES, "b", "");
	assert_image(d, SIM_ZEROS, "a", "1100");
	assert_image(d, SIM_ZEROS, "b", "0");
	assert_image(d, SIM_DATA, "a", "1122");
	assert_image(d, SIM_DATA, "b", "-");
	io->ops->rename(io, "b", "c", false);
	assert_image(d, SIM_ALL, "c", "3");
	assert_image(d, SIM_ALL, "b", "-");
	io->ops->sync_dir(io);
	assert_image(d, SIM_NONE, "c", "");
	io->ops->unlink(io, "c");
	assert_image(d, SIM_NONE, "c", "");
	assert_image(d, SIM_ALL, "c", "-");
	g->ops->close(g);
	f->ops->close(f);
	sim_free(d);
}

/* By seed: everything possible turns up, nothing impossible does. */
static void sampled_images(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_file *f = create(d, "t");
	put(f, "12", 0);
	put(f, "34", 2);
	io->ops->rename(io, "t", "w", false);
	unsigned none = 0, tmp = 0, final = 0, torn = 0, hole = 0, zeros = 0, full = 0;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct sim_disk *i = sim_image(d, 0, SIM_BYTE, seed);
		const char *t = show(i, "t"), *w = NULL;
		bool has_t = strcmp(t, "-") != 0;
		char content[8];
		snprintf(content, sizeof(content), "%s", has_t ? t : "");
		w = show(i, "w");
		bool has_w = strcmp(w, "-") != 0;
		assert_false(has_t && has_w);
		if (has_w)
			snprintf(content, sizeof(content), "%s", w);
		none += !has_t && !has_w;
		tmp += has_t;
		final += has_w;
		torn += strcmp(content, "1") == 0 || strcmp(content, "123") == 0;
		hole += strcmp(content, "0034") == 0;
		zeros += strcmp(content, "0000") == 0;
		full += strcmp(content, "1234") == 0;
		sim_free(i);
	}
	assert_true(none && tmp && final && torn && hole && zeros && full);
	/* In order: 34 never without 12, the new name never without both. */
	unsigned lengths[5] = {0}, absent = 0;
	for (uint64_t seed = 0; seed < 500; seed++) {
		struct sim_disk *i = sim_image(d, 0, SIM_PREFIX, seed);
		const char *w = show(i, "w");
		if (strcmp(w, "-") != 0)
			assert_string_equal(w, "1234");
		const char *t = show(i, "t");
		absent += strcmp(t, "-") == 0 && strcmp(show(i, "w"), "-") == 0;
		t = show(i, "t");
		if (strcmp(t, "-") != 0) {
			assert_int_equal(strncmp("1234", t, strlen(t)), 0);
			lengths[strlen(t)]++;
		}
		sim_free(i);
	}
	for (size_t i = 0; i < 5; i++)
		assert_true(lengths[i]);
	assert_true(absent);
	f->ops->close(f);
	sim_free(d);
}

static void sectors_tear_whole(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_file *f = create(d, "a");
	char big[2048];
	memset(big, 'x', sizeof(big));
	assert_int_equal(f->ops->pwrite(f, big, sizeof(big), 100), 0);
	sim_io(d)->ops->sync_dir(sim_io(d));
	unsigned mixed = 0;
	for (uint64_t seed = 0; seed < 500; seed++) {
		struct sim_disk *i = sim_image(d, 0, SIM_SECTOR, seed);
		size_t n;
		const uint8_t *p = sim_get(i, "a", &n);
		unsigned changes = 0;
		for (size_t k = 1; k < n; k++) {
			changes += p[k] != p[k - 1];
			assert_true(p[k] == p[k - 1] || k == 100 || k % 512 == 0);
		}
		assert_true(n == 0 || n == 100 + sizeof(big) || n % 512 == 0);
		mixed += changes > 1;
		sim_free(i);
	}
	assert_true(mixed > 10);
	f->ops->close(f);
	sim_free(d);
}

static void crash_inside_a_write(void **state)
{
	(void)state;
	for (uint64_t byte = 0; byte <= 4; byte++) {
		struct sim_disk *d = sim_new();
		struct cam_file *f = create(d, "a");
		sim_set_plan(d, &(struct sim_plan){.at_call = 2, .at_byte = byte});
		assert_int_equal(put(f, "11", 0), 0);
		assert_false(sim_crashed(d));
		assert_int_equal(put(f, "2222", 2), -ESHUTDOWN);
		assert_true(sim_crashed(d));
		assert_int_equal(put(f, "33", 6), -ESHUTDOWN);
		assert_int_equal(f->ops->fdatasync(f), -ESHUTDOWN);
		assert_int_equal(sim_io(d)->ops->unlink(sim_io(d), "a"), -ESHUTDOWN);
		assert_int_equal(sim_calls(d), 2);
		struct sim_disk *i = sim_image(d, 0, SIM_DEATH, 0);
		static const char *const left[] = {"11", "112", "1122", "11222", "112222"};
		assert_string_equal(show(i, "a"), left[byte]);
		sim_free(i);
		f->ops->close(f);
		sim_free(d);
	}
}

static void errors(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_file *f = create(d, "a");
	sim_set_plan(d, &(struct sim_plan){.at_call = 1, .at_byte = 1, .fail_errno = ENOSPC});
	assert_int_equal(put(f, "12", 0), -ENOSPC);
	assert_string_equal(show(d, "a"), "1");
	assert_int_equal(put(f, "12", 0), 0);
	sim_set_plan(d, &(struct sim_plan){.at_call = 2, .fail_errno = EIO, .fail_forever = true});
	assert_int_equal(put(f, "34", 2), 0);
	assert_false(sim_plan_done(d));
	assert_int_equal(put(f, "56", 4), -EIO);
	assert_true(sim_plan_done(d));
	assert_int_equal(put(f, "56", 4), -EIO);
	assert_int_equal(io->ops->sync_dir(io), 0);
	assert_false(sim_crashed(d));
	f->ops->close(f);
	sim_free(d);
}

/* As on Linux: what a failed sync did not write, no later one will. */
static void failed_sync_forgets(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_file *f = create(d, "a");
	put(f, "11", 0);
	assert_int_equal(f->ops->fdatasync(f), 0);
	assert_int_equal(sim_io(d)->ops->sync_dir(sim_io(d)), 0);
	put(f, "22", 2);
	sim_set_plan(d, &(struct sim_plan){.at_call = 1, .fail_errno = EIO});
	assert_int_equal(f->ops->fdatasync(f), -EIO);
	assert_string_equal(show(d, "a"), "1122");
	put(f, "33", 4);
	assert_int_equal(f->ops->fdatasync(f), 0);
	assert_string_equal(show(d, "a"), "112233");
	assert_image(d, SIM_ALL, "a", "110033");
	assert_image(d, SIM_DEATH, "a", "112233");
	f->ops->close(f);
	sim_free(d);
}

static void capacity(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	struct cam_file *f = create(d, "a");
	uint64_t total, left;
	sim_set_capacity(d, 5);
	assert_int_equal(put(f, "123", 0), 0);
	assert_int_equal(io->ops->space(io, &total, &left), 0);
	assert_int_equal(total, 5);
	assert_int_equal(left, 2);
	assert_int_equal(put(f, "456", 3), -ENOSPC);
	assert_string_equal(show(d, "a"), "12345");
	assert_int_equal(put(f, "54321", 0), 0);
	assert_int_equal(io->ops->unlink(io, "a"), 0);
	struct cam_file *g = create(d, "b");
	assert_int_equal(put(g, "12345", 0), 0);
	g->ops->close(g);
	f->ops->close(f);
	sim_free(d);
}

/* Every state of a recorded run, by replay, is the state the run was in. */
static void replay(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	struct cam_io *io = sim_io(d);
	sim_put(d, "old", "o", 1);
	sim_record(d);
	struct cam_file *f = create(d, "t");
	put(f, "12", 0);
	f->ops->fdatasync(f);
	put(f, "34", 2);
	io->ops->rename(io, "t", "w", false);
	io->ops->unlink(io, "old");
	io->ops->sync_dir(io);
	assert_int_equal(sim_recorded(d), 7);
	static const char *const death_t[] = {"-", "", "12", "12", "1234", "-", "-", "-"};
	static const char *const death_w[] = {"-", "-", "-", "-", "-", "1234", "1234", "1234"};
	static const char *const none_old[] = {"o", "o", "o", "o", "o", "o", "o", "-"};
	static const char *const none_w[] = {"-", "-", "-", "-", "-", "-", "-", "12"};
	static const size_t bytes[] = {0, 2, 0, 2, 0, 0, 0, 0};
	struct sim_disk *r = sim_replay_new(d);
	size_t steps = 0;
	do {
		size_t i = sim_replay_position(r);
		assert_int_equal(i, steps++);
		assert_image(r, SIM_DEATH, "t", death_t[i]);
		assert_image(r, SIM_DEATH, "w", death_w[i]);
		assert_image(r, SIM_NONE, "old", none_old[i]);
		assert_image(r, SIM_NONE, "w", none_w[i]);
		assert_int_equal(sim_replay_bytes(r), bytes[i]);
		if (i == 3) {
			struct sim_disk *image = sim_image(r, 1, SIM_DEATH, 0);
			assert_string_equal(show(image, "t"), "123");
			sim_free(image);
			image = sim_image(r, 1, SIM_ZEROS, 0);
			assert_string_equal(show(image, "t"), "120");
			sim_free(image);
		}
	} while (sim_replay_step(r));
	assert_int_equal(steps, 8);
	sim_free(r);
	f->ops->close(f);
	sim_free(d);
}

/* Images share content but not fate; a recovery on one can itself be recorded. */
static void images_are_apart(void **state)
{
	(void)state;
	struct sim_disk *d = sim_new();
	sim_put(d, "a", "123", 3);
	struct sim_disk *i = sim_image(d, 0, SIM_NONE, 0);
	sim_record(i);
	struct cam_file *f = NULL;
	assert_int_equal(sim_io(i)->ops->open(sim_io(i), "a", CAM_IO_WRITE, &f), 0);
	put(f, "X", 1);
	f->ops->close(f);
	assert_string_equal(show(i, "a"), "1X3");
	assert_string_equal(show(d, "a"), "123");
	struct sim_disk *r = sim_replay_new(i);
	assert_string_equal(show(r, "a"), "123");
	assert_true(sim_replay_step(r));
	assert_false(sim_replay_step(r));
	assert_string_equal(show(r, "a"), "1X3");
	sim_flip(r, "a", 1);
	assert_string_equal(show(r, "a"), "3X3");
	assert_string_equal(show(i, "a"), "1X3");
	sim_free(r);
	sim_free(i);
	sim_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_like_a_disk),
		cmocka_unit_test(one_lock),
		cmocka_unit_test(images),
		cmocka_unit_test(sampled_images),
		cmocka_unit_test(sectors_tear_whole),
		cmocka_unit_test(crash_inside_a_write),
		cmocka_unit_test(errors),
		cmocka_unit_test(failed_sync_forgets),
		cmocka_unit_test(capacity),
		cmocka_unit_test(replay),
		cmocka_unit_test(images_are_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
