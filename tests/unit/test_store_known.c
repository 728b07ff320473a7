// SPDX-License-Identifier: Apache-2.0
/* The list of known names, and functions of every sort through a window: with its names, without, and where they start. */
#include "base/crc32c.h"
#include "base/units.h"
#include "store/known.h"
#include "store/window.h"
#include "store/window_text.h"
#include "store/window_writer.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Windows on disks have its numbers. */
#define LIST_CRC 0x15d51761u

static void the_list_never_changes(void **state)
{
	(void)state;
	assert_int_equal(cam_crc32c(0, cam_known_text, CAM_KNOWN_BYTES), LIST_CRC);
}

static void a_name_is_found_by_itself_alone(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CAM_KNOWN_NAMES; i++)
		assert_int_equal(cam_known_find(cam_known_name(i)), i);
	assert_int_equal(cam_known_find(CAM_TEXT("")), CAM_KNOWN_NAMES);
	assert_int_equal(cam_known_find(CAM_TEXT("do_syscall_6")), CAM_KNOWN_NAMES);
	assert_int_equal(cam_known_find(CAM_TEXT("do_syscall_64\n")), CAM_KNOWN_NAMES);
	assert_int_equal(cam_known_find(CAM_TEXT("\xff\xff")), CAM_KNOWN_NAMES);
}

static const struct row {
	const char *module, *name;
	enum cam_func_kind kind;
	enum cam_name_source source;
	uint64_t start, kept; /* as a caller, where it is not a leaf */
} rows[] = {
	{"/bin/a", "main", CAM_FUNC_USER, CAM_NAME_SYMTAB, 0, 0},
	{"/bin/a", "", CAM_FUNC_USER, CAM_NAME_NONE, 0x401020, 0x401020},
	{"/bin/a", "", CAM_FUNC_USER, CAM_NAME_NONE, 0x400fff, 0x400fff},
	{"/bin/a", "", CAM_FUNC_USER, CAM_NAME_NONE, 1, 1},
	{"/bin/a", "", CAM_FUNC_USER, CAM_NAME_NONE, UINT64_MAX, UINT64_MAX},
	{"/bin/a", "", CAM_FUNC_USER, CAM_NAME_NONE, 15, 15},
	{"/bin/a", "", CAM_FUNC_USER, CAM_NAME_NONE, 0, 0},
	{"/lib/b", "malloc", CAM_FUNC_USER, CAM_NAME_DYNSYM, 0x88000, 0},
	{"/lib/b", "nobody knows this one", CAM_FUNC_USER, CAM_NAME_DYNSYM, 0x88020, 0},
	{"/lib/b", "two\nlines\\", CAM_FUNC_USER, CAM_NAME_DWARF, 0, 0},
	{"[kernel]", "do_syscall_64", CAM_FUNC_KERNEL, CAM_NAME_KALLSYMS, 0, 0},
	{"[kernel]", "my_module_thing", CAM_FUNC_KERNEL, CAM_NAME_KALLSYMS, 0, 0},
	{"[jit]", "", CAM_FUNC_JIT, CAM_NAME_NONE, 0x7fff12345000, 0x7fff12345000},
	{"[jit]", "Interpreter", CAM_FUNC_JIT, CAM_NAME_PERF_MAP, 0, 0},
	{"", "[truncated]", CAM_FUNC_MARK, CAM_NAME_OWN, 13, 13},
	/* A known name without a source, an unknown one with none: whatever an importer says is kept. */
	{"/bin/c", "read", CAM_FUNC_USER, CAM_NAME_NONE, 0, 0},
	{"/bin/c", "", CAM_FUNC_USER, CAM_NAME_IMPORTED, 0x10, 0x10},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static uint32_t node_of(struct fake_window *f, uint32_t parent, const struct row *row)
{
	struct cam_module m = {.kind = !strcmp(row->module, "[kernel]") ? CAM_MODULE_KERNEL
				       : !strcmp(row->module, "[jit]")	? CAM_MODULE_JIT
									: CAM_MODULE_FILE,
			       .path = fake_str(f, row->module)};
	struct cam_function fn = {.name = fake_str(f, row->name),
				  .kind = row->kind,
				  .source = row->source,
				  .start = row->start};
	struct cam_location l = {.func_offset = CAM_OFFSET_NONE};
	struct cam_loc_id id;
	uint32_t node;
	if (*row->module)
		assert_int_equal(cam_module_intern(&f->t, &m, &fn.module), 0);
	assert_int_equal(cam_function_intern(&f->t, &fn, &l.func), 0);
	l.address = 0x1000 + l.func.v;
	l.module = fn.module;
	assert_int_equal(cam_location_intern(&f->t, &l, &id), 0);
	assert_int_equal(cam_tree_intern(&f->t, &f->t.places, parent, id.v, &node), 0);
	return node;
}

/* All rows as callers of a leaf, or each as a leaf of its own. */
static struct fake_window *window_of(bool leaves)
{
	static const struct row leaf = {
		"/bin/leaf", "at the end", CAM_FUNC_USER, CAM_NAME_SYMTAB, 0, 0};
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 1, 1, "a");
	uint32_t node = 0;
	for (size_t i = 0; i < N_ROWS; i++) {
		node = node_of(f, leaves ? 0 : node, &rows[i]);
		if (leaves)
			fake_sample(f, (5 + i) * CAM_NS_PER_SEC, 0, task,
				    (struct cam_place_id){node});
	}
	node = node_of(f, node, &leaf);
	fake_sample(f, 50 * CAM_NS_PER_SEC, 0, task, (struct cam_place_id){node});
	return f;
}

