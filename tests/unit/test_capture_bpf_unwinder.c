// SPDX-License-Identifier: Apache-2.0
/* Tables, images and processes in the kernel's maps, looked at through libbpf. Needs root. */
#include "capture/bpf_blocks.h"
#include "capture/bpf_unwinder.h"
#include "model/ids.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define BUDGET (10u << 20) /* half of it is maps of a fixed size */

struct world {
	struct cam_bpf bpf;
	struct cam_unwinder *u;
	uint64_t now_ns;
};

static void start(struct world *w, size_t max_bytes)
{
	const struct cam_bpf_options o = {
		.max_cpus = 2,
		.config = {.stack_bytes = 1016, .kernel_stacks = 1},
		.best = CAM_BPF_LOOP,
		.worst = CAM_BPF_PLAIN_LOOP,
	};
	struct cam_bpf_refusal why;
	assert_int_equal(cam_bpf_load(&o, &w->bpf, &why), 0);
	assert_int_equal(cam_bpf_unwinder_new(&w->bpf, cam_kernel_host(), max_bytes, &w->u), 0);
	w->now_ns = cam_kernel_host()->now_ns(cam_kernel_host());
}

static void stop(struct world *w)
{
	cam_bpf_unwinder_free(w->u);
	cam_bpf_unload(&w->bpf);
}

static void pass(struct world *w, uint64_t ns)
{
	w->now_ns += ns;
	assert_int_equal(w->u->flush(w->u, w->now_ns), 0);
}

static const struct cam_unwind_rule one_rule = {CAM_CFA_RSP, CAM_RBP_SAME, 0, 8};

/* A table of n rows, 16 bytes apart. */
static int tell_rows(struct world *w, uint32_t file, uint32_t n)
{
	struct cam_unwind_row rows[1024];
	int err = w->u->table_begin(w->u, file);
	for (uint32_t at = 0; !err && at < n; at += 1024) {
		uint32_t k = n - at < 1024 ? n - at : 1024;
		for (uint32_t i = 0; i < k; i++)
			rows[i] = (struct cam_unwind_row){(at + i) * 16, 0};
		err = w->u->table_rows(w->u, file, &one_rule, at == 0, rows, k);
	}
	return err ? err : w->u->table_end(w->u, file);
}

static struct cam_unwind_file entry_of(const struct world *w, uint32_t file)
{
	struct cam_unwind_file f;
	assert_int_equal(bpf_map_lookup_elem(cam_bpf_map_fd(&w->bpf, "cam_files"), &file, &f), 0);
	return f;
}

static void note_use(const struct world *w, uint32_t block, uint64_t at_ns)
{
	uint32_t s = (uint32_t)(at_ns / SECOND);
	assert_int_equal(
		bpf_map_update_elem(cam_bpf_map_fd(&w->bpf, "cam_used"), &block, &s, BPF_ANY), 0);
}

/* A table is there or not, for user space and the kernel alike. */
static void a_table_is_shown_and_hidden(void **state)
{
	(void)state;
	struct world w;
	start(&w, 0);
	assert_int_equal(w.u->table_begin(w.u, 5), 0);
	assert_false(w.u->table_has(w.u, 5));
	assert_int_equal(entry_of(&w, 5).levels, 0);
	assert_int_equal(tell_rows(&w, 5, 3000), 0);
	assert_true(w.u->table_has(w.u, 5));
	struct cam_unwind_file f = entry_of(&w, 5);
	assert_int_equal(f.levels, 1);
	assert_int_equal(f.n_rules, 1);
	assert_true(f.root > 0);
	/* Rows that descend: nothing of it is kept, and what was there went at the beginning. */
	struct cam_unwind_row bad[] = {{32, 0}, {16, 0}};
	assert_int_equal(w.u->table_begin(w.u, 5), 0);
	assert_int_equal(w.u->table_rows(w.u, 5, &one_rule, 1, bad, 2), -EBADMSG);
	assert_int_equal(w.u->table_end(w.u, 5), -EBADMSG);
	assert_false(w.u->table_has(w.u, 5));
	assert_int_equal(entry_of(&w, 5).levels, 0);
	assert_int_equal(w.u->stats(w.u).tables, 0);
	assert_int_equal(w.u->table_begin(w.u, CAM_WIRE_MAX_FILES), -E2BIG);
	assert_int_equal(w.u->table_rows(w.u, 6, &one_rule, 1, NULL, 0), -EINVAL);
	stop(&w);
}

