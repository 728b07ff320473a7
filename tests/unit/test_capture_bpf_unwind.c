// SPDX-License-Identifier: Apache-2.0
/*
 * The unwinder in the kernel, on this kernel: a child recurses without frame pointers, notes what
 * the C library's own unwinder says of its stack, and spins; every sample must say the same.
 * Needs root. With `watch PID` another program is watched, in both forms: tests/kernels does that.
 */
#include "support_bpf.h"
#include "support_sampling.h"
#include "support_unwind.h"
#include "symbol/stack_walk.h"

#include <execinfo.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_DEPTH 1024

/* What a child says of itself. */
struct told {
	int n; /* written last */
	void *frames[MAX_DEPTH];
	/* Where code made at run time is on the way down: its frame, and who called its caller. */
	const void *made;
	int n_outer;
	void *outer[MAX_DEPTH];
};

static struct told *told;

/* Calls bottom() below `depth` frames of itself; rbp holds no frame pointer on the way. */
void descend(unsigned long depth);
extern const char descend_back[];
__asm__(".text\n"
	".globl descend, descend_back\n"
	".type descend, @function\n"
	"descend:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_rel_offset %rbp, 0\n"
	"	sub $16, %rsp\n"
	".cfi_adjust_cfa_offset 16\n"
	"	mov $0x123456, %ebp\n"
	"	dec %rdi\n"
	"	jz 1f\n"
	"	call descend\n"
	"descend_back:\n"
	"	jmp 2f\n"
	"1:	call bottom\n"
	"2:	add $16, %rsp\n"
	".cfi_adjust_cfa_offset -16\n"
	"	pop %rbp\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_restore %rbp\n"
	"	ret\n"
	".cfi_endproc\n"
	".size descend, . - descend\n");

void bottom(void);
__attribute__((noinline)) void bottom(void)
{
	int n = backtrace(told->frames, MAX_DEPTH);
	__atomic_store_n(&told->n, n, __ATOMIC_RELEASE);
	for (;;)
		spin_a(10);
}

static void go_down(void *arg)
{
	descend(*(unsigned long *)arg);
}

/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret: no file says how to get on from here. */
static const uint8_t made_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
#define MADE_BACK  6
#define MADE_DEPTH 26

static void go_through_made_code(void *arg)
{
	typedef void made_fn(unsigned long depth, void (*next)(unsigned long));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		_exit(1);
	memcpy(page, made_code, sizeof(made_code));
	told->made = (const char *)page + MADE_BACK;
	told->n_outer = backtrace(told->outer, MAX_DEPTH);
	made_fn *made;
	memcpy(&made, &page, sizeof(made));
	made(*(unsigned long *)arg, descend);
	__asm__ volatile(""); /* no tail call: this frame stays */
}

struct result {
	pid_t pid;
	uint32_t image;
	struct walker *walker; /* of copies; NULL: they are not looked at */
	size_t samples, complete, exact, deep, pending, copied, other_image, frames, guessed;
};

/* Does a stack end in what the child said, from descend() upwards? */
static bool agrees(const uint64_t *user, uint32_t n_user)
{
	int from = 0;
	while (from < told->n && told->frames[from] != (const void *)descend_back)
		from++;
	uint32_t n = (uint32_t)(told->n - from);
	if (n == 0 || n_user < n)
		return false;
	const uint64_t *tail = user + (n_user - n);
	for (uint32_t i = 0; i < n; i++)
		if (tail[i] != (uint64_t)(uintptr_t)told->frames[from + (int)i])
			return false;
	return true;
}

/* All of descend(), what was made, its caller, and the callers of that. */
static bool agrees_through_made(const uint64_t *user, uint32_t n_user, unsigned long depth)
{
	uint32_t at = 0;
	while (at < n_user && user[at] != (uint64_t)(uintptr_t)told->made)
		at++;
	/* A sanitizer stands between backtrace() and who calls it: then the first one is its own, the second the caller's. */
	uint32_t n_outer = n_user > at + 2 ? n_user - at - 2 : 0;
	uint32_t own = (uint32_t)told->n_outer - n_outer;
	if (at < depth || n_outer < 3 || n_outer > (uint32_t)told->n_outer || own < 1 || own > 2)
		return false;
	for (uint32_t i = 1; i < depth; i++)
		if (user[at - i] != (uint64_t)(uintptr_t)descend_back)
			return false;
	for (uint32_t i = 0; i < n_outer; i++)
		if (user[at + 2 + i] != (uint64_t)(uintptr_t)told->outer[own + i])
			return false;
	return true;
}

