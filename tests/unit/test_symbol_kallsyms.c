// SPDX-License-Identifier: Apache-2.0
/* Kernel names: by hand, and against perf on this kernel. */
#include "base/cleanup.h"
#include "support_input.h"
#include "support_oracle.h"
#include "symbol/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cmocka.h>

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	return fd;
}

static struct cam_kallsyms *load(const char *text, size_t n)
{
	struct cam_kallsyms *k;
	int fd CAM_AUTOCLOSE = file_of(text, n);
	assert_int_equal(cam_kallsyms_load(fd, &k), 0);
	return k;
}

static int load_error(const char *text)
{
	struct cam_kallsyms *k;
	int fd CAM_AUTOCLOSE = file_of(text, strlen(text));
	return cam_kallsyms_load(fd, &k);
}

/* As far as a hit says that it holds, it does. */
static void check_end(const struct cam_kallsyms *k, uint64_t address,
		      const struct cam_kallsyms_hit *hit)
{
	struct cam_kallsyms_hit other;
	assert_in_range(address, hit->start, hit->end - 1);
	for (int i = 0; i < 2; i++) {
		assert_true(cam_kallsyms_find(k, i ? hit->start : hit->end - 1, &other));
		assert_int_equal(other.start, hit->start);
		assert_int_equal(other.end, hit->end);
		assert_ptr_equal(other.name.p, hit->name.p);
	}
	assert_true(!cam_kallsyms_find(k, hit->end, &other) || other.start != hit->start);
}

/* `name+0x12[module]`, or "" */
static const char *name_of(const struct cam_kallsyms *k, uint64_t address)
{
	static char text[1024];
	struct cam_kallsyms_hit hit;
	text[0] = 0;
	if (!cam_kallsyms_find(k, address, &hit))
		return text;
	check_end(k, address, &hit);
	snprintf(text, sizeof(text), "%.*s+0x%lx%.*s", (int)hit.name.n, hit.name.p,
		 (unsigned long)(address - hit.start), (int)hit.module.n, hit.module.p);
	return text;
}

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 T first\n"
			     "ffffffff81000040 t second\n"
			     "ffffffff81000080 W third_weak\n"
			     "ffffffff81000090 w fourth_weak\n"
			     "ffffffff810000a0 T last\n"
			     "ffffffff810000c0 T _etext\n"
			     "ffffffff81001000 D data_one\n"
			     "ffffffff81001010 d data_two\n"
			     "ffffffff81800000 T _sinittext\n"
			     "ffffffff81800010 t init_function\n"
			     "ffffffff81800020 T _einittext\n"
			     "ffffffffc0020000 t ext_write\t[ext4]\n"
			     "ffffffffc0020100 t ext_last\t[ext4]\n"
			     "ffffffffc0010000 t vif_rx\t[vif]\n"
			     "ffffffffc0010800 t vif_tx\t[vif]\n"
			     "ffffffffc0010900 d vif_data\t[vif]\n"
			     "ffffffffc0030000 t bpf_prog_0123456789abcdef_count\t[bpf]\n"
			     "ffffffffc0030100 t bpf_prog_1123456789abcdef_drop\t[bpf]\n"
			     "ffffffffc0100000 t bpf_prog_2123456789abcdef_far\t[bpf]\n";