/* What was shown is not written again for 2 s, and then it is. */
static void blocks_cool_before_they_are_used_again(void **state)
{
	(void)state;
	struct world w;
	start(&w, 0);
	uint32_t old[3], n_old = 0;
	assert_int_equal(tell_rows(&w, 1, 10), 0);
	struct cam_unwind_file f = entry_of(&w, 1);
	old[n_old++] = f.root;
	old[n_old++] = f.rules[0];
	w.u->table_forget(w.u, 1);
	uint64_t gone_ns = w.now_ns;
	bool again = false;
	for (uint32_t file = 2; file < 60 && !again; file++) {
		assert_int_equal(tell_rows(&w, file, 10), 0);
		f = entry_of(&w, file);
		for (uint32_t i = 0; i < n_old; i++)
			again |= f.root == old[i] || f.rules[0] == old[i];
		if (again)
			assert_true(w.now_ns - gone_ns >= 2 * SECOND);
		pass(&w, SECOND / 2);
	}
	assert_true(again);
	stop(&w);
}

/* The kernel's own figures of all maps that this process holds; rings are not there. */
static size_t kernel_bytes(void)
{
	size_t sum = 0;
	DIR *d = opendir("/proc/self/fdinfo");
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		char path[300], line[256];
		size_t bytes = 0;
		bool is_map = false;
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			is_map |= strncmp(line, "map_type:", 9) == 0;
			if (strncmp(line, "memlock:", 8) == 0)
				bytes = strtoull(line + 8, NULL, 10);
		}
		if (f)
			fclose(f);
		sum += is_map ? bytes : 0;
	}
	closedir(d);
	return sum;
}

static void the_budget_holds(void **state)
{
	(void)state;
	size_t max = BUDGET;
	struct world w;
	start(&w, max);
	size_t without = kernel_bytes();
	uint32_t file = 0;
	/* Slabs come four at a time, in one call. */
	int err = tell_rows(&w, file++, 64 * 1024);
	assert_true(kernel_bytes() - without >= 4 * ((size_t)1 << 20));
	while (!err && file < 100)
		err = tell_rows(&w, file++, 64 * 1024); /* 66 blocks */
	assert_int_equal(err, -ENOSPC);			/* all are young */
	assert_false(w.u->table_has(w.u, file - 1));
	struct cam_unwinder_stats s = w.u->stats(w.u);
	assert_true(s.table_bytes + s.image_bytes <= max);
	assert_int_equal(s.tables, file - 1);
	assert_int_equal(s.refused, 1);
	/* Slabs take what we count, a page or two apart. */
	size_t slabs = kernel_bytes() - without;
	assert_true(slabs >= (size_t)(file - 1) * 66 * 4096);
	assert_true(slabs <= max);
	/* And all maps together what is said: of this test there are no rings. */
	assert_true(kernel_bytes() <= max);
	assert_true(kernel_bytes() <= s.table_bytes + s.image_bytes + (64u << 10));
	stop(&w);
}

static void the_longest_unused_goes(void **state)
{
	(void)state;
	struct world w;
	start(&w, BUDGET);
	uint32_t n = 0;
	while (!tell_rows(&w, n, 64 * 1024))
		n++;
	assert_true(n > 3);
	/* All but 1 and 2 were used 5 s ago; 2 before 1. */
	w.now_ns += 100 * SECOND;
	for (uint32_t i = 0; i < n; i++)
		note_use(&w, entry_of(&w, i).root,
			 w.now_ns - (i == 1   ? 20
				     : i == 2 ? 30
					      : 5) *
					    SECOND);
	pass(&w, 0);
	assert_false(w.u->table_has(w.u, 2));
	assert_int_equal(entry_of(&w, 2).levels, 0);
	for (uint32_t i = 3; i < n; i++)
		assert_true(w.u->table_has(w.u, i));
	assert_true(w.u->stats(w.u).evicted_tables > 0);
	/* There is room, but not before it has cooled. */
	int err = tell_rows(&w, n, 64 * 1024);
	assert_int_equal(err, -EAGAIN);
	pass(&w, 2 * SECOND);
	pass(&w, 2 * SECOND);
	assert_int_equal(tell_rows(&w, n, 64 * 1024), 0);
	stop(&w);
}

static bool lookup(const struct world *w, pid_t pid, struct cam_wire_process *out)
{
	return !bpf_map_lookup_elem(cam_bpf_map_fd(&w->bpf, "cam_processes"), &pid, out);
}

