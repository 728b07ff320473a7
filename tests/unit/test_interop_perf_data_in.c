// SPDX-License-Identifier: Apache-2.0
/*
 * A recording of perf's (tests/data/tmpl.perf.data.zst), with a namer and a sink that are watched: what is
 * asked for, in which batches, and what becomes of refusals and new windows. And order and spaces by
 * themselves. What perf prints of recordings is compared in tests/cli/test_perf_data.py.
 */
#include "interop/perf_data_chains.h"
#include "interop/perf_data_header.h"
#include "interop/perf_data_in.h"
#include "interop/perf_data_order.h"
#include "support_input.h"
#include "support_sink.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SAMPLES 957u /* by perf's own print of it */

static ssize_t read_at(void *arg, void *room, size_t n, uint64_t at)
{
	const struct cam_buf *b = arg;
	if (at >= b->len)
		return 0;
	n = n < b->len - at ? n : (size_t)(b->len - at);
	/* A little at a time, as a slow disk may. */
	n = n < 5000 ? n : 5000;
	memcpy(room, b->data + at, n);
	return (ssize_t)n;
}

struct result {
	struct cam_buf data;
	struct record_sink *r;
	struct cam_import_stats st;
	int err;
};

static struct result start(void)
{
	return (struct result){.data = slurp_data("tmpl.perf.data.zst"), .r = record_sink_new()};
}

static void run(struct result *x, const struct cam_import_options *o)
{
	const struct cam_perf_file file = {&x->data, read_at, x->data.len};
	x->err = cam_perf_data_read_files(&file, 1, &x->r->sink, o, &x->st);
	assert_int_equal(x->r->breaches, 0);
}

static void done(struct result *x)
{
	record_sink_free(x->r);
	cam_buf_free(&x->data);
}

/* A namer that knows one file, calls every offset after itself, and counts its calls. */
struct namer {
	struct cam_namer namer;
	unsigned modules, calls;
	size_t offsets;
	int error;
};

static int find_module(struct cam_namer *n, const struct cam_namer_module *m, uint32_t *file)
{
	struct namer *self = n->self;
	self->modules++;
	*file = 5;
	return cam_text_ends(m->path, CAM_TEXT("/tmpl")) ? 0 : -ENOENT;
}

static int find_names(struct cam_namer *n, uint32_t file, const uint64_t *offsets, size_t n_offsets,
		      bool names_only, cam_namer_name_fn *fn, void *arg)
{
	struct namer *self = n->self;
	assert_int_equal(file, 5);
	assert_true(names_only);
	self->calls++;
	self->offsets += n_offsets;
	for (size_t i = 0; i < n_offsets && !self->error; i++) {
		char text[32];
		int bytes = snprintf(text, sizeof(text), "f_%llx",
				     (unsigned long long)offsets[i] & ~0xfull);
		const struct cam_name name = {
			.offset = offsets[i],
			.start = offsets[i] & ~0xfull,
			.source = CAM_NAME_SYMTAB,
			.name = {text, (size_t)bytes},
		};
		assert_int_equal(fn(arg, i, &name), 0);
	}
	return self->error;
}

static struct namer *new_namer(void)
{
	struct namer *n = calloc(1, sizeof(*n));
	n->namer = (struct cam_namer){.self = n, .module = find_module, .names = find_names};
	return n;
}

static void names_are_asked_for_once_and_in_batches(void **state)
{
	(void)state;
	struct result x = start();
	struct namer *n = new_namer();
	run(&x, &(struct cam_import_options){.namer = &n->namer});
	assert_int_equal(x.err, 0);
	assert_int_equal(x.r->n_samples, SAMPLES);
	assert_int_equal(n->calls, 1);
	size_t named = 0;
	for (size_t i = 0; i < x.r->n_samples; i++) {
		const struct sink_sample *s = &x.r->samples[i];
		for (size_t k = 0; k < s->n_frames; k++) {
			const struct sink_frame *f = &s->frames[k];
			bool ours = cam_text_ends(f->module, CAM_TEXT("/tmpl"));
			assert_int_equal(f->name.n > 0, ours);
			if (!ours)
				continue;
			named++;
			char want[32];
			snprintf(want, sizeof(want), "f_%llx",
				 (unsigned long long)f->address & ~0xfull);
			assert_true(cam_text_equal(f->name, cam_text_of(want)));
			assert_int_equal(f->offset, f->address & 0xf);
			assert_int_equal(f->source, CAM_NAME_SYMTAB);
		}
	}
	assert_true(named > n->offsets && n->offsets > 10);
	free(n);
	done(&x);
}

