// SPDX-License-Identifier: Apache-2.0
/* For LD_PRELOAD: a disk with errors. The first byte of the file $FAIL_IO, which the test writes, says when: '1' the next
 * write or sync of a file fails with EIO, and then it is '0'; 'w' all writes do, 's' all syncs, 'a' both; 'h' the syncs of helper processes; 'l' syncs take three seconds; 'r' nothing can be
 * written, made, renamed or removed: EROFS, as of a file system that its kernel has turned read-only. It is mapped at the
 * start, since helper processes may not open anything later. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic char *order;
static bool is_helper;

__attribute__((constructor)) static void map_order(int argc, char **argv)
{
	is_helper = argc > 1 && !strcmp(argv[1], "helper");
	const char *path = getenv("FAIL_IO");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		order = p;
	if (fd >= 0)
		close(fd);
}

static bool fails(char kind)
{
	char once = '1';
	if (!order ||
	    (!atomic_compare_exchange_strong(order, &once, '0') && once != kind && once != 'a'))
		return false;
	errno = EIO;
	return true;
}

static bool is_read_only(void)
{
	if (!order || *order != 'r')
		return false;
	errno = EROFS;
	return true;
}

/* The program's: files may be large, so its real name is pwrite64. */
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	return is_read_only() || fails('w') ? -1 : syscall(SYS_pwrite64, fd, bytes, n, at);
}

static void be_slow(void)
{
	if (order && *order == 'l')
		sleep(3);
}

int fdatasync(int fd)
{
	be_slow();
	return fails('s') || (is_helper && fails('h')) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	be_slow();
	return fails('s') ? -1 : (int)syscall(SYS_fsync, fd);
}

int ftruncate(int fd, off_t size)
{
	return is_read_only() ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (flags & O_CREAT && is_read_only())
		return -1;
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (is_read_only())
		return -1;
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int unlinkat(int dir, const char *path, int flags)
{
	return is_read_only() ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags);
}
