// SPDX-License-Identifier: Apache-2.0
#include "base/bundle.h"
#include "model/errand.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Exactly what a packet may ask for, so that ASan sees one byte more. */
static void *scratch_new(void)
{
	void *p = aligned_alloc(8, CAM_ERRAND_MAX_BYTES * 2);
	assert_non_null(p);
	return p;
}

static char room[CAM_ERRAND_MAX_BYTES];

static const struct cam_mapping maps[] = {
	{0x1000, 0x3000, 0x400, 77, 5, 8, 1, CAM_TEXT("/usr/bin/a b\nc (deleted)")},
	{0x3000, 0x4000, 0, UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, CAM_TEXT("")},
	{0xffffffffff600000, UINT64_MAX, 0, 0, 0, 0, 0, CAM_TEXT("[vsyscall]")},
};

static const struct cam_inlined inlined[] = {
	{CAM_TEXT("outer"), CAM_TEXT("/src/a.c"), 12},
	{CAM_TEXT("in\0ner"), CAM_TEXT(""), 0},
	{CAM_TEXT("x"), CAM_TEXT("b.h"), UINT32_MAX},
};

static const struct cam_name names[] = {
	{0x1234, 0x1200, CAM_NAME_SYMTAB, CAM_TEXT("std::f(int)"), CAM_TEXT(""),
	 CAM_TEXT("/src/main.c"), 77, 3, inlined},
	{0, 0, CAM_NAME_NONE, CAM_TEXT(""), CAM_TEXT("[ext4]")},
	{UINT64_MAX, UINT64_MAX, CAM_NAME_JITDUMP, CAM_TEXT("\0x"), CAM_TEXT("[bpf]")},
	{0x2010, 0x2000, CAM_NAME_KALLSYMS, CAM_TEXT("f"), CAM_TEXT(""), .end = 0x2011},
};

static const uint64_t offsets[] = {0, 1, UINT64_MAX};

static const struct cam_unwind_mapping unwind_maps[] = {
	{0x1000, 0x2000, 0, 9},
	{0x2000, UINT64_MAX, 0x3000, CAM_NONE},
};

static const struct cam_unwind_rule rules[] = {
	{CAM_CFA_RSP, CAM_RBP_SAME, 0, 8},
	{CAM_CFA_UNSUPPORTED, CAM_RBP_GONE, INT16_MIN, INT32_MIN},
};

static const struct cam_unwind_row rows[] = {
	{0, 1},
	{1, 0},
	{UINT32_MAX, CAM_UNWIND_MAX_RULES - 1},
};

static const struct cam_file_segment segments[] = {
	{0x401000, 0x1000, 0x2000},
	{UINT64_MAX, 0, 0},
};

static const struct cam_errand errands[] = {
	{CAM_ERRAND_PROCESS, 1, 5, 7},
	{CAM_ERRAND_THREAD, UINT32_MAX, INT32_MAX, 0},
	{CAM_ERRAND_FILE, 3, 5, 5, 9, .mapping = {0x1000, 0x3000, 4, 77, 6, 8, 1, CAM_TEXT("/x")}},
	{CAM_ERRAND_KALLSYMS, 4},
	{CAM_ERRAND_NAMES, 5, .file = CAM_FILE_KERNEL, .offsets = offsets, .n_offsets = 3},
	{CAM_ERRAND_NAMES, 6, .file = CAM_FILE_FIRST},
	{CAM_ERRAND_NAMES, 6, .format = CAM_FORMAT_JITDUMP, .offsets = offsets, .n_offsets = 1},
	{CAM_ERRAND_NAMES, 6, .search = true, .symbols_only = true, .names_only = true},
	{CAM_ERRAND_DEBUG, 6, 5, .file = 12, .mapping = {.path = CAM_TEXT("/bin/a\nb")},
	 .build_id = CAM_TEXT("\1\0\2"), .link = CAM_TEXT("a.debug"), .skip = UINT32_MAX},
	{CAM_ERRAND_DEBUG, 6},
	{CAM_ERRAND_FORGET, 7, .file = UINT32_MAX},
	{CAM_ERRAND_JIT, 8, 5, 5, 10, UINT64_MAX},
	{CAM_ERRAND_TABLE, 9, .file = 11},
	{CAM_ERRAND_UNWIND, 10, 5, 6, .copy = {1, 2, UINT64_MAX, (const uint8_t *)"stack", 5},
	 .maps = unwind_maps, .n_maps = 2},
	{CAM_ERRAND_UNWIND, 11, 5, 6},
	{CAM_ERRAND_OUTLINE, 12, .file = 11},
};

