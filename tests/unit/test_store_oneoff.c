// SPDX-License-Identifier: Apache-2.0
/* One window at a path of its own, on a real disk. */
#include "store/oneoff.h"

#include "store/single.h"
#include "support_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char dir[64];
	char paths[4][128]; /* that finish() named */
	unsigned n;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	strcpy(f->dir, "/tmp/perfcam-oneoff-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	/* As /tmp is: no store may be here, but a window. */
	assert_int_equal(chmod(f->dir, 01777), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	int err = system(command);
	free(f);
	return err;
}

static const char *path_of(const struct fixture *f, const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

static int note_path(void *arg, const char *path)
{
	struct fixture *f = arg;
	assert_true(f->n < 4);
	snprintf(f->paths[f->n++], sizeof(f->paths[0]), "%s", path);
	return 0;
}

static unsigned count_names(const struct fixture *f)
{
	unsigned n = 0;
	DIR *d = opendir(f->dir);
	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static struct cam_oneoff *open_ok(const char *path)
{
	struct cam_oneoff *o;
	assert_int_equal(cam_oneoff_open(path, &o), 0);
	return o;
}

static void write_window(struct cam_oneoff *o, unsigned k, bool seal)
{
	struct numbered_window w = {.boot = 1, .start_ns = (100 + k) * NS};
	numbered_window(cam_oneoff_store(o), &w, 3 * k, 3, seal);
}

/* The numbers of the one file at `path`. */
static void read_file(const char *path, struct numbers *out)
{
	struct cam_file *file;
	struct cam_source *source;
	struct cam_window *w;
	*out = (struct numbers){0};
	assert_int_equal(cam_file_from_fd(open(path, O_RDONLY), &file), 0);
	assert_int_equal(cam_single_open(file, path, 1 << 20, &source), 0);
	assert_int_equal(source->ops->open(source, 0, &w), 0);
	assert_true(w->info.sealed);
	window_read(w, out);
	w->ops->close(w);
	source->ops->close(source);
}

static void test_one(void **state)
{
	struct fixture *f = *state;
	struct numbers found;
	struct cam_oneoff *o = open_ok(path_of(f, "x.pcw"));
	assert_string_equal(cam_oneoff_directory(o), path_of(f, "x.pcw.recording"));
	write_window(o, 0, false);
	/* Until the end there is nothing of that name. */
	assert_int_equal(access(path_of(f, "x.pcw"), F_OK), -1);
	assert_int_equal(cam_oneoff_finish(o, note_path, f), 0);
	assert_int_equal(f->n, 1);
	assert_string_equal(f->paths[0], path_of(f, "x.pcw"));
	assert_int_equal(count_names(f), 1);
	read_file(f->paths[0], &found);
	assert_int_equal(found.total, 3);
}

/* Several windows; an older file of the name is replaced, at the end. */
static void test_several(void **state)
{
	struct fixture *f = *state;
	struct numbers found;
	fclose(fopen(path_of(f, "x.pcw"), "w"));
	struct cam_oneoff *o = open_ok(path_of(f, "x.pcw"));
	write_window(o, 0, true);
	write_window(o, 1, false);
	write_window(o, 2, false);
	struct stat st;
	assert_int_equal(stat(path_of(f, "x.pcw"), &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(cam_oneoff_finish(o, note_path, f), 0);
	assert_int_equal(f->n, 3);
	static const char *const names[] = {"x.pcw", "x.2.pcw", "x.3.pcw"};
	for (unsigned k = 0; k < 3; k++) {
		assert_string_equal(f->paths[k], path_of(f, names[k]));
		read_file(f->paths[k], &found);
		assert_int_equal(found.total, 3);
		assert_int_equal(found.times[3 * k], 1);
	}
	assert_int_equal(count_names(f), 3);
}

/* Nothing was recorded: nothing is left. */
static void test_nothing(void **state)
{
	struct fixture *f = *state;
	struct cam_oneoff *o = open_ok(path_of(f, "x.pcw"));
	assert_int_equal(cam_oneoff_finish(o, note_path, f), -ENODATA);
	o = open_ok(path_of(f, "x.pcw"));
	cam_oneoff_close(o);
	assert_int_equal(count_names(f), 0);
}

/* Killed: the directory is a store; the next recording to the same path goes beside it. */
static void test_killed(void **state)
{
	struct fixture *f = *state;
	struct numbers found;
	struct cam_io *io;
	struct cam_oneoff *o = open_ok(path_of(f, "x.pcw"));
	write_window(o, 0, false);
	cam_oneoff_close(o);
	assert_int_equal(cam_io_posix_open(path_of(f, "x.pcw.recording"), false, &io), 0);
	store_read(io, &found);
	assert_int_equal(found.total, 3);
	cam_io_posix_close(io);
	o = open_ok(path_of(f, "x.pcw"));
	assert_string_equal(cam_oneoff_directory(o), path_of(f, "x.pcw.recording.2"));
	write_window(o, 1, false);
	assert_int_equal(cam_oneoff_finish(o, note_path, f), 0);
	read_file(path_of(f, "x.pcw"), &found);
	assert_int_equal(found.times[3], 1);
	assert_int_equal(count_names(f), 2);
}

/* The place vanishes, or is taken by a directory: what was recorded stays. */
static void test_cannot_move(void **state)
{
	struct fixture *f = *state;
	struct numbers found;
	struct cam_io *io;
	struct cam_oneoff *o = open_ok(path_of(f, "x.pcw"));
	write_window(o, 0, false);
	assert_int_equal(mkdir(path_of(f, "x.pcw"), 0700), 0);
	assert_int_equal(cam_oneoff_finish(o, note_path, f), -EISDIR);
	assert_int_equal(cam_io_posix_open(path_of(f, "x.pcw.recording"), false, &io), 0);
	store_read(io, &found);
	assert_int_equal(found.total, 3);
	assert_int_equal(found.windows, 1);
	cam_io_posix_close(io);
}

static void test_refusals(void **state)
{
	struct fixture *f = *state;
	struct cam_oneoff *o;
	assert_int_equal(cam_oneoff_open(path_of(f, "x.svg"), &o), -EINVAL);
	assert_int_equal(cam_oneoff_open(path_of(f, "no/x.pcw"), &o), -ENOENT);
	assert_int_equal(cam_oneoff_open("/proc/x.pcw", &o), -ENOENT);
	assert_int_equal(count_names(f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cannot_move, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