static void an_error_of_the_namer_ends_it(void **state)
{
	(void)state;
	struct result x = start();
	struct namer *n = new_namer();
	n->error = -EIO;
	run(&x, &(struct cam_import_options){.namer = &n->namer});
	assert_int_equal(x.err, -EIO);
	free(n);
	done(&x);
}

/* Ids die with their window: a sink that begins a new one all the time gets the same samples. */
static void windows_that_end_change_nothing(void **state)
{
	(void)state;
	struct result a = start(), b = start();
	b.r->new_window_every = 3;
	run(&a, NULL);
	run(&b, NULL);
	assert_int_equal(a.r->n_samples, SAMPLES);
	assert_int_equal(b.r->n_samples, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++) {
		const struct sink_sample *p = &a.r->samples[i], *q = &b.r->samples[i];
		assert_int_equal(p->time_ns, q->time_ns);
		assert_true(cam_text_equal(p->comm, q->comm) && cam_text_equal(p->event, q->event));
		assert_int_equal(p->n_frames, q->n_frames);
		for (size_t k = 0; k < p->n_frames; k++) {
			assert_int_equal(p->frames[k].address, q->frames[k].address);
			assert_true(cam_text_equal(p->frames[k].module, q->frames[k].module));
		}
	}
	done(&a);
	done(&b);
}

static void refusals_cost_one_sample(void **state)
{
	(void)state;
	for (int what = 0; what < 2; what++) {
		struct result x = start();
		x.r->refusal = what ? -E2BIG : -ERANGE;
		*(what ? &x.r->refuse_location : &x.r->refuse_begin) = 20;
		run(&x, NULL);
		assert_int_equal(x.err, 0);
		assert_int_equal(x.st.refused_samples, 1);
		assert_int_equal(x.st.samples, SAMPLES - 1);
		assert_true(cam_import_is_partial(&x.st));
		done(&x);
	}
	struct result x = start();
	x.r->refusal = -ENOSPC;
	x.r->refuse_begin = 20;
	run(&x, NULL);
	assert_int_equal(x.err, -ENOSPC);
	done(&x);
}

/* Without addresses a module without names is one location. */
static void addresses_can_be_dropped(void **state)
{
	(void)state;
	struct result x = start();
	run(&x, &(struct cam_import_options){.drop_addresses = true});
	assert_int_equal(x.r->n_samples, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++) {
		for (size_t k = 0; k < x.r->samples[i].n_frames; k++)
			assert_int_equal(x.r->samples[i].frames[k].address, 0);
	}
	assert_true(x.r->window.n_locations < 20);
	done(&x);
}

/* Without stacks every sample is still there, and an idle CPU's still has its frames: it is known by them. */
static void stacks_can_be_dropped(void **state)
{
	(void)state;
	struct result a = start(), b = start();
	run(&a, NULL);
	run(&b, &(struct cam_import_options){.drop_stacks = true});
	assert_int_equal(b.err, 0);
	assert_int_equal(b.r->n_samples, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++) {
		const struct sink_sample *p = &a.r->samples[i], *q = &b.r->samples[i];
		assert_int_equal(p->time_ns, q->time_ns);
		assert_int_equal(p->weight, q->weight);
		assert_int_equal(p->cpu, q->cpu);
		assert_int_equal(p->pid, q->pid);
		assert_int_equal(p->tid, q->tid);
		assert_true(cam_text_equal(p->comm, q->comm) && cam_text_equal(p->event, q->event));
		assert_true(p->n_frames);
		assert_int_equal(q->n_frames, q->pid ? 0 : p->n_frames);
	}
	done(&a);
	done(&b);
}

static size_t taken_at_once;

