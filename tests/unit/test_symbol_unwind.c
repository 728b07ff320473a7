// SPDX-License-Identifier: Apache-2.0
/*
 * Programs are stopped at any moment; their registers and a copy of their stack go to the symboliser,
 * with the tables it made itself, as in a recording. What it answers must be, frame by frame, what
 * eu-stack (another author's unwinder, reading the process's own memory) says of the same stop.
 */
#include "model/ids.h"
#include "support_oracle.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_MAPS   256u
#define MAX_FILES  64u
#define MAX_FRAMES 512u

/* What one stop looks like. */
struct stop {
	struct cam_raw_copy copy;
	uint8_t stack[CAM_RAW_MAX_STACK];
	struct cam_unwind_mapping maps[MAX_MAPS];
	uint32_t n_maps;
	uint64_t oracle[MAX_FRAMES];
	uint32_t n_oracle;
};

struct watch {
	pid_t pid;
	struct cam_symboliser *s;
	char paths[MAX_FILES][256]; /* file number - CAM_FILE_FIRST */
	uint32_t n_files;
	int out; /* what it writes to */
	struct stop stop;
	/* The last answer. */
	struct cam_tidings t;
	uint64_t frames[CAM_RAW_MAX_FRAMES];
	unsigned int packets;
	unsigned int ends[CAM_STACK_ENDS];
	unsigned int alike, deepest, guessed;
};

static uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
static uint8_t packet[CAM_ERRAND_MAX_BYTES];

static int take_answer(void *arg, const void *bytes, size_t n)
{
	struct watch *w = arg;
	assert_int_equal(cam_tidings_unpack(bytes, n, scratch, sizeof(scratch), &w->t), 0);
	w->packets++;
	if (w->t.type == CAM_ERRAND_UNWIND && !w->t.error) {
		memcpy(w->frames, w->t.unwound.frames, w->t.unwound.n_frames * sizeof(uint64_t));
		w->t.unwound.frames = w->frames;
	}
	return 0;
}

static void ask(struct watch *w, const struct cam_errand *e, int fd)
{
	int bytes = cam_errand_pack(e, packet, sizeof(packet));
	assert_true(bytes > 0);
	w->packets = 0;
	assert_int_equal(cam_symboliser_answer(w->s, packet, (size_t)bytes, fd, take_answer, w), 0);
}

static void ask_table(struct watch *w, uint32_t file, const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	assert_true(!path || fd >= 0);
	ask(w, &(struct cam_errand){.type = CAM_ERRAND_TABLE, .ticket = 1, .file = file}, fd);
	assert_int_equal(w->t.type, CAM_ERRAND_TABLE);
	assert_int_equal(w->t.error, 0);
	assert_false(w->t.table.more);
	if (fd >= 0)
		close(fd);
}

static uint32_t file_of(struct watch *w, const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return CAM_FILE_VDSO;
	if (path[0] != '/')
		return CAM_NONE;
	uint32_t i = 0;
	while (i < w->n_files && strcmp(w->paths[i], path))
		i++;
	if (i == w->n_files) {
		assert_true(i < MAX_FILES);
		snprintf(w->paths[w->n_files++], sizeof(w->paths[0]), "%s", path);
	}
	return CAM_FILE_FIRST + i;
}

/* Where the stack's mapping ends. */
static uint64_t read_maps(struct watch *w, uint64_t sp)
{
	struct stop *x = &w->stop;
	char name[64], line[512];
	uint64_t stack_end = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", w->pid);
	FILE *f = fopen(name, "re");
	assert_non_null(f);
	x->n_maps = 0;
	while (fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset;
		char rights[8], path[256] = "";
		assert_true(sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights,
				   &offset, path) >= 4);
		if (sp >= start && sp < end)
			stack_end = end;
		if (rights[2] != 'x' || !strcmp(path, "[vsyscall]"))
			continue;
		assert_true(x->n_maps < MAX_MAPS);
		x->maps[x->n_maps++] =
			(struct cam_unwind_mapping){start, end, offset, file_of(w, path)};
	}
	fclose(f);
	assert_true(stack_end);
	return stack_end;
}

static void read_registers(struct watch *w)
{
	struct user_regs_struct r;
	struct stop *x = &w->stop;
	int status;
	assert_int_equal(ptrace(PTRACE_SEIZE, w->pid, 0, 0), 0);
	assert_int_equal(waitpid(w->pid, &status, __WALL), w->pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_GETREGS, w->pid, 0, &r), 0);
	x->copy = (struct cam_raw_copy){r.rip, r.rsp, r.rbp, x->stack, 0};
	uint64_t end = read_maps(w, r.rsp);
	size_t n = end - r.rsp < sizeof(x->stack) ? end - r.rsp : sizeof(x->stack);
	struct iovec to = {x->stack, n}, from = {(void *)r.rsp, n}; /* NOLINT: another process's */
	assert_int_equal(process_vm_readv(w->pid, &to, 1, &from, 1, 0), n);
	x->copy.stack_bytes = (uint32_t)n;
	assert_int_equal(ptrace(PTRACE_DETACH, w->pid, 0, 0), 0);
}

