// SPDX-License-Identifier: Apache-2.0
/*
 * The oracles are perf's own prints. A text read and printed again in perf's format must give the
 * same bytes; and what perf prints of one recording in two ways must give the same samples.
 */
#include "base/out.h"
#include "interop/perf_script_in.h"
#include "support_input.h"
#include "support_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct result {
	struct record_sink *r;
	struct cam_import_stats st;
	int err;
};

static void read_input(struct result *res, struct cam_input *in, const struct cam_import_options *o)
{
	if (!res->r)
		res->r = record_sink_new();
	res->err = cam_perf_script_read(in, &res->r->sink, o, &res->st);
	cam_input_close(in);
	assert_int_equal(res->r->breaches, 0);
	assert_int_equal(res->st.samples, res->r->n_samples);
}

static void read_text_stepped(struct result *res, const char *text, size_t step)
{
	struct memory_source s = {.step = step};
	read_input(res, input_of(&s, text, strlen(text)), NULL);
}

static struct result read_text(const char *text)
{
	struct result res = {0};
	read_text_stepped(&res, text, 0);
	return res;
}

static struct result read_data_with(const char *name, const struct cam_import_options *o)
{
	struct result res = {0};
	struct cam_input *in;
	int fd = open_data(name);
	assert_int_equal(cam_input_open_fd(&in, fd, NULL), 0);
	read_input(&res, in, o);
	close(fd);
	assert_int_equal(res.err, 0);
	assert_false(cam_import_is_partial(&res.st));
	assert_int_equal(res.st.malformed_lines, 0);
	return res;
}

static struct result read_data(const char *name)
{
	return read_data_with(name, NULL);
}

static void done(struct result *res)
{
	record_sink_free(res->r);
}

/* As `perf script -F comm,pid,tid,cpu,time,event,ip` prints it; without the pid if so asked. */
static void print_samples(struct cam_buf *out, const struct record_sink *r, bool pids)
{
	for (size_t i = 0; i < r->n_samples; i++) {
		const struct sink_sample *s = &r->samples[i];
		cam_buf_printf(out, "%s ", s->comm.p);
		if (pids)
			cam_buf_printf(out, "%5d/%-5d ", s->pid, s->tid);
		else
			cam_buf_printf(out, "%5d ", s->tid);
		if (s->cpu != CAM_CPU_NONE)
			cam_buf_printf(out, "[%03" PRIu32 "] ", s->cpu);
		cam_buf_printf(out, "%5" PRIu64 ".%06" PRIu64 ": %s: \n", s->time_ns / 1000000000,
			       s->time_ns % 1000000000 / 1000, s->event.p);
		for (size_t k = 0; k < s->n_frames; k++)
			cam_buf_printf(out, "\t%16" PRIx64 "\n", s->frames[k].address);
		cam_buf_put(out, "\n", 1);
	}
	assert_int_equal(cam_buf_error(out), 0);
}

static void same_bytes(const struct cam_buf *a, const struct cam_buf *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->data, b->data, a->len);
}

static const char *const fixtures[] = {
	"gcc-compile", "java", "nginx-997", "pg-sched", "redis-pid", "tmpl",
};

static void reading_and_printing_gives_perfs_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s.raw.gz", fixtures[i]);
		struct cam_buf want = slurp_data(name), got = CAM_BUF(64u << 20);
		struct result res = read_data(name);
		print_samples(&got, res.r, true);
		same_bytes(&got, &want);
		assert_true(res.r->n_samples > 500);
		done(&res);
		cam_buf_free(&want);
		cam_buf_free(&got);
	}
}

/* perf's default print has names, modules and periods around the same samples. */
static void two_prints_of_a_recording_give_the_same_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		struct cam_buf want = CAM_BUF(64u << 20), got = CAM_BUF(64u << 20);
		char raw[64], stacks[64];
		snprintf(raw, sizeof(raw), "%s.raw.gz", fixtures[i]);
		snprintf(stacks, sizeof(stacks), "%s.stacks.gz", fixtures[i]);
		struct result a = read_data(raw), b = read_data(stacks);
		print_samples(&want, a.r, false);
		print_samples(&got, b.r, false);
		same_bytes(&got, &want);
		done(&a);
		done(&b);
		cam_buf_free(&want);
		cam_buf_free(&got);
	}
}

/* Lines are then found by what follows the address: the frames must come out the same. */
static void dropping_addresses_changes_nothing_else(void **state)
{
	(void)state;
	static const struct cam_import_options drop = {.drop_addresses = true};
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s.stacks.gz", fixtures[i]);
		struct result a = read_data(name), b = read_data_with(name, &drop);
		assert_int_equal(a.r->n_samples, b.r->n_samples);
		size_t dropped = 0;
		for (size_t k = 0; k < a.r->n_samples; k++) {
			const struct sink_sample *x = &a.r->samples[k], *y = &b.r->samples[k];
			assert_int_equal(x->n_frames, y->n_frames);
			for (size_t f = 0; f < x->n_frames; f++) {
				const struct sink_frame *p = &x->frames[f], *q = &y->frames[f];
				bool user = p->address >> 60 == 0;
				assert_true(q->address == (user ? 0 : p->address));
				assert_true(p->offset == q->offset && p->kind == q->kind);
				assert_true(cam_text_equal(p->name, q->name));
				assert_true(cam_text_equal(p->module, q->module));
				dropped += user;
			}
		}
		assert_true(dropped > 100);
		done(&a);
		done(&b);
	}
}