/* 200 mappings: four chunks, each found by its first start. */
static void images_are_kept_in_chunks(void **state)
{
	(void)state;
	struct world w;
	start(&w, 0);
	struct cam_unwind_mapping maps[CAM_UNWIND_MAX_MAPS + 1];
	for (uint32_t i = 0; i < CAM_UNWIND_MAX_MAPS + 1; i++)
		maps[i] = (struct cam_unwind_mapping){.start = 0x10000 * (i + 1ull),
						      .end = 0x10000 * (i + 1ull) + 0x1000,
						      .offset = 0x3000,
						      .file = i % 2 ? 9 : CAM_NONE};
	struct cam_unwind_process p = {.pid = 4242, .image = 7};
	assert_int_equal(w.u->process(w.u, &p, NULL, 0), -ENOENT);
	assert_int_equal(w.u->process(w.u, &p, maps, CAM_UNWIND_MAX_MAPS + 1), -E2BIG);
	assert_int_equal(w.u->process(w.u, &p, maps, 200), 0);
	assert_int_equal(w.u->process(w.u, &p, NULL, 0), 0);
	struct cam_wire_process entry;
	assert_true(lookup(&w, 4242, &entry));
	assert_int_equal(entry.image, 7);
	assert_int_equal(w.u->stats(w.u).image_bytes, 4 * 4096);

	int slabs = cam_bpf_map_fd(&w.bpf, "cam_slabs");
	uint32_t id = 0, slab = entry.block / 256, at = entry.block % 256;
	assert_int_equal(bpf_map_lookup_elem(slabs, &slab, &id), 0);
	int fd = bpf_map_get_fd_by_id(id);
	struct cam_wire_image head;
	struct cam_unwind_block rest;
	assert_int_equal(bpf_map_lookup_elem(fd, &at, &head), 0);
	assert_int_equal(head.image.n_chunks, 4);
	assert_int_equal(head.image.first[3], maps[192].start);
	assert_true(head.image.first[4] == ~0ull);
	assert_int_equal(head.chunk.start[63], maps[63].start);
	assert_int_equal(head.chunk.map[63].bias, maps[63].start - 0x3000);
	assert_int_equal(head.chunk.map[62].flags, CAM_UNWIND_NO_FILE);
	at = head.block[3] % 256;
	assert_int_equal(bpf_map_lookup_elem(fd, &at, &rest), 0);
	const struct cam_unwind_chunk *last = (const void *)&rest;
	assert_int_equal(last->start[7], maps[199].start);
	assert_true(last->start[8] == ~0ull);
	close(fd);

	/* Forgotten: the process leads nowhere from the next turn on. */
	w.u->image_forget(w.u, 7);
	assert_int_equal(w.u->process(w.u, &p, NULL, 0), -ENOENT);
	pass(&w, 3 * SECOND);
	assert_false(lookup(&w, 4242, &entry));
	stop(&w);
}

/* A child that waits for a byte, then does as `next` says, then waits again. */
static pid_t child(int *to, void (*next)(void))
{
	int p[2];
	char c;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0); /* an exec lets go of the others' ends */
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(p[1]);
		if (read(p[0], &c, 1) == 1 && next)
			next();
		while (read(p[0], &c, 1) > 0)
			;
		_exit(0);
	}
	close(p[0]);
	*to = p[1];
	return pid;
}

static void run_sleep(void)
{
	execl("/bin/sleep", "sleep", "60", (char *)NULL);
	_exit(1);
}

static bool comes_true(const struct world *w, pid_t pid, bool there)
{
	struct cam_wire_process entry;
	for (int i = 0; i < 5000; i++, usleep(1000))
		if (lookup(w, pid, &entry) == there)
			return true;
	return false;
}

/* A child has its parent's image before it runs; an exec takes it away, and so does the end. */
static void the_kernel_follows_processes(void **state)
{
	(void)state;
	struct world w;
	start(&w, 0);
	struct cam_unwind_mapping map = {.start = 0x1000, .end = 0x2000, .file = CAM_NONE};
	struct cam_unwind_process p = {.pid = getpid(), .image = 3};
	assert_int_equal(w.u->process(w.u, &p, &map, 1), 0);
	int to[2];
	pid_t a = child(&to[0], NULL), b = child(&to[1], run_sleep);
	struct cam_wire_process entry;
	assert_true(lookup(&w, a, &entry));
	assert_int_equal(entry.image, 3);
	assert_true(entry.start_ns > 0);
	assert_true(lookup(&w, b, &entry));
	assert_int_equal(write(to[1], "x", 1), 1);
	assert_true(comes_true(&w, b, false));
	assert_true(lookup(&w, a, &entry));
	/* Another that had its pid is not forgotten in its place. */
	w.u->process_forget(w.u, a, entry.start_ns + SECOND);
	assert_true(lookup(&w, a, &entry));
	close(to[0]);
	waitpid(a, NULL, 0);
	assert_true(comes_true(&w, a, false));
	w.u->process_forget(w.u, getpid(), 0);
	assert_false(lookup(&w, getpid(), &entry));
	kill(b, SIGKILL);
	waitpid(b, NULL, 0);
	close(to[1]);
	stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_shown_and_hidden),
		cmocka_unit_test(blocks_cool_before_they_are_used_again),
		cmocka_unit_test(the_budget_holds),
		cmocka_unit_test(the_longest_unused_goes),
		cmocka_unit_test(images_are_kept_in_chunks),
		cmocka_unit_test(the_kernel_follows_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