static const struct cam_tidings tidings[] = {
	{CAM_ERRAND_PROCESS, 1, 5, 7,
	 .process = {123456789, 987654321, 1000, true, CAM_TEXT("a)\n b"), CAM_TEXT("/usr/bin/a"),
		     CAM_TEXT("/user.slice"), maps, 3}},
	{CAM_ERRAND_PROCESS, 1, 5, 7, .process = {.uid = UINT32_MAX}},
	{CAM_ERRAND_PROCESS, 1, 5, 7, .error = -ESRCH},
	{CAM_ERRAND_THREAD, 2, 5, 8, .comm = CAM_TEXT("kworker/u9:3-events_unbound")},
	{CAM_ERRAND_FILE, 3, 5, 5, 9, .held = {{8, 1, 77, 5, -1, UINT64_MAX}, 12}},
	{CAM_ERRAND_FILE, 3, 5, 5, 9, .error = -4095},
	{CAM_ERRAND_KALLSYMS, 4},
	{CAM_ERRAND_NAMES, 5, .names = {names, 3, true, CAM_TEXT("\1\2\3\0\5")}},
	{CAM_ERRAND_NAMES, 5, .error = -EBADMSG},
	{CAM_ERRAND_NAMES, 5, .names = {.wants_debug = true, .link = CAM_TEXT("x.debug")}},
	{CAM_ERRAND_DEBUG, 5, .file = 12},
	{CAM_ERRAND_JIT, 8, 5, 5, 10, .held = {{8, 1, 77, 5, -1, UINT64_MAX}}},
	{CAM_ERRAND_TABLE, 9, .file = 11, .table = {rules, rows, 2, 3, true}},
	{CAM_ERRAND_TABLE, 9, .file = 11},
	{CAM_ERRAND_UNWIND, 10, 5, 6, .unwound = {offsets, 3, CAM_STACK_COMPLETE, true, CAM_NONE}},
	{CAM_ERRAND_UNWIND, 10, 5, 6, .unwound = {NULL, 0, CAM_STACK_PENDING, false, 11}},
	{CAM_ERRAND_OUTLINE, 12, .file = 11,
	 .outline = {CAM_TEXT("\1\2\0\3"), true, false, segments, 2}},
	{CAM_ERRAND_OUTLINE, 12, .file = 11, .outline = {.has_symbols = true}},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_text(struct cam_text a, struct cam_text b)
{
	assert_int_equal(a.n, b.n);
	if (a.n)
		assert_memory_equal(a.p, b.p, a.n);
}

static void assert_mapping(const struct cam_mapping *a, const struct cam_mapping *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->file_offset, b->file_offset);
	assert_int_equal(a->inode, b->inode);
	assert_int_equal(a->generation, b->generation);
	assert_int_equal(a->major, b->major);
	assert_int_equal(a->minor, b->minor);
	assert_text(a->path, b->path);
}

