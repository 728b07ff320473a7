// SPDX-License-Identifier: Apache-2.0
/*
 * The librarian, over files that binutils and perf have made. This program is also its own helper
 * (cam_helper_start() executes it again): a symboliser that dies when it is asked for a certain offset.
 */
#include "base/cleanup.h"
#include "base/packet.h"
#include "daemon/librarian.h"
#include "ingest/files.h"
#include "support_oracle.h"
#include "support_unwind.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <cmocka.h>

#define SOCKET	  3
#define DEADLY	  0xdeadu /* an offset */
#define MAX_NAMES 60000u

static int send_answer(void *arg, const void *packet, size_t bytes)
{
	(void)arg;
	int err;
	while ((err = cam_packet_send(SOCKET, packet, bytes, -1)) == -EAGAIN)
		;
	return err;
}

static int run_helper(void)
{
	static uint64_t packet[CAM_ERRAND_MAX_BYTES / 8], scratch[CAM_ERRAND_MAX_BYTES / 4];
	struct cam_symboliser *s = cam_symboliser_new();
	for (;;) {
		int fds[CAM_PACKET_FDS];
		struct cam_errand e;
		ssize_t n = cam_packet_receive_all(SOCKET, packet, sizeof(packet), fds);
		if (n <= 0)
			_exit(0);
		if (!cam_errand_unpack(packet, (size_t)n, scratch, sizeof(scratch), &e) &&
		    e.type == CAM_ERRAND_NAMES) {
			for (uint32_t i = 0; i < e.n_offsets; i++) {
				if (e.offsets[i] == DEADLY)
					raise(SIGKILL);
			}
		}
		if (cam_symboliser_answer_with(s, packet, (size_t)n, fds, send_answer, NULL))
			_exit(1);
		for (size_t i = 0; i < CAM_PACKET_FDS; i++) {
			if (fds[i] >= 0)
				close(fds[i]);
		}
	}
}

static char names[MAX_NAMES][64], innermost[64];
static uint64_t starts[MAX_NAMES];
static enum cam_name_source sources[MAX_NAMES];
static unsigned answers[MAX_NAMES];

static int hear(void *arg, size_t i, const struct cam_name *n)
{
	(void)arg;
	assert_true(i < MAX_NAMES);
	answers[i]++;
	starts[i] = n->start;
	sources[i] = n->source;
	snprintf(names[i], sizeof(names[i]), "%.*s%.*s", (int)n->name.n, n->name.p,
		 (int)n->module.n, n->module.p);
	struct cam_text in = n->n_inlined ? n->inlined[n->n_inlined - 1].name : CAM_TEXT("");
	snprintf(innermost, sizeof(innermost), "%.*s", (int)in.n, in.p);
	return 0;
}

static struct cam_librarian *librarian;
static char debug_dir[128], cache_dir[128];

static struct cam_namer *open_namer(const struct cam_librarian_options *o)
{
	struct cam_librarian_options mine = *o;
	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", oracle_dir());
	snprintf(cache_dir, sizeof(cache_dir), "%s/cache", oracle_dir());
	mine.debug_dir = debug_dir;
	mine.perf_cache = cache_dir;
	assert_int_equal(cam_librarian_new(&mine, &librarian), 0);
	return cam_librarian_namer(librarian);
}

static void ask(struct cam_namer *n, uint32_t file, const uint64_t *offsets, size_t count)
{
	memset(answers, 0, sizeof(answers));
	assert_int_equal(n->names(n, file, offsets, count, false, hear, NULL), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(answers[i], 1);
}

static const char *ask_one(struct cam_namer *n, uint32_t file, uint64_t offset)
{
	ask(n, file, &offset, 1);
	return names[0];
}

static void run(const char *fmt, const char *a, const char *b)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	struct cam_buf out = oracle_run(fmt, a, b);
#pragma GCC diagnostic pop
	cam_buf_free(&out);
}

