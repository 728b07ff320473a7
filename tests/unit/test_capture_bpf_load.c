// SPDX-License-Identifier: Apache-2.0
/* The programs in the kernel and their scope, looked at through libbpf. */
#include "capture/bpf_load.h"

#include "capture/bpf/embedded.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct cam_bpf_options options = {
	.max_cpus = 2,
	.config = {.stack_bytes = 1016, .kernel_stacks = 1},
};

static struct cam_bpf load(void)
{
	struct cam_bpf b;
	struct cam_bpf_refusal why = {0};
	char text[128];
	if (cam_bpf_load(&options, &b, &why))
		fail_msg("%s", cam_bpf_refusal_text(&why, text, sizeof(text)));
	return b;
}

static uint32_t scope_entries(const struct cam_bpf *b)
{
	int fd = bpf_object__find_map_fd_by_name(b->object, "cam_scope");
	uint32_t n = 0, key = 0, *from = NULL;
	assert_true(fd >= 0);
	while (!bpf_map_get_next_key(fd, from, &key)) {
		from = &key;
		n++;
	}
	return n;
}

static bool in_scope(const struct cam_bpf *b, pid_t pid)
{
	uint64_t start;
	int fd = bpf_object__find_map_fd_by_name(b->object, "cam_scope");
	return !bpf_map_lookup_elem(fd, &pid, &start);
}

/* A child that lives until its pipe is closed. */
static pid_t waiting_child(int *end)
{
	int p[2];
	char c;
	assert_int_equal(pipe(p), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(p[1]);
		_exit(read(p[0], &c, 1) != 0);
	}
	close(p[0]);
	*end = p[1];
	return pid;
}

