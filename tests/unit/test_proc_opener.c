// SPDX-License-Identifier: Apache-2.0
/*
 * The opener as it runs: a process of its own, confined, spoken to in packets. It is this program
 * itself: main() looks for "helper opener".
 */
#include "helper/helper.h"
#include "proc/opener.h"
#include "proc/process.h"
#include "support_fuse.h"
#include "support_mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t packet[CAM_ERRAND_MAX_BYTES / 8], scratch[CAM_ERRAND_MAX_BYTES / 4];

static int be_opener(void)
{
	int err = cam_confine(CAM_CONFINE_OPENER);
	return err ? 100 : -cam_opener_run(3, -1);
}

static struct cam_helper start(void)
{
	struct cam_helper h;
	assert_int_equal(cam_helper_start(&h, CAM_HELPER_OPENER, -1, NULL), 0);
	return h;
}

/* By closing the socket: it ends by itself, with 0. */
static void end(struct cam_helper *h)
{
	int status = -1;
	struct pollfd p = {h->pidfd, POLLIN, 0};
	close(h->socket);
	h->socket = -1;
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(cam_helper_poll(h, &status), 1);
	assert_int_equal(status, 0);
	cam_helper_stop(h, NULL);
}

static void ask(struct cam_helper *h, const struct cam_errand *e)
{
	char bytes[8192];
	int n = cam_errand_pack(e, bytes, sizeof(bytes)), err;
	assert_true(n > 0);
	while ((err = cam_packet_send(h->socket, bytes, (size_t)n, -1)) == -EAGAIN)
		poll(NULL, 0, 1);
	assert_int_equal(err, 0);
}

/* The next tidings; they borrow from the packet. */
static struct cam_tidings hear(struct cam_helper *h, int *fd)
{
	struct cam_tidings t;
	struct pollfd p = {h->socket, POLLIN, 0};
	assert_int_equal(poll(&p, 1, 10000), 1);
	ssize_t n = cam_packet_receive(h->socket, packet, sizeof(packet), fd);
	assert_true(n > 0);
	assert_int_equal(cam_tidings_unpack(packet, (size_t)n, scratch, sizeof(scratch), &t), 0);
	return t;
}

static struct cam_tidings ask_and_hear(struct cam_helper *h, const struct cam_errand *e, int *fd)
{
	ask(h, e);
	struct cam_tidings t = hear(h, fd);
	assert_int_equal(t.type, e->type);
	assert_int_equal(t.ticket, e->ticket);
	assert_int_equal(t.pid, e->pid);
	assert_int_equal(t.tid, e->tid);
	assert_int_equal(t.file, e->file);
	return t;
}

static struct cam_errand file_errand(const struct mapped *p, uint32_t ticket)
{
	struct cam_errand e = {CAM_ERRAND_FILE, ticket, p->pid, p->pid, 9, .mapping = p->m};
	e.mapping.path = cam_text_of(p->path);
	return e;
}

static void every_errand_has_its_answer(void **state)
{
	(void)state;
	char dir[32], path[64], line[20] = "";
	int fd;
	test_mkdir(dir);
	snprintf(path, sizeof(path), "%s/prog", dir);
	test_file(path, "mine");
	struct mapped child = mapped_start(path, NULL, NULL, NULL);
	struct cam_helper h = start();
	struct cam_process own = {0};
	assert_int_equal(cam_process_read(&own, child.pid, child.pid), 0);
	struct cam_tidings t = ask_and_hear(
		&h, &(struct cam_errand){CAM_ERRAND_PROCESS, 1, child.pid, child.pid}, &fd);
	assert_int_equal(t.error, 0);
	assert_int_equal(fd, -1);
	assert_false(t.process.more);
	assert_int_equal(t.process.start_ns, own.tidings.start_ns);
	assert_int_equal(t.process.n_mappings, own.tidings.n_mappings);
	assert_true(t.process.n_mappings > 3);
	assert_true(cam_text_equal(t.process.exe, own.tidings.exe));
	assert_true(cam_text_equal(t.process.comm, own.tidings.comm));
	assert_true(cam_text_equal(t.process.cgroup, own.tidings.cgroup));
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_THREAD, 2, child.pid, child.pid}, &fd);
	assert_int_equal(t.error, 0);
	assert_true(cam_text_equal(t.comm, own.tidings.comm));
	struct cam_errand file = file_errand(&child, 3);
	t = ask_and_hear(&h, &file, &fd);
	assert_int_equal(t.error, 0);
	assert_int_equal(t.held.key.inode, child.m.inode);
	assert_true(fd >= 0 && test_begins(fd, "mine"));
	close(fd);
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_KALLSYMS, 4}, &fd);
	assert_int_equal(t.error, 0);
	assert_int_equal(read(fd, line, sizeof(line) - 1), sizeof(line) - 1);
	assert_string_not_equal(line, "0000000000000000 "); /* shown by the opener's rights */
	assert_true(strncmp(line, "0000000000000000", 16) != 0);
	close(fd);
	mapped_end(&child);
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_PROCESS, 5, child.pid, child.pid},
			 &fd);
	assert_int_equal(t.error, -ESRCH);
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_THREAD, 6, child.pid, child.pid}, &fd);
	assert_int_equal(t.error, -ESRCH);
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_NAMES, 7}, &fd);
	assert_int_equal(t.error, -EINVAL);
	end(&h);
	cam_process_free(&own);
	test_rmdir(dir);
}