/* A program with its symbols, whose code lies elsewhere than at its addresses. */
static const char *build(const char *more)
{
	static char paths[16][128];
	static unsigned next;
	char command[256], *path = paths[next++ % 16];
	snprintf(command, sizeof(command),
		 "gcc -O2 -g -fuse-ld=lld -Wl,--build-id=sha1 %s -o %%2$s %%1$s -pthread", more);
	snprintf(path, sizeof(paths[0]), "%s", oracle_build("kitchen.c", command));
	return path;
}

static struct cam_text build_id(const char *path)
{
	static char bytes[64], hex[129];
	struct cam_buf b =
		oracle_run("readelf -nW %s 2>/dev/null | sed -n 's/.*Build ID: //p'", path);
	size_t n = 0;
	snprintf(hex, sizeof(hex), "%s", (char *)b.data);
	for (; n < sizeof(bytes); n++) {
		unsigned v;
		if (sscanf(hex + 2 * n, "%2x", &v) != 1)
			break;
		bytes[n] = (char)v;
	}
	cam_buf_free(&b);
	assert_true(n >= 8);
	return (struct cam_text){bytes, n};
}

#define PUT_DEBUG                                                                   \
	"id=$(readelf -nW %2$s 2>/dev/null | sed -n 's/.*Build ID: //p'); cd %1$s;" \
	"d=debug/.build-id/$(echo $id | cut -c1-2); mkdir -p $d;"                   \
	"objcopy --only-keep-debug %2$s $d/$(echo $id | cut -c3-).debug"
#define STRIP "cd %1$s && strip -o bare %2$s && mv bare %2$s"

static void all_are_named(struct cam_namer *n, uint32_t file, const struct oracle_symbols *symbols)
{
	uint64_t offsets[256];
	size_t asked = 0, rows[256];
	for (size_t i = 0; i < symbols->n && asked < 256; i++) {
		const struct oracle_symbol *s = &symbols->rows[i];
		if (!s->bytes || s->dynamic)
			continue;
		rows[asked] = i;
		offsets[asked++] = s->start + s->bytes / 2;
	}
	assert_true(asked >= 5);
	ask(n, file, offsets, asked);
	for (size_t i = 0; i < asked; i++) {
		assert_string_equal(names[i], symbols->rows[rows[i]].readable);
		assert_int_equal(starts[i], symbols->rows[rows[i]].start);
	}
}

static void a_stripped_program_is_named_by_its_debug_file_and_no_other(void **state)
{
	(void)state;
	const char *program = build(""),
		   *other = build("-DBATCH=7 -Wl,--build-id=0x0102030405060708");
	struct oracle_symbols symbols = oracle_symbols(program);
	struct cam_text id = build_id(program);
	struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(program), id};
	uint32_t file, again;
	/* One of another program in its place: no names but those of the file itself. */
	run(PUT_DEBUG, oracle_dir(), program);
	run("cd %1$s/debug/.build-id/*/ && f=$(ls) && objcopy --only-keep-debug %2$s $f",
	    oracle_dir(), other);
	run(STRIP, oracle_dir(), program);
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(n->module(n, &m, &file), 0);
	for (size_t i = 0; i < symbols.n; i++) {
		if (!strcmp(symbols.rows[i].name, "main"))
			assert_string_equal(ask_one(n, file, symbols.rows[i].start), "");
	}
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
	run("rm -r %1$s/debug", oracle_dir(), NULL);
	/* And the right one. */
	program = build("");
	symbols = oracle_symbols(program);
	m.path = cam_text_of(program);
	run(PUT_DEBUG, oracle_dir(), program);
	run(STRIP, oracle_dir(), program);
	n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(n->module(n, &m, &file), 0);
	assert_int_equal(n->module(n, &m, &again), 0);
	assert_int_equal(file, again);
	all_are_named(n, file, &symbols);
	struct cam_text path;
	assert_int_equal(n->origin(n, file, &path), CAM_NAMER_DEBUG);
	assert_non_null(memmem(path.p, path.n, ".debug", 6));
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
	run("rm -r %1$s/debug", oracle_dir(), NULL);
}

