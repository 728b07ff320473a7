// SPDX-License-Identifier: Apache-2.0
/*
 * What a confined helper can still do, and what kills it. The helpers are this program itself: main()
 * looks for "helper ROLE DEED". What they are is read by the parent from /proc: the kernel's word.
 */
#include "helper/helper.h"
#include "model/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { FINE = 42, REFUSED = 43, ODD = 44 };

/* ---- what the children do after they are confined; the answer is their exit status ---- */

static pid_t parent; /* asked before: getppid() is not on the lists */

static int do_open(void)
{
	return open("/etc/passwd", O_RDONLY) >= 0 ? FINE : REFUSED;
}

/* Below what the server of these tests may read. */
static int do_open_below(void)
{
	return open("/usr/bin/env", O_RDONLY) >= 0 ? FINE : REFUSED;
}

static int do_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? FINE : REFUSED;
}

static int do_open_to_write(void)
{
	return open("/tmp", O_WRONLY | O_TMPFILE, 0600) >= 0 ? FINE : REFUSED;
}

static int do_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? FINE : REFUSED;
}

static int do_exec(void)
{
	execl("/bin/true", "true", NULL);
	return REFUSED;
}

static int do_map_file(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 4, 0) != MAP_FAILED ? FINE : REFUSED;
}

static int do_map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
			       MAP_FAILED
		       ? FINE
		       : REFUSED;
}

static int do_fork(void)
{
	return syscall(SYS_fork) >= 0 ? FINE : REFUSED;
}

static int do_kill(void)
{
	return kill(parent, 0) == 0 ? FINE : REFUSED;
}

static int do_ptrace(void)
{
	return syscall(SYS_ptrace, 16 /* ATTACH */, parent, 0, 0) == 0 ? FINE : REFUSED;
}

/* A path beside AT_EMPTY_PATH: the filter lets it pass, the empty root has nothing to show. */
static int do_stat_path(void)
{
	struct stat s;
	return syscall(SYS_newfstatat, 3, "/etc/passwd", &s, AT_EMPTY_PATH) == 0 ? FINE : REFUSED;
}

/* All that a symboliser's work takes. */
static int do_work(void)
{
	struct stat s;
	char byte[64], packet[64];
	int fd;
	char *p = malloc(50 << 20);
	if (!p || fstat(4, &s) || !S_ISREG(s.st_mode) || pread(4, byte, 64, 0) != 64)
		return ODD;
	memset(p, 1, 50 << 20);
	p = realloc(p, 60 << 20);
	if (!p || read(4, byte, 64) != 64)
		return ODD;
	free(p);
	struct pollfd wait = {3, POLLIN, 0};
	if (poll(&wait, 1, 10000) != 1)
		return ODD;
	ssize_t n = cam_packet_receive(3, packet, sizeof(packet), &fd);
	if (n <= 0 || fd < 0 || pread(fd, byte, 64, 0) != 64)
		return ODD;
	return cam_packet_send(3, byte, sizeof(byte), fd) ? ODD : FINE;
}

/* In steps, so that neither one large block nor the heap gets around the limit. */
static int do_fill_memory(void)
{
	size_t mib = 0;
	while (mib < 1024) {
		char *p = malloc(1 << 20);
		if (!p)
			break;
		memset(p, 1, 1 << 20);
		mib++;
	}
	return cam_packet_send(3, &mib, sizeof(mib), -1) ? ODD : FINE;
}

static int do_spin(void)
{
	volatile bool for_ever = true;
	while (for_ever) {
	}
	return ODD;
}

static int do_write(void)
{
	return write(4, "seal", 4) == 4 && pwrite(4, "S", 1, 0) == 1 && fdatasync(4) == 0 &&
			       ftruncate(4, 4) == 0
		       ? FINE
		       : REFUSED;
}

static void *look_at_parent(void *result)
{
	char path[64], byte;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)parent);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	*(int *)result = fd >= 0 && read(fd, &byte, 1) == 1 ? FINE : REFUSED;
	return NULL;
}

/* The opener's: /proc of another, from a thread that was started after. */
static int do_open_from_thread(void)
{
	pthread_t t;
	int result = ODD;
	if (pthread_create(&t, NULL, look_at_parent, &result) || pthread_join(t, NULL))
		return ODD;
	return result;
}

static int do_wait(void)
{
	char byte;
	int fd;
	cam_packet_send(3, "ready", 5, -1);
	cam_packet_receive(3, &byte, 1, &fd);
	return FINE;
}

static int confine_server(void)
{
	int usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cam_confine_server(&usr, 1);
}