static void end_child(pid_t pid, int end)
{
	close(end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_scope_grows_with_forks_and_shrinks_with_ends(void **state)
{
	(void)state;
	struct cam_bpf b = load();
	int32_t self = getpid();
	int before_end, end;
	pid_t before = waiting_child(&before_end);
	assert_int_equal(cam_bpf_scope(&b, &self, 1), 0);
	assert_int_equal(b.state->scoped, 1);
	pid_t child = waiting_child(&end);
	assert_true(in_scope(&b, self));
	assert_true(in_scope(&b, child));
	assert_false(in_scope(&b, before));
	end_child(child, end);
	/* The kernel frees a task some time after its end. */
	for (int i = 0; i < 500 && in_scope(&b, child); i++)
		usleep(10000);
	assert_false(in_scope(&b, child));
	assert_int_equal(scope_entries(&b), 1);
	assert_int_equal(cam_bpf_scope(&b, NULL, 0), 0);
	assert_int_equal(scope_entries(&b), 0);
	assert_int_equal(b.state->scoped, 0);
	/* Nobody follows forks any more. */
	child = waiting_child(&end);
	assert_int_equal(scope_entries(&b), 0);
	end_child(child, end);
	end_child(before, before_end);
	cam_bpf_unload(&b);
}

/* Between the listing of a tree and the setting of its scope it goes on growing. */
static void forks_are_followed_before_the_scope_is_known(void **state)
{
	(void)state;
	struct cam_bpf b = load();
	int before_end, child_end, other_end;
	pid_t before = waiting_child(&before_end);
	int32_t pids[2] = {getpid(), before};
	assert_int_equal(cam_bpf_gather(&b), 0);
	assert_int_equal(b.state->scoped, 0);
	/* Forked when nobody has said yet that its parent is wanted. */
	pid_t child = waiting_child(&child_end);
	assert_true(in_scope(&b, child));
	assert_int_equal(cam_bpf_scope(&b, pids, 2), 0);
	assert_int_equal(b.state->scoped, 1);
	assert_true(in_scope(&b, child));
	assert_true(in_scope(&b, before));
	/* A scope that is set leaves out others' children again. */
	assert_int_equal(cam_bpf_scope(&b, pids + 1, 1), 0);
	assert_false(in_scope(&b, child));
	pid_t other = waiting_child(&other_end);
	assert_false(in_scope(&b, other));
	/* The later ones have the ends of the earlier ones. */
	end_child(other, other_end);
	end_child(child, child_end);
	end_child(before, before_end);
	cam_bpf_unload(&b);
}

static void a_scope_that_does_not_fit_is_no_scope(void **state)
{
	(void)state;
	struct cam_bpf b = load();
	static int32_t pids[CAM_WIRE_MAX_SCOPE + 1];
	int end;
	pids[0] = getpid();
	for (int32_t i = 1; i <= CAM_WIRE_MAX_SCOPE; i++)
		pids[i] = (1 << 22) + i; /* beyond what the kernel gives out */
	assert_int_equal(cam_bpf_scope(&b, pids, CAM_WIRE_MAX_SCOPE + 1), -E2BIG);
	assert_int_equal(scope_entries(&b), 0);
	assert_int_equal(cam_bpf_scope(&b, pids, CAM_WIRE_MAX_SCOPE), 0);
	assert_int_equal(scope_entries(&b), CAM_WIRE_MAX_SCOPE);
	assert_int_equal(b.state->scope_full, 0);
	pid_t child = waiting_child(&end);
	assert_int_equal(b.state->scope_full, 1);
	end_child(child, end);
	assert_int_equal(cam_bpf_scope(&b, pids, 1), 0);
	assert_int_equal(b.state->scope_full, 0);
	assert_int_equal(scope_entries(&b), 1);
	cam_bpf_unload(&b);
}

/* The object that every binary carries must not tell where it was built, nor hold DWARF. */
static void the_embedded_object_names_no_place(void **state)
{
	(void)state;
	const void *object = cam_embedded_sample_bpf;
	size_t n = cam_embedded_sample_bpf_bytes;
	char here[4096];
	static const char *const places[] = {"/home", "/tmp",  "/build",
					     "/root", "/work", "/usr/lib"};
	const char *source = getenv("PERFCAM_SOURCE");
	assert_true(n > 1000);
	assert_non_null(memmem(object, n, "Dual BSD/GPL", 12));
	assert_non_null(memmem(object, n, ".BTF", 4));
	assert_null(memmem(object, n, ".debug_", 7));
	assert_null(memmem(object, n, "clang version", 13));
	assert_non_null(getcwd(here, sizeof(here)));
	assert_null(memmem(object, n, here, strlen(here)));
	if (source)
		assert_null(memmem(object, n, source, strlen(source)));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_null(memmem(object, n, places[i], strlen(places[i])));
}

/*
 * libbpf asks the kernel through libc's syscall(), which is this one here: a kernel whose verifier refuses
 * the programs named in `refused`.
 */
static const char *refused[4];

long syscall(long number, ...)
{
	va_list ap;
	long a[6];
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	union bpf_attr *attr = (union bpf_attr *)a[1];
	for (int i = 0; number == SYS_bpf && a[0] == BPF_PROG_LOAD && i < 4; i++) {
		if (!refused[i] || strncmp(attr->prog_name, refused[i], BPF_OBJ_NAME_LEN - 1) != 0)
			continue;
		if (attr->log_level && attr->log_buf)
			snprintf(
				(char *)(uintptr_t)attr->log_buf, attr->log_size,
				"0: R1=ctx()\nnot with \x1b me\nprocessed 3 insns (limit 1000000)\n");
		errno = EINVAL;
		return -1;
	}
	/* POSIX lets a function come out of this pointer, C does not. */
	long (*real)(long, ...);
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int load_between(enum cam_bpf_form best, enum cam_bpf_form worst, struct cam_bpf *b,
			struct cam_bpf_refusal *why)
{
	struct cam_bpf_options o = options;
	o.best = best;
	o.worst = worst;
	return cam_bpf_load(&o, b, why);
}

/* bpf_loop, else a plain loop, else frame pointers; what the verifier said last is kept. */
static void a_refused_form_gives_way(void **state)
{
	(void)state;
	struct cam_bpf b;
	struct cam_bpf_refusal why;
	assert_int_equal(load_between(CAM_BPF_LOOP, CAM_BPF_FRAME_POINTERS, &b, &why), 0);
	assert_int_equal(b.form, CAM_BPF_LOOP);
	assert_string_equal(why.verifier, "");
	cam_bpf_unload(&b);
	refused[0] = "cam_sample_loop";
	assert_int_equal(load_between(CAM_BPF_LOOP, CAM_BPF_FRAME_POINTERS, &b, &why), 0);
	assert_int_equal(b.form, CAM_BPF_PLAIN_LOOP);
	assert_string_equal(why.verifier, "not with ? me");
	assert_null(why.step);
	assert_true(b.exec_fd >= 0);
	cam_bpf_unload(&b);
	refused[1] = "cam_sample_plain";
	assert_int_equal(load_between(CAM_BPF_LOOP, CAM_BPF_FRAME_POINTERS, &b, &why), 0);
	assert_int_equal(b.form, CAM_BPF_FRAME_POINTERS);
	assert_int_equal(b.exec_fd, -1);
	cam_bpf_unload(&b);
	assert_int_equal(load_between(CAM_BPF_LOOP, CAM_BPF_PLAIN_LOOP, &b, &why), -EOPNOTSUPP);
	assert_int_equal(why.error, -EINVAL);
	assert_null(b.object);
	refused[0] = refused[1] = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scope_grows_with_forks_and_shrinks_with_ends),
		cmocka_unit_test(forks_are_followed_before_the_scope_is_known),
		cmocka_unit_test(a_scope_that_does_not_fit_is_no_scope),
		cmocka_unit_test(the_embedded_object_names_no_place),
		cmocka_unit_test(a_refused_form_gives_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