/* How many offsets of spin have turn inlined, and how many something whose name is nowhere. */
static unsigned count_turns(struct cam_namer *n, const char *program,
			    const struct oracle_symbols *symbols, unsigned *nameless)
{
	struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(program), build_id(program)};
	unsigned turns = 0;
	uint32_t file;
	*nameless = 0;
	assert_int_equal(n->module(n, &m, &file), 0);
	for (size_t i = 0; i < symbols->n; i++) {
		const struct oracle_symbol *s = &symbols->rows[i];
		for (uint64_t at = 0; !strcmp(s->name, "spin") && at < s->bytes; at++) {
			assert_string_equal(ask_one(n, file, s->start + at), "spin");
			turns += !strcmp(innermost, "turn");
			*nameless += !strcmp(innermost, "[inlined]");
		}
	}
	return turns;
}

/* As distributions have them: two programs' debug files, and what these share in a third (dwz -m). */
static void what_debug_files_share_is_found(void **state)
{
	(void)state;
	char program[128];
	unsigned nameless;
	snprintf(program, sizeof(program), "%s",
		 oracle_build("inlines.c", "gcc -O2 -g -Wl,--build-id=sha1 -o %2$s %1$s"));
	struct oracle_symbols symbols = oracle_symbols(program);
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	unsigned turns = count_turns(n, program, &symbols, &nameless);
	assert_true(turns > 2 && !nameless);
	cam_librarian_free(librarian);
	run(PUT_DEBUG, oracle_dir(), program);
	/* It is made where nobody will find it, and put where it belongs. */
	run("cd %1$s/debug && cp .build-id/*/*.debug ../other && mkdir .dwz ../made && cd ../made &&"
	    " cp ../debug/.build-id/*/*.debug one && dwz -m %1$s/made/common one ../other &&"
	    " cp one ../debug/.build-id/*/*.debug && mv common ../debug/.dwz/ && strip %2$s",
	    oracle_dir(), program);
	n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(count_turns(n, program, &symbols, &nameless), turns);
	assert_int_equal(nameless, 0);
	cam_librarian_free(librarian);
	/* By its build-id; and another one under its name is not taken. */
	run("cd %1$s/debug && id=$(readelf -nW .dwz/common 2>/dev/null | sed -n 's/.*Build ID: //p') &&"
	    " d=.build-id/$(echo $id | cut -c1-2) && mkdir -p $d &&"
	    " mv .dwz/common $d/$(echo $id | cut -c3-).debug && cp %2$s .dwz/common",
	    oracle_dir(), program);
	n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(count_turns(n, program, &symbols, &nameless), turns);
	cam_librarian_free(librarian);
	/* Gone: what is inlined is there, without a name. */
	run("cd %1$s/debug/.build-id && for f in */*.debug; do readelf -SW $f 2>/dev/null | grep -q altlink || rm $f; done"
	    " # %2$s",
	    oracle_dir(), program);
	n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(count_turns(n, program, &symbols, &nameless), 0);
	assert_true(nameless >= turns);
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
	run("rm -r %1$s/debug", oracle_dir(), NULL);
}

static void perfs_cache_is_read_where_the_program_is_gone(void **state)
{
	(void)state;
	const char *program = build("");
	struct oracle_symbols symbols = oracle_symbols(program);
	struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(program), build_id(program)};
	uint32_t file;
	run("mkdir -p %1$s/cache && perf --buildid-dir %1$s/cache buildid-cache -a %2$s && rm %2$s",
	    oracle_dir(), program);
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(n->module(n, &m, &file), 0);
	all_are_named(n, file, &symbols);
	struct cam_text path;
	assert_int_equal(n->origin(n, file, &path), CAM_NAMER_CACHE);
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
	run("rm -r %1$s/cache", oracle_dir(), NULL);
}