/* Half of what it is offered, so that the general way has some between. */
static size_t take_alike(struct cam_sink *s, const struct cam_sink_sample *like,
			 const struct cam_sink_moment *at, size_t n)
{
	size_t some = n / 2;
	for (size_t i = 0; i < some; i++) {
		struct cam_sink_sample one = *like;
		one.time_ns = at[i].time_ns;
		one.cpu = at[i].cpu;
		assert_int_equal(cam_sink_begin(s, one.time_ns), 0);
		assert_int_equal(s->sample(s, &one), 0);
	}
	taken_at_once += some;
	return some;
}

static void tasks_can_be_dropped(void **state)
{
	(void)state;
	struct result a = {.data = slurp_data("nginx-997.perf.data.zst"), .r = record_sink_new()};
	struct result b = {.data = slurp_data("nginx-997.perf.data.zst"), .r = record_sink_new()};
	const struct cam_import_options o = {
		.drop_stacks = true, .drop_tasks = true, .began_ns = 1000};
	run(&a, NULL);
	taken_at_once = 0;
	b.r->sink.alike = take_alike;
	run(&b, &o);
	assert_int_equal(b.err, 0);
	assert_int_equal(b.st.samples, a.st.samples);
	assert_int_equal(b.r->n_samples, a.r->n_samples);
	assert_true(taken_at_once > 0);
	for (size_t i = 0; i < a.r->n_samples; i++) {
		const struct sink_sample *p = &a.r->samples[i], *q = &b.r->samples[i];
		assert_int_equal(p->time_ns, q->time_ns);
		assert_int_equal(p->weight, q->weight);
		assert_int_equal(p->cpu, q->cpu);
		assert_true(cam_text_equal(p->event, q->event));
		assert_int_equal(!p->pid, !q->pid);
		assert_int_equal(q->n_frames, p->pid ? 0 : p->n_frames);
	}
	done(&a);
	done(&b);
}

static void facts_and_anchors(void **state)
{
	(void)state;
	struct result x = start();
	run(&x, &(struct cam_import_options){.began_ns = 1000, .began_uncertain_ns = 5});
	bool host = false;
	for (size_t i = 0; i + 1 < x.r->n_facts; i += 2)
		host |= cam_text_equal(x.r->facts[i], CAM_TEXT("hostname"));
	assert_true(host);
	assert_int_equal(x.r->n_anchors, 1);
	assert_int_equal(x.r->anchors[0].realtime_ns, 1000);
	assert_int_equal(x.r->anchors[0].time_ns, x.r->samples[0].time_ns);
	assert_int_equal(x.st.clock, CAM_CLOCK_FOREIGN);
	done(&x);
}

/* NUMA_TOPOLOGY, whose lists may say a CPU as often as they like: it is of the node that says it first. */
static void a_cpu_is_of_one_node(void **state)
{
	(void)state;
	static const char *const lists[] = {"0-1,4", "1-3,5", "0-65535,0-65535,0-65535"};
	struct record_sink *r = record_sink_new();
	struct cam_perf_meta_data meta = {.cpus = 8};
	const struct cam_perf_features to = {.sink = &r->sink, .meta = &meta};
	struct cam_buf b = CAM_BUF(4096);
	cam_buf_put_u32(&b, 3);
	for (uint32_t i = 0; i < 3; i++) {
		cam_buf_put_u32(&b, i);
		cam_buf_put_u64(&b, 1024);
		cam_buf_put_u64(&b, 512);
		cam_buf_put_u32(&b, 64);
		cam_buf_put(&b, lists[i], strlen(lists[i]));
		for (size_t n = strlen(lists[i]); n < 64; n++)
			cam_buf_put_u8(&b, 0);
	}
	assert_int_equal(cam_perf_features_take(&to, 14, b.data, b.len), 0);
	assert_int_equal(r->n_facts, 2);
	assert_true(cam_text_equal(r->facts[0], CAM_TEXT("nodes")));
	assert_true(cam_text_equal(r->facts[1], CAM_TEXT("0*2 1*2 0*1 1*1 -1*2")));
	record_sink_free(r);
	cam_buf_free(&b);
}

/* A recording of deep chains, each another one: what waits for its batch is bounded by frames, not by samples alone. */
struct deep {
	struct cam_buf data;
	uint64_t read;	     /* so far */
	uint64_t first_read; /* when the first sample came */
	size_t samples;
};