static void errands_come_back(void **state)
{
	(void)state;
	void *scratch = scratch_new();
	for (size_t i = 0; i < COUNT(errands); i++) {
		const struct cam_errand *e = &errands[i];
		struct cam_errand got;
		int n = cam_errand_pack(e, room, sizeof(room));
		assert_true(n > 0);
		assert_int_equal(cam_errand_unpack(room, (size_t)n, scratch,
						   CAM_ERRAND_MAX_BYTES * 2, &got),
				 0);
		assert_int_equal(got.type, e->type);
		assert_int_equal(got.ticket, e->ticket);
		assert_int_equal(got.pid, e->pid);
		assert_int_equal(got.tid, e->tid);
		assert_int_equal(got.file, e->file);
		assert_int_equal(got.n_offsets, e->n_offsets);
		for (uint32_t k = 0; k < e->n_offsets; k++)
			assert_int_equal(got.offsets[k], e->offsets[k]);
		assert_mapping(&got.mapping, &e->mapping);
		assert_int_equal(got.format, e->format);
		assert_int_equal(got.search, e->search);
		assert_int_equal(got.symbols_only, e->symbols_only);
		assert_int_equal(got.names_only, e->names_only);
		assert_text(got.build_id, e->build_id);
		assert_text(got.link, e->link);
		assert_int_equal(got.skip, e->skip);
		assert_int_equal(got.start_ns, e->start_ns);
		assert_int_equal(got.copy.ip, e->copy.ip);
		assert_int_equal(got.copy.sp, e->copy.sp);
		assert_int_equal(got.copy.bp, e->copy.bp);
		assert_text((struct cam_text){(const char *)got.copy.stack, got.copy.stack_bytes},
			    (struct cam_text){(const char *)e->copy.stack, e->copy.stack_bytes});
		assert_int_equal(got.n_maps, e->n_maps);
		for (uint32_t k = 0; k < e->n_maps; k++) {
			assert_int_equal(got.maps[k].start, e->maps[k].start);
			assert_int_equal(got.maps[k].end, e->maps[k].end);
			assert_int_equal(got.maps[k].offset, e->maps[k].offset);
			assert_int_equal(got.maps[k].file, e->maps[k].file);
		}
	}
	free(scratch);
}

static void assert_table(const struct cam_table_tidings *a, const struct cam_table_tidings *b)
{
	assert_int_equal(a->more, b->more);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_int_equal(a->n_rows, b->n_rows);
	if (a->n_rules)
		assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	if (a->n_rows)
		assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
}

static void assert_unwound(const struct cam_unwind_tidings *a, const struct cam_unwind_tidings *b)
{
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->guessed, b->guessed);
	assert_int_equal(a->lacking, b->lacking);
	assert_int_equal(a->n_frames, b->n_frames);
	for (uint32_t i = 0; i < a->n_frames; i++)
		assert_int_equal(a->frames[i], b->frames[i]);
}

static void assert_process(const struct cam_process_tidings *a, const struct cam_process_tidings *b)
{
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->maps_read_ns, b->maps_read_ns);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->more, b->more);
	assert_text(a->comm, b->comm);
	assert_text(a->exe, b->exe);
	assert_text(a->cgroup, b->cgroup);
	assert_int_equal(a->n_mappings, b->n_mappings);
	for (uint32_t i = 0; i < a->n_mappings; i++)
		assert_mapping(&a->mappings[i], &b->mappings[i]);
}

static void assert_names(const struct cam_names_tidings *a, const struct cam_names_tidings *b)
{
	assert_int_equal(a->more, b->more);
	assert_text(a->build_id, b->build_id);
	assert_int_equal(a->wants_debug, b->wants_debug);
	assert_text(a->link, b->link);
	assert_int_equal(a->n_names, b->n_names);
	for (uint32_t i = 0; i < a->n_names; i++) {
		assert_int_equal(a->names[i].offset, b->names[i].offset);
		assert_int_equal(a->names[i].start, b->names[i].start);
		assert_int_equal(a->names[i].end, b->names[i].end);
		assert_int_equal(a->names[i].source, b->names[i].source);
		assert_text(a->names[i].name, b->names[i].name);
		assert_text(a->names[i].module, b->names[i].module);
		assert_text(a->names[i].file, b->names[i].file);
		assert_int_equal(a->names[i].line, b->names[i].line);
		assert_int_equal(a->names[i].n_inlined, b->names[i].n_inlined);
		for (uint32_t k = 0; k < a->names[i].n_inlined; k++) {
			assert_text(a->names[i].inlined[k].name, b->names[i].inlined[k].name);
			assert_text(a->names[i].inlined[k].file, b->names[i].inlined[k].file);
			assert_int_equal(a->names[i].inlined[k].line, b->names[i].inlined[k].line);
		}
	}
}