static void without_a_build_id_only_the_very_file_counts(void **state)
{
	(void)state;
	const char *program = build("");
	struct oracle_symbols symbols = oracle_symbols(program);
	struct stat s;
	uint8_t key[CAM_FILES_KEY_BYTES];
	uint32_t file;
	assert_int_equal(stat(program, &s), 0);
	const struct cam_file_key k = {
		.major = major(s.st_dev),
		.minor = minor(s.st_dev),
		.inode = s.st_ino,
		.generation = 5,
		.ctime_ns = s.st_ctim.tv_sec * 1000000000L + s.st_ctim.tv_nsec,
		.bytes = (uint64_t)s.st_size,
	};
	struct cam_namer_module m = {.kind = CAM_MODULE_FILE, .path = cam_text_of(program)};
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(n->module(n, &m, &file), -ENOENT);
	m.key = (struct cam_text){(char *)key, cam_files_key_bytes(&k, key)};
	assert_int_equal(n->module(n, &m, &file), 0);
	all_are_named(n, file, &symbols);
	/* Written to since it was found: nothing is said about it any more… */
	run("touch -c %2$s; cp %2$s %1$s/x && cat %1$s/x > %2$s", oracle_dir(), program);
	assert_string_equal(ask_one(n, file, symbols.rows[symbols.n / 2].start), "");
	cam_librarian_free(librarian);
	/* …nor found. */
	n = open_namer(&(struct cam_librarian_options){0});
	assert_int_equal(n->module(n, &m, &file), -ENOENT);
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
}

static void what_is_no_file_is_not_opened(void **state)
{
	(void)state;
	char fifo[128];
	uint32_t file;
	snprintf(fifo, sizeof(fifo), "%s/fifo", oracle_dir());
	assert_int_equal(mkfifo(fifo, 0600), 0);
	const char *const paths[] = {fifo, "/dev/zero", "/", "relative", "", "/nothing/here"};
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(paths[i]),
					     CAM_TEXT("12345678")};
		assert_int_equal(n->module(n, &m, &file), -ENOENT);
		m.kind = CAM_MODULE_JIT;
		assert_int_equal(n->module(n, &m, &file), -ENOENT);
	}
	assert_int_equal(n->names(n, 4711, NULL, 0, false, hear, NULL), -EINVAL);
	cam_librarian_free(librarian);
}

static void a_symboliser_that_dies_costs_the_names_of_that_file_only(void **state)
{
	(void)state;
	const char *program = build(""), *good = build("");
	struct oracle_symbols symbols = oracle_symbols(good);
	struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(program), build_id(program)};
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	uint64_t offsets[3] = {symbols.rows[0].start, DEADLY, symbols.rows[1].start};
	uint32_t bad, file;
	assert_int_equal(n->module(n, &m, &bad), 0);
	m.path = cam_text_of(good);
	assert_int_equal(n->module(n, &m, &file), 0);
	ask(n, bad, offsets, 3);
	assert_int_equal(sources[1], CAM_NAME_NONE);
	all_are_named(n, file, &symbols);
	assert_string_equal(ask_one(n, bad, symbols.rows[0].start), "");
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
}