static const struct {
	const char *name;
	int (*run)(void);
} deeds[] = {
	{"open", do_open},
	{"open-below", do_open_below},
	{"unix-socket", do_unix_socket},
	{"open-to-write", do_open_to_write},
	{"socket", do_socket},
	{"exec", do_exec},
	{"map-file", do_map_file},
	{"map-code", do_map_code},
	{"fork", do_fork},
	{"kill", do_kill},
	{"ptrace", do_ptrace},
	{"stat-path", do_stat_path},
	{"work", do_work},
	{"fill-memory", do_fill_memory},
	{"spin", do_spin},
	{"write", do_write},
	{"open-from-thread", do_open_from_thread},
	{"wait", do_wait},
};

static int be_helper(char **argv)
{
	int err = 0;
	parent = getppid();
	if (argv[4] && strcmp(argv[4], "java") == 0)
		err = cam_confine(CAM_CONFINE_JAVA);
	else if (strcmp(argv[2], "opener") == 0)
		err = cam_confine(CAM_CONFINE_OPENER);
	else if (strcmp(argv[2], "sealer") == 0)
		err = cam_confine(CAM_CONFINE_SEALER);
	else if (argv[4] && strcmp(argv[4], "server") == 0)
		err = confine_server();
	else if (argv[4] && strcmp(argv[4], "importer") == 0)
		err = cam_confine_importer(open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC));
	else if (strcmp(argv[2], "journal") == 0) {
		int usr = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = cam_confine_journal(&usr, 1);
	} else if (argv[4] && strcmp(argv[4], "hook") == 0)
		err = cam_confine_hook();
	else if (!argv[4]) /* a further word: not confined, the control */
		err = cam_confine(CAM_CONFINE_SYMBOLISER);
	if (err)
		return -err;
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		if (strcmp(deeds[i].name, argv[3]) == 0)
			return deeds[i].run();
	}
	return 99;
}

/* ---- the tests ---- */

static struct cam_helper start(enum cam_helper_role role, const char *deed, const char *more)
{
	struct cam_helper h;
	const char *const args[] = {deed, more, NULL};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(cam_helper_start(&h, role, fd, args), 0);
	close(fd);
	return h;
}

static int end_of(struct cam_helper *h)
{
	int status = -1;
	struct pollfd p = {h->pidfd, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(cam_helper_poll(h, &status), 1);
	assert_int_equal(cam_helper_stop(h, NULL), 0);
	return status;
}

static void assert_killed(enum cam_helper_role role, const char *deed)
{
	struct cam_helper h = start(role, deed, NULL);
	int status = end_of(&h);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
		fail_msg("%s: %s: status %x", cam_helper_role_name(role), deed, status);
}

static void assert_ends(enum cam_helper_role role, const char *deed, int want)
{
	struct cam_helper h = start(role, deed, NULL);
	int status = end_of(&h);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
		fail_msg("%s: %s: status %x", cam_helper_role_name(role), deed, status);
}

static ssize_t receive(struct cam_helper *h, void *to, size_t room)
{
	int fd;
	struct pollfd p = {h->socket, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 20000), 1);
	ssize_t n = cam_packet_receive(h->socket, to, room, &fd);
	if (fd >= 0)
		close(fd);
	return n;
}

/* Without confinement the deeds succeed: they can tell. */
static void the_deeds_are_possible_without(void **state)
{
	(void)state;
	static const char *const all[] = {"open",     "open-to-write", "socket", "map-file",
					  "map-code", "fork",	       "kill",	 "stat-path"};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct cam_helper h = start(CAM_HELPER_SYMBOLISER, all[i], "free");
		assert_int_equal(end_of(&h), FINE << 8);
	}
	struct cam_helper h = start(CAM_HELPER_SYMBOLISER, "exec", "free");
	assert_int_equal(end_of(&h), 0);
}

static void the_symboliser_dies_of_what_it_must_not_do(void **state)
{
	(void)state;
	static const char *const all[] = {
		"open", "open-to-write", "socket", "exec",  "map-file",	       "map-code",
		"fork", "kill",		 "ptrace", "write", "open-from-thread"};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!SANITIZED || strcmp(all[i], "write") != 0) /* the runtime reports by it */
			assert_killed(CAM_HELPER_SYMBOLISER, all[i]);
	}
	assert_ends(CAM_HELPER_SYMBOLISER, "stat-path", REFUSED);
}

