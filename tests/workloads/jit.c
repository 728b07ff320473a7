// SPDX-License-Identifier: Apache-2.0
/*
 * A compiler at run time, as far as a profiler can tell: functions in anonymous memory, with frame
 * pointers, told of in a perf map or a jitdump.
 *
 *	jit map|dump|none|memfd SECONDS [NAME...]
 *
 * Each NAME runs for SECONDS: a spin() called by an outer(), told of as NAME_spin and NAME_outer. They
 * are all made at the same two addresses, one after the other. Then: the map's name goes, and so does the
 * process. With MANY in the environment that many other functions are told of first. With LATE the map's lines come only at the end; with PREPARED what is
 * there already is left as it is (whatever it may be).
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef void code_fn(const volatile int *stop, void *spin);

/* push rbp; mov rbp,rsp; 1: dec counter; look at *stop now and then; pop rbp; ret */
static const uint8_t spin_code[] = {
	0x55, 0x48, 0x89, 0xe5,	      /* push %rbp; mov %rsp,%rbp */
	0xb9, 0x00, 0x00, 0x10, 0x00, /* mov $0x100000,%ecx */
	0xff, 0xc9, 0x75, 0xfc,	      /* dec %ecx; jnz -4 */
	0x5d, 0xc3,		      /* pop %rbp; ret */
};
/* outer(stop, spin): calls spin until *stop. */
static const uint8_t outer_code[] = {
	0x55, 0x48, 0x89, 0xe5,	      /* push %rbp; mov %rsp,%rbp */
	0x57, 0x56,		      /* push %rdi; push %rsi */
	0xff, 0xd6,		      /* call *%rsi */
	0x5e, 0x5f,		      /* pop %rsi; pop %rdi */
	0x83, 0x3f, 0x00, 0x74, 0xf5, /* cmpl $0,(%rdi); je back */
	0x90, 0x5d, 0xc3,	      /* nop; pop %rbp; ret */
};

static volatile int stop;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_alarm(int sig)
{
	(void)sig;
	stop = 1;
}

struct out {
	int is_dump;
	FILE *file;
	char path[64];
	char late[4096];
};

static void put_dump_header(FILE *f)
{
	struct {
		uint32_t magic, version, bytes, machine, pad, pid;
		uint64_t time, flags;
	} h = {0x4a695444, 1, sizeof(h), EM_X86_64, 0, (uint32_t)getpid(), now_ns(), 0};
	fwrite(&h, sizeof(h), 1, f);
}

static void open_out(struct out *o, const char *how)
{
	o->is_dump = strcmp(how, "dump") == 0;
	snprintf(o->path, sizeof(o->path), o->is_dump ? "/tmp/jit-%d.dump" : "/tmp/perf-%d.map",
		 (int)getpid());
	if (strcmp(how, "none") == 0 || getenv("PREPARED"))
		return;
	o->file = fopen(o->path, "w+");
	if (!o->file)
		exit(1);
	if (!o->is_dump) {
		unsigned long many = getenv("MANY") ? strtoul(getenv("MANY"), NULL, 10) : 0;
		for (unsigned long i = 0; i < many; i++)
			fprintf(o->file, "%lx 20 other_%lu\n", 0x10000000 + 32 * i, i);
		fflush(o->file);
		return;
	}
	put_dump_header(o->file);
	fflush(o->file);
	/* The mark by which a profiler hears of it. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(o->file), 0) == MAP_FAILED)
		exit(1);
}

static void tell(struct out *o, const void *code, size_t bytes, const char *name)
{
	static uint64_t index;
	struct {
		uint32_t id, total;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, bytes, index;
	} load = {0,
		  (uint32_t)(sizeof(load) + strlen(name) + 1 + bytes),
		  now_ns(),
		  (uint32_t)getpid(),
		  (uint32_t)syscall(SYS_gettid),
		  (uintptr_t)code,
		  (uintptr_t)code,
		  bytes,
		  index++};
	if (!o->file)
		return;
	if (o->is_dump) {
		fwrite(&load, sizeof(load), 1, o->file);
		fwrite(name, strlen(name) + 1, 1, o->file);
		fwrite(code, bytes, 1, o->file);
	} else if (getenv("LATE")) {
		size_t n = strlen(o->late);
		snprintf(o->late + n, sizeof(o->late) - n, "%lx %zx %s\n", (unsigned long)code,
			 bytes, name);
	} else {
		fprintf(o->file, "%lx %zx %s\n", (unsigned long)code, bytes, name);
	}
	fflush(o->file);
}

static uint8_t *make_memory(const char *how)
{
	int fd = strcmp(how, "memfd") == 0 ? memfd_create("doublemapper", 0) : -1;
	if (fd >= 0 && ftruncate(fd, 8192))
		exit(1);
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (p == MAP_FAILED)
		exit(1);
	return p;
}

static void run(struct out *o, uint8_t *code, const char *name, double seconds)
{
	char full[256];
	memcpy(code, spin_code, sizeof(spin_code));
	memcpy(code + 4096, outer_code, sizeof(outer_code));
	snprintf(full, sizeof(full), "%s_spin", name);
	tell(o, code, sizeof(spin_code), full);
	snprintf(full, sizeof(full), "%s_outer", name);
	tell(o, code + 4096, sizeof(outer_code), full);
	printf("%s %lu\n", name, (unsigned long)now_ns());
	fflush(stdout);
	/* Busy for a quarter of the time: several of these run at once. */
	uint64_t until = now_ns() + (uint64_t)(seconds * 1e9);
	struct itimerval busy = {.it_value = {0, 10000}};
	while (now_ns() < until) {
		stop = 0;
		setitimer(ITIMER_REAL, &busy, NULL);
		((code_fn *)(void *)(code + 4096))(&stop, code);
		usleep(30000);
	}
}

int main(int argc, char **argv)
{
	struct out out = {0};
	if (argc < 4)
		return 2;
	signal(SIGALRM, on_alarm);
	open_out(&out, argv[1]);
	uint8_t *code = make_memory(argv[1]);
	for (int i = 3; i < argc; i++)
		run(&out, code, argv[i], strtod(argv[2], NULL));
	if (out.file) {
		fputs(out.late, out.file);
		fclose(out.file);
		unlink(out.path);
	}
	printf("end %lu\n", (unsigned long)now_ns());
	return 0;
}