static void assert_outline(const struct cam_outline_tidings *a, const struct cam_outline_tidings *b)
{
	assert_text(a->build_id, b->build_id);
	assert_int_equal(a->has_code, b->has_code);
	assert_int_equal(a->has_symbols, b->has_symbols);
	assert_int_equal(a->n_segments, b->n_segments);
	for (uint32_t i = 0; i < a->n_segments; i++) {
		assert_int_equal(a->segments[i].address, b->segments[i].address);
		assert_int_equal(a->segments[i].offset, b->segments[i].offset);
		assert_int_equal(a->segments[i].bytes, b->segments[i].bytes);
	}
}

static void tidings_come_back(void **state)
{
	(void)state;
	void *scratch = scratch_new();
	for (size_t i = 0; i < COUNT(tidings); i++) {
		const struct cam_tidings *t = &tidings[i];
		struct cam_tidings got;
		int n = cam_tidings_pack(t, room, sizeof(room));
		assert_true(n > 0);
		assert_int_equal(cam_tidings_unpack(room, (size_t)n, scratch,
						    CAM_ERRAND_MAX_BYTES * 2, &got),
				 0);
		assert_int_equal(got.type, t->type);
		assert_int_equal(got.ticket, t->ticket);
		assert_int_equal(got.pid, t->pid);
		assert_int_equal(got.tid, t->tid);
		assert_int_equal(got.file, t->file);
		assert_int_equal(got.error, t->error);
		if (t->type == CAM_ERRAND_PROCESS && !t->error)
			assert_process(&got.process, &t->process);
		if (t->type == CAM_ERRAND_THREAD)
			assert_text(got.comm, t->comm);
		if (t->type == CAM_ERRAND_TABLE && !t->error)
			assert_table(&got.table, &t->table);
		if (t->type == CAM_ERRAND_UNWIND && !t->error)
			assert_unwound(&got.unwound, &t->unwound);
		if (t->type == CAM_ERRAND_OUTLINE && !t->error)
			assert_outline(&got.outline, &t->outline);
		if ((t->type == CAM_ERRAND_FILE || t->type == CAM_ERRAND_JIT) && !t->error) {
			assert_int_equal(got.held.key.inode, 77);
			assert_int_equal(got.held.key.generation, 5);
			assert_int_equal(got.held.key.ctime_ns, -1);
			assert_int_equal(got.held.key.bytes, UINT64_MAX);
			assert_int_equal(got.held.key.major, 8);
			assert_int_equal(got.held.key.minor, 1);
			assert_int_equal(got.held.written_ns, t->held.written_ns);
		}
		if (t->type == CAM_ERRAND_NAMES && !t->error)
			assert_names(&got.names, &t->names);
	}
	free(scratch);
}