/* Lines end anywhere in what a read gives; windows change under way: nothing of it may show. */
static void neither_block_nor_window_bounds_show(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("nginx-997.stacks.gz"), want = CAM_BUF(64u << 20);
	cam_buf_put_u8(&text, 0);
	struct result whole = read_text((const char *)text.data);
	print_samples(&want, whole.r, false);
	static const size_t steps[] = {1, 7, 1000, 65537};
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct cam_buf got = CAM_BUF(64u << 20);
		struct result res = {.r = record_sink_new()};
		res.r->new_window_every = i ? 1 + i * 100 : 0;
		read_text_stepped(&res, (const char *)text.data, steps[i]);
		assert_int_equal(res.r->sink.generation == 0, i == 0);
		print_samples(&got, res.r, false);
		same_bytes(&got, &want);
		done(&res);
		cam_buf_free(&got);
	}
	done(&whole);
	cam_buf_free(&text);
	cam_buf_free(&want);
}

/* What perf printed with other options, against the raw print of the same samples. */
enum { PIDS = 1, TIDS = 2, CPUS = 4, TIMES = 8, EVENTS = 16, IPS = 32, WEIGHTS = 64, NS = 128 };
enum chain { CHAIN, ONE, NONE };

static void check_variant(const struct sink_sample *got, const struct sink_sample *want,
			  unsigned has, enum chain chain)
{
	assert_string_equal(got->comm.p, want->comm.p);
	if (has & TIDS)
		assert_int_equal(got->tid, want->tid);
	assert_int_equal(got->pid, has & PIDS && has & TIDS ? want->pid : CAM_PID_NONE);
	if (!(has & TIDS))
		assert_int_equal(got->tid, want->pid);
	assert_int_equal(got->cpu, has & CPUS ? want->cpu : CAM_CPU_NONE);
	if (has & NS)
		assert_int_equal(got->time_ns / 1000, want->time_ns / 1000);
	else
		assert_int_equal(got->time_ns, has & TIMES ? want->time_ns : CAM_TIME_NONE);
	assert_string_equal(got->event.p, has & EVENTS ? want->event.p : "");
	assert_int_equal(got->has_weight, (has & WEIGHTS) != 0);
	assert_int_equal(got->weight == 1, !(has & WEIGHTS) || strchr(want->event.p, '_'));
	if (chain == ONE) {
		assert_int_equal(got->n_frames, 1);
		/* Here perf prints user addresses as sampled, in chains relative to the file. */
		if (want->frames[0].address >> 63)
			assert_int_equal(got->frames[0].address, want->frames[0].address);
		return;
	}
	assert_int_equal(got->n_frames, chain == NONE ? 0 : want->n_frames);
	for (size_t k = 0; k < got->n_frames; k++)
		assert_int_equal(got->frames[k].address, has & IPS ? want->frames[k].address : 0);
}