static void the_symboliser_can_work(void **state)
{
	(void)state;
	struct cam_helper h = start(CAM_HELPER_SYMBOLISER, "work", NULL);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char got[64], want[64];
	assert_int_equal(pread(fd, want, sizeof(want), 0), sizeof(want));
	assert_int_equal(cam_packet_send(h.socket, "file", 4, fd), 0);
	close(fd);
	assert_int_equal(receive(&h, got, sizeof(got)), sizeof(got));
	assert_memory_equal(got, want, sizeof(want));
	assert_int_equal(end_of(&h), FINE << 8);
}

static void the_symboliser_cannot_have_more_than_its_memory(void **state)
{
	(void)state;
	struct cam_helper h =
		start(CAM_HELPER_SYMBOLISER, SANITIZED ? "work" : "fill-memory", NULL);
	size_t mib = 0;
	if (!SANITIZED) { /* address space is what ASan has most of: it cannot be limited there */
		assert_int_equal(receive(&h, &mib, sizeof(mib)), sizeof(mib));
		assert_true(mib >= 230 && mib <= 256);
		assert_int_equal(end_of(&h), FINE << 8);
	}
	cam_helper_stop(&h, NULL);
}

static void the_sealer_writes_and_nothing_else(void **state)
{
	(void)state;
	static const char *const all[] = {"open",     "open-to-write", "socket",
					  "exec",     "map-code",      "fork",
					  "map-file", "kill",	       "open-from-thread"};
	char path[] = "/tmp/perfcam-test-XXXXXX", got[8] = "";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	struct cam_helper h;
	const char *const args[] = {"write", NULL};
	assert_int_equal(cam_helper_start(&h, CAM_HELPER_SEALER, fd, args), 0);
	assert_int_equal(end_of(&h), FINE << 8);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 4);
	assert_string_equal(got, "Seal");
	close(fd);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_killed(CAM_HELPER_SEALER, all[i]);
}

static void the_opener_opens_to_read_and_no_more(void **state)
{
	(void)state;
	static const char *const all[] = {"socket", "exec", "fork", "kill", "ptrace"};
	assert_ends(CAM_HELPER_OPENER, "open", FINE);
	assert_ends(CAM_HELPER_OPENER, "open-from-thread", FINE);
	assert_ends(CAM_HELPER_OPENER, "open-to-write", REFUSED);
	assert_ends(CAM_HELPER_OPENER, "map-file", REFUSED);
	assert_ends(CAM_HELPER_OPENER, "map-code", REFUSED);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_killed(CAM_HELPER_OPENER, all[i]);
}

/* Who asks JVMs: what that takes is tried by test_proc_java. */
static void who_asks_jvms_cannot_do_much_else(void **state)
{
	(void)state;
	static const char *const dies[] = {"exec", "kill", "ptrace"};
	static const char *const fails[] = {"socket", "map-file", "map-code"};
	for (size_t i = 0; i < sizeof(fails) / sizeof(fails[0]); i++) {
		struct cam_helper h = start(CAM_HELPER_OPENER, fails[i], "java");
		assert_int_equal(end_of(&h), REFUSED << 8);
	}
	for (size_t i = 0; i < sizeof(dies) / sizeof(dies[0]); i++) {
		struct cam_helper h = start(CAM_HELPER_OPENER, dies[i], "java");
		int status = end_of(&h);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s: status %x", dies[i], status);
	}
}

struct deed {
	const char *deed;
	int want; /* 0: killed */
};

static void assert_deeds(enum cam_helper_role role, const char *more, const struct deed *all,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct cam_helper h = start(role, all[i].deed, more);
		int status = end_of(&h);
		bool right = all[i].want != 0
				     ? WIFEXITED(status) && WEXITSTATUS(status) == all[i].want
				     : WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
		if (!right)
			fail_msg("%s: status %x", all[i].deed, status);
	}
}

static void the_server_reads_below_its_directory_and_no_more(void **state)
{
	(void)state;
	static const struct deed all[] = {
		{"open-below", FINE},
		{"unix-socket", FINE},
		{"open", REFUSED},
		{"socket", REFUSED},
		{"open-to-write", REFUSED},
		{"map-file", REFUSED},
		{"map-code", REFUSED},
		{"open-from-thread", REFUSED},
		{"exec", 0},
		{"fork", 0},
		{"kill", 0},
		{"ptrace", 0},
	};
	assert_deeds(CAM_HELPER_SYMBOLISER, "server", all, sizeof(all) / sizeof(all[0]));
}

