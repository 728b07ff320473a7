// SPDX-License-Identifier: Apache-2.0
/* For LD_PRELOAD: a disk with errors. The first byte of the file $FAIL_IO, which the test writes, says when: '1' the next
 * write or sync of a file fails with EIO, and then it is '0'; 'w' all writes do, 's' all syncs, 'a' both. It is mapped at
 * the start, since helper processes may not open anything later. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic char *order;

__attribute__((constructor)) static void map_order(void)
{
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

/* The program's: files may be large, so its real name is pwrite64. */
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	return fails('w') ? -1 : syscall(SYS_pwrite64, fd, bytes, n, at);
}

int fdatasync(int fd)
{
	return fails('s') ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	return fails('s') ? -1 : (int)syscall(SYS_fsync, fd);
}