/* The step as C, over copies. */
struct walker {
	struct tell tell;
	struct cam_table_cache *tables;
	struct cam_stack_walk *walk;
	struct cam_unwind_mapping maps[CAM_UNWIND_MAX_MAPS];
	size_t n_maps;
};

static int no_piece(void *arg, const struct cam_ehframe_piece *piece)
{
	(void)arg;
	(void)piece;
	return 0;
}

static void walker_init(struct walker *w, pid_t pid)
{
	*w = (struct walker){0};
	w->tables = cam_table_cache_new(64u << 20);
	w->walk = cam_stack_walk_new();
	assert_non_null(w->tables);
	assert_non_null(w->walk);
	w->n_maps = tell_maps(&w->tell, pid, w->maps);
	for (uint32_t i = 0; i < w->tell.n_files; i++) {
		struct cam_bytes b = tell_open(w->tell.path[i]);
		assert_int_equal(cam_table_cache_read(w->tables, i, &b, no_piece, NULL), 0);
		tell_close(&b);
	}
}

static void walker_close(struct walker *w)
{
	cam_stack_walk_free(w->walk);
	cam_table_cache_free(w->tables);
}

static bool copy_agrees(struct walker *w, const struct cam_raw_copy *copy)
{
	struct cam_unwind_tidings t;
	assert_int_equal(cam_stack_walk(w->walk, w->tables, copy, w->maps, w->n_maps, &t), 0);
	return t.end == CAM_STACK_COMPLETE && agrees(t.frames, t.n_frames);
}

static void on_record(void *arg, const struct cam_raw *r)
{
	struct result *x = arg;
	if (r->type != CAM_RAW_SAMPLE || r->pid != x->pid)
		return;
	const struct cam_raw_sample *s = &r->sample;
	x->samples++;
	x->complete += s->end == CAM_STACK_COMPLETE;
	x->frames += s->n_user;
	x->guessed += (s->flags & CAM_RAW_GUESSED) != 0;
	x->pending += s->end == CAM_STACK_PENDING;
	x->deep += s->end == CAM_STACK_DEPTH && s->flags & CAM_RAW_TRUNCATED && s->n_user == 512;
	x->copied += s->copy.stack_bytes > 0;
	if (x->walker)
		x->exact += copy_agrees(x->walker, &s->copy);
	else if (told->made)
		x->exact += agrees_through_made(s->user, s->n_user, MADE_DEPTH);
	else
		x->exact += agrees(s->user, s->n_user);
	x->other_image += s->image != x->image;
}

static pid_t start_child_by(void (*fn)(void *arg), unsigned long *depth)
{
	told->made = NULL;
	__atomic_store_n(&told->n, 0, __ATOMIC_RELEASE);
	pid_t pid = child_on(0, fn, depth);
	for (int i = 0; i < 10000 && !__atomic_load_n(&told->n, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	assert_true(told->n > 3);
	return pid;
}

static pid_t start_child(unsigned long *depth)
{
	return start_child_by(go_down, depth);
}

static struct result run(struct cam_capture *c, pid_t pid, uint32_t image, struct walker *walker)
{
	struct result x = {.pid = pid, .image = image, .walker = walker};
	struct result before = x;
	sampling_drain(c, on_record, &before);
	for (int i = 0; i < 100 && x.samples < 40; i++)
		sampling_run(c, 200, 50, on_record, &x);
	assert_true(x.samples >= 40);
	return x;
}

static void check_form(bool no_bpf_loop, const char *form)
{
	const struct cam_perf_host host = {cam_kernel_host(), "/proc", "/sys", no_bpf_loop};
	unsigned long depth = 26;
	struct tell t = {0};
	pid_t pid = start_child(&depth);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 397}, &host);
	assert_non_null(c->unwinder);
	assert_string_equal(c->unwinder->stats(c->unwinder).form, form);
	uint32_t image = tell_process(&t, c->unwinder, pid, 0);
	struct result x = run(c, pid, image, NULL);
	assert_int_equal(x.complete, x.samples);
	assert_int_equal(x.exact, x.samples);
	assert_int_equal(x.guessed, 0);
	assert_int_equal(x.other_image, 0);
	end_child(pid);
	c->ops->close(c);
}