static void the_kernel_is_found_by_its_landmark(void **state)
{
	(void)state;
	char path[128];
	uint32_t file;
	snprintf(path, sizeof(path), "%s/kallsyms", oracle_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("ffffffff81000000 T _stext\nffffffff81001000 T do_this\nffffffff81002000 t do_that\n"
	      "ffffffff81003000 T _etext\nffffffffc0000000 t mod_fn\t[mod]\n"
	      "ffffffffc0000100 t mod_end\t[mod]\n",
	      f);
	assert_int_equal(fclose(f), 0);
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){.kallsyms = path});
	struct cam_namer_module m = {CAM_MODULE_KERNEL, CAM_TEXT("[kernel.kallsyms]")};
	assert_int_equal(n->module(n, &m, &file), 0);
	assert_string_equal(ask_one(n, file, 0xffffffff81001010), "do_this");
	assert_string_equal(ask_one(n, file, 0xffffffffc0000010), "mod_fn[mod]");
	/* Another boot: 0x5000000 higher. Modules are not there. */
	m.landmark = CAM_TEXT("_stext");
	m.landmark_address = 0xffffffff86000000;
	assert_int_equal(n->module(n, &m, &file), 0);
	assert_string_equal(ask_one(n, file, 0xffffffff86002010), "do_that");
	assert_int_equal(starts[0], 0xffffffff86002000);
	assert_string_equal(ask_one(n, file, 0xffffffffc0000010 + 0x5000000), "");
	m.landmark = CAM_TEXT("_not_there");
	assert_int_equal(n->module(n, &m, &file), -ENOENT);
	cam_librarian_free(librarian);
	/* The running kernel, only where the recorded one was the same. */
	struct cam_buf line = oracle_run("grep ' [tT] _stext$' /proc/kallsyms");
	uint64_t here = strtoull((char *)line.data, NULL, 16);
	n = open_namer(&(struct cam_librarian_options){0});
	m.landmark = CAM_TEXT("_stext");
	m.landmark_address = here;
	m.build_id = CAM_TEXT("another kernel 12345");
	assert_int_equal(n->module(n, &m, &file), -ENOENT);
	cam_buf_free(&line);
	static uint8_t id[20];
	FILE *notes = fopen("/sys/kernel/notes", "r");
	uint8_t all[4096];
	size_t got = fread(all, 1, sizeof(all), notes);
	fclose(notes);
	uint8_t *at = memmem(all, got, "\3\0\0\0GNU", 8);
	assert_non_null(at);
	memcpy(id, at + 8, sizeof(id));
	m.build_id = (struct cam_text){(char *)id, sizeof(id)};
	assert_int_equal(n->module(n, &m, &file), 0);
	line = oracle_run("grep ' [tT] vfs_read$' /proc/kallsyms");
	assert_string_equal(ask_one(n, file, strtoull((char *)line.data, NULL, 16) + 1),
			    "vfs_read");
	cam_buf_free(&line);
	cam_librarian_free(librarian);
}

/* A small one, linked where kernels are. */
static void a_vmlinux_is_found_by_its_build_id(void **state)
{
	(void)state;
	char path[128];
	uint32_t file;
	snprintf(path, sizeof(path), "%s/vmlinux", oracle_dir());
	run("cd %1$s && { echo .text; echo .globl _stext; echo '_stext: .skip 64'; "
	    "for f in do_this do_that; do echo .type $f,@function; echo $f: .skip 32; "
	    "echo .size $f,.-$f; done; } | as -o k.o - && "
	    "ld -Ttext=0xffffffff81000000 -e _stext --build-id=sha1 -o %2$s k.o",
	    oracle_dir(), path);
	struct cam_text id = build_id(path);
	struct cam_namer_module m = {
		CAM_MODULE_KERNEL, CAM_TEXT("[kernel.kallsyms]"), id, {"", 0}, CAM_TEXT("_stext"),
		0xffffffff9a000000};
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){.vmlinux = path});
	assert_int_equal(n->module(n, &m, &file), 0);
	assert_string_equal(ask_one(n, file, 0xffffffff9a000000 + 64 + 5), "do_this");
	assert_int_equal(starts[0], 0xffffffff9a000000 + 64);
	assert_string_equal(ask_one(n, file, 0xffffffff9a000000 + 96), "do_that");
	assert_string_equal(ask_one(n, file, 0xffffffff81000000 + 96), "");
	/* Another kernel, or one that says not where it was. */
	m.landmark = (struct cam_text){"", 0};
	assert_int_equal(n->module(n, &m, &file), -ENOENT);
	m.landmark = CAM_TEXT("_stext");
	m.build_id = CAM_TEXT("another kernel 12345");
	assert_int_equal(n->module(n, &m, &file), -ENOENT);
	cam_librarian_free(librarian);
}