/* What a symboliser gone wrong may claim. */
static void tables_that_are_none_are_refused(void **state)
{
	(void)state;
	const struct cam_unwind_rule odd[] = {{CAM_CFA_KINDS, 0, 0, 0}, {0, CAM_RBP_KINDS, 0, 0}};
	const struct cam_unwind_row back[] = {{5, 0}, {5, 0}};
	const struct cam_unwind_row beyond = {5, CAM_UNWIND_MAX_RULES};
	const struct cam_file_segment wraps = {.address = UINT64_MAX, .bytes = 2};
	const struct cam_tidings bad[] = {
		{CAM_ERRAND_OUTLINE,
		 .outline = {.has_code = true, .segments = &wraps, .n_segments = 1}},
		{CAM_ERRAND_OUTLINE, .outline = {.segments = segments, .n_segments = 1}},
		{CAM_ERRAND_TABLE, .table = {.rules = &odd[0], .n_rules = 1}},
		{CAM_ERRAND_TABLE, .table = {.rules = &odd[1], .n_rules = 1}},
		{CAM_ERRAND_TABLE, .table = {.rows = back, .n_rows = 2}},
		{CAM_ERRAND_TABLE, .table = {.rows = &beyond, .n_rows = 1}},
		{CAM_ERRAND_UNWIND, .unwound = {.end = CAM_STACK_ENDS, .lacking = CAM_NONE}},
		{CAM_ERRAND_UNWIND, .unwound = {.end = CAM_STACK_COMPLETE, .lacking = 3}},
	};
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(cam_tidings_pack(&bad[i], room, sizeof(room)), -EINVAL);
	/* The same as bytes: a good packet, made bad. */
	const struct cam_tidings good = {CAM_ERRAND_TABLE, .table = {rules, rows, 2, 3, false}};
	int n = cam_tidings_pack(&good, room, sizeof(room));
	void *scratch = scratch_new();
	struct cam_tidings got;
	size_t rule_at = 22 + 1 + 4, row_at = rule_at + 2 * CAM_ERRAND_RULE_BYTES + 4;
	assert_int_equal(n, row_at + 3 * CAM_ERRAND_ROW_BYTES);
	uint8_t *bytes = (uint8_t *)room;
	bytes[rule_at] = CAM_CFA_KINDS;
	assert_int_equal(cam_tidings_unpack(room, (size_t)n, scratch, 4096, &got), -EBADMSG);
	bytes[rule_at] = CAM_CFA_RSP;
	assert_int_equal(cam_tidings_unpack(room, (size_t)n, scratch, 4096, &got), 0);
	bytes[row_at + 3] = 0xff;
	assert_int_equal(cam_tidings_unpack(room, (size_t)n, scratch, 4096, &got), -EBADMSG);
	free(scratch);
}

/* The example of errand.c, byte by byte. */
static void the_bytes_are_those_of_the_example(void **state)
{
	(void)state;
	static const uint8_t want[] = {'T', 1, 1, 0, 0, 0, 5, 0, 0, 0, 7, 0,   0,
				       0,   0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 'a', 'b'};
	struct cam_tidings t = {CAM_ERRAND_THREAD, 1, 5, 7, .comm = CAM_TEXT("ab")};
	assert_int_equal(cam_tidings_pack(&t, room, sizeof(room)), sizeof(want));
	assert_memory_equal(room, want, sizeof(want));
}

static int unpack(bool errand, const void *from, size_t n, void *scratch, size_t scratch_bytes)
{
	struct cam_errand e;
	struct cam_tidings t;
	return errand ? cam_errand_unpack(from, n, scratch, scratch_bytes, &e)
		      : cam_tidings_unpack(from, n, scratch, scratch_bytes, &t);
}

static int pack(size_t i, void *to, size_t n)
{
	return i < COUNT(errands) ? cam_errand_pack(&errands[i], to, n)
				  : cam_tidings_pack(&tidings[i - COUNT(errands)], to, n);
}

/* In blocks of the exact size, so that a read past the end is seen. */
static void every_cut_and_every_surplus_is_refused(void **state)
{
	(void)state;
	char *scratch = scratch_new();
	for (size_t i = 0; i < COUNT(errands) + COUNT(tidings); i++) {
		bool errand = i < COUNT(errands);
		int n = pack(i, room, sizeof(room));
		for (int cut = 0; cut <= n + 1; cut++) {
			char *exact = malloc((size_t)cut + (cut == 0));
			assert_non_null(exact);
			memcpy(exact, room, (size_t)(cut < n ? cut : n));
			if (cut > n)
				exact[n] = 0;
			int got = unpack(errand, exact, (size_t)cut, scratch,
					 CAM_ERRAND_MAX_BYTES * 2);
			assert_int_equal(got, cut == n ? 0 : -EBADMSG);
			assert_int_equal(unpack(!errand, exact, (size_t)cut, scratch,
						CAM_ERRAND_MAX_BYTES * 2),
					 -EBADMSG);
			char *small = malloc((size_t)cut + (cut == 0));
			assert_non_null(small);
			assert_int_equal(pack(i, small, (size_t)cut), cut >= n ? n : -E2BIG);
			free(small);
			free(exact);
		}
	}
	free(scratch);
}