static void who_reads_a_sent_file_writes_below_its_directory_and_no_more(void **state)
{
	(void)state;
	static const struct deed all[] = {
		{"open-to-write", FINE}, {"open", REFUSED},	   {"open-below", REFUSED},
		{"socket", REFUSED},	 {"unix-socket", REFUSED}, {"map-file", REFUSED},
		{"map-code", REFUSED},	 {"exec", REFUSED},	   {"fork", REFUSED},
		{"kill", REFUSED},	 {"ptrace", REFUSED},
	};
	assert_deeds(CAM_HELPER_SYMBOLISER, "importer", all, sizeof(all) / sizeof(all[0]));
}

static void the_journals_reader_maps_what_is_below_its_directories(void **state)
{
	(void)state;
	static const struct deed all[] = {
		{"open-below", FINE},
		{"map-file", FINE},
		{"open", REFUSED},

		{"open-to-write", REFUSED},
		{"map-code", REFUSED},
		{"socket", 0},
		{"unix-socket", 0},
		{"exec", 0},
		{"fork", 0},
		{"kill", 0},
		{"ptrace", 0},
	};
	assert_deeds(CAM_HELPER_JOURNAL, NULL, all, sizeof(all) / sizeof(all[0]));
}

/* It is a program like any other, but for what is the recorder's. */
static void a_hook_writes_no_file_and_looks_into_no_process(void **state)
{
	(void)state;
	static const struct deed all[] = {
		{"open", FINE},	     {"unix-socket", FINE},
		{"fork", FINE},	     {"open-to-write", REFUSED},
		{"ptrace", REFUSED},
	};
	assert_deeds(CAM_HELPER_SYMBOLISER, "hook", all, sizeof(all) / sizeof(all[0]));
	struct cam_helper h = start(CAM_HELPER_SYMBOLISER, "exec", "hook");
	int status = end_of(&h);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The value of a line of /proc/PID/status. */
static void status_line(pid_t pid, const char *key, char *to, size_t room)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	to[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
			char *value = line + strlen(key) + 1;
			value += strspn(value, " \t");
			value[strcspn(value, "\n")] = '\0';
			snprintf(to, room, "%s", value);
		}
	}
	fclose(f);
}

static uint64_t status_hex(pid_t pid, const char *key)
{
	char value[128];
	status_line(pid, key, value, sizeof(value));
	assert_true(value[0]);
	return strtoull(value, NULL, 16);
}

static struct cam_helper start_and_wait(enum cam_helper_role role)
{
	char said[8];
	struct cam_helper h = start(role, "wait", NULL);
	assert_int_equal(receive(&h, said, sizeof(said)), 5);
	return h;
}

static void assert_ordinary(enum cam_helper_role role)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	struct cam_helper h = start_and_wait(role);
	char value[128];
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(status_hex(h.pid, sets[i]), 0);
	status_line(h.pid, "Uid", value, sizeof(value));
	unsigned ids[4];
	assert_int_equal(sscanf(value, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]), 4);
	assert_true(ids[0] != 0 && ids[1] == ids[0] && ids[2] == ids[0] && ids[3] == ids[0]);
	status_line(h.pid, "Gid", value, sizeof(value));
	assert_true(atoi(value) != 0);
	status_line(h.pid, "Groups", value, sizeof(value));
	assert_string_equal(value, "");
	assert_int_equal(status_hex(h.pid, "NoNewPrivs"), 1);
	assert_int_equal(status_hex(h.pid, "Seccomp"), 2);
	cam_helper_stop(&h, NULL);
}

static void symboliser_and_sealer_are_nobody(void **state)
{
	(void)state;
	assert_ordinary(CAM_HELPER_SYMBOLISER);
	assert_ordinary(CAM_HELPER_SEALER);
}

#define BIT(c) (1ull << (c))
#define ITS_CAPS                                                                        \
	(BIT(CAP_SYS_PTRACE) | BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_DAC_READ_SEARCH) | \
	 BIT(CAP_SYSLOG))

static void the_opener_keeps_four_capabilities(void **state)
{
	(void)state;
	struct cam_helper h = start_and_wait(CAM_HELPER_OPENER);
	assert_int_equal(status_hex(h.pid, "CapPrm"), ITS_CAPS);
	assert_int_equal(status_hex(h.pid, "CapEff"), ITS_CAPS);
	assert_int_equal(status_hex(h.pid, "CapBnd"), ITS_CAPS);
	assert_int_equal(status_hex(h.pid, "CapInh"), 0);
	assert_int_equal(status_hex(h.pid, "CapAmb"), 0);
	assert_int_equal(status_hex(h.pid, "NoNewPrivs"), 1);
	assert_int_equal(status_hex(h.pid, "Seccomp"), 2);
	cam_helper_stop(&h, NULL);
}