static ssize_t read_deep(void *arg, void *room, size_t n, uint64_t at)
{
	struct deep *d = arg;
	if (at >= d->data.len)
		return 0;
	n = n < d->data.len - at ? n : (size_t)(d->data.len - at);
	memcpy(room, d->data.data + at, n);
	d->read = at + n > d->read ? at + n : d->read;
	return (ssize_t)n;
}

static struct deep *counting;

static int count_sample(struct cam_sink *s, const struct cam_sink_sample *sample)
{
	(void)s;
	assert_int_equal(sample->n_frames, 1000);
	if (!counting->samples++)
		counting->first_read = counting->read;
	return 0;
}

static void put_deep(struct cam_buf *b, unsigned samples)
{
	const uint64_t user = (uint64_t)-512, bytes = 8 + 5 * 8 + 1001 * 8;
	const uint64_t head[] = {104, 128, 104, 128, 232, samples * bytes + samples / 100 * 8};
	cam_buf_put(b, "PERFILE2", 8);
	for (unsigned i = 0; i < 12; i++)
		cam_buf_put_u64(b, i < 6 ? head[i] : 0);
	/* software cpu-clock; IP, TID, TIME, CALLCHAIN, PERIOD; sample_id_all; no ids. */
	const uint64_t attr[16] = {112ull << 32 | 1, 0, 10101010, 0x127, 0, 1u << 18};
	cam_buf_put(b, attr, sizeof(attr));
	for (unsigned i = 0; i < samples; i++) {
		const uint64_t fields[] = {9 | 2ull << 32 | bytes << 48,
					   0x400000,
					   7 | 7ull << 32,
					   1000000000 + i * 1000ull,
					   10101010,
					   1001,
					   user,
					   0x400000 + i * 16ull};
		cam_buf_put(b, fields, sizeof(fields));
		for (unsigned k = 1; k < 1000; k++)
			cam_buf_put_u64(b, 0x900000 + k * 16ull);
		if (i % 100 == 99)
			cam_buf_put_u64(b, 68 | 8ull << 48); /* a round is over */
	}
}

static void deep_chains_do_not_wait_for_the_end(void **state)
{
	(void)state;
	struct deep d = {.data = CAM_BUF(256u << 20)};
	struct record_sink *r = record_sink_new();
	struct cam_import_stats st = {0};
	put_deep(&d.data, 9000);
	assert_int_equal(cam_buf_error(&d.data), 0);
	const struct cam_perf_file whole = {&d, read_deep, d.data.len};
	counting = &d;
	r->sink.sample = count_sample;
	r->sink.stack = NULL;
	assert_int_equal(cam_perf_data_read_files(&whole, 1, &r->sink,
						  &(struct cam_import_options){0}, &st),
			 0);
	assert_int_equal(d.samples, 9000);
	assert_true(d.first_read < d.data.len / 4 * 3);
	record_sink_free(r);
	cam_buf_free(&d.data);
}

/*
 * One sample of a group of three (a leader and two who count with it), with registers and a stack. Each attr has asked for
 * other registers; those in the sample are the leader's.
 */
static void put_group(struct cam_buf *b)
{
	static const uint64_t masks[] = {0x1c1, 0x1c7, 0}; /* ax bp sp ip; and bx, cx; none */
	const uint64_t sample[] = {1,	       0x401000, 7 | 7ull << 32,
				   1000000000,	     /* IDENTIFIER IP TID TIME */
				   1,	       5000, /* ID PERIOD */
				   3,	       5000,	 1,
				   70,	       2,	 80,
				   3, /* READ: each one's count */
				   2,	       11,	 22,
				   33,	       44, /* REGS_USER: abi, ax bp sp ip */
				   16,	       0x5555,	 0x6666,
				   16}; /* STACK_USER */
	const uint64_t bytes = 8 + sizeof(sample),
		       head[] = {104, 128, 104, 3 * 128, 104 + 3 * 128 + 24, bytes};
	cam_buf_put(b, "PERFILE2", 8);
	for (unsigned i = 0; i < 12; i++)
		cam_buf_put_u64(b, i < 6 ? head[i] : 0);
	for (uint64_t i = 0; i < 3; i++) {
		/* software, another one each; PERIOD, READ and what else is above; ID and GROUP are read; sample_id_all. */
		const uint64_t attr[16] = {112ull << 32 | 1,
					   i,
					   5000,
					   0x13157,
					   4 | 8,
					   1u << 18,
					   0,
					   0,
					   0,
					   0,
					   masks[i],
					   16,
					   0,
					   0,
					   104 + 3 * 128 + 8 * i,
					   8};
		cam_buf_put(b, attr, sizeof(attr));
	}
	for (uint64_t i = 0; i < 3; i++)
		cam_buf_put_u64(b, i + 1);
	cam_buf_put_u64(b, 9 | 2ull << 32 | bytes << 48);
	cam_buf_put(b, sample, sizeof(sample));
}

