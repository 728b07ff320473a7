// SPDX-License-Identifier: Apache-2.0
/*
 * The threads of a stopped process, walked over its own memory: by the step that the kernel runs, compiled as C, with tables
 * made of the files it has mapped. test_oracles.py stops processes, and asks eu-stack the same of the same stop.
 *
 *	walk_stopped PID      each line on stdin asks once more
 *
 * An answer is what eu-stack prints, and how each stack ended; "." after the last thread:
 *
 *	TID 4711 complete
 *	#0 0x55d0c8a01234
 *	.
 */
#include "model/ids.h"
#include "model/unwind_pack.h"
#include "model/unwind_step.h"
#include "query/quality.h"
#include "support_unwind.h"
#include "symbol/table_cache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define MAX_FRAMES  512u
#define TABLE_BYTES (256u << 20)

struct cam_step_env {
	pid_t pid;
	struct cam_table_cache *tables;
	struct cam_unwind_image image;
	struct cam_unwind_chunk chunks[CAM_UNWIND_MAX_CHUNKS];
};

static const struct cam_unwind_block *cam_step_block(struct cam_step_env *e, __u32 number)
{
	return cam_table_cache_block(e->tables, number);
}

static const struct cam_unwind_file *cam_step_file(struct cam_step_env *e, __u32 number)
{
	return cam_table_cache_find(e->tables, number);
}

static const struct cam_unwind_image *cam_step_image(struct cam_step_env *e)
{
	return &e->image;
}

static const struct cam_unwind_chunk *cam_step_chunk(struct cam_step_env *e, __u32 k)
{
	return k < e->image.n_chunks ? &e->chunks[k] : NULL;
}

static long cam_step_read(struct cam_step_env *e, void *to, __u32 bytes, __u64 address)
{
	struct iovec here = {to, bytes},
		     there = {(void *)address, bytes}; /* NOLINT: another process's */
	return process_vm_readv(e->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

static int cam_step_after_call(struct cam_step_env *e, __u64 address)
{
	__u8 before[7];
	return !cam_step_read(e, before, sizeof(before), address - sizeof(before)) &&
	       cam_step_is_call(before);
}

/* What went wrong is a fault of the test or of the host. */
static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static int no_piece(void *arg, const struct cam_ehframe_piece *piece)
{
	(void)arg;
	(void)piece;
	return 0;
}

/* The registers of a thread that is stopped, and stays so. */
static struct user_regs_struct registers(pid_t tid)
{
	struct user_regs_struct r;
	int status;
	must(ptrace(PTRACE_SEIZE, tid, 0, 0) == 0, "seize");
	must(waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status), "wait");
	must(ptrace(PTRACE_GETREGS, tid, 0, &r) == 0, "registers");
	must(ptrace(PTRACE_DETACH, tid, 0, 0) == 0, "detach");
	return r;
}

static void walk_thread(struct cam_step_env *e, const struct tell *files, pid_t tid)
{
	struct user_regs_struct r = registers(tid);
	struct cam_step s = {
		.ip = r.rip, .sp = r.rsp, .bp = r.rbp, .exact = 1, .bp_known = 1, .leaf = 1};
	enum cam_stack_end end = CAM_STACK_UNKNOWN;
	uint64_t frames[MAX_FRAMES];
	uint32_t n = 0;
	while (end == CAM_STACK_UNKNOWN && n < MAX_FRAMES) {
		frames[n++] = s.ip;
		end = cam_step_up(e, &s);
		if (end != CAM_STACK_PENDING)
			continue;
		struct cam_bytes b = tell_open(files->path[s.file]);
		must(cam_table_cache_read(e->tables, s.file, &b, no_piece, NULL) == 0, "table");
		tell_close(&b);
		end = cam_step_up(e, &s);
	}
	printf("TID %d %s%s\n", tid, cam_stack_end_key(end), s.guessed ? " guessed" : "");
	for (uint32_t i = 0; i < n; i++)
		printf("#%u 0x%llx\n", i, (unsigned long long)frames[i]);
}

static void walk_process(struct cam_step_env *e, struct tell *files)
{
	struct cam_unwind_mapping maps[CAM_UNWIND_MAX_MAPS];
	size_t n = tell_maps(files, e->pid, maps);
	must(cam_unwind_pack_image(maps, n, &e->image, e->chunks) == 0, "mappings");
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", e->pid);
	DIR *threads = opendir(path);
	must(threads != NULL, path);
	for (const struct dirent *d = readdir(threads); d; d = readdir(threads))
		if (d->d_name[0] != '.')
			walk_thread(e, files, (pid_t)strtol(d->d_name, NULL, 10));
	closedir(threads);
	puts(".");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct cam_step_env e;
	static struct tell files;
	char line[16];
	must(argc == 2, "usage: walk_stopped PID");
	e.pid = (pid_t)strtol(argv[1], NULL, 10);
	e.tables = cam_table_cache_new(TABLE_BYTES);
	must(e.tables != NULL, "tables");
	while (fgets(line, sizeof(line), stdin))
		walk_process(&e, &files);
	cam_table_cache_free(e.tables);
	return 0;
}
