// SPDX-License-Identifier: Apache-2.0
/* The store's I/O against a real directory and the kernel's own answers. */
#include "store/io.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char dir[64];
	struct cam_io *io;
};

static char *path_of(const struct fixture *f, const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	strcpy(f->dir, "/tmp/perfcam-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(cam_io_posix_open(f->dir, false, &f->io), 0);
	*state = f;
	return 0;
}

static int remove_file(void *arg, const char *name)
{
	return unlink(path_of(arg, name));
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	chmod(f->dir, 0700);
	f->io->ops->list(f->io, remove_file, f);
	cam_io_posix_close(f->io);
	int err = rmdir(f->dir);
	free(f);
	return err;
}

static struct cam_file *open_ok(struct fixture *f, const char *name, enum cam_io_mode mode)
{
	struct cam_file *file = NULL;
	assert_int_equal(f->io->ops->open(f->io, name, mode, &file), 0);
	return file;
}

static int open_error(struct fixture *f, const char *name, enum cam_io_mode mode)
{
	struct cam_file *file = NULL;
	int err = f->io->ops->open(f->io, name, mode, &file);
	assert_null(file);
	return err;
}

static void write_read_size(void **state)
{
	struct fixture *f = *state;
	struct cam_file *file = open_ok(f, "a", CAM_IO_CREATE);
	char room[16] = {0};
	assert_int_equal(file->ops->pwrite(file, "world", 5, 6), 0);
	assert_int_equal(file->ops->pwrite(file, "hello ", 6, 0), 0);
	assert_int_equal(file->ops->size(file), 11);
	assert_int_equal(file->ops->fdatasync(file), 0);
	assert_int_equal(file->ops->pread(file, room, sizeof(room), 0), 11);
	assert_string_equal(room, "hello world");
	assert_int_equal(file->ops->pread(file, room, 2, 9), 2);
	assert_int_equal(file->ops->pread(file, room, 2, 11), 0);
	file->ops->close(file);

	FILE *plain = fopen(path_of(f, "a"), "r");
	assert_non_null(fgets(room, sizeof(room), plain));
	fclose(plain);
	assert_string_equal(room, "hello world");
	assert_int_equal(f->io->ops->sync_dir(f->io), 0);
}

static void modes(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(open_error(f, "a", CAM_IO_READ), -ENOENT);
	struct cam_file *file = open_ok(f, "a", CAM_IO_CREATE);
	file->ops->close(file);
	assert_int_equal(open_error(f, "a", CAM_IO_CREATE), -EEXIST);
	file = open_ok(f, "a", CAM_IO_WRITE);
	assert_int_equal(file->ops->pwrite(file, "x", 1, 0), 0);
	file->ops->close(file);
	file = open_ok(f, "a", CAM_IO_READ);
	assert_int_equal(file->ops->size(file), 1);
	assert_int_equal(file->ops->pwrite(file, "y", 1, 0), -EBADF);
	file->ops->close(file);
	file = open_ok(f, "b", CAM_IO_WRITE);
	file->ops->close(file);
}

/* Nothing but regular files, without waiting: no link, FIFO, directory or strange name. */
static void refusals(void **state)
{
	struct fixture *f = *state;
	struct cam_file *file = open_ok(f, "real", CAM_IO_CREATE);
	file->ops->close(file);
	assert_int_equal(symlink("real", path_of(f, "link")), 0);
	assert_int_equal(mkfifo(path_of(f, "fifo"), 0600), 0);
	for (enum cam_io_mode mode = CAM_IO_READ; mode <= CAM_IO_WRITE; mode++) {
		assert_true(open_error(f, "link", mode) < 0);
		assert_true(open_error(f, "fifo", mode) < 0);
		assert_int_equal(open_error(f, "", mode), -EINVAL);
		assert_int_equal(open_error(f, ".", mode), -EINVAL);
		assert_int_equal(open_error(f, "..", mode), -EINVAL);
		assert_int_equal(open_error(f, ".x", mode), -EINVAL);
		assert_int_equal(open_error(f, "../real", mode), -EINVAL);
		assert_int_equal(open_error(f, "/etc/passwd", mode), -EINVAL);
	}
	assert_int_equal(open_error(f, "link", CAM_IO_READ), -ELOOP);
	assert_int_equal(open_error(f, "fifo", CAM_IO_READ), -EINVAL);
	assert_int_equal(mkdir(path_of(f, "sub"), 0700), 0);
	assert_int_equal(open_error(f, "sub", CAM_IO_READ), -EINVAL);
	assert_int_equal(rmdir(path_of(f, "sub")), 0);
	assert_int_equal(f->io->ops->rename(f->io, "real", "../real", true), -EINVAL);
	assert_int_equal(f->io->ops->unlink(f->io, "../nothing"), -EINVAL);
	assert_int_equal(f->io->ops->unlink(f->io, "nothing"), -ENOENT);
}

static void rename_never_replaces_unasked(void **state)
{
	struct fixture *f = *state;
	struct cam_io *io = f->io;
	struct cam_file *file = open_ok(f, "a", CAM_IO_CREATE);
	assert_int_equal(file->ops->pwrite(file, "a", 1, 0), 0);
	file->ops->close(file);
	file = open_ok(f, "b", CAM_IO_CREATE);
	assert_int_equal(io->ops->rename(io, "a", "b", false), -EEXIST);
	assert_int_equal(file->ops->size(file), 0);
	assert_int_equal(access(path_of(f, "a"), F_OK), 0);
	assert_int_equal(io->ops->rename(io, "a", "c", false), 0);
	assert_int_equal(access(path_of(f, "a"), F_OK), -1);
	assert_int_equal(io->ops->rename(io, "c", "b", true), 0);
	/* Who holds the old file keeps it. */
	assert_int_equal(file->ops->size(file), 0);
	file->ops->close(file);
	file = open_ok(f, "b", CAM_IO_READ);
	assert_int_equal(file->ops->size(file), 1);
	file->ops->close(file);
	assert_int_equal(io->ops->rename(io, "nothing", "d", false), -ENOENT);
}

static int collect(void *arg, const char *name)
{
	char *all = arg;
	strcat(all, name);
	strcat(all, " ");
	return 0;
}

static int stop_at_once(void *arg, const char *name)
{
	(void)name;
	++*(int *)arg;
	return 42;
}

static void list(void **state)
{
	struct fixture *f = *state;
	char all[64] = "";
	int calls = 0;
	fclose(fopen(path_of(f, ".hidden"), "w"));
	fclose(fopen(path_of(f, "one"), "w"));
	assert_int_equal(f->io->ops->list(f->io, collect, all), 0);
	assert_string_equal(all, "one ");
	fclose(fopen(path_of(f, "two"), "w"));
	assert_int_equal(f->io->ops->list(f->io, stop_at_once, &calls), 42);
	assert_int_equal(calls, 1);
	assert_int_equal(unlink(path_of(f, ".hidden")), 0);
}

/* A child takes the lock, says so, and waits to be killed. */
static pid_t lock_in_child(struct fixture *f)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct cam_file *lock;
		int holder;
		if (f->io->ops->lock(f->io, "lock", &lock, &holder) == 0 &&
		    write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void lock(void **state)
{
	struct fixture *f = *state;
	struct cam_io *io = f->io;
	struct cam_file *mine = NULL, *other = NULL;
	int holder = -1, status;
	pid_t child = lock_in_child(f);
	assert_int_equal(io->ops->lock(io, "lock", &mine, &holder), -EWOULDBLOCK);
	assert_int_equal(holder, child);
	/* Death by any cause frees it, and the new holder's pid replaces the longer or shorter one. */
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(io->ops->lock(io, "lock", &mine, &holder), 0);
	/* By the open file, not by the process: twice is refused also within one process. */
	assert_int_equal(io->ops->lock(io, "lock", &other, &holder), -EWOULDBLOCK);
	assert_int_equal(holder, getpid());
	mine->ops->close(mine);
	assert_int_equal(io->ops->lock(io, "lock", &other, &holder), 0);
	other->ops->close(other);
}

/* What those who race for the lock have in common. */
struct race {
	_Atomic int inside;
	_Atomic unsigned held, refused, together;
};

#define RACERS 6
#define TIMES  50 /* that each has it */

/* Tries again and again; one in eight of those who get it dies with it. */
static pid_t start_racer(struct fixture *f, struct race *race, unsigned seed)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	for (unsigned i = 0; i < TIMES;) {
		struct cam_file *mine = NULL;
		int holder = 0;
		int err = f->io->ops->lock(f->io, "lock", &mine, &holder);
		if (err == -EWOULDBLOCK) {
			race->refused++;
			usleep(10);
			continue;
		}
		if (err)
			_exit(2);
		race->together += atomic_exchange(&race->inside, 1) != 0;
		race->held++;
		i++;
		usleep(20);
		atomic_store(&race->inside, 0);
		if (rand_r(&seed) % 8 == 0)
			kill(getpid(), SIGKILL);
		mine->ops->close(mine);
	}
	_exit(0);
}

/* Six at once, who leave or are killed, and others in the place of the dead: never two inside, and in the end it is free. */
static void lock_of_many(void **state)
{
	struct fixture *f = *state;
	struct race *race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(race, MAP_FAILED);
	unsigned seed = (unsigned)getpid(), killed = 0, running = 0;
	for (; running < RACERS; running++)
		start_racer(f, race, seed++);
	while (running) {
		int status;
		assert_true(wait(&status) > 0);
		running--;
		if (WIFSIGNALED(status) && ++killed < 100) {
			start_racer(f, race, seed++);
			running++;
		} else if (!WIFSIGNALED(status)) {
			assert_int_equal(status, 0);
		}
	}
	print_message("# the lock was had %u times, refused %u times, %u died with it\n",
		      race->held, race->refused, killed);
	assert_int_equal(race->together, 0);
	assert_true(race->held > 100 && race->refused > 100 && killed > 10);
	struct cam_file *mine;
	int holder;
	assert_int_equal(f->io->ops->lock(f->io, "lock", &mine, &holder), 0);
	mine->ops->close(mine);
	munmap(race, sizeof(*race));
}

static void lock_is_of_the_named_file(void **state)
{
	struct fixture *f = *state;
	struct cam_io *io = f->io;
	struct cam_file *first = NULL, *second = NULL, *third = NULL;
	int holder;
	assert_int_equal(io->ops->lock(io, "lock", &first, &holder), 0);
	assert_int_equal(unlink(path_of(f, "lock")), 0);
	assert_int_equal(io->ops->lock(io, "lock", &second, &holder), 0);
	assert_int_equal(io->ops->lock(io, "lock", &third, &holder), -EWOULDBLOCK);
	second->ops->close(second);
	first->ops->close(first);
}

/* From here on, as on a file system that has neither RENAME_NOREPLACE nor O_TMPFILE. */
static void become_old(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(100);
}

/* What went wrong, as an exit status; 0: nothing. */
static int try_fallbacks(struct fixture *f)
{
	struct cam_io *io = f->io;
	struct cam_file *tmp = NULL;
	become_old();
	if (renameat2(AT_FDCWD, path_of(f, "a"), AT_FDCWD, f->dir, RENAME_NOREPLACE) != -1 ||
	    errno != EINVAL || open("/tmp", O_TMPFILE | O_RDWR, 0600) != -1)
		return 1;
	if (io->ops->rename(io, "a", "b", false) != -EEXIST || access(path_of(f, "a"), F_OK))
		return 2;
	if (io->ops->rename(io, "a", "c", false) || !access(path_of(f, "a"), F_OK) ||
	    access(path_of(f, "c"), F_OK))
		return 3;
	if (io->ops->rename(io, "a", "d", false) != -ENOENT)
		return 4;
	if (cam_file_temporary(&tmp) || tmp->ops->pwrite(tmp, "x", 1, 0) ||
	    tmp->ops->size(tmp) != 1)
		return 5;
	tmp->ops->close(tmp);
	return 0;
}

static void fallbacks(void **state)
{
	struct fixture *f = *state;
	int status;
	fclose(fopen(path_of(f, "a"), "w"));
	fclose(fopen(path_of(f, "b"), "w"));
	pid_t pid = fork();
	if (pid == 0)
		_exit(try_fallbacks(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void directories(void **state)
{
	struct fixture *f = *state;
	struct cam_io *io = NULL;
	struct stat st;
	char sub[80];
	snprintf(sub, sizeof(sub), "%s/sub", f->dir);
	assert_int_equal(cam_io_posix_open(sub, false, &io), -ENOENT);
	assert_int_equal(cam_io_posix_open(sub, true, &io), 0);
	assert_int_equal(stat(sub, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	const struct group *perfcam = getgrnam("perfcam");
	assert_int_equal(st.st_gid, perfcam ? perfcam->gr_gid : getegid());
	cam_io_posix_close(io);
	assert_int_equal(cam_io_posix_open(sub, true, &io), 0);
	cam_io_posix_close(io);
	static const mode_t writable[] = {0770, 0707, 01777, 0720};
	for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++) {
		assert_int_equal(chmod(sub, writable[i]), 0);
		assert_int_equal(cam_io_posix_open(sub, true, &io), -EPERM);
	}
	assert_int_equal(chmod(sub, 0755), 0);
	assert_int_equal(cam_io_posix_open(sub, false, &io), 0);
	cam_io_posix_close(io);
	assert_int_equal(rmdir(sub), 0);
	fclose(fopen(path_of(f, "plain"), "w"));
	assert_int_equal(cam_io_posix_open(path_of(f, "plain"), false, &io), -ENOTDIR);
	cam_io_posix_close(NULL);
}

#define GROUP 54321
#define USER  54322

/* As another user: what opening the directory, and a file in it, answers. */
static int read_as(const char *dir, gid_t group, const char *name)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct cam_io *io;
		struct cam_file *file;
		char room[3];
		if (setgroups(0, NULL) || setgid(group) || setuid(USER))
			_exit(100);
		int err = cam_io_posix_open(dir, false, &io);
		if (!err)
			err = io->ops->open(io, name, CAM_IO_READ, &file);
		if (!err && file->ops->pread(file, room, 3, 0) != 3)
			err = -EIO;
		/* But change nothing. */
		struct cam_file *other;
		if (!err && (io->ops->open(io, name, CAM_IO_WRITE, &other) != -EACCES ||
			     io->ops->open(io, "new", CAM_IO_CREATE, &other) != -EACCES ||
			     io->ops->unlink(io, name) != -EACCES))
			err = -EBADMSG;
		_exit(-err);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* The directory's group reads, whatever the umask of the writer; nobody else does. */
static void groups(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	struct cam_io *io;
	mode_t was = umask(077);
	assert_int_equal(chmod(f->dir, 0750), 0);
	assert_int_equal(chown(f->dir, (uid_t)-1, GROUP), 0);
	assert_int_equal(cam_io_posix_open(f->dir, true, &io), 0);
	static const enum cam_io_mode modes[] = {CAM_IO_CREATE, CAM_IO_WRITE};
	static const char *const names[] = {"created", "written"};
	for (unsigned i = 0; i < 2; i++) {
		struct cam_file *file;
		assert_int_equal(io->ops->open(io, names[i], modes[i], &file), 0);
		assert_int_equal(file->ops->pwrite(file, "abc", 3, 0), 0);
		file->ops->close(file);
		assert_int_equal(stat(path_of(f, names[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
		assert_int_equal(st.st_gid, GROUP);
		assert_int_equal(read_as(f->dir, GROUP, names[i]), 0);
		assert_int_equal(read_as(f->dir, USER, names[i]), -EACCES);
	}
	/* What is there already keeps its mode. */
	struct cam_file *file;
	assert_int_equal(chmod(path_of(f, "written"), 0600), 0);
	assert_int_equal(io->ops->open(io, "written", CAM_IO_WRITE, &file), 0);
	file->ops->close(file);
	assert_int_equal(stat(path_of(f, "written"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(io->ops->open(io, "written", CAM_IO_CREATE, &file), -EEXIST);
	cam_io_posix_close(io);
	umask(was);
}

static void space(void **state)
{
	struct fixture *f = *state;
	uint64_t total = 0, available = 0;
	struct statvfs v;
	assert_int_equal(f->io->ops->space(f->io, &total, &available), 0);
	assert_int_equal(statvfs(f->dir, &v), 0);
	assert_int_equal(total, (uint64_t)v.f_blocks * v.f_frsize);
	assert_true(available <= total && available > 0);
}

static void lone_files(void **state)
{
	(void)state;
	struct cam_file *file = NULL;
	char room[4];
	int ends[2];
	assert_int_equal(cam_file_temporary(&file), 0);
	assert_int_equal(file->ops->pwrite(file, "abc", 3, 1000), 0);
	assert_int_equal(file->ops->pread(file, room, 4, 999), 4);
	assert_memory_equal(room, "\0abc", 4);
	file->ops->close(file);

	assert_int_equal(cam_file_from_fd(open("/proc/self/exe", O_RDONLY), &file), 0);
	assert_int_equal(file->ops->pread(file, room, 4, 0), 4);
	assert_memory_equal(room, "\177ELF", 4);
	file->ops->close(file);
	assert_int_equal(pipe(ends), 0);
	file = NULL;
	assert_int_equal(cam_file_from_fd(ends[0], &file), -EINVAL);
	assert_null(file);
	/* Taken over also then. */
	assert_int_equal(close(ends[0]), -1);
	close(ends[1]);
	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(cam_file_temporary(&file), -ENOENT);
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(write_read_size, setup, teardown),
		cmocka_unit_test_setup_teardown(modes, setup, teardown),
		cmocka_unit_test_setup_teardown(refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(rename_never_replaces_unasked, setup, teardown),
		cmocka_unit_test_setup_teardown(list, setup, teardown),
		cmocka_unit_test_setup_teardown(lock, setup, teardown),
		cmocka_unit_test_setup_teardown(lock_of_many, setup, teardown),
		cmocka_unit_test_setup_teardown(lock_is_of_the_named_file, setup, teardown),
		cmocka_unit_test_setup_teardown(fallbacks, setup, teardown),
		cmocka_unit_test_setup_teardown(directories, setup, teardown),
		cmocka_unit_test_setup_teardown(groups, setup, teardown),
		cmocka_unit_test_setup_teardown(space, setup, teardown),
		cmocka_unit_test(lone_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