/* What is accepted packs into the same bytes: there is no second form of anything. */
static void corruption_is_refused_or_means_something_else(void **state)
{
	(void)state;
	void *scratch = scratch_new();
	static char again[CAM_ERRAND_MAX_BYTES];
	uint64_t seed = 88172645463325252u;
	unsigned refused = 0, accepted = 0;
	for (int round = 0; round < 100000; round++) {
		size_t i = (size_t)round % (COUNT(errands) + COUNT(tidings));
		int n = pack(i, room, sizeof(room));
		for (int flips = 1 + round % 3; flips; flips--) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			room[seed % (size_t)n] = (char)(seed >> 40);
		}
		char *exact = malloc((size_t)n);
		assert_non_null(exact);
		memcpy(exact, room, (size_t)n);
		struct cam_errand e;
		struct cam_tidings t;
		int back = -EBADMSG;
		if (!cam_errand_unpack(exact, (size_t)n, scratch, CAM_ERRAND_MAX_BYTES * 2, &e))
			back = cam_errand_pack(&e, again, sizeof(again));
		else if (!cam_tidings_unpack(exact, (size_t)n, scratch, CAM_ERRAND_MAX_BYTES * 2,
					     &t))
			back = cam_tidings_pack(&t, again, sizeof(again));
		refused += back == -EBADMSG;
		if (back != -EBADMSG) {
			accepted++;
			assert_int_equal(back, n);
			assert_memory_equal(exact, again, (size_t)n);
		}
		free(exact);
	}
	assert_true(refused > 1000 && accepted > 1000);
	free(scratch);
}

static int tell(struct cam_tidings t)
{
	return cam_tidings_pack(&t, room, sizeof(room));
}

static struct cam_tidings one_name(struct cam_name *n)
{
	return (struct cam_tidings){CAM_ERRAND_NAMES, .names = {n, 1}};
}