static void every_stack_is_what_the_c_library_says(void **state)
{
	(void)state;
	check_form(false, "bpf_loop");
}

static void the_plain_loop_says_the_same(void **state)
{
	(void)state;
	check_form(true, "plain loop");
}

/* From tables to a frame pointer and back to tables, frame by frame; and it is said. */
static void through_code_that_no_file_describes(void **state)
{
	(void)state;
	unsigned long depth = MADE_DEPTH;
	struct tell t = {0};
	pid_t pid = start_child_by(go_through_made_code, &depth);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 397}, NULL);
	uint32_t image = tell_process(&t, c->unwinder, pid, 0);
	struct result x = run(c, pid, image, NULL);
	assert_int_equal(x.complete, x.samples);
	assert_int_equal(x.exact, x.samples);
	assert_int_equal(x.guessed, x.samples);
	end_child(pid);
	c->ops->close(c);
}

/* A program that somebody else has started, and keeps at work: as it was told, nearly all are complete. */
static pid_t watched;

static void check_watched(bool no_bpf_loop, const char *form)
{
	const struct cam_perf_host host = {cam_kernel_host(), "/proc", "/sys", no_bpf_loop};
	struct tell t = {0};
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 397}, &host);
	assert_string_equal(c->unwinder->stats(c->unwinder).form, form);
	uint32_t image = tell_process(&t, c->unwinder, watched, 0);
	struct result x = run(c, watched, image, NULL);
	print_message("# %s: %zu samples, %zu complete, %zu frames\n", form, x.samples, x.complete,
		      x.frames);
	assert_true(x.complete * 20 >= x.samples * 19);
	assert_true(x.frames > 5 * x.samples); /* by frame pointers it would be 1 or 2 */
	c->ops->close(c);
}

static void watched_in_the_kernel_s_loop(void **state)
{
	(void)state;
	check_watched(false, "bpf_loop");
}

static void watched_in_the_plain_loop(void **state)
{
	(void)state;
	check_watched(true, "plain loop");
}

static void run_anew(void *arg)
{
	(void)arg;
	execl("/proc/self/exe", "anew", "spin", (char *)NULL);
	_exit(1);
}

static void check_copies(struct cam_capture *c, pid_t pid)
{
	struct walker w;
	walker_init(&w, pid);
	struct result x = run(c, pid, 0, &w);
	assert_int_equal(x.pending, x.samples);
	/* Where this reads late, on a busy host, copies of everybody's have had their half of a ring. */
	assert_true(x.copied * 10 >= x.samples * 9);
	assert_int_equal(x.exact, x.copied);
	assert_int_equal(x.other_image, 0);
	walker_close(&w);
	end_child(pid);
	c->ops->close(c);
}

/* Of a process that nobody has told yet; at 97 Hz a CPU may copy all of them. */
static void an_unknown_process_is_copied(void **state)
{
	(void)state;
	unsigned long depth = 26;
	pid_t pid = start_child(&depth);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 97}, NULL);
	assert_int_equal(c->unwinder->flush(c->unwinder, sampling_now_ns()), 0);
	check_copies(c, pid);
}