static void known_addresses(void **state)
{
	(void)state;
	static const struct {
		uint64_t address;
		const char *name;
	} known[] = {
		{0, ""},
		{0xffffffff80ffffff, ""},
		{0xffffffff81000000, "first+0x0"}, /* the last of three, as with perf */
		{0xffffffff8100003f, "first+0x3f"},
		{0xffffffff81000040, "second+0x0"},
		{0xffffffff81000085, "third_weak+0x5"},
		{0xffffffff8100009f, "fourth_weak+0xf"},
		{0xffffffff810000bf, "last+0x1f"},
		{0xffffffff810000c0, ""}, /* code has ended */
		{0xffffffff81000fff, ""},
		{0xffffffff81001000, ""}, /* data */
		{0xffffffff81001018, ""},
		{0xffffffff81800018, "init_function+0x8"},
		{0xffffffff81800028, ""},
		{0xffffffffc0010800, "vif_tx+0x0[vif]"},
		{0xffffffffc00108ff, "vif_tx+0xff[vif]"},
		{0xffffffffc0010900, ""},
		{0xffffffffc0020080, "ext_write+0x80[ext4]"},
		{0xffffffffc0021fff, "ext_last+0x1eff[ext4]"},
		{0xffffffffc0022000, ""}, /* beyond the page after the module's last symbol */
		{0xffffffffc0030080, "bpf_prog_0123456789abcdef_count+0x80[bpf]"},
		{0xffffffffc00400ff, "bpf_prog_1123456789abcdef_drop+0xffff[bpf]"},
		{0xffffffffc0040100, ""}, /* no program of 64 KiB is assumed */
		{0xffffffffc010ffff, "bpf_prog_2123456789abcdef_far+0xffff[bpf]"},
		{0xffffffffc0110000, ""},
		{UINT64_MAX, ""},
	};
	struct cam_kallsyms *k = load(sample, sizeof(sample) - 1);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *name = name_of(k, known[i].address);
		if (strcmp(name, known[i].name))
			fail_msg("0x%lx is %s, not %s", (unsigned long)known[i].address, name,
				 known[i].name);
	}
	cam_kallsyms_free(k);
}

static void hidden_addresses_are_an_error(void **state)
{
	(void)state;
	assert_int_equal(load_error("0000000000000000 T _text\n0000000000000000 t f\n"), -EACCES);
	assert_int_equal(load_error(""), -EBADMSG);
	assert_int_equal(load_error("hello\n\n\n"), -EBADMSG);
	int dir CAM_AUTOCLOSE = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cam_kallsyms *k;
	assert_int_equal(cam_kallsyms_load(dir, &k), -EISDIR);
}

static void odd_lines_are_passed_over(void **state)
{
	(void)state;
	static const char text[] = "ffffffff81000000 T good\n"
				   "\n"
				   "ffffffff81000010\n"
				   "ffffffff81000010 T\n"
				   "ffffffff81000010 T \n"
				   "ffffffff81000010  no_type\n"
				   "fffffffff81000010 T too_long\n"
				   "xyz T no_number\n"
				   "ffffffff81000020 T nul\0here\n"
				   "ffffffff81000030 t mod_f\t[mod]\n"
				   "ffffffff81000040 T unended";
	struct cam_kallsyms *k = load(text, sizeof(text) - 1);
	assert_string_equal(name_of(k, 0xffffffff81000029), "good+0x29");
	assert_string_equal(name_of(k, 0xffffffff81000031), "mod_f+0x1[mod]");
	assert_string_equal(name_of(k, 0xffffffff81000041), "unended+0x1");
	cam_kallsyms_free(k);
}

/* A line that no kernel writes, longer than what is read at once. */
static void an_endless_line_is_an_error(void **state)
{
	(void)state;
	size_t n = 200000;
	char *text CAM_AUTOFREE = malloc(n + 1);
	assert_non_null(text);
	memset(text, 'f', n);
	text[n] = 0;
	assert_int_equal(load_error(text), -EBADMSG);
}

static int load_this_kernels(void *arg)
{
	struct cam_kallsyms **k = arg;
	int fd CAM_AUTOCLOSE = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : cam_kallsyms_load(fd, k);
}

static void this_kernels_names_fit_ten_megabytes(void **state)
{
	(void)state;
	struct cam_kallsyms *k;
	assert_in_range(peak_growth_kib(load_this_kernels, &k), 1, 10240 + SANITIZER_SLACK_KIB);
	assert_int_equal(load_this_kernels(&k), 0);
	print_message("# %zu bytes\n", cam_kallsyms_memory(k));
	assert_in_range(cam_kallsyms_memory(k), 1, 10u << 20);
	cam_kallsyms_free(k);
}

