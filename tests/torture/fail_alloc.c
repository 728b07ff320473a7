// SPDX-License-Identifier: Apache-2.0
/* For LD_PRELOAD, under fail_nth: counts the allocations of a program, and makes those fail that the file $TORTURE asks
 * for. That is mapped at the start, since helper processes may not open anything later. */
#include "torture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t boundary, size_t bytes);

static struct torture *torture;

/* The first object is the program. */
static int note_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct torture *t = arg;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			t->text_begin = info->dlpi_addr + p->p_vaddr;
			t->text_end = t->text_begin + p->p_memsz;
		}
	}
	return 1;
}

static void begin(void)
{
	const char *path = getenv("TORTURE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof *torture, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED) {
		dl_iterate_phdr(note_text, p);
		torture = p;
		getpgid(TORTURE_BEGUN);
	}
}

/* The C library's, which calls main(): the loader is done then, and with it what libraries do for themselves. */
int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
		      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
		      void *stack_end)
{
	__typeof__(__libc_start_main) *real;
	*(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
	begin();
	return real(program, argc, argv, init, fini, rtld_fini, stack_end);
}

/* Its caller's frames begin where this one's does. What lies above a stack is the environment, or the thread's own memory. */
static int fails(const void *frame)
{
	if (!torture || !torture_fails(torture, TORTURE_ALLOC, 0, frame, 256))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t bytes)
{
	return fails(__builtin_frame_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return fails(__builtin_frame_address(0)) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails(__builtin_frame_address(0)) ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t boundary, size_t bytes)
{
	return fails(__builtin_frame_address(0)) ? NULL : __libc_memalign(boundary, bytes);
}

int posix_memalign(void **to, size_t boundary, size_t bytes)
{
	void *p = fails(__builtin_frame_address(0)) ? NULL : __libc_memalign(boundary, bytes);
	if (p)
		*to = p;
	return p ? 0 : ENOMEM;
}