static void variants_give_the_same_samples(void **state)
{
	(void)state;
	static const struct {
		const char *name, *raw;
		unsigned has;
		enum chain chain;
	} variants[] = {
		{"nginx-997.full", "nginx-997", PIDS | TIDS | CPUS | TIMES | EVENTS | WEIGHTS | IPS,
		 CHAIN},
		{"nginx-997.ns", "nginx-997", TIDS | CPUS | TIMES | NS | EVENTS | WEIGHTS | IPS,
		 CHAIN},
		{"nginx-997.nocpu", "nginx-997", TIDS | TIMES | EVENTS | IPS, CHAIN},
		{"nginx-997.noevent", "nginx-997", TIDS | TIMES | IPS, CHAIN},
		{"nginx-997.period", "nginx-997", TIDS | TIMES | WEIGHTS | IPS, CHAIN},
		{"nginx-997.pid", "nginx-997", TIMES | EVENTS | IPS, CHAIN},
		{"nginx-997.notime", "nginx-997", TIDS | EVENTS | IPS, CHAIN},
		{"nginx-997.tidonly", "nginx-997", TIDS | IPS, CHAIN},
		{"nginx-997.misc", "nginx-997", TIDS | CPUS | TIMES | EVENTS | WEIGHTS | IPS,
		 CHAIN},
		{"nginx-997.header", "nginx-997", TIDS | CPUS | TIMES | EVENTS | WEIGHTS | IPS,
		 CHAIN},
		{"nginx-997.sideband", "nginx-997", TIDS | CPUS | TIMES | EVENTS | WEIGHTS | IPS,
		 CHAIN},
		{"nginx-997.flat", "nginx-997", TIDS | CPUS | TIMES | EVENTS | WEIGHTS, ONE},
		{"nginx-997.flatns", "nginx-997", PIDS | TIDS | CPUS | TIMES | NS | EVENTS, ONE},
		{"nginx-997.flatnoevent", "nginx-997", TIDS | TIMES, ONE},
		{"java.jit", "java", PIDS | TIDS | TIMES | EVENTS | WEIGHTS | IPS, CHAIN},
		{"java.srcline", "java", TIDS | TIMES | EVENTS | WEIGHTS | IPS, CHAIN},
		{"pg-sched.full", "pg-sched", PIDS | TIDS | CPUS | TIMES | EVENTS | IPS, CHAIN},
		{"pg-sched.period", "pg-sched", TIDS | CPUS | TIMES | EVENTS | WEIGHTS | IPS,
		 CHAIN},
		{"pg-sched.flat", "pg-sched", TIDS | CPUS | TIMES | EVENTS, NONE},
	};
	struct result want = {0};
	const char *open = "";
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		char name[64];
		if (strcmp(open, variants[i].raw) != 0) {
			if (want.r)
				done(&want);
			open = variants[i].raw;
			snprintf(name, sizeof(name), "%s.raw.gz", open);
			want = read_data(name);
		}
		snprintf(name, sizeof(name), "variants/%s.gz", variants[i].name);
		struct result got = read_data(name);
		assert_int_equal(got.r->n_samples, 200);
		for (size_t k = 0; k < 200; k++)
			check_variant(&got.r->samples[k], &want.r->samples[k], variants[i].has,
				      variants[i].chain);
		unsigned has = variants[i].has;
		assert_int_equal(got.st.clock, has & TIMES ? CAM_CLOCK_FOREIGN : CAM_CLOCK_ABSENT);
		assert_int_equal(got.st.time_unit_ns, has & NS ? 1 : has & TIMES ? 1000 : 0);
		done(&got);
	}
	done(&want);
}

/* The text of a tracepoint, from a file of them and from a file with a period before it. */
static void tracepoints_keep_their_text(void **state)
{
	(void)state;
	static const char *const names[] = {"variants/pg-sched.full.gz",
					    "variants/pg-sched.period.gz",
					    "variants/pg-sched.flat.gz"};
	for (size_t i = 0; i < 3; i++) {
		struct result res = read_data(names[i]);
		assert_string_equal(res.r->samples[0].event.p, "sched:sched_switch");
		assert_string_equal(res.r->samples[0].detail.p,
				    "prev_comm=perf prev_pid=7769 prev_prio=120 prev_state=D ==> "
				    "next_comm=migration/0 next_pid=18 next_prio=0");
		done(&res);
	}
	struct memory_source s = {0};
	struct cam_buf text = slurp_data("variants/pg-sched.full.gz");
	struct result res = {0};
	struct cam_import_options o = {.drop_details = true};
	read_input(&res, input_of(&s, text.data, text.len), &o);
	assert_int_equal(res.r->n_samples, 200);
	assert_string_equal(res.r->samples[199].detail.p, CAM_IMPORT_TEXT_DROPPED);
	done(&res);
	cam_buf_free(&text);
}

/* One line that a sample begins with, and what must come of it. */
struct head_case {
	const char *line;
	struct sink_sample want; /* texts by their p alone */
};

#define P(s)	    .p = (s)
#define AT(sec, ns) .time_ns = (sec)*1000000000ull + (ns)

static void check_head(const struct head_case *c)
{
	char text[512];
	snprintf(text, sizeof(text), "%s\n\t10 f (m)\n\n", c->line);
	struct result res = read_text(text);
	if (res.r->n_samples != 1)
		fail_msg("not a head: %s", c->line);
	const struct sink_sample *got = &res.r->samples[0], *want = &c->want;
	assert_int_equal(got->n_frames, 1);
	assert_string_equal(got->comm.p, want->comm.p);
	assert_int_equal(got->pid, want->pid);
	assert_int_equal(got->tid, want->tid);
	assert_int_equal(got->cpu, want->cpu);
	assert_int_equal(got->time_ns, want->time_ns);
	assert_int_equal(got->weight, want->has_weight ? want->weight : 1);
	assert_int_equal(got->has_weight, want->has_weight);
	assert_string_equal(got->event.p, want->event.p ? want->event.p : "");
	assert_string_equal(got->detail.p, want->detail.p ? want->detail.p : "");
	assert_int_equal(res.st.malformed_lines + res.st.malformed_samples, 0);
	done(&res);
}

#define NO_PID .pid = CAM_PID_NONE
#define NO_CPU .cpu = CAM_CPU_NONE