/* An address inside every third symbol, code or not. */
static uint64_t *pick_addresses(size_t *n)
{
	/* Through a pipe: sort reads this file itself at 50 s of CPU. */
	struct cam_buf b = oracle_run("cat /proc/kallsyms | sort -u -k1,1");
	size_t lines = 0, count = 0;
	for (size_t i = 0; i < b.len; i++)
		lines += b.data[i] == '\n';
	uint64_t *at = calloc(lines, sizeof(*at)), last = 0;
	assert_non_null(at);
	char *rest = NULL, *line = strtok_r((char *)b.data, "\n", &rest);
	for (size_t i = 0; line; i++, line = strtok_r(NULL, "\n", &rest)) {
		uint64_t address = strtoull(line, NULL, 16);
		if (last && i % 3 == 0 && address < 0xffffffff84000000)
			at[count++] = last + (address - last) * (i % 7) / 7;
		last = address;
	}
	cam_buf_free(&b);
	*n = count;
	return at;
}

static void names_are_those_of_perf(void **state)
{
	(void)state;
	struct cam_kallsyms *k;
	size_t n, named = 0;
	uint64_t *at CAM_AUTOFREE = pick_addresses(&n);
	char **perf = oracle_perf_kernel(at, n);
	assert_int_equal(load_this_kernels(&k), 0);
	for (size_t i = 0; i < n; i++) {
		const char *name = name_of(k, at[i]);
		if (!*name)
			continue;
		named++;
		if (!perf[i] || strcmp(name, perf[i]))
			fail_msg("0x%lx is %s, perf says %s", (unsigned long)at[i], name,
				 perf[i] ? perf[i] : "nothing");
	}
	print_message("# %zu of %zu addresses have a name, all perf's\n", named, n);
	assert_true(named > n * 99 / 100);
	oracle_perf_free(perf, n);
	cam_kallsyms_free(k);
}

/* `    ffffffff81001234 name ([kernel.kallsyms])` of a recording: whether the name is ours. */
static bool same_name(const struct cam_kallsyms *k, char *line, bool *kernel)
{
	char *name, *end = strstr(line, " ([kernel.kallsyms])");
	uint64_t address = strtoull(line, &name, 16);
	*kernel = end != NULL;
	if (!end || *name++ != ' ')
		return false;
	*end = 0;
	const char *mine = name_of(k, address);
	size_t n = strcspn(mine, "+");
	return n ? n == strlen(name) && !memcmp(mine, name, n) : !strcmp(name, "[unknown]");
}

static void a_recordings_kernel_frames_have_perfs_names(void **state)
{
	(void)state;
	struct cam_kallsyms *k;
	size_t frames = 0, same = 0;
	/* Of this command alone: with -a perf first lists all threads of the host. */
	struct cam_buf b = oracle_run(
		"cd %s && perf record -q -g -e cpu-clock -F 1999 --no-bpf-event -o live.data -- "
		"sh -c 'dd if=/dev/zero of=live.zero bs=4k count=5000; find /proc/sys /usr/bin; "
		"for i in $(seq 100); do true | cat; done' >live.out 2>&1 && "
		"perf script -i live.data -F ip,sym,dso --no-inline 2>live.err",
		oracle_dir());
	assert_int_equal(load_this_kernels(&k), 0);
	char *rest = NULL, *line = strtok_r((char *)b.data, "\n", &rest);
	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		bool kernel;
		while (*line == ' ' || *line == '\t')
			line++;
		bool is_same = same_name(k, line, &kernel);
		frames += kernel;
		same += is_same;
		if (kernel && !is_same)
			print_message("# differs: %s, here %s\n", line,
				      name_of(k, strtoull(line, NULL, 16)));
	}
	print_message("# %zu of %zu kernel frames have perf's name\n", same, frames);
	assert_true(frames > 300);
	assert_true(same * 1000 >= frames * 999);
	cam_kallsyms_free(k);
	cam_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_addresses),
		cmocka_unit_test(hidden_addresses_are_an_error),
		cmocka_unit_test(odd_lines_are_passed_over),
		cmocka_unit_test(an_endless_line_is_an_error),
		cmocka_unit_test(this_kernels_names_fit_ten_megabytes),
		cmocka_unit_test(names_are_those_of_perf),
		cmocka_unit_test(a_recordings_kernel_frames_have_perfs_names),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