/* At a high rate most are not: it is counted, and a CPU copies no more than its share of a second. */
static void copies_are_limited_in_rate(void **state)
{
	(void)state;
	unsigned long depth = 26;
	pid_t pid = start_child(&depth);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 1999}, NULL);
	assert_int_equal(c->unwinder->flush(c->unwinder, sampling_now_ns()), 0);
	uint64_t begun = sampling_now_ns();
	struct result x = {.pid = pid};
	for (int i = 0; i < 100 && x.samples < 1000; i++)
		sampling_run(c, 200, 50, on_record, &x);
	uint64_t ns = sampling_now_ns() - begun;
	struct cam_unwinder_stats s = c->unwinder->stats(c->unwinder);
	print_message("# %zu samples in %.1f s, copies %" PRIu64 ", denied %" PRIu64 "\n",
		      x.samples, (double)ns / 1e9, s.copied, s.copies_denied);
	assert_true(s.copies_denied > 100);
	/* 256 a second, all CPUs together (but 4 of each), and each has saved up to 16. */
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	assert_true(s.copied <= (256 + 4 * cpus) * ns / 1000000000u + 17 * cpus);
	end_child(pid);
	c->ops->close(c);
}

static void the_plain_source_copies_too(void **state)
{
	(void)state;
	unsigned long depth = 26;
	pid_t pid = start_child(&depth);
	struct cam_capture *c = NULL;
	const struct cam_capture_options o = {.hz = 97, .unwind = CAM_UNWIND_DWARF};
	assert_int_equal(cam_capture_open_perf(&o, &c), 0);
	assert_string_equal(c->info.unwind, "copies");
	check_copies(c, pid);
}

/* Its root is out of reach: it says so, and has as many frames as fit. */
static void a_stack_too_deep_says_so(void **state)
{
	(void)state;
	unsigned long depth = 700;
	struct tell t = {0};
	pid_t pid = start_child(&depth);
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 397}, NULL);
	uint32_t image = tell_process(&t, c->unwinder, pid, 0);
	struct result x = run(c, pid, image, NULL);
	assert_int_equal(x.deep, x.samples);
	end_child(pid);
	c->ops->close(c);
}

/* What it ran before an exec is not used after it, also if it is told late. */
static void an_exec_voids_what_was_told(void **state)
{
	(void)state;
	struct tell t = {0};
	struct cam_capture *c = open_bpf(&(struct cam_capture_options){.hz = 397}, NULL);
	uint64_t before_ns = sampling_now_ns();
	pid_t pid = child_on(0, run_anew, NULL);
	struct result x = run(c, pid, 0, NULL); /* it runs */
	/* Whatever is mapped there now, but said of a time before the exec. */
	struct cam_unwind_mapping maps[CAM_UNWIND_MAX_MAPS];
	uint32_t image = tell_process(&t, c->unwinder, pid, 0);
	size_t n = tell_maps(&t, pid, maps);
	struct cam_unwind_process p = {.pid = pid, .as_of_ns = before_ns, .image = image};
	assert_int_equal(c->unwinder->process(c->unwinder, &p, maps, n), 0);
	x = run(c, pid, 0, NULL);
	assert_int_equal(x.pending, x.samples);
	assert_int_equal(x.other_image, 0);
	p.as_of_ns = 0;
	assert_int_equal(c->unwinder->process(c->unwinder, &p, NULL, 0), 0);
	x = run(c, pid, image, NULL);
	assert_int_equal(x.complete, x.samples);
	assert_int_equal(x.other_image, 0);
	end_child(pid);
	c->ops->close(c);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest of_others[] = {
		cmocka_unit_test(watched_in_the_kernel_s_loop),
		cmocka_unit_test(watched_in_the_plain_loop),
	};
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 1;
	if (argc == 3 && !strcmp(argv[1], "watch")) {
		watched = (pid_t)strtol(argv[2], NULL, 10);
		return cmocka_run_group_tests(of_others, NULL, NULL);
	}
	while (argc > 1)
		spin_a(10);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stack_is_what_the_c_library_says),
		cmocka_unit_test(the_plain_loop_says_the_same),
		cmocka_unit_test(through_code_that_no_file_describes),
		cmocka_unit_test(an_unknown_process_is_copied),
		cmocka_unit_test(copies_are_limited_in_rate),
		cmocka_unit_test(the_plain_source_copies_too),
		cmocka_unit_test(a_stack_too_deep_says_so),
		cmocka_unit_test(an_exec_voids_what_was_told),
	};
	void *warm[4];
	backtrace(warm, 4); /* loads its library */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