static bool is_row(const struct cam_tables *t, const struct cam_function *f, const struct row *row,
		   uint64_t start)
{
	return cam_text_equal(cam_string(t, f->name), cam_text_of(row->name)) &&
	       cam_text_equal(cam_string(t, t->modules[f->module.v].path),
			      cam_text_of(row->module)) &&
	       f->kind == row->kind && f->source == row->source && f->start == start;
}

static void check_window(bool leaves, bool places, uint32_t chunk_bytes)
{
	struct cam_buf bytes = CAM_BUF(SIZE_MAX / 2);
	struct cam_out out;
	struct memory_file m;
	struct cam_window *w;
	const struct cam_tables *t;
	struct fake_window *f = window_of(leaves);
	f->w.info.has_places = places;
	cam_out_to_buf(&out, &bytes);
	assert_int_equal(cam_window_write_chunks(fake_window_ready(f), &out, chunk_bytes), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	memory_file_init(&m, bytes.data, bytes.len);
	assert_int_equal(cam_window_open(&m.file, &w), 0);
	assert_int_equal(cam_window_verify(w), 0);
	assert_int_equal(w->ops->tables(w, &t), 0);
	for (size_t i = 0; i < N_ROWS; i++) {
		unsigned found = 0;
		for (size_t k = 0; k < t->n_functions; k++)
			found += is_row(t, &t->functions[k], &rows[i],
					leaves || places ? rows[i].start : rows[i].kept);
		assert_int_equal(found, 1);
	}
	w->ops->close(w);
	fake_window_free(f);
	cam_buf_free(&bytes);
}

static void functions_of_every_sort_come_back(void **state)
{
	(void)state;
	check_window(true, false, CAM_CHUNK_BYTES);
	check_window(true, false, 64);
	check_window(false, true, 64);
}

static void exported_names_keep_their_start_for_leaves_alone(void **state)
{
	(void)state;
	check_window(false, false, CAM_CHUNK_BYTES);
	check_window(false, false, 64);
}

/* Text that looks like known names is a block of few bytes, and comes back; a changed one does not harm. */
static void a_block_of_names_is_small(void **state)
{
	(void)state;
	static const char text[] =
		"do_syscall_64_new\nentry_SYSCALL_64_after_hwframe\nvfs_read_once\n";
	struct cam_buf bytes = CAM_BUF(1u << 20), plain = CAM_BUF(1u << 20);
	struct cam_block_in block;
	assert_int_equal(cam_block_write_names(&bytes, text, sizeof(text), 9), 0);
	assert_int_equal(cam_block_write(&plain, text, sizeof(text), 9), 0);
	assert_true(bytes.len < plain.len * 3 / 4);
	for (size_t i = 0; i <= bytes.len; i++) {
		uint8_t copy[sizeof(text) + 32] = {0};
		memcpy(copy, bytes.data, bytes.len);
		if (i < bytes.len)
			copy[i] ^= 0x55;
		struct cam_rd rd = cam_rd_make(copy, bytes.len);
		int err = cam_block_read(&block, &rd, sizeof(text));
		assert_true(err == 0 || err == -EBADMSG);
		if (i == bytes.len) {
			assert_int_equal(err, 0);
			assert_int_equal(block.n, sizeof(text));
			assert_memory_equal(block.bytes, text, sizeof(text));
		}
		cam_block_free(&block);
	}
	cam_buf_free(&bytes);
	cam_buf_free(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_never_changes),
		cmocka_unit_test(a_name_is_found_by_itself_alone),
		cmocka_unit_test(functions_of_every_sort_come_back),
		cmocka_unit_test(exported_names_keep_their_start_for_leaves_alone),
		cmocka_unit_test(a_block_of_names_is_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