/* Packed with one wrong field: pack refuses; unpack does too, where the byte is forged later. */
static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	void *scratch = scratch_new();
	struct cam_name n = {8, 9, CAM_NAME_SYMTAB, CAM_TEXT("f"), CAM_TEXT("")};
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	n = (struct cam_name){8, 8, CAM_NAME_OWN, CAM_TEXT("f"), CAM_TEXT("")};
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	n = (struct cam_name){8, 8, CAM_NAME_NONE, CAM_TEXT("f"), CAM_TEXT("")};
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	/* Names that hold for more than the offset: not for it; with a line. Without a name they may. */
	n = (struct cam_name){8, 8, CAM_NAME_SYMTAB, CAM_TEXT("f"), CAM_TEXT(""), .end = 8};
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	n.end = 9;
	n.line = 1;
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	n = (struct cam_name){8, 8, CAM_NAME_NONE, CAM_TEXT(""), CAM_TEXT(""), .end = 9};
	assert_true(tell(one_name(&n)) > 0);
	n = (struct cam_name){8, 8, CAM_NAME_SYMTAB, CAM_TEXT("f"), CAM_TEXT("")};
	int bytes = tell(one_name(&n));
	assert_true(bytes > 0);
	for (int source = 0; source < 256; source++) {
		room[bytes - 13] =
			(char)source; /* before texts of 1, 0 and 0 bytes, line and number */
		bool good = source >= CAM_NAME_SYMTAB && source <= CAM_NAME_JITDUMP;
		assert_int_equal(unpack(false, room, (size_t)bytes, scratch, CAM_ERRAND_MAX_BYTES),
				 good ? 0 : -EBADMSG);
	}
	/* The number of inlined functions: none follow; then one that has no name. */
	tell(one_name(&n));
	room[bytes - 1] = 1;
	assert_int_equal(unpack(false, room, (size_t)bytes, scratch, CAM_ERRAND_MAX_BYTES),
			 -EBADMSG);
	const struct cam_inlined nameless = {CAM_TEXT(""), CAM_TEXT("f.c"), 1};
	n.inlined = &nameless;
	n.n_inlined = 1;
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	struct cam_inlined many[CAM_NAME_MAX_INLINED + 1];
	for (size_t i = 0; i <= CAM_NAME_MAX_INLINED; i++)
		many[i] = inlined[0];
	n.inlined = many;
	n.n_inlined = CAM_NAME_MAX_INLINED + 1;
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	n = (struct cam_name){8, 8, CAM_NAME_NONE, .inlined = inlined, .n_inlined = 1};
	assert_int_equal(tell(one_name(&n)), -EINVAL);
	struct cam_mapping m[] = {maps[1], maps[0]};
	assert_int_equal(tell((struct cam_tidings){.process = {.mappings = m, .n_mappings = 2}}),
			 -EINVAL);
	m[0].end = m[0].start;
	assert_int_equal(tell((struct cam_tidings){.process = {.mappings = m, .n_mappings = 1}}),
			 -EINVAL);
	assert_int_equal(tell((struct cam_tidings){CAM_ERRAND_FORGET}), -EINVAL);
	assert_int_equal(tell((struct cam_tidings){.error = 1}), -EINVAL);
	assert_int_equal(tell((struct cam_tidings){.error = -4096}), -EINVAL);
	assert_int_equal(tell((struct cam_tidings){.pid = -1}), -EINVAL);
	struct cam_errand e = {CAM_ERRAND_NAMES, .n_offsets = CAM_ERRAND_MAX_OFFSETS + 1};
	assert_int_equal(cam_errand_pack(&e, room, sizeof(room)), -E2BIG);
	e = (struct cam_errand){CAM_ERRAND_FILE};
	assert_int_equal(cam_errand_pack(&e, room, sizeof(room)), -EINVAL);
	free(scratch);
}

/* As many offsets as can be asked for, as much inlined as fits a packet; one more does not. */
static void chains_have_a_bound(void **state)
{
	(void)state;
	char *scratch = scratch_new();
	struct cam_inlined chain[CAM_NAME_MAX_INLINED];
	struct cam_name n[CAM_ERRAND_MAX_OFFSETS];
	for (size_t i = 0; i < CAM_NAME_MAX_INLINED; i++)
		chain[i] = (struct cam_inlined){CAM_TEXT("f"), CAM_TEXT(""), 1};
	for (size_t i = 0; i < CAM_ERRAND_MAX_OFFSETS; i++)
		n[i] = (struct cam_name){i,
					 i,
					 CAM_NAME_DWARF,
					 CAM_TEXT("g"),
					 .inlined = chain,
					 .n_inlined =
						 CAM_ERRAND_MAX_INLINED / CAM_ERRAND_MAX_OFFSETS};
	struct cam_tidings got, t = {CAM_ERRAND_NAMES, .names = {n, CAM_ERRAND_MAX_OFFSETS}};
	int bytes = tell(t);
	assert_true(bytes > 0);
	assert_int_equal(cam_tidings_unpack(room, (size_t)bytes, scratch, CAM_ERRAND_MAX_BYTES * 2,
					    &got),
			 0);
	assert_int_equal(got.names.n_names, CAM_ERRAND_MAX_OFFSETS);
	n[7].n_inlined++;
	assert_int_equal(tell(t), -E2BIG);
	free(scratch);
}

