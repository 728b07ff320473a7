// SPDX-License-Identifier: Apache-2.0
/* Each case in a process of its own; the kernel's account of it, /proc/self/status, is the oracle. */
#include "daemon/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GROUP 4321

static int run(int (*fn)(void))
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

#define MUST(x)                                    \
	do {                                       \
		if (!(x))                          \
			return __LINE__ % 250 + 1; \
	} while (0)

/* The value of a line of /proc/self/status. */
static bool line_is(const char *key, const char *value)
{
	char line[256];
	bool same = false;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f)) {
		size_t n = strlen(key);
		if (strncmp(line, key, n) == 0 && line[n] == ':') {
			line[strcspn(line, "\n")] = '\0';
			char *v = line + n + 1 + strspn(line + n + 1, " \t");
			for (n = strlen(v); n && v[n - 1] == ' '; n--)
				v[n - 1] = '\0';
			same = strcmp(v, value) == 0;
		}
	}
	if (f)
		fclose(f);
	return same;
}

static int no_capabilities(void)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	for (size_t i = 0; i < 5; i++)
		MUST(line_is(sets[i], "0000000000000000"));
	MUST(line_is("NoNewPrivs", "1"));
	return 0;
}

static int as_root(void)
{
	char who[64], ids[64];
	const struct passwd *p = getpwnam("perfcam");
	if (!p)
		p = getpwnam("nobody");
	uid_t uid = p->pw_uid;
	const gid_t many[] = {0, 1, 2, 3};
	int etc = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
	MUST(etc >= 0);
	MUST(setgroups(4, many) == 0);
	MUST(cam_privilege_drop(GROUP, who, sizeof(who)) == 0);
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	MUST(line_is("Uid", ids));
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", GROUP, GROUP, GROUP, GROUP);
	MUST(line_is("Gid", ids));
	snprintf(ids, sizeof(ids), "%u", GROUP);
	MUST(line_is("Groups", ids));
	MUST(no_capabilities() == 0);
	MUST(strstr(who, "group 4321") != NULL);
	/* What was open stays open; nothing of the kind can be opened again. */
	char byte;
	MUST(pread(etc, &byte, 1, 0) == 1);
	MUST(open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	MUST(setresuid(0, 0, 0) != 0 && setresgid(0, 0, 0) != 0);
	return 0;
}

static void test_root(void **state)
{
	(void)state;
	assert_int_equal(run(as_root), 0);
}

/* A copy of id(1) that belongs to root and is set-uid. */
static char set_uid_id[64];

static int user_of_set_uid_program(void)
{
	char command[128];
	snprintf(command, sizeof(command), "exit \"$(%s -u)\"", set_uid_id);
	return WEXITSTATUS(system(command));
}

static int after_drop(void)
{
	char who[64];
	MUST(cam_privilege_drop(GROUP, who, sizeof(who)) == 0);
	return user_of_set_uid_program() == 0 ? 1 : 0;
}

static int after_plain_setuid(void)
{
	MUST(setresuid(123, 123, 123) == 0);
	return user_of_set_uid_program();
}

static void test_set_uid_programs(void **state)
{
	(void)state;
	char dir[] = "/tmp/perfcam-test-XXXXXX", command[256];
	assert_non_null(mkdtemp(dir));
	snprintf(set_uid_id, sizeof(set_uid_id), "%s/id", dir);
	snprintf(command, sizeof(command), "chmod 755 %s && cp /usr/bin/id %s && chmod 4755 %s",
		 dir, set_uid_id, set_uid_id);
	assert_int_equal(system(command), 0);
	/* The control: without the drop it does become root. */
	assert_int_equal(run(after_plain_setuid), 0);
	assert_int_equal(run(after_drop), 0);
	unlink(set_uid_id);
	assert_int_equal(rmdir(dir), 0);
}

/* As a unit starts the recorder: an ordinary user with an ambient capability. */
static int with_ambient(void)
{
	char who[64];
	MUST(line_is("CapAmb", "0000004000000000"));
	MUST(cam_privilege_drop(GROUP, who, sizeof(who)) == 0);
	/* Only root can change its groups; the rest is gone. */
	MUST(line_is("CapEff", "0000000000000000") && line_is("CapPrm", "0000000000000000"));
	MUST(line_is("CapInh", "0000000000000000") && line_is("CapAmb", "0000000000000000"));
	MUST(line_is("NoNewPrivs", "1"));
	MUST(getuid() == 1234);
	return 0;
}

static void test_a_user_with_capabilities(void **state)
{
	(void)state;
	char self[256], command[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	assert_true(n > 0);
	self[n] = '\0';
	snprintf(command, sizeof(command),
		 "setpriv --reuid 1234 --regid 1234 --clear-groups --inh-caps=-all,+perfmon "
		 "--ambient-caps=-all,+perfmon %s with-ambient",
		 self);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "with-ambient") == 0)
		return with_ambient();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root),
		cmocka_unit_test(test_set_uid_programs),
		cmocka_unit_test(test_a_user_with_capabilities),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
