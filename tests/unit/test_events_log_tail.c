// SPDX-License-Identifier: Apache-2.0
/* Files as logrotate and others leave them; and those that are not to be read. */
#include "events/log_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
	char dir[64], path[80], other[80];
	struct cam_log_tail *tail;
	char got[65536]; /* lines, each in | | */
};

static void keep(void *arg, struct cam_text line)
{
	struct place *p = arg;
	size_t n = strlen(p->got);
	snprintf(p->got + n, sizeof(p->got) - n, "%.*s|", (int)line.n, line.p);
}

static void append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static const char *lines(struct place *p, bool look)
{
	p->got[0] = 0;
	assert_int_equal(cam_log_tail_read(p->tail, look, keep, p), 0);
	return p->got;
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	assert_non_null(p);
	snprintf(p->dir, sizeof(p->dir), "%s", "/tmp/perfcam-tail-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/log", p->dir);
	snprintf(p->other, sizeof(p->other), "%s/log.1", p->dir);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	cam_log_tail_close(p->tail);
	unlink(p->path);
	unlink(p->other);
	rmdir(p->dir);
	free(p);
	return 0;
}

static void new_lines_are_read_once(void **state)
{
	struct place *p = *state;
	append(p->path, "old\n");
	assert_int_equal(cam_log_tail_open(p->path, &p->tail), 0);
	assert_string_equal(lines(p, true), "");
	append(p->path, "one\ntwo\r\n\nthr");
	assert_string_equal(lines(p, true), "one|two|");
	append(p->path, "ee\n");
	assert_string_equal(lines(p, false), "three|");
	assert_string_equal(lines(p, true), "");
	assert_int_equal(cam_log_tail_counts(p->tail).lines, 3);
}

static void a_rotated_file_is_followed(void **state)
{
	struct place *p = *state;
	assert_int_equal(cam_log_tail_open(p->path, &p->tail), 0);
	assert_string_equal(lines(p, true), "");
	append(p->path, "first\n");
	assert_string_equal(lines(p, true), "first|");
	append(p->path, "last, with");
	assert_int_equal(rename(p->path, p->other), 0);
	assert_string_equal(lines(p, true), "");
	append(p->other, "out end");
	append(p->path, "new\n");
	assert_string_equal(lines(p, true), "last, without end|new|");
	/* copytruncate */
	assert_int_equal(truncate(p->path, 0), 0);
	assert_string_equal(lines(p, true), "");
	append(p->path, "again\n");
	assert_string_equal(lines(p, true), "again|");
	struct cam_log_counts c = cam_log_tail_counts(p->tail);
	assert_int_equal(c.rotations, 1);
	assert_int_equal(c.truncations, 1);
	/* Gone, and there again. */
	assert_int_equal(unlink(p->path), 0);
	assert_string_equal(lines(p, true), "");
	append(p->path, "back\n");
	assert_string_equal(lines(p, true), "back|");
}

static void overwrite(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	/* Its time is that of a tick of the kernel's: another one. */
	usleep(20000);
}

/* Nobody looked while it was shorter. */
static void a_truncated_file_that_has_grown_again_is_read_from_its_beginning(void **state)
{
	struct place *p = *state;
	char long_line[300];
	append(p->path, "before the start\n");
	assert_int_equal(cam_log_tail_open(p->path, &p->tail), 0);
	assert_string_equal(lines(p, true), "");
	overwrite(p->path, "longer than what was before the start\n");
	assert_string_equal(lines(p, true), "longer than what was before the start|");
	overwrite(p->path, "longer than what was before my start!\n");
	assert_string_equal(lines(p, true), "longer than what was before my start!|");
	append(p->path, "one\n");
	append(p->path, "two\n");
	assert_string_equal(lines(p, true), "one|two|");
	assert_int_equal(cam_log_tail_counts(p->tail).truncations, 2);
	/* Longer than what is remembered of it, in one piece and in several. */
	memset(long_line, 'x', sizeof(long_line));
	long_line[sizeof(long_line) - 1] = 0;
	append(p->path, long_line);
	lines(p, true);
	append(p->path, "y");
	assert_string_equal(lines(p, true), "");
	append(p->path, "\n");
	assert_int_equal(strlen(lines(p, true)), sizeof(long_line) + 1);
	assert_int_equal(cam_log_tail_counts(p->tail).truncations, 2);
	/* Its writer goes on where it was, and leaves a hole: what it writes is not lost. */
	int fd = open(p->path, O_WRONLY);
	assert_true(fd >= 0);
	off_t end = lseek(fd, 0, SEEK_END);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, "behind a hole\n", 14, end), 14);
	close(fd);
	assert_string_equal(lines(p, true), "behind a hole|");
}