/* A symbol of the kernel's whose record is longer than it is, as kernels write it, and a sample in it. */
static void put_long_symbol(struct cam_buf *b, uint64_t extra)
{
	const uint64_t bytes = 8 + 5 * 8 + 2 * 8, symbol_bytes = 24 + 16 + 16 + extra;
	const uint64_t head[] = {104, 128, 104, 128, 232, symbol_bytes + bytes};
	cam_buf_put(b, "PERFILE2", 8);
	for (unsigned i = 0; i < 12; i++)
		cam_buf_put_u64(b, i < 6 ? head[i] : 0);
	/* software cpu-clock; IP, TID, TIME, CALLCHAIN, PERIOD; sample_id_all; no ids. */
	const uint64_t attr[16] = {112ull << 32 | 1, 0, 10101010, 0x127, 0, 1u << 18};
	const uint64_t symbol[] = {17 | symbol_bytes << 48, (uint64_t)-0x10000, 256 | 1ull << 32};
	const uint64_t trailer[] = {7 | 7ull << 32, 1000000000};
	const uint64_t sample[] = {9 | 1ull << 32 | bytes << 48,
				   (uint64_t)-0x10000,
				   7 | 7ull << 32,
				   1000000001,
				   10101010,
				   2,
				   (uint64_t)-128,
				   (uint64_t)-0xfff0};
	cam_buf_put(b, attr, sizeof(attr));
	cam_buf_put(b, symbol, sizeof(symbol));
	cam_buf_put(b, "bpf_prog_one\0\0\0", 16);
	cam_buf_put(b, trailer, sizeof(trailer));
	for (uint64_t i = 0; i < extra; i += 8)
		cam_buf_put_u64(b, INT64_MAX); /* what lay there before; no time */
	cam_buf_put(b, sample, sizeof(sample));
}

static void what_lies_behind_a_symbol_is_no_time(void **state)
{
	(void)state;
	for (uint64_t extra = 0; extra <= 64; extra += 16) {
		struct result x = {.data = CAM_BUF(4096), .r = record_sink_new()};
		put_long_symbol(&x.data, extra);
		run(&x, &(struct cam_import_options){0});
		assert_int_equal(x.err, 0);
		assert_int_equal(x.r->n_samples, 1);
		assert_int_equal(x.r->samples[0].n_frames, 1);
		assert_true(
			cam_text_equal(x.r->samples[0].frames[0].name, CAM_TEXT("bpf_prog_one")));
		done(&x);
	}
}

static int walk_group(struct cam_namer *n, const struct cam_namer_stack *stacks, size_t n_stacks,
		      cam_namer_frames_fn *fn, void *arg)
{
	static const uint64_t stack[] = {0x5555, 0x6666}, frames[] = {0x44, 0x500000};
	struct namer *self = n->self;
	int err = 0;
	for (size_t i = 0; i < n_stacks && !err; i++) {
		assert_int_equal(stacks[i].copy.bp, 22);
		assert_int_equal(stacks[i].copy.sp, 33);
		assert_int_equal(stacks[i].copy.ip, 44);
		assert_int_equal(stacks[i].copy.stack_bytes, sizeof(stack));
		assert_memory_equal(stacks[i].copy.stack, stack, sizeof(stack));
		self->calls++;
		err = fn(arg, i, &(struct cam_unwind_tidings){.frames = frames, .n_frames = 2});
	}
	return err;
}