/* More than the queue holds, while nobody listens. */
static void a_flood_is_answered_one_by_one(void **state)
{
	(void)state;
	enum { MANY = 5000 };
	static uint8_t seen[MANY];
	struct cam_helper h = start();
	memset(seen, 0, sizeof(seen));
	uint32_t asked = 0, heard = 0;
	while (heard < MANY) {
		char bytes[64];
		int fd;
		struct cam_errand e = {CAM_ERRAND_THREAD, asked, getpid(), getpid()};
		int n = cam_errand_pack(&e, bytes, sizeof(bytes));
		while (asked < MANY && cam_packet_send(h.socket, bytes, (size_t)n, -1) == 0) {
			e.ticket = ++asked;
			n = cam_errand_pack(&e, bytes, sizeof(bytes));
		}
		struct cam_tidings t = hear(&h, &fd);
		assert_int_equal(t.error, 0);
		assert_true(t.ticket < MANY);
		assert_int_equal(seen[t.ticket]++, 0);
		heard++;
	}
	end(&h);
}

enum { PIECES = 6000 };

/* As many executable mappings, apart so that they do not merge. */
static int map_pieces(void *fd)
{
	char *at = (char *)0x200000000000;
	for (int i = 0; i < PIECES; i++) {
		if (mmap(at + i * 8192L, 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED_NOREPLACE, *(int *)fd, 0) == MAP_FAILED)
			return 1;
	}
	return 0;
}

static void many_mappings_come_in_several_packets(void **state)
{
	(void)state;
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
	struct mapped child = mapped_start("/proc/self/exe", NULL, map_pieces, &exe);
	struct cam_helper h = start();
	uint32_t packets = 0, pieces = 0;
	uint64_t before = 0;
	struct cam_tidings t;
	ask(&h, &(struct cam_errand){CAM_ERRAND_PROCESS, 1, child.pid, child.pid});
	do {
		t = hear(&h, &fd);
		assert_int_equal(t.error, 0);
		assert_int_equal(t.ticket, 1);
		assert_true(t.process.exe.n > 0);
		for (uint32_t i = 0; i < t.process.n_mappings; i++) {
			const struct cam_mapping *m = &t.process.mappings[i];
			assert_true(m->start >= before);
			before = m->end;
			pieces += m->start >= 0x200000000000 &&
				  m->start < 0x200000000000 + PIECES * 8192ull;
		}
		packets++;
	} while (t.process.more);
	assert_int_equal(pieces, PIECES);
	assert_true(packets >= 3);
	mapped_end(&child);
	end(&h);
	close(exe);
}