/* A recorder that never was root: `nobody` with two of the four, and one that is not the opener's. */
static void become_service(void)
{
	static const cap_value_t caps[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_PERFMON};
	cap_t want = cap_init();
	bool good = want && prctl(PR_SET_KEEPCAPS, 1) == 0 && setresgid(65534, 65534, 65534) == 0 &&
		    setresuid(65534, 65534, 65534) == 0 &&
		    cap_set_flag(want, CAP_PERMITTED, 3, caps, CAP_SET) == 0 &&
		    cap_set_flag(want, CAP_EFFECTIVE, 3, caps, CAP_SET) == 0 &&
		    cap_set_flag(want, CAP_INHERITABLE, 3, caps, CAP_SET) == 0 &&
		    cap_set_proc(want) == 0;
	for (int i = 0; good && i < 3; i++)
		good = cap_set_ambient(caps[i], CAP_SET) == 0;
	cap_free(want);
	if (!good)
		_exit(90);
}

static void run_as_service(void)
{
	/* An assertion that fails here would go on with the other tests, as another user. */
	alarm(60);
	become_service();
	struct cam_helper h = start_and_wait(CAM_HELPER_OPENER);
	uint64_t two = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);
	if (status_hex(h.pid, "CapPrm") != two || status_hex(h.pid, "CapEff") != two ||
	    status_hex(h.pid, "CapAmb") != 0)
		_exit(91);
	cam_helper_stop(&h, NULL);
	assert_ends(CAM_HELPER_OPENER, "open-from-thread", FINE);
	h = start_and_wait(CAM_HELPER_SYMBOLISER);
	if (status_hex(h.pid, "CapPrm") || status_hex(h.pid, "CapEff") ||
	    status_hex(h.pid, "CapAmb"))
		_exit(92);
	cam_helper_stop(&h, NULL);
	assert_killed(CAM_HELPER_SYMBOLISER, "open");
	_exit(FINE);
}

static void ambient_capabilities_are_dropped_too(void **state)
{
	(void)state;
	pid_t pid = fork();
	int status;
	assert_true(pid >= 0);
	if (pid == 0)
		run_as_service();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, FINE << 8);
}

/* A change of user makes the kernel forget the death signal; it must have been set again. */
static void a_confined_helper_still_dies_with_its_parent(void **state)
{
	(void)state;
	int pipes[2];
	pid_t helper = 0;
	assert_int_equal(pipe(pipes), 0);
	pid_t middle = fork();
	assert_true(middle >= 0);
	if (middle == 0) {
		struct cam_helper h = start(CAM_HELPER_SYMBOLISER, "spin", NULL);
		struct timespec a_while = {0, 200 * 1000 * 1000};
		nanosleep(&a_while, NULL); /* until it spins, confined */
		if (write(pipes[1], &h.pid, sizeof(h.pid)) != sizeof(h.pid))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], &helper, sizeof(helper)), sizeof(helper));
	int pidfd = (int)syscall(SYS_pidfd_open, helper, 0);
	assert_true(pidfd >= 0);
	kill(middle, SIGKILL);
	waitpid(middle, NULL, 0);
	struct pollfd p = {pidfd, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 10000), 1);
	close(pidfd);
	close(pipes[0]);
	close(pipes[1]);
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "helper") == 0)
		_exit(be_helper(argv));
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_deeds_are_possible_without),
		cmocka_unit_test(the_symboliser_dies_of_what_it_must_not_do),
		cmocka_unit_test(the_symboliser_can_work),
		cmocka_unit_test(the_symboliser_cannot_have_more_than_its_memory),
		cmocka_unit_test(the_sealer_writes_and_nothing_else),
		cmocka_unit_test(the_opener_opens_to_read_and_no_more),
		cmocka_unit_test(the_journals_reader_maps_what_is_below_its_directories),
		cmocka_unit_test(a_hook_writes_no_file_and_looks_into_no_process),
		cmocka_unit_test(who_asks_jvms_cannot_do_much_else),
		cmocka_unit_test(the_server_reads_below_its_directory_and_no_more),
		cmocka_unit_test(who_reads_a_sent_file_writes_below_its_directory_and_no_more),
		cmocka_unit_test(symboliser_and_sealer_are_nobody),
		cmocka_unit_test(the_opener_keeps_four_capabilities),
		cmocka_unit_test(ambient_capabilities_are_dropped_too),
		cmocka_unit_test(a_confined_helper_still_dies_with_its_parent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