static void registers_of_a_group_are_its_leaders(void **state)
{
	(void)state;
	struct result x = {.data = CAM_BUF(4096), .r = record_sink_new()};
	struct namer *n = new_namer();
	n->namer.unwind = walk_group;
	put_group(&x.data);
	run(&x, &(struct cam_import_options){.namer = &n->namer});
	assert_int_equal(x.err, 0);
	assert_int_equal(x.st.malformed_samples, 0);
	assert_int_equal(n->calls, 3);
	assert_int_equal(x.r->n_samples, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(x.r->samples[i].n_frames,
				 3); /* its own address, and what was walked */
	free(n);
	done(&x);
}

static void times_of(struct cam_perf_order *o, const uint64_t *want, size_t n)
{
	assert_int_equal(o->n_ready, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(o->ready[i].time_ns, want[i]);
}

static void add(struct cam_perf_order *o, size_t stream, uint64_t time_ns)
{
	uint64_t record[2] = {time_ns, stream};
	const struct cam_perf_order_entry e = {.time_ns = time_ns, .n = sizeof(record)};
	assert_int_equal(cam_perf_order_add(o, stream, &e, record, NULL), 0);
}

static void records_wait_for_the_round_after_theirs(void **state)
{
	(void)state;
	struct cam_perf_order o;
	assert_int_equal(cam_perf_order_init(&o, 1), 0);
	for (uint64_t t = 5; t < 20; t += 4)
		add(&o, 0, t);
	add(&o, 0, 3);
	add(&o, 0, 7);
	cam_perf_order_round(&o, 0);
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_PROMISED), 0);
	times_of(&o, NULL, 0);
	cam_perf_order_drop(&o);
	add(&o, 0, 8);
	add(&o, 0, 30);
	cam_perf_order_round(&o, 0);
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_PROMISED), 0);
	times_of(&o, (uint64_t[]){3, 5, 7, 8, 9, 13, 17}, 7);
	for (size_t i = 0; i < o.n_ready; i++)
		assert_int_equal(*(uint64_t *)(void *)(o.bytes + o.ready[i].at * 8ul),
				 o.ready[i].time_ns);
	cam_perf_order_drop(&o);
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_ALL), 0);
	times_of(&o, (uint64_t[]){30}, 1);
	assert_int_equal(*(uint64_t *)(void *)(o.bytes + o.entries[0].at * 8ul), 30);
	cam_perf_order_free(&o);
}

static void streams_wait_for_each_other(void **state)
{
	(void)state;
	struct cam_perf_order o;
	assert_int_equal(cam_perf_order_init(&o, 2), 0);
	for (int round = 0; round < 2; round++) {
		add(&o, 0, 10);
		cam_perf_order_round(&o, 0);
	}
	add(&o, 1, 4);
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_PROMISED), 0);
	times_of(&o, NULL, 0);
	cam_perf_order_end(&o, 1);
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_PROMISED), 0);
	times_of(&o, (uint64_t[]){4, 10, 10}, 3);
	cam_perf_order_free(&o);
}

static void a_full_order_lets_the_older_half_go(void **state)
{
	(void)state;
	static uint8_t record[65528];
	struct cam_perf_order o;
	uint64_t n = 0;
	assert_int_equal(cam_perf_order_init(&o, 1), 0);
	struct cam_perf_order_entry e = {.n = sizeof(record)};
	while (cam_perf_order_add(&o, 0, &e, record, NULL) == 0)
		e.time_ns = ++n;
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_HALF), 0);
	assert_int_equal(o.n_ready, n / 2 + 1);
	cam_perf_order_drop(&o);
	assert_int_equal(cam_perf_order_add(&o, 0, &e, record, NULL), 0);
	cam_perf_order_free(&o);
}