static struct cam_errand fuse_errand(const struct fuse *f, int mount, uint32_t ticket)
{
	return (struct cam_errand){CAM_ERRAND_FILE, ticket, f->pid,
				   f->pid,	    9,	    .mapping = f->m[mount]};
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Hears the tidings of `ticket`, all others being time-outs; answers when. */
static uint64_t hear_of(struct cam_helper *h, uint32_t ticket, unsigned *timeouts)
{
	for (;;) {
		int fd;
		struct cam_tidings t = hear(h, &fd);
		if (t.ticket == ticket) {
			assert_int_equal(t.error, 0);
			if (fd >= 0)
				close(fd);
			return now_ms();
		}
		assert_int_equal(t.error, -ETIMEDOUT);
		(*timeouts)++;
	}
}

/* Until a file of the mount can be had again: its workers have to come back first. */
static void await_recovery(struct cam_helper *h, const struct fuse *f, int mount)
{
	int fd = -1;
	for (int i = 0; i < 100 && fd < 0; i++) {
		struct cam_errand e = fuse_errand(f, mount, 1000);
		ask_and_hear(h, &e, &fd);
		if (fd < 0)
			poll(NULL, 0, 10);
	}
	assert_true(fd >= 0 && test_begins(fd, FUSE_TEXT));
	close(fd);
}

static void a_dead_device_delays_nobody(void **state)
{
	(void)state;
	struct fuse f = fuse_start();
	struct cam_helper h = start();
	struct mapped child = mapped_start("/proc/self/exe", NULL, NULL, NULL);
	struct cam_errand other = file_errand(&child, 100);
	unsigned timeouts = 0;
	int fd;
	await_recovery(&h, &f, 0);
	fuse_hang(&f);
	uint64_t began = now_ms();
	for (uint32_t i = 0; i < 10; i++) {
		struct cam_errand e = fuse_errand(&f, 0, i);
		ask(&h, &e);
	}
	ask(&h, &other);
	/* Below what a single errand may take: it waited for none of them. */
	assert_true(hear_of(&h, 100, &timeouts) - began < CAM_OPENER_GIVE_UP_MS / 2);
	while (timeouts < 10) {
		struct cam_tidings t = hear(&h, &fd);
		assert_int_equal(t.error, -ETIMEDOUT);
		timeouts++;
	}
	assert_true(now_ms() - began < 2 * CAM_OPENER_GIVE_UP_MS);
	/* Now it is known to be dead. */
	began = now_ms();
	for (uint32_t i = 0; i < 20; i++) {
		struct cam_errand e = fuse_errand(&f, 0, i);
		assert_int_equal(ask_and_hear(&h, &e, &fd).error, -ETIMEDOUT);
		ask(&h, &other);
		hear_of(&h, 100, &timeouts);
	}
	assert_true(now_ms() - began < CAM_OPENER_GIVE_UP_MS / 2);
	fuse_go_on(&f);
	await_recovery(&h, &f, 0);
	mapped_end(&child);
	end(&h);
	fuse_end(&f);
}

static long resident_kib(pid_t pid)
{
	char name[64], line[256];
	long kib = -1;
	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	FILE *f = fopen(name, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = atol(line + 6);
	}
	fclose(f);
	return kib;
}

/* One device after the other: all that may be stuck are, then nothing is tried any more, and when
 * they come back all is as before. */
static void when_all_are_stuck_everything_is_refused(void **state)
{
	(void)state;
	struct fuse f = fuse_start();
	struct cam_helper h = start();
	struct cam_errand thread = {CAM_ERRAND_THREAD, 100, getpid(), getpid()};
	unsigned answered = 0;
	int fd;
	await_recovery(&h, &f, 0);
	long before = resident_kib(h.pid);
	fuse_hang(&f);
	for (uint32_t i = 0; i < FUSE_MOUNTS; i++) {
		struct cam_errand e = fuse_errand(&f, (int)i, i);
		ask(&h, &e);
	}
	while (answered < FUSE_MOUNTS) {
		assert_int_equal(hear(&h, &fd).error, -ETIMEDOUT);
		answered++;
	}
	uint64_t began = now_ms();
	assert_int_equal(ask_and_hear(&h, &thread, &fd).error, -ETIMEDOUT);
	assert_true(now_ms() - began < CAM_OPENER_GIVE_UP_MS / 2);
	/* Twelve that hang cost little. */
	assert_true(resident_kib(h.pid) - before < 2048);
	fuse_go_on(&f);
	for (int i = 0; i < FUSE_MOUNTS; i++)
		await_recovery(&h, &f, i);
	assert_int_equal(ask_and_hear(&h, &thread, &fd).error, 0);
	end(&h);
	fuse_end(&f);
}

static void an_opener_that_cannot_die_is_left_behind(void **state)
{
	(void)state;
	struct fuse f = fuse_start();
	struct cam_helper h = start();
	int status, fd;
	await_recovery(&h, &f, 0);
	fuse_hang(&f);
	struct cam_errand e = fuse_errand(&f, 0, 1);
	assert_int_equal(ask_and_hear(&h, &e, &fd).error, -ETIMEDOUT);
	pid_t pid = h.pid;
	uint64_t began = now_ms();
	assert_int_equal(cam_helper_stop(&h, &status), -EBUSY);
	assert_true(now_ms() - began < 1000);
	assert_int_equal(h.pid, 0);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	fuse_go_on(&f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	fuse_end(&f);
}

static void a_killed_opener_is_replaced(void **state)
{
	(void)state;
	struct cam_helper h = start();
	struct cam_errand thread = {CAM_ERRAND_THREAD, 1, getpid(), getpid()};
	int status, fd;
	assert_int_equal(ask_and_hear(&h, &thread, &fd).error, 0);
	struct pollfd p = {h.pidfd, POLLIN, 0};
	kill(h.pid, SIGTERM);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(cam_helper_poll(&h, &status), 1);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(cam_packet_send(h.socket, "x", 1, -1), -EPIPE);
	assert_int_equal(cam_packet_receive(h.socket, packet, sizeof(packet), &fd), 0);
	assert_int_equal(cam_helper_stop(&h, NULL), 0);
	h = start();
	assert_int_equal(ask_and_hear(&h, &thread, &fd).error, 0);
	end(&h);
}

/* `nobody`, with the opener's capabilities ambient, as a service manager starts it. */
static bool become_service(void)
{
	static const cap_value_t caps[] = {CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE,
					   CAP_DAC_READ_SEARCH, CAP_SYSLOG};
	cap_t want = cap_init();
	bool good = want && prctl(PR_SET_KEEPCAPS, 1) == 0 && setgroups(0, NULL) == 0 &&
		    setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
		    cap_set_flag(want, CAP_PERMITTED, 4, caps, CAP_SET) == 0 &&
		    cap_set_flag(want, CAP_INHERITABLE, 4, caps, CAP_SET) == 0 &&
		    cap_set_proc(want) == 0;
	for (int i = 0; good && i < 4; i++)
		good = cap_set_ambient(caps[i], CAP_SET) == 0;
	cap_free(want);
	return good;
}

/* Exit status 0: a root process's deleted file, closed to others, and kallsyms could be had. */
static int ask_as_service(const struct mapped *child)
{
	char line[17] = "";
	int fd;
	if (!become_service())
		return 1;
	struct cam_helper h = start();
	struct cam_errand file = file_errand(child, 1);
	struct cam_tidings t = ask_and_hear(&h, &file, &fd);
	if (t.error || !test_begins(fd, "closed"))
		return 2;
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_PROCESS, 2, child->pid, child->pid},
			 &fd);
	if (t.error || t.process.n_mappings < 3 || t.process.uid != 0)
		return 3;
	t = ask_and_hear(&h, &(struct cam_errand){CAM_ERRAND_KALLSYMS, 3}, &fd);
	if (t.error || read(fd, line, 16) != 16 || strcmp(line, "0000000000000000") == 0)
		return 4;
	end(&h);
	return 0;
}

static void capabilities_do_without_root(void **state)
{
	(void)state;
	char dir[32], path[64];
	int status;
	test_mkdir(dir);
	snprintf(path, sizeof(path), "%s/prog", dir);
	test_file(path, "closed");
	assert_int_equal(chmod(path, 0700), 0);
	struct mapped child = mapped_start(path, NULL, NULL, NULL);
	assert_int_equal(unlink(path), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(ask_as_service(&child));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	mapped_end(&child);
	test_rmdir(dir);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "helper") == 0)
		_exit(be_opener());
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_errand_has_its_answer),
		cmocka_unit_test(a_flood_is_answered_one_by_one),
		cmocka_unit_test(many_mappings_come_in_several_packets),
		cmocka_unit_test(a_killed_opener_is_replaced),
		cmocka_unit_test(capabilities_do_without_root),
		cmocka_unit_test(a_dead_device_delays_nobody),
		cmocka_unit_test(when_all_are_stuck_everything_is_refused),
		cmocka_unit_test(an_opener_that_cannot_die_is_left_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