static const struct head_case head_cases[] = {
	{"java 25607 4794564.109216: 1 cycles:",
	 {NO_PID, .tid = 25607, NO_CPU, AT(4794564, 109216000), .weight = 1, .has_weight = true,
	  .comm = {P("java")}, .event = {P("cycles")}}},
	{"V8 WorkerThread 24636/25607 [000] 94564.109216: 100 cycles:ppp: ",
	 {.pid = 24636,
	  .tid = 25607,
	  .cpu = 0,
	  AT(94564, 109216000),
	  .weight = 100,
	  .has_weight = true,
	  .comm = {P("V8 WorkerThread")},
	  .event = {P("cycles:ppp")}}},
	{"swapper     0 [127]  1333.768770123: cpu-clock:pppH: ",
	 {NO_PID, .tid = 0, .cpu = 127, AT(1333, 768770123), .comm = {P("swapper")},
	  .event = {P("cpu-clock:pppH")}}},
	{":-1    -1/-1    [001]  5.000001: 7 cycles: ",
	 {.pid = -1,
	  .tid = -1,
	  .cpu = 1,
	  AT(5, 1000),
	  .weight = 7,
	  .has_weight = true,
	  .comm = {P(":-1")},
	  .event = {P("cycles")}}},
	{":1234  1234  5.000001: cycles: ",
	 {NO_PID, .tid = 1234, NO_CPU, AT(5, 1000), .comm = {P(":1234")}, .event = {P("cycles")}}},
	{"kworker/u8:3-ev 77 [002] 5.000001: irq:irq_handler_entry: irq=1 name=x 1 2.000000: e:",
	 {NO_PID, .tid = 77, .cpu = 2, AT(5, 1000), .comm = {P("kworker/u8:3-ev")},
	  .event = {P("irq:irq_handler_entry")}, .detail = {P("irq=1 name=x 1 2.000000: e:")}}},
	{"a  1 5.000001: 12 raw 0x1c2: ",
	 {NO_PID, .tid = 1, NO_CPU, AT(5, 1000), .weight = 12, .has_weight = true, .comm = {P("a")},
	  .event = {P("raw 0x1c2")}}},
	{"a  1 5.000001: r1c2:u: ",
	 {NO_PID, .tid = 1, NO_CPU, AT(5, 1000), .comm = {P("a")}, .event = {P("r1c2:u")}}},
	{"a  1 5.000001: 0 cycles: ",
	 {NO_PID, .tid = 1, NO_CPU, AT(5, 1000), .comm = {P("a")}, .event = {P("cycles")},
	  .has_weight = true}},
	{"a  1 [000] 2026-11-15 05:03:44.641560  5.000001: 3 cycles: ",
	 {NO_PID, .tid = 1, .cpu = 0, AT(5, 1000), .weight = 3, .has_weight = true,
	  .comm = {P("a")}, .event = {P("cycles")}}},
	/* Names of processes that look like something else. */
	{"123 456 5.000001: cycles: ",
	 {NO_PID, .tid = 456, NO_CPU, AT(5, 1000), .comm = {P("123")}, .event = {P("cycles")}}},
	{"12/34 456/789 5.000001: cycles: ",
	 {.pid = 456,
	  .tid = 789,
	  NO_CPU,
	  AT(5, 1000),
	  .comm = {P("12/34")},
	  .event = {P("cycles")}}},
	{"x 1 [000] 456 [001] 5.000001: cycles: ",
	 {NO_PID, .tid = 456, .cpu = 1, AT(5, 1000), .comm = {P("x 1 [000]")},
	  .event = {P("cycles")}}},
	{"y 1 1.000000: 5298 [000]  1136.231005:    1003009 cycles: ",
	 {NO_PID, .tid = 5298, .cpu = 0, AT(1136, 231005000), .weight = 1003009, .has_weight = true,
	  .comm = {P("y 1 1.000000:")}, .event = {P("cycles")}}},
	{"a;b)c(d[e]  12 5.000001: cycles: ",
	 {NO_PID, .tid = 12, NO_CPU, AT(5, 1000), .comm = {P("a;b)c(d[e]")},
	  .event = {P("cycles")}}},
	{" 5298/5298 [000]  1136.231005: cycles: ",
	 {.pid = 5298,
	  .tid = 5298,
	  .cpu = 0,
	  AT(1136, 231005000),
	  .comm = {P("")},
	  .event = {P("cycles")}}},
	{"#sharp 12 5.000001: cycles: ",
	 {NO_PID, .tid = 12, NO_CPU, AT(5, 1000), .comm = {P("#sharp")}, .event = {P("cycles")}}},
	{"a much longer name than the kernel keeps 12 5.000001: cycles: ",
	 {NO_PID, .tid = 12, NO_CPU, AT(5, 1000),
	  .comm = {P("a much longer name than the kernel keeps")}, .event = {P("cycles")}}},
	{"\xff\x01\x1b[31m 12 5.000001: cycles: ",
	 {NO_PID, .tid = 12, NO_CPU, AT(5, 1000), .comm = {P("\xff\x01\x1b[31m")},
	  .event = {P("cycles")}}},
	{"a  1 5.000001: ", {NO_PID, .tid = 1, NO_CPU, AT(5, 1000), .comm = {P("a")}}},
	{"a  1 5.000001:   99 ",
	 {NO_PID, .tid = 1, NO_CPU, AT(5, 1000), .comm = {P("a")}, .weight = 99,
	  .has_weight = true}},
	{"a  1/2 ", {.pid = 1, .tid = 2, NO_CPU, .time_ns = CAM_TIME_NONE, .comm = {P("a")}}},
	{"a b  1 [003] cycles:u: ",
	 {NO_PID, .tid = 1, .cpu = 3, .time_ns = CAM_TIME_NONE, .comm = {P("a b")},
	  .event = {P("cycles:u")}}},
	{"a  1  77 cycles:u:\r",
	 {NO_PID, .tid = 1, NO_CPU, .time_ns = CAM_TIME_NONE, .comm = {P("a")}, .weight = 77,
	  .has_weight = true, .event = {P("cycles:u")}}},
};