/* The most elements that a packet can hold, in the scratch that is promised to be enough. */
static void the_promised_scratch_is_enough(void **state)
{
	(void)state;
	char *scratch = scratch_new();
	enum { MOST = (CAM_ERRAND_MAX_BYTES - 60) / CAM_ERRAND_MAPPING_BYTES };
	struct cam_mapping *m = calloc(MOST, sizeof(*m));
	assert_non_null(m);
	for (uint64_t i = 0; i < MOST; i++)
		m[i] = (struct cam_mapping){.start = i, .end = i + 1};
	struct cam_tidings t = {.process = {.mappings = m, .n_mappings = MOST}}, got;
	int n = cam_tidings_pack(&t, room, sizeof(room));
	assert_true(n > 0 && (size_t)n + CAM_ERRAND_MAPPING_BYTES > sizeof(room));
	assert_int_equal(
		cam_tidings_unpack(room, (size_t)n, scratch, CAM_ERRAND_MAX_BYTES * 2, &got), 0);
	assert_int_equal(got.process.n_mappings, MOST);
	assert_int_equal(got.process.mappings[MOST - 1].end, MOST);
	assert_int_equal(cam_tidings_unpack(room, (size_t)n, scratch, MOST * sizeof(*m) - 1, &got),
			 -E2BIG);
	free(m);
	free(scratch);
}

static void long_text_is_cut_and_a_long_build_id_left_out(void **state)
{
	(void)state;
	void *scratch = scratch_new();
	static char text[CAM_RAW_MAX_TEXT + 1];
	memset(text, 'x', sizeof(text));
	struct cam_name n = {1, 0, CAM_NAME_SYMTAB, {text, sizeof(text)}, CAM_TEXT("")};
	struct cam_tidings t = one_name(&n), got;
	t.names.build_id = (struct cam_text){text, CAM_ERRAND_MAX_BUILD_ID + 1};
	int bytes = tell(t);
	assert_int_equal(cam_tidings_unpack(room, (size_t)bytes, scratch, sizeof(n), &got), 0);
	assert_int_equal(got.names.names[0].name.n, CAM_RAW_MAX_TEXT);
	assert_int_equal(got.names.build_id.n, 0);
	free(scratch);
}

static void a_bundle_gives_its_packets_and_nothing_of_a_cut_one(void **state)
{
	(void)state;
	static struct cam_bundle b;
	static const char *const packets[] = {"E first", "T", "", "E last"};
	for (size_t i = 0; i < 4; i++) {
		size_t left, n = strlen(packets[i]);
		memcpy(cam_bundle_place(&b, &left), packets[i], n);
		assert_int_equal(left, CAM_BUNDLE_BYTES - b.bytes - 5);
		cam_bundle_add(&b, n);
	}
	for (size_t cut = 0; cut <= b.bytes; cut++) {
		struct cam_text rest = {(const char *)b.room, b.bytes - cut}, packet;
		size_t n = 0;
		for (; cam_bundle_next(&rest, &packet); n++)
			assert_true(cam_text_equal(packet, cam_text_of(packets[n])));
		assert_int_equal(n, !cut ? 4 : cut <= 11 ? 3 : cut <= 16 ? 2 : cut <= 22 ? 1 : 0);
		assert_true(cut || !rest.n);
	}
	assert_false(cam_bundle_is(CAM_TEXT("E first")));
	assert_false(cam_bundle_is(CAM_TEXT("")));
	b.bytes = sizeof(b.room) - 5;
	size_t left;
	cam_bundle_place(&b, &left);
	assert_int_equal(left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errands_come_back),
		cmocka_unit_test(tidings_come_back),
		cmocka_unit_test(tables_that_are_none_are_refused),
		cmocka_unit_test(the_bytes_are_those_of_the_example),
		cmocka_unit_test(every_cut_and_every_surplus_is_refused),
		cmocka_unit_test(corruption_is_refused_or_means_something_else),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(chains_have_a_bound),
		cmocka_unit_test(the_promised_scratch_is_enough),
		cmocka_unit_test(long_text_is_cut_and_a_long_build_id_left_out),
		cmocka_unit_test(a_bundle_gives_its_packets_and_nothing_of_a_cut_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