static bool is_open(const char *path)
{
	char link[64], to[PATH_MAX];
	size_t n = strlen(path);
	for (int fd = 0; fd < 64; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t got = readlink(link, to, sizeof(to));
		if (got >= (ssize_t)n && !memcmp(to, path, n))
			return true;
	}
	return false;
}

/* Else its room on the disk is not given back. */
static void a_deleted_file_is_let_go(void **state)
{
	struct place *p = *state;
	append(p->path, "");
	int writer = open(p->path, O_WRONLY | O_APPEND);
	assert_int_equal(cam_log_tail_open(p->path, &p->tail), 0);
	assert_int_equal(unlink(p->path), 0);
	assert_string_equal(lines(p, true), "");
	/* Its writer has not noticed yet. */
	assert_int_equal(write(writer, "late\nend", 8), 8);
	close(writer);
	assert_string_equal(lines(p, true), "late|");
	assert_true(is_open(p->path));
	p->got[0] = 0;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(cam_log_tail_read(p->tail, true, keep, p), 0);
	assert_string_equal(p->got, "end|");
	assert_false(is_open(p->path));
	append(p->path, "new\n");
	assert_string_equal(lines(p, true), "new|");
}

static void lines_and_turns_are_bounded(void **state)
{
	struct place *p = *state;
	assert_int_equal(cam_log_tail_open(p->path, &p->tail), 0);
	char *large = malloc(CAM_LOG_LINE_BYTES + 100);
	assert_non_null(large);
	memset(large, 'x', CAM_LOG_LINE_BYTES + 99);
	large[CAM_LOG_LINE_BYTES + 99] = 0;
	append(p->path, large);
	append(p->path, large);
	append(p->path, "\nnext\n");
	assert_int_equal(strlen(lines(p, true)), CAM_LOG_LINE_BYTES + 1 + strlen("next|"));
	assert_int_equal(cam_log_tail_counts(p->tail).cut, 1);
	free(large);
	/* What a reader cannot catch up with is passed over, from a line's beginning on. */
	int fd = open(p->path, O_WRONLY | O_APPEND);
	assert_int_equal(ftruncate(fd, 64 << 20), 0);
	close(fd);
	append(p->path, "tail\nend\n");
	p->got[0] = 0;
	for (unsigned i = 0; i < 100 && !strstr(p->got, "end|"); i++)
		assert_int_equal(cam_log_tail_read(p->tail, true, keep, p), 0);
	assert_string_equal(p->got, "end|");
	assert_true(cam_log_tail_counts(p->tail).skipped_bytes > 50 << 20);
}

static void what_others_could_have_put_there_is_not_read(void **state)
{
	struct place *p = *state;
	struct cam_log_tail *t;
	append(p->other, "secret\n");
	assert_int_equal(symlink(p->other, p->path), 0);
	assert_int_equal(cam_log_tail_open(p->path, &t), -ELOOP);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(link(p->other, p->path), 0);
	assert_int_equal(cam_log_tail_open(p->path, &t), -EMLINK);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(mkfifo(p->path, 0600), 0);
	assert_int_equal(cam_log_tail_open(p->path, &t), -EINVAL);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(cam_log_tail_open(p->dir, &t), -EINVAL);
	assert_int_equal(cam_log_tail_open("/dev/zero", &t), -EINVAL);
	/* Nor later, in the place of one that was. */
	append(p->path, "");
	assert_int_equal(cam_log_tail_open(p->path, &p->tail), 0);
	assert_int_equal(unlink(p->path), 0);
	assert_int_equal(symlink(p->other, p->path), 0);
	p->got[0] = 0;
	assert_int_equal(cam_log_tail_read(p->tail, true, keep, p), -ELOOP);
	assert_string_equal(p->got, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(new_lines_are_read_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_rotated_file_is_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_truncated_file_that_has_grown_again_is_read_from_its_beginning, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_deleted_file_is_let_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_and_turns_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_others_could_have_put_there_is_not_read,
						set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