static void heads_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(head_cases) / sizeof(head_cases[0]); i++)
		check_head(&head_cases[i]);
}

struct frame_case {
	const char *line;
	uint64_t address;
	const char *name;
	uint64_t offset; /* 0: none printed */
	const char *module;
	enum cam_func_kind kind;
	enum cam_module_kind module_kind;
};

static const struct frame_case frame_cases[] = {
	{"\tffffffff8103ce3b native_safe_halt ([kernel.kallsyms])", 0xffffffff8103ce3b,
	 "native_safe_halt", 0, "[kernel.kallsyms]", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\tffffffff81aebbfe start_kernel+0x1f ([kernel.kallsyms].init.text)", 0xffffffff81aebbfe,
	 "start_kernel", 0x1f, "[kernel.kallsyms].init.text", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\t          8c3453 tcp_sendmsg (/lib/modules/4.3.0/build/vmlinux)", 0x8c3453,
	 "tcp_sendmsg", 0, "/lib/modules/4.3.0/build/vmlinux", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\t 7d8 ipv4_local+0x7f8f80b8 ([nf_conntrack_ipv4])", 0x7d8, "ipv4_local", 0x7f8f80b8,
	 "[nf_conntrack_ipv4]", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\t 7d8 f ([guest.kernel.kallsyms.12])", 0x7d8, "f", 0, "[guest.kernel.kallsyms.12]",
	 CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\t 7d8 f (/lib/modules/6.1/kernel/fs/xfs/xfs.ko.xz)", 0x7d8, "f", 0,
	 "/lib/modules/6.1/kernel/fs/xfs/xfs.ko.xz", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\t  7ffc7 clock_gettime+0x1 ([vdso])", 0x7ffc7, "clock_gettime", 1, "[vdso]",
	 CAM_FUNC_USER, CAM_MODULE_VDSO},
	{"\t    56322dbbb6a0 [unknown] ([unknown])", 0x56322dbbb6a0, "", 0, "[unknown]",
	 CAM_FUNC_USER, CAM_MODULE_UNKNOWN},
	{"\tffffffffc0001000 [unknown] ([unknown])", 0xffffffffc0001000, "", 0, "[unknown]",
	 CAM_FUNC_KERNEL, CAM_MODULE_UNKNOWN},
	{"\t 1000 [unknown] (/usr/bin/perf)", 0x1000, "", 0, "/usr/bin/perf", CAM_FUNC_USER,
	 CAM_MODULE_FILE},
	{"\t 1000 f ([heap])", 0x1000, "f", 0, "[heap]", CAM_FUNC_USER, CAM_MODULE_UNKNOWN},
	{"\t 7f722d142778 Ljava/io/PrintStream;::print (/tmp/perf-19982.map)", 0x7f722d142778,
	 "Ljava/io/PrintStream;::print", 0, "/tmp/perf-19982.map", CAM_FUNC_JIT, CAM_MODULE_JIT},
	{"\t 10 f (/home/u/.debug/jit/jitted-12-3.so)", 0x10, "f", 0,
	 "/home/u/.debug/jit/jitted-12-3.so", CAM_FUNC_JIT, CAM_MODULE_JIT},
	{"\t 7f a->b->c+0x10 (/tmp/perf-1.map)", 0x7f, "a->b->c", 0x10, "/tmp/perf-1.map",
	 CAM_FUNC_JIT, CAM_MODULE_JIT},
	{"\t 7f StubRoutines (1)+0xc9 (/tmp/perf-1.map)", 0x7f, "StubRoutines (1)", 0xc9,
	 "/tmp/perf-1.map", CAM_FUNC_JIT, CAM_MODULE_JIT},
	{"\t 7f net/http.(*Client).Do+0x1 (/srv/app)", 0x7f, "net/http.(*Client).Do", 1, "/srv/app",
	 CAM_FUNC_USER, CAM_MODULE_FILE},
	{"\t 7f (anonymous namespace)::g(int, char*) const (/a b/c (d)/e)", 0x7f,
	 "(anonymous namespace)::g(int, char*) const", 0, "/a b/c (d)/e", CAM_FUNC_USER,
	 CAM_MODULE_FILE},
	{"\t 7f std::map<int, f<(a)1> >::operator()(int) (/usr/bin/x (deleted))", 0x7f,
	 "std::map<int, f<(a)1> >::operator()(int)", 0, "/usr/bin/x (deleted)", CAM_FUNC_USER,
	 CAM_MODULE_FILE},
	{"\t 7f f (/odd)name)", 0x7f, "f", 0, "/odd)name", CAM_FUNC_USER, CAM_MODULE_FILE},
	{"\t 7f f (/odd(name)", 0x7f, "f", 0, "/odd(name", CAM_FUNC_USER, CAM_MODULE_FILE},
	{"\t 7f f (inlined)", 0x7f, "f", 0, "", CAM_FUNC_INLINED, CAM_MODULE_UNKNOWN},
	{"\t 7f g(int, char (*)(int))", 0x7f, "g(int, char (*)(int))", 0, "", CAM_FUNC_USER,
	 CAM_MODULE_UNKNOWN},
	{"\t 7f f+0x5", 0x7f, "f", 5, "", CAM_FUNC_USER, CAM_MODULE_UNKNOWN},
	{"\t 7f", 0x7f, "", 0, "", CAM_FUNC_USER, CAM_MODULE_UNKNOWN},
	{"\t 7f (/lib/x.so)", 0x7f, "", 0, "/lib/x.so", CAM_FUNC_USER, CAM_MODULE_FILE},
	{"\tmain (/bin/x)", 0, "main", 0, "/bin/x", CAM_FUNC_USER, CAM_MODULE_FILE},
	{"\tmain", 0, "main", 0, "", CAM_FUNC_USER, CAM_MODULE_UNKNOWN},
	{"\t 7f f(int) (/bin/x)\r", 0x7f, "f(int)", 0, "/bin/x", CAM_FUNC_USER, CAM_MODULE_FILE},
	{"        ffffffff8101c6a3 default_idle ([kernel.kallsyms])", 0xffffffff8101c6a3,
	 "default_idle", 0, "[kernel.kallsyms]", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"ffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])", 0xffffffff8103d0ca,
	 "native_write_msr_safe", 0, "[kernel.kallsyms]", CAM_FUNC_KERNEL, CAM_MODULE_KERNEL},
	{"\t 7f f+0x12345678123456789 (/bin/x)", 0x7f, "f", 0, "/bin/x", CAM_FUNC_USER,
	 CAM_MODULE_FILE},
	{"\t 7f x 1 1.000000: cycles: (/tmp/perf-1.map)", 0x7f, "x 1 1.000000: cycles:", 0,
	 "/tmp/perf-1.map", CAM_FUNC_JIT, CAM_MODULE_JIT},
};

