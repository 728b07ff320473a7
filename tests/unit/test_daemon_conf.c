// SPDX-License-Identifier: Apache-2.0
#include "daemon/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What was read, one "line:key=value;" each. */
struct seen {
	char text[1024];
	int refuse_at;
};

static int note(void *arg, unsigned line, const char *key, const char *value)
{
	struct seen *s = arg;
	size_t n = strlen(s->text);
	snprintf(s->text + n, sizeof(s->text) - n, "%u:%s=%s;", line, key, value);
	return s->refuse_at == (int)line ? -EDOM : 0;
}

static int parse(struct seen *s, struct cam_text bytes, char why[256])
{
	why[0] = '\0';
	return cam_conf_parse(bytes, "X", note, s, why, 256);
}

static void test_lines(void **state)
{
	(void)state;
	struct seen s = {0};
	char why[256];
	assert_int_equal(parse(&s,
			       CAM_TEXT("\xef\xbb\xbf# first\r\n"
					"  [perfcam]\t\n"
					"keep=12h\n"
					"\n"
					"\t; no\n"
					"  store =  /a b/#c;d=e  \r\n"
					"empty =\n"
					"last = 1"),
			       why),
			 0);
	assert_string_equal(s.text, "3:keep=12h;6:store=/a b/#c;d=e;7:empty=;8:last=1;");
}

static void test_the_callers_refusal_ends_it(void **state)
{
	(void)state;
	struct seen s = {.refuse_at = 2};
	char why[256];
	assert_int_equal(parse(&s, CAM_TEXT("a=1\nb=2\nc=3\n"), why), -EDOM);
	assert_string_equal(s.text, "1:a=1;2:b=2;");
}

static void test_what_is_no_setting(void **state)
{
	(void)state;
	static char long_line[6000];
	memset(long_line, 'x', sizeof(long_line));
	const struct {
		struct cam_text bytes;
		const char *why;
	} cases[] = {
		{CAM_TEXT("keep 12h\n"), "X:1: 'keep 12h' is not a setting; try: keep = 12h"},
		{CAM_TEXT("\n= 12h\n"), "X:2: '= 12h' is not a setting; try: keep = 12h"},
		{CAM_TEXT("a=1\n[record]\n"), "X:2: '[record]': the only section is [perfcam]"},
		{CAM_TEXT("a=1\n\nb=\0\n"), "X:3: a NUL byte; this is not a text file"},
		{{long_line, sizeof(long_line)}, "X:1: a line of 6000 bytes; at most 4607"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen s = {0};
		char why[256];
		assert_int_equal(parse(&s, cases[i].bytes, why), -EINVAL);
		assert_string_equal(why, cases[i].why);
	}
}

static void write_file(const char *path, const char *text, size_t n, mode_t mode)
{
	unlink(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int read_one(const char *path, char why[512])
{
	struct seen s = {0};
	bool of_root;
	why[0] = '\0';
	int err = cam_conf_read(path, note, &s, &of_root, why, 512);
	struct stat st;
	if (!err && !stat(path, &st))
		assert_int_equal(of_root, st.st_uid == 0 && !(st.st_mode & 022));
	else
		assert_false(of_root);
	return err;
}

/* Runs read_one() as another user; answers its errno. */
static int read_as(uid_t uid, const char *path)
{
	char why[512];
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(200);
		_exit(-read_one(path, why));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void test_who_may_write_it(void **state)
{
	(void)state;
	char dir[] = "/tmp/perfcam-test-XXXXXX", path[64], why[512];
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/conf", dir);
	write_file(path, "a=1\n", 4, 0644);
	assert_int_equal(read_one(path, why), 0);
	assert_int_equal(read_as(1234, path), 0);
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(read_one(path, why), -EPERM);
	assert_non_null(strstr(why, path));
	assert_non_null(strstr(why, "chmod go-w"));
	/* A user's own group may be of this user alone. */
	assert_int_equal(read_as(1234, path), 0);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(read_one(path, why), -EPERM);
	assert_int_equal(read_as(1234, path), -EPERM);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chown(path, 1234, 1234), 0);
	assert_int_equal(read_one(path, why), -EPERM);
	assert_non_null(strstr(why, "user 1234"));
	assert_int_equal(read_as(1234, path), 0);
	assert_int_equal(read_as(1235, path), -EPERM);
	unlink(path);
	rmdir(dir);
}

static void test_files_that_are_none(void **state)
{
	(void)state;
	char dir[] = "/tmp/perfcam-test-XXXXXX", path[64], why[512];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/conf", dir);
	assert_int_equal(read_one(path, why), -ENOENT);
	assert_non_null(strstr(why, path));
	assert_int_equal(read_one(dir, why), -EISDIR);
	/* Must not wait for a writer. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_one(path, why), -EINVAL);
	char *big = calloc(1, CAM_CONF_MAX_BYTES + 1);
	assert_non_null(big);
	memset(big, '\n', CAM_CONF_MAX_BYTES + 1);
	write_file(path, big, CAM_CONF_MAX_BYTES, 0600);
	assert_int_equal(read_one(path, why), 0);
	write_file(path, big, CAM_CONF_MAX_BYTES + 1, 0600);
	assert_int_equal(read_one(path, why), -EFBIG);
	free(big);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_the_callers_refusal_ends_it),
		cmocka_unit_test(test_what_is_no_setting),
		cmocka_unit_test(test_who_may_write_it),
		cmocka_unit_test(test_files_that_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