static void a_perf_map_is_read_to_its_end(void **state)
{
	(void)state;
	char path[128];
	uint32_t file;
	snprintf(path, sizeof(path), "%s/perf-1.map", oracle_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (unsigned i = 0; i < 400000; i++)
		fprintf(f, "%x 10 function_number_%u_with_a_name_of_some_length\n",
			0x10000000 + i * 16, i);
	assert_int_equal(fclose(f), 0);
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	struct cam_namer_module m = {.kind = CAM_MODULE_JIT, .path = cam_text_of(path)};
	assert_int_equal(n->module(n, &m, &file), 0);
	assert_string_equal(ask_one(n, file, 0x10000000 + 399999 * 16 + 3),
			    "function_number_399999_with_a_name_of_some_length");
	assert_int_equal(sources[0], CAM_NAME_PERF_MAP);
	cam_librarian_free(librarian);
}

/* Anybody can write to /tmp: one of root or of who reads, no other user's, none behind a link. */
static void a_perf_map_of_a_stranger_names_nothing(void **state)
{
	(void)state;
	char path[128], link[160];
	uint32_t file;
	snprintf(path, sizeof(path), "%s/perf-2.map", oracle_dir());
	snprintf(link, sizeof(link), "%s/perf-3.map", oracle_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("1000 100 mine\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(symlink(path, link), 0);
	struct cam_namer_module m = {.kind = CAM_MODULE_JIT, .path = cam_text_of(path)};
	struct cam_namer_module behind = {.kind = CAM_MODULE_JIT, .path = cam_text_of(link)};
	for (int strange = 0; strange < 2; strange++) {
		struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
		assert_int_equal(chown(path, strange ? 12345 : 0, 0), 0);
		assert_int_equal(n->module(n, &m, &file), strange ? -ENOENT : 0);
		if (!strange)
			assert_string_equal(ask_one(n, file, 0x1010), "mine");
		assert_int_equal(n->module(n, &behind, &file), -ENOENT);
		cam_librarian_free(librarian);
	}
}

static void many_offsets_are_named_at_once(void **state)
{
	(void)state;
	const char *libc = "/lib/x86_64-linux-gnu/libc.so.6";
	struct oracle_symbols symbols = oracle_symbols(libc);
	CAM_AUTOFREE uint64_t *offsets = calloc(MAX_NAMES, sizeof(*offsets));
	struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(libc), build_id(libc)};
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	struct timespec from, to;
	uint32_t file;
	size_t named = 0;
	/* In no order, and each twice. */
	for (size_t i = 0; i < MAX_NAMES; i++)
		offsets[i] = symbols.code_at + (i / 2 * 7919) % (symbols.code_bytes / 4) * 4;
	assert_int_equal(n->module(n, &m, &file), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	ask(n, file, offsets, MAX_NAMES);
	clock_gettime(CLOCK_MONOTONIC, &to);
	for (size_t i = 0; i < MAX_NAMES; i += 2) {
		assert_string_equal(names[i], names[i + 1]);
		named += names[i][0] != 0;
	}
	assert_true(named > MAX_NAMES / 10);
	print_message("# %u offsets of libc in %ld ms, %zu named\n", MAX_NAMES,
		      (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000,
		      2 * named);
	cam_librarian_free(librarian);
	oracle_symbols_free(&symbols);
}

#define DEPTH	   6
#define STACKS	   100
#define STACK_ROOM 16384

static struct {
	struct cam_raw_copy copy;
	uint8_t stack[STACK_ROOM];
	void *oracle[64];
	int n_oracle;
} here;

extern void *__libc_stack_end;

/* Registers and stack as they are now, and what the C library says of them. */
static __attribute__((noinline)) void look_around(void)
{
	uint64_t ip, sp, bp;
	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
			 : "=r"(ip), "=r"(sp), "=r"(bp));
	size_t bytes = (uint64_t)__libc_stack_end - sp;
	bytes = bytes < STACK_ROOM ? bytes : STACK_ROOM;
	here.copy = (struct cam_raw_copy){ip, sp, bp, here.stack, (uint32_t)bytes};
	/* Not by memcpy(): the sanitizer knows what lies between the variables. */
	int memory CAM_AUTOCLOSE = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(memory, here.stack, bytes, (off_t)sp), bytes);
	here.n_oracle = backtrace(here.oracle, 64);
}

static __attribute__((noinline)) int go_down(int depth)
{
	char room[200];
	snprintf(room, sizeof(room), "%d", depth);
	if (depth)
		return go_down(depth - 1) + room[0];
	look_around();
	return room[0];
}

static int hear_frames(void *arg, size_t i, const struct cam_unwind_tidings *u)
{
	size_t *next = arg;
	assert_int_equal(i, (*next)++);
	/* The oracle's first frame is its caller; a sanitizer puts its own in front. */
	int from = 1;
	while (from < here.n_oracle && (uint64_t)here.oracle[from] != u->frames[1])
		from++;
	assert_in_range(from, 1, 2);
	assert_true((int)u->n_frames >= here.n_oracle - from + 1);
	for (int k = from; k < here.n_oracle; k++)
		assert_int_equal(u->frames[k - from + 1], (uint64_t)here.oracle[k]);
	return 0;
}

static void copies_of_stacks_are_walked(void **state)
{
	(void)state;
	static struct cam_unwind_mapping maps[CAM_UNWIND_MAX_MAPS];
	static struct tell t;
	static struct cam_namer_stack stacks[STACKS];
	struct cam_namer *n = open_namer(&(struct cam_librarian_options){0});
	size_t n_maps = tell_maps(&t, getpid(), maps), next = 0;
	for (size_t i = 0; i < n_maps; i++) {
		const char *path = maps[i].file == CAM_NONE ? "" : t.path[maps[i].file];
		maps[i].file = CAM_NONE;
		if (path[0] == '/') {
			struct cam_namer_module m = {CAM_MODULE_FILE, cam_text_of(path),
						     build_id(path)};
			if (n->module(n, &m, &maps[i].file))
				maps[i].file = CAM_NONE;
		}
	}
	go_down(DEPTH);
	assert_true(here.n_oracle > DEPTH + 2);
	for (size_t i = 0; i < STACKS; i++)
		stacks[i] = (struct cam_namer_stack){here.copy, maps, n_maps};
	assert_int_equal(n->unwind(n, stacks, STACKS, hear_frames, &next), 0);
	assert_int_equal(next, STACKS);
	cam_librarian_free(librarian);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "helper"))
		return run_helper();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stripped_program_is_named_by_its_debug_file_and_no_other),
		cmocka_unit_test(what_debug_files_share_is_found),
		cmocka_unit_test(perfs_cache_is_read_where_the_program_is_gone),
		cmocka_unit_test(without_a_build_id_only_the_very_file_counts),
		cmocka_unit_test(what_is_no_file_is_not_opened),
		cmocka_unit_test(a_symboliser_that_dies_costs_the_names_of_that_file_only),
		cmocka_unit_test(the_kernel_is_found_by_its_landmark),
		cmocka_unit_test(a_vmlinux_is_found_by_its_build_id),
		cmocka_unit_test(a_perf_map_is_read_to_its_end),
		cmocka_unit_test(a_perf_map_of_a_stranger_names_nothing),
		cmocka_unit_test(many_offsets_are_named_at_once),
		cmocka_unit_test(copies_of_stacks_are_walked),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