static void frames_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frame_cases) / sizeof(frame_cases[0]); i++) {
		const struct frame_case *c = &frame_cases[i];
		char text[512];
		snprintf(text, sizeof(text), "a 1 1.000000: e: \n%s\n  file.c:12\n%s\n\n", c->line,
			 c->line);
		struct result res = read_text(text);
		assert_int_equal(res.r->n_samples, 1);
		if (res.r->samples[0].n_frames != 2)
			fail_msg("not a frame: %s", c->line);
		for (size_t k = 0; k < 2; k++) {
			const struct sink_frame *f = &res.r->samples[0].frames[k];
			assert_int_equal(f->address, c->address);
			assert_string_equal(f->name.p, c->name);
			assert_int_equal(f->offset, c->offset ? c->offset : CAM_OFFSET_NONE);
			assert_string_equal(f->module.p, c->module);
			assert_int_equal(f->kind, c->kind);
			assert_int_equal(f->module_kind, c->module_kind);
			assert_int_equal(f->source, *c->name ? CAM_NAME_IMPORTED : CAM_NAME_NONE);
		}
		assert_int_equal(res.st.malformed_lines, 0);
		done(&res);
	}
}

/* As perf prints three events of one recording, each in the form of its kind. */
static void events_in_one_file(void **state)
{
	(void)state;
	struct result res = read_text(
		"# event : name = cycles, , id = { 1 }, type = 0, { sample_period, sample_freq } = 4000, "
		"sample_type = IP, freq = 1\n"
		"# event : name = cpu-clock:u, , id = { 2 }, { sample_period, sample_freq } = 250000, x = 1\n"
		"sh 26299  2386.122646:          1        page-faults: \n\t10 f (m)\n\n"
		"sh 26299  2386.122650:     250000        cpu-clock:u: \n\t10 f (m)\n\n"
		"sh 26299  2386.122650:     250000             cycles: \n\t10 f (m)\n\n"
		"sh 26299  2386.122651: sched:sched_switch: prev_comm=a:b ==> x\n\t10 f (m)\n\n");
	assert_int_equal(res.r->n_samples, 4);
	assert_string_equal(res.r->samples[0].event.p, "page-faults");
	assert_int_equal(res.r->samples[0].period_ns, 0);
	assert_int_equal(res.r->samples[1].period_ns, 250000);
	assert_int_equal(res.r->samples[1].weight, 250000);
	assert_int_equal(res.r->samples[2].period_ns, 250000);
	assert_string_equal(res.r->samples[3].detail.p, "prev_comm=a:b ==> x");
	assert_false(res.r->samples[3].has_weight);
	done(&res);
}