static bool has_code(pid_t pid, uint64_t address, const uint8_t *code, size_t n)
{
	uint8_t found[16];
	struct iovec to = {found, n};
	struct iovec from = {(void *)address, n}; /* NOLINT: another process's */
	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)n && !memcmp(found, code, n);
}

/* mov $15, %rax; syscall: where a signal handler returns to. It may be stopped between the two. */
static bool ends_signal(pid_t pid, uint64_t address)
{
	static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	return has_code(pid, address, sigreturn, sizeof(sigreturn)) ||
	       has_code(pid, address - 7, sigreturn, sizeof(sigreturn));
}

/* What was interrupted is told as one more (model/raw.h). */
static void read_oracle(struct watch *w)
{
	struct stop *x = &w->stop;
	/* Its status is 1 where it, too, could not go on; then there are fewer lines. */
	struct cam_buf b = oracle_run("eu-stack -1 -q -n 0 -p %d 2>/dev/null; true", w->pid);
	char *rest = NULL;
	bool interrupted = false;
	x->n_oracle = 0;
	for (char *l = strtok_r((char *)b.data, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		unsigned long address;
		if (sscanf(l, "#%*u 0x%lx", &address) != 1 || x->n_oracle == MAX_FRAMES)
			continue;
		x->oracle[x->n_oracle++] = address + interrupted;
		interrupted = ends_signal(w->pid, address);
	}
	cam_buf_free(&b);
}

static void ask_unwind(struct watch *w)
{
	struct cam_errand e = {
		.type = CAM_ERRAND_UNWIND,
		.ticket = 7,
		.pid = w->pid,
		.tid = w->pid,
		.copy = w->stop.copy,
		.maps = w->stop.maps,
		.n_maps = w->stop.n_maps,
	};
	/* A table that is not there is said by its number, as often as one is lacking. */
	for (unsigned int i = 0; i <= MAX_FILES; i++) {
		ask(w, &e, -1);
		assert_int_equal(w->t.type, CAM_ERRAND_UNWIND);
		assert_int_equal(w->t.error, 0);
		if (w->t.unwound.end != CAM_STACK_PENDING)
			return;
		uint32_t lacking = w->t.unwound.lacking;
		assert_int_not_equal(lacking, CAM_NONE);
		ask_table(w, lacking,
			  lacking == CAM_FILE_VDSO ? NULL : w->paths[lacking - CAM_FILE_FIRST]);
	}
	fail_msg("always pending");
}

static void say_difference(const struct watch *w)
{
	const struct cam_unwind_tidings *u = &w->t.unwound;
	for (uint32_t i = 0; i < u->n_frames || i < w->stop.n_oracle; i++)
		print_message("# %2u ours %lx, eu-stack %lx\n", i,
			      i < u->n_frames ? (unsigned long)u->frames[i] : 0,
			      i < w->stop.n_oracle ? (unsigned long)w->stop.oracle[i] : 0);
	fail_msg("frames differ; ours ended with %d", u->end);
}

static void compare(struct watch *w)
{
	const struct cam_unwind_tidings *u = &w->t.unwound;
	const struct stop *x = &w->stop;
	bool stopped = u->end == CAM_STACK_UNSUPPORTED;
	w->ends[u->end]++;
	w->guessed += u->guessed;
	if (u->n_frames > x->n_oracle || (u->n_frames < x->n_oracle && !stopped) ||
	    memcmp(u->frames, x->oracle, u->n_frames * sizeof(uint64_t)))
		say_difference(w);
	w->alike++;
	w->deepest = u->n_frames > w->deepest ? u->n_frames : w->deepest;
}

static void stop_once(struct watch *w)
{
	int status;
	usleep(1000 + (useconds_t)rand() % 5000);
	assert_int_equal(kill(w->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(w->pid, &status, WUNTRACED), w->pid);
	assert_true(WIFSTOPPED(status));
	read_registers(w);
	read_oracle(w);
	ask_unwind(w);
	compare(w);
	assert_int_equal(kill(w->pid, SIGCONT), 0);
}

static void start(struct watch *w, char *const *argv)
{
	char line[16];
	int ends[2];
	memset(w, 0, sizeof(*w));
	w->s = cam_symboliser_new();
	assert_non_null(w->s);
	assert_int_equal(pipe(ends), 0);
	w->pid = fork();
	assert_true(w->pid >= 0);
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	w->out = ends[0];
	assert_true(read(w->out, line, sizeof(line)) > 0);
}

static void end(struct watch *w)
{
	int status;
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, &status, 0) == w->pid && !WIFSIGNALED(status) && !WIFEXITED(status))
		;
	cam_symboliser_free(w->s);
	close(w->out);
}

