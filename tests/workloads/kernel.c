// SPDX-License-Identifier: Apache-2.0
/* kernel SECONDS: nearly all of its CPU time is read() of /dev/zero: the kernel's read_zero(), below
 * zero_work(). */
#include "burn.h"

#include <fcntl.h>
#include <sys/syscall.h>

/* The library's read() has no frame of its own: its caller would not be seen. */
ALWAYS_INLINE long read_here(int fd, void *bytes, size_t n)
{
	long answer;
	__asm__ volatile("syscall"
			 : "=a"(answer)
			 : "0"((long)SYS_read), "D"((long)fd), "S"(bytes), "d"(n)
			 : "rcx", "r11", "memory");
	return answer;
}

KEEP int zero_work(int fd, uint64_t ns);

KEEP int zero_work(int fd, uint64_t ns)
{
	OWN_FRAME();
	static char page[1 << 18];
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	long n = 1;
	while (n > 0 && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		n = read_here(fd, page, sizeof(page));
	return n <= 0;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);
	return argc < 2 || fd < 0 || zero_work(fd, seconds_of(argv[1]));
}