static void hashes_stay_with_their_records(void **state)
{
	(void)state;
	struct cam_perf_order o;
	assert_int_equal(cam_perf_order_init(&o, 1), 0);
	/* The newer ones move to the front when the older ones go. */
	for (uint64_t i = 0; i < 9; i++) {
		const struct cam_hash_128 hash = {i * 7, i * 11};
		uint64_t record[3] = {i, i, i};
		const struct cam_perf_order_entry e = {
			.time_ns = 100 - i,
			.n = sizeof(record),
			.what = (uint16_t)(i + 1) | (i % 3 ? CAM_PERF_ORDER_HASHED : 0),
		};
		assert_int_equal(cam_perf_order_add(&o, 0, &e, record, &hash), 0);
	}
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_HALF), 0);
	assert_int_equal(o.n_ready, 5);
	cam_perf_order_drop(&o);
	assert_int_equal(cam_perf_order_ready(&o, CAM_PERF_ORDER_ALL), 0);
	assert_int_equal(o.n_ready, 4);
	for (size_t k = 0; k < o.n_ready; k++) {
		const struct cam_perf_order_entry *e = &o.ready[k];
		uint64_t i = 100 - e->time_ns, record[3] = {i, i, i};
		assert_int_equal(e->what & CAM_PERF_ORDER_EVENT, i + 1);
		assert_memory_equal(cam_perf_order_record(&o, e), record, sizeof(record));
		assert_int_equal(e->what & CAM_PERF_ORDER_HASHED,
				 i % 3 ? CAM_PERF_ORDER_HASHED : 0);
		if (i % 3)
			assert_int_equal(cam_perf_order_hash(&o, e).high, i * 11);
	}
	cam_perf_order_free(&o);
}

static void a_chain_has_one_number_until_all_are_forgotten(void **state)
{
	(void)state;
	struct cam_perf_chains c = {0};
	bool known;
	uint32_t row, other;
	/* So many that the table grows, with hashes that all want one slot. */
	for (uint64_t i = 0; i < 20000; i++) {
		const struct cam_hash_128 h = {i % 5 ? i * 0x9e3779b97f4a7c15u : i << 32, i};
		assert_int_equal(cam_perf_chains_find(&c, h, 1, &known, &row), 0);
		assert_false(known);
		assert_int_equal(row, i);
	}
	assert_int_equal(cam_perf_chains_add(&c, &other), 0);
	for (uint64_t i = 0; i < 20000; i++) {
		const struct cam_hash_128 h = {i % 5 ? i * 0x9e3779b97f4a7c15u : i << 32, i};
		assert_int_equal(cam_perf_chains_find(&c, h, 1, &known, &row), 0);
		assert_true(known);
		assert_int_equal(row, i);
	}
	/* In other spaces its addresses are others. */
	assert_int_equal(cam_perf_chains_find(&c, (struct cam_hash_128){0, 0}, 2, &known, &row), 0);
	assert_false(known);
	assert_int_equal(row, other + 1);
	cam_perf_chains_forget(&c);
	assert_int_equal(cam_perf_chains_find(&c, (struct cam_hash_128){0, 0}, 1, &known, &row), 0);
	assert_false(known);
	assert_int_equal(row, 0);
	cam_perf_chains_free(&c);
}

static void map(struct cam_perf_spaces *s, int32_t pid, uint64_t start, uint64_t end,
		const char *path)
{
	const struct cam_perf_mapping m = {
		.pid = pid,
		.tid = pid,
		.start = start,
		.bytes = end - start,
		.offset = 0x1000,
		.path = cam_text_of(path),
		.build_id = CAM_TEXT(""),
		.executable = true,
	};
	assert_int_equal(cam_perf_spaces_map(s, &m), 0);
}

static void expect_at(struct cam_perf_spaces *s, int32_t pid, uint64_t address, const char *path,
		      uint64_t offset)
{
	const struct cam_perf_map *m = cam_perf_space_find(cam_perf_spaces_of(s, pid), address);
	if (!path) {
		assert_null(m);
		return;
	}
	assert_non_null(m);
	assert_true(cam_text_equal(cam_string(&s->texts, s->objects[m->object].path),
				   cam_text_of(path)));
	assert_int_equal(address - m->start + m->offset, offset);
}