/* Names of programs that are numbers, in lines that end as frames do. */
static void padded_heads_are_no_frames(void **state)
{
	(void)state;
	struct result res = read_text(
		"              dd 26172 [000]  2365.299660: raw_syscalls:sys_enter: NR 0 (0, 5, 1)\n"
		"              dd 26172 [001]  2365.299661: raw_syscalls:sys_enter: NR 0 (0, 5, 1)\n"
		"              bc     7 [001]  2365.299662:   250000 cycles:      7f00 f (/bin/bc)\n"
		"              bc     7 [001]  2365.299663:   250000 cycles:      7f00 f (/bin/bc)\n");
	assert_int_equal(res.r->n_samples, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct sink_sample *s = &res.r->samples[i];
		assert_string_equal(s->comm.p, i < 2 ? "dd" : "bc");
		assert_int_equal(s->time_ns, 2365299660000 + 1000 * i);
		assert_int_equal(s->n_frames, i < 2 ? 0 : 1);
		assert_string_equal(s->detail.p, i < 2 ? "NR 0 (0, 5, 1)" : "");
	}
	done(&res);
}

/* `-F +addr` puts a data address where, without call chains, the sampled one stands. */
static void data_addresses_are_text(void **state)
{
	(void)state;
	struct result res = read_text(
		"ls  1309  3802.442213:          1 page-faults:     563be8dcb5c0 __progname+0x0 (/bin/ls)\n"
		"\tffffffff8175286a elf_load+0x28a ([kernel.kallsyms])\n"
		"\tffffffff81752f0a load_elf_binary+0x66a ([kernel.kallsyms])\n\n"
		"ls  1309  3802.442214:          1 page-faults:     563be8dcb5c0 \n"
		"\tffffffff8175286a elf_load+0x28a ([kernel.kallsyms])\n\n");
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.st.malformed_samples, 0);
	assert_int_equal(res.r->samples[0].n_frames, 2);
	assert_string_equal(res.r->samples[0].frames[0].name.p, "elf_load");
	assert_string_equal(res.r->samples[0].detail.p, "563be8dcb5c0 __progname+0x0 (/bin/ls)");
	assert_int_equal(res.r->samples[1].n_frames, 1);
	assert_string_equal(res.r->samples[1].detail.p, "563be8dcb5c0");
	done(&res);
	/* The same without chains, and with source lines. */
	res = read_text(
		"              ls  1309  3802.442213:          1 page-faults:     563be8dcb5c0 __progname+0x0 "
		"(/bin/ls) ffffffff8175286a elf_load+0x28a ([kernel.kallsyms])\n"
		"  [kernel.kallsyms][ffffffff8175286a]\n"
		"              ls  1309  3802.442214:          1 page-faults:  ffffffff8175286b elf_load+0x28b "
		"([kernel.kallsyms])\n");
	assert_int_equal(res.r->n_samples, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(res.r->samples[i].n_frames, 1);
		assert_int_equal(res.r->samples[i].frames[0].address, 0xffffffff8175286a + i);
		assert_string_equal(res.r->samples[i].frames[0].name.p, "elf_load");
		assert_string_equal(res.r->samples[i].detail.p, "");
	}
	done(&res);
}

static const char *fact(const struct record_sink *r, const char *key)
{
	for (size_t i = 0; i < r->n_facts; i += 2) {
		if (strcmp(r->facts[i].p, key) == 0)
			return r->facts[i + 1].p;
	}
	return "";
}

static void the_preamble_becomes_facts(void **state)
{
	(void)state;
	struct result res = read_data("nginx-997.stacks.gz");
	assert_string_equal(fact(res.r, "format"), "perf script");
	assert_string_equal(fact(res.r, "hostname"), "vm");
	assert_string_equal(fact(res.r, "os release"), "6.18.44-fc-v445");
	assert_string_equal(fact(res.r, "arch"), "x86_64");
	assert_string_equal(fact(res.r, "nrcpus online"), "2");
	assert_string_equal(fact(res.r, "time of last sample"), "1139.243049");
	assert_string_equal(fact(res.r, "cmdline"), "");
	for (size_t i = 0; i < res.r->n_facts; i++)
		assert_null(strstr(res.r->facts[i].p, "sleep 3"));
	assert_int_equal(res.r->samples[0].period_ns, 1000000000 / 997);
	done(&res);
}

/* 2026-11-15 02:45:17, the local time of whoever printed it. */
#define CAPTURED_NS (1794710717ll * 1000000000ll)