/* All but one or two are complete: those stand where a rule says another register (a few instructions
 * of a prologue, the dynamic linker's trampoline), or where eu-stack ends as well (compare() has asked): the C library has code
 * that no rule is of, which a stop meets once in some hundred times. */
static void watch_program(const char *what, char *const *argv, unsigned int stops)
{
	static struct watch w;
	start(&w, argv);
	for (unsigned int i = 0; i < stops; i++)
		stop_once(&w);
	print_message("# %s: %u stops alike, %u complete, deepest %u, %u guessed, %u files\n", what,
		      w.alike, w.ends[CAM_STACK_COMPLETE], w.deepest, w.guessed, w.n_files);
	for (unsigned int i = 0; i < sizeof(w.ends) / sizeof(w.ends[0]); i++)
		if (w.ends[i] && i != CAM_STACK_COMPLETE)
			print_message("# %u ended with %u\n", w.ends[i], i);
	assert_int_equal(w.alike, stops);
	assert_in_range(w.ends[CAM_STACK_COMPLETE], stops - 2, stops);
	end(&w);
}

static void watch_frames(const char *command, unsigned int stops)
{
	char path[256];
	snprintf(path, sizeof(path), "%s", oracle_build("frames.c", command));
	watch_program(command, (char *[]){path, NULL}, stops);
}

static void test_without_frame_pointers(void **state)
{
	(void)state;
	watch_frames("gcc -O2 -fomit-frame-pointer -o %2$s %1$s", 60);
	watch_frames("clang -O2 -Wl,-z,lazy -o %2$s %1$s", 30);
}

static void test_without_optimisation(void **state)
{
	(void)state;
	watch_frames("gcc -O0 -o %2$s %1$s", 30);
}

static void test_static(void **state)
{
	(void)state;
	watch_frames("gcc -O2 -static -o %2$s %1$s", 30);
	watch_frames("gcc -O2 -static-pie -o %2$s %1$s", 30);
}

static void test_debug_frame_alone(void **state)
{
	(void)state;
	watch_frames(
		"gcc -O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions "
		"-o %2$s %1$s",
		30);
}

/* A number may mean another file after FORGET; and tables that are lacking are named one by one. */
static void test_forgotten_tables(void **state)
{
	static struct watch w;
	char path[256];
	int status;
	(void)state;
	snprintf(path, sizeof(path), "%s", oracle_build("frames.c", "gcc -O2 -o %2$s %1$s"));
	start(&w, (char *[]){path, NULL});
	stop_once(&w);
	kill(w.pid, SIGSTOP);
	assert_int_equal(waitpid(w.pid, &status, WUNTRACED), w.pid);
	read_registers(&w);
	ask_unwind(&w);
	uint32_t whole = w.t.unwound.n_frames;
	assert_int_equal(w.t.unwound.end, CAM_STACK_COMPLETE);
	ask(&w, &(struct cam_errand){.type = CAM_ERRAND_FORGET, .file = CAM_FILE_FIRST}, -1);
	assert_int_equal(w.packets, 0);
	struct cam_errand e = {
		.type = CAM_ERRAND_UNWIND,
		.copy = w.stop.copy,
		.maps = w.stop.maps,
		.n_maps = w.stop.n_maps,
	};
	ask(&w, &e, -1);
	assert_int_equal(w.t.unwound.end, CAM_STACK_PENDING);
	assert_int_equal(w.t.unwound.lacking, CAM_FILE_FIRST);
	assert_true(w.t.unwound.n_frames < whole);
	/* Half of the stack: as many frames as that has. */
	ask_table(&w, CAM_FILE_FIRST, path);
	e.copy.stack_bytes = 64;
	ask(&w, &e, -1);
	assert_int_equal(w.t.unwound.end, CAM_STACK_UNREADABLE);
	assert_true(w.t.unwound.n_frames < whole);
	end(&w);
}

static void test_python(void **state)
{
	static char program[] = "import re, json, time\n"
				"print('ready', flush=True)\n"
				"def f(n):\n"
				"    if n: return f(n - 1)\n"
				"    return sorted(json.loads(json.dumps(list(range(50)))),\n"
				"                  key=lambda x: re.sub('1', '2', str(x)))\n"
				"while True:\n"
				"    f(20); time.time()\n";
	static char python[] = "/usr/bin/python3", option[] = "-c";
	(void)state;
	watch_program("python3", (char *[]){python, option, program, NULL}, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_frame_pointers),
		cmocka_unit_test(test_without_optimisation),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_debug_frame_alone),
		cmocka_unit_test(test_forgotten_tables),
		cmocka_unit_test(test_python),
	};
	srand(41);
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