static void spaces_are_values(void **state)
{
	(void)state;
	struct cam_perf_spaces s;
	assert_int_equal(cam_perf_spaces_init(&s), 0);
	map(&s, 1, 0x1000, 0x5000, "a");
	map(&s, 1, 0x2000, 0x3000, "b");
	expect_at(&s, 1, 0x1fff, "a", 0x1fff);
	expect_at(&s, 1, 0x2000, "b", 0x1000);
	expect_at(&s, 1, 0x3000, "a", 0x3000);
	expect_at(&s, 1, 0x5000, NULL, 0);
	assert_int_equal(cam_perf_spaces_fork(&s, 2, 2, 1, 1, false), 0);
	assert_ptr_equal(cam_perf_spaces_of(&s, 1), cam_perf_spaces_of(&s, 2));
	struct cam_perf_space *held = cam_perf_spaces_hold(&s, 2);
	map(&s, 2, 0, 0x10000, "c");
	expect_at(&s, 1, 0x2000, "b", 0x1000);
	expect_at(&s, 2, 0x2000, "c", 0x3000);
	assert_int_equal(held->n, 3);
	assert_true(held->number != cam_perf_spaces_of(&s, 2)->number);
	cam_perf_spaces_let_go(&s, held);
	cam_perf_spaces_free(&s);
}

static void comms_go_to_children(void **state)
{
	(void)state;
	struct cam_perf_spaces s;
	assert_int_equal(cam_perf_spaces_init(&s), 0);
	struct cam_perf_thread *t = cam_perf_spaces_thread(&s, 9, 9);
	assert_true(cam_text_equal(cam_string(&s.texts, t->comm), CAM_TEXT(":9")));
	cam_perf_spaces_comm(&s, 9, 9, CAM_TEXT("make"));
	cam_perf_spaces_fork(&s, 10, 10, 9, 9, false);
	t = cam_perf_spaces_thread(&s, 10, 10);
	assert_true(cam_text_equal(cam_string(&s.texts, t->comm), CAM_TEXT("make")));
	/* The number is used again: another thread. */
	cam_perf_spaces_fork(&s, 9, 9, 77, 77, false);
	t = cam_perf_spaces_thread(&s, 9, 9);
	assert_true(cam_text_equal(cam_string(&s.texts, t->comm), CAM_TEXT(":9")));
	cam_perf_spaces_free(&s);
}

/* Mappings of processes that are gone make room; what still does not fit is counted. */
static void spaces_are_bounded(void **state)
{
	(void)state;
	struct cam_perf_spaces s;
	assert_int_equal(cam_perf_spaces_init(&s), 0);
	for (int32_t pid = 1; pid <= 100; pid++) {
		for (uint64_t i = 0; i < 30000; i++)
			map(&s, pid, i << 12, (i + 1) << 12, "x");
		cam_perf_spaces_exit(&s, pid, pid);
	}
	assert_true(s.map_bytes <= CAM_PERF_SPACE_BYTES);
	assert_int_equal(s.refused, 0);
	expect_at(&s, 100, 0x1000, "x", 0x1000);
	for (uint64_t i = 0; i <= CAM_PERF_MAX_MAPS; i++)
		map(&s, 500, i << 12, (i + 1) << 12, "x");
	assert_true(s.refused > 0);
	cam_perf_spaces_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_asked_for_once_and_in_batches),
		cmocka_unit_test(an_error_of_the_namer_ends_it),
		cmocka_unit_test(windows_that_end_change_nothing),
		cmocka_unit_test(refusals_cost_one_sample),
		cmocka_unit_test(addresses_can_be_dropped),
		cmocka_unit_test(stacks_can_be_dropped),
		cmocka_unit_test(tasks_can_be_dropped),
		cmocka_unit_test(facts_and_anchors),
		cmocka_unit_test(a_cpu_is_of_one_node),
		cmocka_unit_test(deep_chains_do_not_wait_for_the_end),
		cmocka_unit_test(what_lies_behind_a_symbol_is_no_time),
		cmocka_unit_test(registers_of_a_group_are_its_leaders),
		cmocka_unit_test(records_wait_for_the_round_after_theirs),
		cmocka_unit_test(streams_wait_for_each_other),
		cmocka_unit_test(a_full_order_lets_the_older_half_go),
		cmocka_unit_test(hashes_stay_with_their_records),
		cmocka_unit_test(a_chain_has_one_number_until_all_are_forgotten),
		cmocka_unit_test(spaces_are_values),
		cmocka_unit_test(comms_go_to_children),
		cmocka_unit_test(spaces_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