static void wall_time_comes_from_the_preamble(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("variants/nginx-997.header.gz");
	int64_t base = 0;
	static const struct cam_import_options options[] = {
		{0}, {.local_zone = true}, {.local_zone = true}};
	static const char *const zones[] = {"UTC0", "UTC0", "ABC-1"};
	for (size_t i = 0; i < 3; i++) {
		setenv("TZ", zones[i], 1);
		tzset();
		struct memory_source s = {0};
		struct result res = {0};
		read_input(&res, input_of(&s, text.data, text.len), &options[i]);
		assert_int_equal(res.r->n_anchors, 1);
		const struct cam_anchor *a = &res.r->anchors[0];
		/* The date in the stored print is that of the file it was printed from. */
		const char *captured = fact(res.r, "captured on");
		assert_int_equal(strlen(captured), 24);
		assert_int_equal(a->time_ns, 1139243049000);
		assert_int_equal(a->uncertainty_ns,
				 i ? 2000000000u : 14 * 3600000000000u + 2000000000u);
		base = i ? base : a->realtime_ns;
		assert_int_equal(a->realtime_ns, base - (i == 2 ? 3600 * 1000000000ll : 0));
		done(&res);
	}
	cam_buf_free(&text);
	struct result res = read_data("nginx-997.stacks.gz");
	assert_int_equal(res.r->n_anchors, 1);
	assert_int_equal(res.r->anchors[0].realtime_ns, CAPTURED_NS);
	done(&res);
	/* perf record -k monotonic: perf has read both clocks itself. */
	res = read_text("# captured on    : Sun Nov 15 05:03:44 2026\n"
			"# time of last sample : 0.000000\n"
			"# clockid: monotonic (1)\n"
			"# reference time: 2026-11-15 05:03:44.641560 = 1794719024.641560 (TOD) = "
			"1760.417350552 (monotonic)\n"
			"a 1 1761.000000: e:\n\n");
	assert_int_equal(res.r->n_anchors, 1);
	assert_int_equal(res.r->anchors[0].time_ns, 1760417350552);
	assert_int_equal(res.r->anchors[0].realtime_ns, 1794719024641560000);
	assert_int_equal(res.r->anchors[0].uncertainty_ns, 1000);
	done(&res);
	/* Times counted from 1970. */
	res = read_text("a 1 1794719024.000001: e:\n\na 1 1794719025.000001: e:\n\n");
	assert_int_equal(res.r->n_anchors, 1);
	assert_int_equal(res.r->anchors[0].realtime_ns, 1794719024000001000);
	assert_int_equal(res.r->anchors[0].time_ns, 1794719024000001000);
	assert_int_equal(res.r->anchors[0].uncertainty_ns, 0);
	done(&res);
	res = read_text("a 1 17.000001: e:\n\n");
	assert_int_equal(res.r->n_anchors, 0);
	done(&res);
}

static void lost_records_go_to_the_ledger(void **state)
{
	(void)state;
	/* As `perf script --show-lost-events` prints them. */
	struct result res = read_text(
		"dd 26172 [000]  2365.299660: raw_syscalls:sys_enter: NR 0 (0, 5, 1)\n\t10 f (m)\n\n"
		"dd 26172 [001]  2365.299666: PERF_RECORD_LOST lost 17\n"
		"dd 26172 [000]  2365.299667: raw_syscalls:sys_enter: NR 0 (0, 5, 1)\n\t10 f (m)\n\n"
		"dd 26172 [000]  2365.299699: PERF_RECORD_LOST lost 11\n");
	assert_int_equal(res.r->n_samples, 2);
	assert_int_equal(res.r->n_ledger, 2);
	assert_int_equal(res.r->ledger[0].cause, CAM_CAUSE_LOST_RING);
	assert_int_equal(res.r->ledger[0].samples, 17);
	assert_int_equal(res.r->ledger[0].cpu, 1);
	assert_int_equal(res.r->ledger[0].from_ns, 2365299666000);
	assert_int_equal(res.st.lost_samples, 28);
	assert_string_equal(res.r->samples[1].detail.p, "NR 0 (0, 5, 1)");
	assert_false(cam_import_is_partial(&res.st));
	done(&res);
	res = read_data("variants/nginx-997.sideband.gz");
	assert_int_equal(res.st.other_records, 60);
	done(&res);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_and_printing_gives_perfs_bytes),
		cmocka_unit_test(two_prints_of_a_recording_give_the_same_samples),
		cmocka_unit_test(dropping_addresses_changes_nothing_else),
		cmocka_unit_test(neither_block_nor_window_bounds_show),
		cmocka_unit_test(variants_give_the_same_samples),
		cmocka_unit_test(tracepoints_keep_their_text),
		cmocka_unit_test(heads_in_every_form),
		cmocka_unit_test(frames_in_every_form),
		cmocka_unit_test(events_in_one_file),
		cmocka_unit_test(data_addresses_are_text),
		cmocka_unit_test(padded_heads_are_no_frames),
		cmocka_unit_test(the_preamble_becomes_facts),
		cmocka_unit_test(wall_time_comes_from_the_preamble),
		cmocka_unit_test(lost_records_go_to_the_ledger),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
