// SPDX-License-Identifier: Apache-2.0
/*
 * Debug files: what binutils and elfutils take out of a program names the code of the program, by its own
 * addresses. The linker is one that puts code at other addresses than offsets.
 */
#include "base/cleanup.h"
#include "support_oracle.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct cam_symboliser *symboliser;
static uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
static uint8_t received[CAM_ERRAND_MAX_BYTES];
static struct cam_tidings answer;

static int take_answer(void *arg, const void *packet, size_t bytes)
{
	(void)arg;
	memcpy(received, packet, bytes);
	return cam_tidings_unpack(received, bytes, scratch, sizeof(scratch), &answer);
}

static void ask(const struct cam_errand *e, int fd)
{
	static uint8_t packet[CAM_ERRAND_MAX_BYTES];
	int n = cam_errand_pack(e, packet, sizeof(packet));
	assert_true(n > 0);
	assert_int_equal(
		cam_symboliser_answer(symboliser, packet, (size_t)n, fd, take_answer, NULL), 0);
}

static const struct cam_outline_tidings *outline(int fd)
{
	ask(&(struct cam_errand){.type = CAM_ERRAND_OUTLINE, .file = 7}, fd);
	assert_int_equal(answer.error, 0);
	return &answer.outline;
}

static const struct cam_name *name_of(int fd, enum cam_file_format format, uint64_t offset)
{
	ask(&(struct cam_errand){.type = CAM_ERRAND_NAMES,
				 .file = 7,
				 .format = format,
				 .offsets = &offset,
				 .n_offsets = 1},
	    fd);
	assert_int_equal(answer.error, 0);
	assert_int_equal(answer.names.n_names, 1);
	return &answer.names.names[0];
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void check_names(const char *program, int debug)
{
	struct oracle_symbols symbols = oracle_symbols(program);
	uint64_t move = symbols.code_address - symbols.code_at;
	size_t sized = 0, same = 0;
	assert_true(move != 0);
	for (size_t i = 0; i < symbols.n; i++) {
		const struct oracle_symbol *row = &symbols.rows[i];
		if (!row->bytes || row->dynamic)
			continue;
		const struct cam_name *n =
			name_of(debug, CAM_FORMAT_DEBUG, row->start + row->bytes - 1 + move);
		assert_int_equal(n->source, CAM_NAME_SYMTAB);
		assert_int_equal(n->start, row->start + move);
		sized++;
		same += strlen(row->readable) == n->name.n &&
			!memcmp(row->readable, n->name.p, n->name.n);
	}
	assert_true(sized >= 5);
	assert_int_equal(same, sized);
	/* Outside: of the code, and of this address space. */
	assert_int_equal(name_of(debug, CAM_FORMAT_DEBUG, 1)->source, CAM_NAME_NONE);
	oracle_symbols_free(&symbols);
}

static void a_debug_file_names_the_programs_addresses(void **state)
{
	(void)state;
	static const char *const makers[] = {
		"cd %1$s && objcopy --only-keep-debug %2$s split && strip -o bare %2$s",
		"cd %1$s && eu-strip -f split -o bare %2$s",
	};
	const char *program =
		oracle_build("kitchen.c", "gcc -O2 -g -fuse-ld=lld -Wl,--build-id -o %2$s %1$s "
					  "-pthread");
	char path[256];
	for (size_t i = 0; i < 2; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		struct cam_buf b = oracle_run(makers[i], oracle_dir(), program);
#pragma GCC diagnostic pop
		cam_buf_free(&b);
		snprintf(path, sizeof(path), "%s/split", oracle_dir());
		int debug CAM_AUTOCLOSE = open_file(path);
		snprintf(path, sizeof(path), "%s/bare", oracle_dir());
		int bare CAM_AUTOCLOSE = open_file(path);
		uint8_t id[CAM_ERRAND_MAX_BUILD_ID];
		const struct cam_outline_tidings *o = outline(bare);
		size_t id_bytes = o->build_id.n;
		assert_true(id_bytes >= 8 && o->has_code && !o->has_symbols && o->n_segments > 0);
		memcpy(id, o->build_id.p, id_bytes);
		o = outline(debug);
		assert_int_equal(o->build_id.n, id_bytes);
		assert_memory_equal(o->build_id.p, id, id_bytes);
		assert_true(!o->has_code && o->has_symbols && !o->n_segments);
		check_names(program, debug);
	}
}

static void segments_tell_where_code_lies(void **state)
{
	(void)state;
	const char *program = oracle_build(
		"kitchen.c", "gcc -O2 -g -fuse-ld=lld -Wl,--build-id -o %2$s %1$s -pthread");
	struct oracle_symbols symbols = oracle_symbols(program);
	int fd CAM_AUTOCLOSE = open_file(program);
	const struct cam_outline_tidings *o = outline(fd);
	bool found = false;
	for (uint32_t i = 0; i < o->n_segments; i++)
		found |= o->segments[i].address == symbols.code_address &&
			 o->segments[i].offset == symbols.code_at &&
			 o->segments[i].bytes == symbols.code_bytes;
	assert_true(found && o->has_code && o->has_symbols);
	oracle_symbols_free(&symbols);
}

static void what_is_no_elf_file_has_no_outline(void **state)
{
	(void)state;
	int text CAM_AUTOCLOSE = open_file("/etc/passwd");
	const struct cam_errand e = {.type = CAM_ERRAND_OUTLINE, .file = 7};
	ask(&e, text);
	assert_int_equal(answer.error, -EBADMSG);
	ask(&e, -1);
	assert_int_equal(answer.error, -EBADF);
}

static int set_up(void **state)
{
	(void)state;
	symboliser = cam_symboliser_new();
	return symboliser ? 0 : -1;
}

static int tear_down(void **state)
{
	cam_symboliser_free(symboliser);
	return oracle_clean(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_debug_file_names_the_programs_addresses),
		cmocka_unit_test(segments_tell_where_code_lies),
		cmocka_unit_test(what_is_no_elf_file_has_no_outline),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
