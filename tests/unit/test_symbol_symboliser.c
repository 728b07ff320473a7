// SPDX-License-Identifier: Apache-2.0
/* The symboliser as the recorder sees it: a confined process behind a socket. */
#include "base/cleanup.h"
#include "base/packet.h"
#include "helper/helper.h"
#include "support_elf.h"
#include "support_input.h"
#include "support_oracle.h"
#include "symbol/elf.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define ASKED	400
#define IDLE_MS 20000 /* compilers run while it waits */

struct served {
	pid_t pid;
	int socket;
	uint32_t ticket;
	bool left_out, elsewhere; /* as the last answer of ask_chain() said */
	/* What ask_chain() adds. */
	enum cam_file_format format;
	bool search_supplement;
	int supplement; /* -1 */
};

static int confine(void)
{
	return cam_confine(CAM_CONFINE_SYMBOLISER);
}

static void start(struct served *s, int idle_ms)
{
	int ends[2], bytes = 1 << 20;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	*s = (struct served){.supplement = -1};
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		close(ends[0]);
		_exit(-cam_symboliser_run(ends[1], idle_ms, confine));
	}
	close(ends[1]);
	s->socket = ends[0];
}

static int ended(struct served *s)
{
	int status;
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	return status;
}

static void stop(struct served *s)
{
	close(s->socket);
	assert_int_equal(ended(s), 0);
}

static uint64_t scratch[CAM_ERRAND_MAX_BYTES / 4];
static uint8_t packet[CAM_ERRAND_MAX_BYTES];

static void ask(struct served *s, uint32_t file, const uint64_t *offsets, uint32_t n, int fd)
{
	struct cam_errand e = {
		.type = CAM_ERRAND_NAMES,
		.ticket = ++s->ticket,
		.file = file,
		.offsets = offsets,
		.n_offsets = n,
	};
	int bytes = cam_errand_pack(&e, packet, sizeof(packet));
	assert_true(bytes > 0);
	assert_int_equal(cam_packet_send(s->socket, packet, (size_t)bytes, fd), 0);
}

static void receive_of(struct served *s, enum cam_errand_type type, struct cam_tidings *t)
{
	int fd;
	struct pollfd p = {.fd = s->socket, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 20000), 1);
	ssize_t got = cam_packet_receive(s->socket, packet, sizeof(packet), &fd);
	assert_true(got > 0);
	assert_int_equal(fd, -1);
	assert_int_equal(cam_tidings_unpack(packet, (size_t)got, scratch, sizeof(scratch), t), 0);
	assert_int_equal(t->type, type);
	assert_int_equal(t->ticket, s->ticket);
}

static void receive(struct served *s, struct cam_tidings *t)
{
	receive_of(s, CAM_ERRAND_NAMES, t);
}

static int ask_error(struct served *s, uint32_t file, int fd)
{
	static const uint64_t offset = 0x1000;
	struct cam_tidings t;
	ask(s, file, &offset, 1, fd);
	receive(s, &t);
	return t.error;
}

/* The name of one offset, "" where it has none. */
static const char *ask_name(struct served *s, uint32_t file, uint64_t offset, int fd)
{
	static char text[CAM_RAW_MAX_TEXT + 1];
	struct cam_tidings t;
	ask(s, file, &offset, 1, fd);
	receive(s, &t);
	assert_int_equal(t.error, 0);
	assert_int_equal(t.file, file);
	assert_int_equal(t.names.n_names, 1);
	assert_false(t.names.more);
	assert_int_equal(t.names.names[0].offset, offset);
	memcpy(text, t.names.names[0].name.p, t.names.names[0].name.n);
	text[t.names.names[0].name.n] = 0;
	return text;
}

static int file_of(struct cam_buf *b)
{
	int fd = memfd_create("made", MFD_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t done = 0; done < b->len;) {
		ssize_t n = write(fd, b->data + done, b->len - done);
		assert_true(n > 0);
		done += (size_t)n;
	}
	cam_buf_free(b);
	return fd;
}

static void files_are_named_and_bad_ones_cost_only_themselves(void **state)
{
	(void)state;
	const char *path = oracle_build("kitchen.c", "gcc -O2 -o %2$s %1$s -pthread");
	struct oracle_symbols symbols = oracle_symbols(path);
	int good CAM_AUTOCLOSE = open(path, O_RDONLY | O_CLOEXEC);
	int text CAM_AUTOCLOSE = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	int directory CAM_AUTOCLOSE = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int device CAM_AUTOCLOSE = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct served s;
	assert_true(good >= 0 && text >= 0 && directory >= 0 && device >= 0);
	start(&s, IDLE_MS);
	for (size_t i = 0; i < symbols.n; i++) {
		const struct oracle_symbol *row = &symbols.rows[i];
		if (!strcmp(row->name, "main"))
			assert_string_equal(ask_name(&s, 7, row->start + row->bytes - 1, good),
					    "main");
	}
	assert_int_equal(ask_error(&s, 8, text), -EBADMSG);
	assert_int_equal(ask_error(&s, 8, text), -EBADMSG);
	assert_int_equal(ask_error(&s, 9, directory), -EBADMSG);
	assert_int_equal(ask_error(&s, 9, device), -EBADMSG);
	assert_int_equal(ask_error(&s, 9, -1), -EBADF);
	/* What is no errand has no answer and does no harm. */
	assert_int_equal(cam_packet_send(s.socket, "hello", 5, good), 0);
	assert_string_equal(ask_name(&s, 7, 0, good), "");
	stop(&s);
	oracle_symbols_free(&symbols);
}

static void the_kernel_is_named_once_its_symbols_are_given(void **state)
{
	(void)state;
	struct cam_buf line = oracle_run("grep ' [tT] vfs_read$' /proc/kallsyms");
	uint64_t address = strtoull((char *)line.data, NULL, 16);
	int kallsyms CAM_AUTOCLOSE = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	struct cam_buf hidden = CAM_BUF(4096);
	struct served s;
	start(&s, IDLE_MS);
	assert_int_equal(ask_error(&s, CAM_FILE_KERNEL, -1), -ENODATA);
	assert_string_equal(ask_name(&s, CAM_FILE_KERNEL, address + 1, kallsyms), "vfs_read");
	assert_string_equal(ask_name(&s, CAM_FILE_KERNEL, address + 2, -1), "vfs_read");
	assert_string_equal(ask_name(&s, CAM_FILE_KERNEL, 0x1000, -1), "");
	/* Given anew: what it says now counts, and what cannot be read leaves nothing behind. */
	cam_buf_printf(&hidden, "%lx t other_name\t[mod]\n", (unsigned long)address);
	int other CAM_AUTOCLOSE = file_of(&hidden);
	assert_string_equal(ask_name(&s, CAM_FILE_KERNEL, address + 1, other), "other_name");
	cam_buf_printf(&hidden, "%016x T vfs_read\n", 0);
	int none CAM_AUTOCLOSE = file_of(&hidden);
	assert_int_equal(ask_error(&s, CAM_FILE_KERNEL, none), -EACCES);
	assert_int_equal(ask_error(&s, CAM_FILE_KERNEL, -1), -EACCES);
	assert_string_equal(ask_name(&s, CAM_FILE_KERNEL, address + 1, kallsyms), "vfs_read");
	stop(&s);
	cam_buf_free(&line);
}

static void the_vdso_is_named_as_readelf_says(void **state)
{
	(void)state;
	char path[128];
	snprintf(path, sizeof(path), "%s/vdso", oracle_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	/* It is mapped in whole pages; two are there on any kernel. */
	assert_int_equal(fwrite((void *)getauxval(AT_SYSINFO_EHDR), 1, 8192, f), 8192);
	assert_int_equal(fclose(f), 0);
	struct oracle_symbols symbols = oracle_symbols(path);
	struct served s;
	unsigned int clocks = 0;
	assert_true(symbols.n >= 4);
	start(&s, IDLE_MS);
	for (size_t i = 0; i < symbols.n; i++) {
		const struct oracle_symbol *row = &symbols.rows[i];
		const char *name = ask_name(&s, CAM_FILE_VDSO, row->start + row->bytes / 2, -1);
		bool known = false;
		for (size_t k = 0; k < symbols.n; k++)
			known |= symbols.rows[k].start == row->start &&
				 !strcmp(symbols.rows[k].name, name);
		assert_true(known);
		clocks += strstr(name, "clock_gettime") != NULL;
	}
	assert_true(clocks > 0);
	assert_string_equal(ask_name(&s, CAM_FILE_VDSO, 0, -1), "");
	stop(&s);
	oracle_symbols_free(&symbols);
}

/* All names of the file below, each once; number 100 has none. */
static void take_long_names(struct served *s)
{
	bool seen[CAM_ERRAND_MAX_OFFSETS] = {false};
	unsigned int packets = 0, names = 0;
	struct cam_tidings t;
	do {
		receive(s, &t);
		assert_int_equal(t.error, 0);
		packets++;
		for (uint32_t i = 0; i < t.names.n_names; i++, names++) {
			const struct cam_name *n = &t.names.names[i];
			uint64_t k = (n->offset - MADE_CODE_AT) / 16;
			assert_true(k < CAM_ERRAND_MAX_OFFSETS && !seen[k]);
			seen[k] = true;
			assert_int_equal(n->name.n, k == 100 ? 0 : CAM_RAW_MAX_TEXT);
			if (k == 100)
				continue;
			assert_int_equal(atoi(n->name.p + 1), k);
			assert_int_equal(n->start, n->offset - 3);
			assert_int_equal(n->source, CAM_NAME_SYMTAB);
		}
	} while (t.names.more);
	assert_int_equal(names, CAM_ERRAND_MAX_OFFSETS);
	assert_in_range(packets, 16, 64); /* 2 MiB of names */
}

/* Of a function without a name, all of it: in libc as it is distributed these are hundreds. */
static void a_function_without_a_name_says_how_far_it_goes(void **state)
{
	(void)state;
	int libc = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	static uint64_t starts[ASKED], ends[ASKED];
	uint64_t offsets[ASKED];
	struct cam_tidings t;
	struct served s;
	size_t n = 0, same = 0;
	start(&s, IDLE_MS);
	for (uint32_t i = 0; i < ASKED; i++)
		offsets[i] = 0x30000 + i * 2203;
	ask(&s, 7, offsets, ASKED, libc);
	receive(&s, &t);
	assert_int_equal(t.names.n_names, ASKED);
	for (uint32_t i = 0; i < t.names.n_names; i++) {
		const struct cam_name *name = &t.names.names[i];
		if (name->source != CAM_NAME_NONE || !name->end)
			continue;
		starts[n] = name->start;
		ends[n++] = name->end;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t at[] = {starts[i], (starts[i] + ends[i]) / 2, ends[i] - 1};
		ask(&s, 7, at, 3, libc);
		receive(&s, &t);
		for (size_t k = 0; k < 3; k++) {
			const struct cam_name *name = &t.names.names[k];
			assert_int_equal(name->source, CAM_NAME_NONE);
			assert_int_equal(name->start, starts[i]);
			same += name->end == ends[i];
		}
	}
	print_message("# %zu of %d in such functions\n", n, ASKED);
	assert_true(n >= ASKED / 20);
	assert_int_equal(same, 3 * n);
	close(libc);
	stop(&s);
}

static void long_names_come_in_several_packets(void **state)
{
	(void)state;
	struct made_elf m;
	struct served s;
	uint64_t offsets[CAM_ERRAND_MAX_OFFSETS];
	char name[CAM_RAW_MAX_TEXT + 1];
	made_elf_start(&m, CAM_ERRAND_MAX_OFFSETS * 16);
	memset(name, 'x', sizeof(name));
	name[CAM_RAW_MAX_TEXT] = 0;
	for (uint32_t i = 0; i < CAM_ERRAND_MAX_OFFSETS; i++) {
		offsets[i] = MADE_CODE_AT + 16 * i + 3;
		memcpy(name, "f0000", 5);
		snprintf(name, 6, "f%04u", i);
		name[5] = 'x';
		if (i != 100)
			made_elf_add(&m, MADE_CODE_AT + 16 * i, 16, name);
	}
	made_elf_place(&m);
	struct cam_buf b = made_elf_finish(&m);
	int fd CAM_AUTOCLOSE = file_of(&b);
	start(&s, IDLE_MS);
	for (int round = 0; round < 3; round++) {
		ask(&s, 5, offsets, CAM_ERRAND_MAX_OFFSETS, fd);
		take_long_names(&s);
	}
	stop(&s);
}

/* Three such files are more than the process may hold at once. */
static void files_that_do_not_fit_together_are_named_all_the_same(void **state)
{
	(void)state;
	struct served s;
	int fds[3];
	for (uint32_t file = 0; file < 3; file++) {
		struct made_elf m;
		made_elf_start(&m, 16u << 20);
		cam_buf_put(&m.strings, "this", 5);
		for (uint64_t i = 0; i < 1900000; i++) {
			Elf64_Sym sym = {
				.st_name = 1,
				.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
				.st_shndx = MADE_TEXT,
				.st_value = MADE_CODE_ADDRESS + i * 7919 % 1900000 * 8,
				.st_size = 8,
			};
			cam_buf_put(&m.symbols, &sym, sizeof(sym));
		}
		made_elf_place(&m);
		struct cam_buf b = made_elf_finish(&m);
		fds[file] = file_of(&b);
	}
	start(&s, IDLE_MS);
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(ask_name(&s, 5 + i % 3, MADE_CODE_AT + 80001, fds[i % 3]),
				    "this");
	/* All descriptors but one were closed: it has 64. */
	for (uint32_t i = 0; i < 100; i++)
		assert_string_equal(ask_name(&s, 5, MADE_CODE_AT + i, fds[0]), "this");
	stop(&s);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void without_work_it_ends(void **state)
{
	(void)state;
	struct served s;
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	start(&s, 300);
	assert_int_equal(ended(&s), 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	double ms =
		(double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	assert_true(ms >= 300);
	close(s.socket);
}

/* How many rows the table has, or an error. */
static long ask_table(struct served *s, uint32_t file, int fd, unsigned int *packets)
{
	struct cam_errand e = {.type = CAM_ERRAND_TABLE, .ticket = ++s->ticket, .file = file};
	struct cam_tidings t;
	long rows = 0;
	uint32_t rules = 0, last = 0;
	int bytes = cam_errand_pack(&e, packet, sizeof(packet));
	assert_true(bytes > 0);
	assert_int_equal(cam_packet_send(s->socket, packet, (size_t)bytes, fd), 0);
	for (*packets = 0;; ++*packets) {
		receive_of(s, CAM_ERRAND_TABLE, &t);
		if (t.error)
			return t.error;
		assert_int_equal(t.file, file);
		rules += t.table.n_rules;
		for (uint32_t i = 0; i < t.table.n_rows; i++) {
			assert_true(t.table.rows[i].rule < rules);
			assert_true((!rows && !i) || t.table.rows[i].offset > last);
			last = t.table.rows[i].offset;
		}
		rows += t.table.n_rows;
		if (!t.table.more)
			return rows;
	}
}

static long peak_kib(pid_t pid)
{
	struct cam_buf b = oracle_run("grep VmHWM /proc/%d/status", pid);
	long kib = atol(strchr((char *)b.data, ':') + 1);
	cam_buf_free(&b);
	return kib;
}

/* 60 tables of 1.9 MB: more than are kept. Confined as in a recording. */
static void tables_are_answered_in_pieces_and_in_bounds(void **state)
{
	struct cam_buf compiler = oracle_run("gcc -print-prog-name=cc1");
	compiler.data[strcspn((char *)compiler.data, "\n")] = 0;
	int large CAM_AUTOCLOSE = open((char *)compiler.data, O_RDONLY | O_CLOEXEC);
	int text CAM_AUTOCLOSE = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	struct served s;
	unsigned int packets;
	(void)state;
	assert_true(large >= 0 && text >= 0);
	start(&s, IDLE_MS);
	long vdso = ask_table(&s, CAM_FILE_VDSO, -1, &packets);
	assert_true(vdso > 4);
	long rows = ask_table(&s, CAM_FILE_FIRST, large, &packets);
	assert_true(rows > 100000);
	assert_in_range(packets, rows / 8192, rows / 8192 + 1);
	assert_int_equal(ask_table(&s, 4000, text, &packets), -EBADMSG);
	assert_int_equal(ask_table(&s, 4000, -1, &packets), -EBADF);
	assert_int_equal(ask_table(&s, CAM_FILE_KERNEL, -1, &packets), -EBADF);
	for (uint32_t i = 0; i < 60; i++)
		assert_int_equal(ask_table(&s, CAM_FILE_FIRST + i, large, &packets), rows);
	long peak = peak_kib(s.pid);
	print_message("# at most %ld KiB resident\n", peak);
	assert_true(peak < (96 << 10) + SANITIZER_SLACK_KIB);
	assert_int_equal(ask_table(&s, CAM_FILE_VDSO, -1, &packets), vdso);
	stop(&s);
	cam_buf_free(&compiler);
}

/* The chain of an offset, "f>g>h"; "" where it has no name; "wants LINK" where a debug file is to be looked for. */
static const char *ask_chain(struct served *s, uint64_t offset, bool search, int fd, int debug_fd)
{
	static char text[1024];
	struct cam_tidings t;
	struct cam_errand e = {
		.type = CAM_ERRAND_NAMES,
		.ticket = ++s->ticket,
		.file = CAM_FILE_FIRST,
		.search = search,
		.format = s->format,
		.search_supplement = s->search_supplement,
		.supplement = s->supplement >= 0,
		.offsets = &offset,
		.n_offsets = 1,
	};
	int bytes = cam_errand_pack(&e, packet, sizeof(packet));
	assert_true(bytes > 0);
	const int fds[CAM_PACKET_FDS] = {fd, debug_fd, s->supplement};
	assert_int_equal(cam_packet_send_all(s->socket, packet, (size_t)bytes, fds), 0);
	receive(s, &t);
	assert_int_equal(t.error, 0);
	if (t.names.wants_debug) {
		assert_int_equal(t.names.n_names, 0);
		snprintf(text, sizeof(text), "wants %.*s", (int)t.names.link.n, t.names.link.p);
		return text;
	}
	if (t.names.wants_supplement) {
		assert_int_equal(t.names.n_names, 0);
		assert_true(t.names.build_id.n >= 8);
		snprintf(text, sizeof(text), "wants %.*s as supplement", (int)t.names.link.n,
			 t.names.link.p);
		return text;
	}
	assert_int_equal(t.names.n_names, 1);
	s->left_out = t.names.left_out;
	s->elsewhere = t.names.elsewhere;
	const struct cam_name *n = &t.names.names[0];
	int used = snprintf(text, sizeof(text), "%.*s", (int)n->name.n, n->name.p);
	for (uint32_t i = 0; i < n->n_inlined; i++) {
		used += snprintf(text + used, sizeof(text) - (size_t)used, ">%.*s",
				 (int)n->inlined[i].name.n, n->inlined[i].name.p);
		assert_true(n->inlined[i].line && n->inlined[i].file.n);
	}
	return text;
}

/* Where `spin` of inlines.c is, in the file. */
static void find_spin(const char *path, uint64_t *from, uint64_t *bytes)
{
	struct oracle_symbols symbols = oracle_symbols(path);
	*bytes = 0;
	for (size_t i = 0; i < symbols.n; i++) {
		if (!strcmp(symbols.rows[i].name, "spin")) {
			*from = symbols.rows[i].start;
			*bytes = symbols.rows[i].bytes;
		}
	}
	assert_true(*bytes > 0);
	oracle_symbols_free(&symbols);
}

/* How many offsets of spin have two functions inlined; all must be in it. */
static unsigned count_deep(struct served *s, const char *path, const char *debug, uint64_t from,
			   uint64_t bytes)
{
	unsigned deep = 0;
	int fd CAM_AUTOCLOSE = open(path, O_RDONLY | O_CLOEXEC);
	int debug_fd CAM_AUTOCLOSE = debug ? open(debug, O_RDONLY | O_CLOEXEC) : -1;
	assert_true(fd >= 0 && (!debug || debug_fd >= 0));
	for (uint64_t at = 0; at < bytes; at++) {
		const char *chain = ask_chain(s, from + at, debug != NULL, fd, debug_fd);
		if (strncmp(chain, "spin", 4))
			fail_msg("%s: %s", path, chain);
		deep += !strcmp(chain, "spin>mix>turn");
	}
	return deep;
}

static void run(const char *command, const char *path)
{
	struct cam_buf b =
		oracle_run("cd %s && f=%s && { %s; } 2>/dev/null", oracle_dir(), path, command);
	cam_buf_free(&b);
}

/* In the confined process, from the file itself, with and without symbols beside the DWARF. */
static void what_is_inlined_is_told(void **state)
{
	(void)state;
	const char *path = oracle_build("inlines.c", "gcc -g -O2 %s -o %s");
	struct served s;
	uint64_t from, bytes;
	find_spin(path, &from, &bytes);
	start(&s, IDLE_MS);
	assert_in_range(count_deep(&s, path, NULL, from, bytes), 2, bytes);
	run("objcopy -N spin $f", path);
	assert_in_range(count_deep(&s, path, NULL, from, bytes), 2, bytes);
	stop(&s);
}

static const char *ask_once(struct served *s, const char *path, const char *debug, bool search,
			    uint64_t offset)
{
	int fd CAM_AUTOCLOSE = open(path, O_RDONLY | O_CLOEXEC);
	int debug_fd CAM_AUTOCLOSE = debug ? open(debug, O_RDONLY | O_CLOEXEC) : -1;
	return ask_chain(s, offset, search, fd, debug_fd);
}

/* What a handler of signals returns to is looked up one byte before its symbol. */
static void what_a_handler_returns_to_has_its_name(void **state)
{
	(void)state;
	const char *path = oracle_build("inlines.c", "gcc -O2 -static %s -o %s");
	struct cam_buf found = oracle_run("nm %s | grep ' __restore_rt$'", path);
	struct served s;
	cam_buf_put_u8(&found, 0);
	/* Of a program that is not moved the code's addresses are its offsets and 0x400000. */
	uint64_t at = strtoull((const char *)found.data, NULL, 16) - 0x400000;
	start(&s, IDLE_MS);
	assert_string_equal(ask_once(&s, path, NULL, false, at), "__restore_rt");
	assert_string_equal(ask_once(&s, path, NULL, false, at - 1), "__restore_rt");
	assert_string_not_equal(ask_once(&s, path, NULL, false, at - 2), "__restore_rt");
	/* Before any other function there is nothing. */
	uint64_t from, bytes;
	find_spin(path, &from, &bytes);
	assert_string_equal(ask_once(&s, path, NULL, false, from), "spin");
	assert_string_not_equal(ask_once(&s, path, NULL, false, from - 1), "spin");
	stop(&s);
	cam_buf_free(&found);
}

/* By build-id, and by checksum where there is none; no other file counts. */
static void a_debug_file_tells_what_was_stripped(void **state)
{
	(void)state;
	static const char *const makers[] = {
		"objcopy --only-keep-debug $f $f.debug; strip $f; objcopy --add-gnu-debuglink=$f.debug $f",
		"eu-strip -f $f.debug $f",
		("objcopy --only-keep-debug --compress-debug-sections $f $f.debug; strip $f;"
		 " objcopy --add-gnu-debuglink=$f.debug $f"),
	};
	struct served s;
	start(&s, IDLE_MS);
	for (int i = 0; i < 6; i++) {
		char path[128], debug[140], other[140], wants[160];
		uint64_t from, bytes;
		snprintf(path, sizeof(path), "%s",
			 oracle_build("inlines.c",
				      i % 2 ? "gcc -g -O2 -Wl,--build-id %s -o %s"
					    : "gcc -g -O2 -Wl,--build-id=none %s -o %s"));
		snprintf(debug, sizeof(debug), "%s.debug", path);
		snprintf(other, sizeof(other), "%s.other", path);
		snprintf(wants, sizeof(wants), "wants %s", strrchr(debug, '/') + 1);
		find_spin(path, &from, &bytes);
		run(makers[i / 2], path);
		/* The same, but for a checksum or a build-id. */
		run("cp $f.debug $f.other; echo >> $f.other;"
		    " ! readelf -n $f | grep -q Build || objcopy -R .note.gnu.build-id $f.other",
		    path);
		assert_string_equal(ask_once(&s, path, NULL, true, from + bytes / 2), wants);
		assert_string_equal(ask_once(&s, path, other, true, from + bytes / 2), wants);
		assert_string_equal(ask_once(&s, path, path, true, from + bytes / 2),
				    i % 2 ? "" : wants);
		assert_string_equal(ask_once(&s, path, other, false, from + bytes / 2), "");
		assert_in_range(count_deep(&s, path, debug, from, bytes), 2, bytes);
	}
	stop(&s);
}

/* 70 MB of text, which compressed take 70 KB: symbols name the file all the same, and it is said. */
static void debug_information_that_is_too_large_is_left_out(void **state)
{
	(void)state;
	const char *path = oracle_build(
		"inlines.c",
		"echo '.section .debug_str,\"MS\",@progbits,1\n.fill 70000000,1,65\n.byte 0' | as --noexecstack -o %2$s.o - &&"
		" gcc -g -O2 -gz=zlib %1$s %2$s.o -o %2$s");
	struct served s;
	uint64_t from, bytes;
	find_spin(path, &from, &bytes);
	start(&s, IDLE_MS);
	assert_int_equal(count_deep(&s, path, NULL, from, bytes), 0);
	assert_true(s.left_out);
	assert_false(s.elsewhere);
	/* As it was built without it. */
	path = oracle_build("inlines.c", "gcc -g -O2 -gz=zlib %s -o %s");
	find_spin(path, &from, &bytes);
	assert_in_range(count_deep(&s, path, NULL, from, bytes), 2, bytes);
	assert_false(s.left_out);
	stop(&s);
}

/* Split units are not read, and dwz's second file was not given: symbols name the function, and it is said. */
static void what_lies_in_further_files_is_said(void **state)
{
	(void)state;
	static const char *const split[] = {
		"gcc -g -gdwarf-5 -gsplit-dwarf -O2 %s -o %s",
		"gcc -g -gdwarf-4 -gsplit-dwarf -O2 %s -o %s",
		"clang -gdwarf-5 -gsplit-dwarf -fno-split-dwarf-inlining -O2 %s -o %s",
	};
	struct served s;
	uint64_t from, bytes;
	start(&s, IDLE_MS);
	for (size_t i = 0; i < sizeof(split) / sizeof(split[0]); i++) {
		const char *path = oracle_build("inlines.c", split[i]);
		find_spin(path, &from, &bytes);
		assert_int_equal(count_deep(&s, path, NULL, from, bytes), 0);
		assert_true(s.elsewhere);
		assert_false(s.left_out);
		assert_string_equal(ask_once(&s, path, NULL, false, from + 4), "spin");
	}
	const char *path =
		oracle_build("inlines.c", "gcc -g -O2 %1$s -o %2$s && cp %2$s %2$s.2 &&"
					  " dwz -m %2$s.common %2$s %2$s.2 && test -s %2$s.common");
	find_spin(path, &from, &bytes);
	/* As many frames as without dwz; their names have gone to the other file. */
	unsigned deep = 0;
	for (uint64_t at = from; at < from + bytes; at++) {
		const char *chain = ask_once(&s, path, NULL, false, at);
		deep += !strcmp(chain, "spin>[inlined]>[inlined]");
	}
	assert_in_range(deep, 2, bytes);
	assert_true(s.elsewhere);
	stop(&s);
}

/* A package as distributions make it: stripped programs, debug files, and one file that these share. */
static void the_supplement_of_debug_files_is_asked_for(void **state)
{
	(void)state;
	struct served s;
	uint64_t from, bytes;
	start(&s, IDLE_MS);
	for (int own = 0; own < 2; own++) {
		char debug[140], common[140], wants[200];
		const char *path = oracle_build("inlines.c", "gcc -g -O2 -Wl,--build-id %s -o %s");
		find_spin(path, &from, &bytes);
		unsigned deep = count_deep(&s, path, NULL, from, bytes);
		assert_in_range(deep, 2, bytes);
		run("objcopy --only-keep-debug $f $f.debug && cp $f.debug $f.2 &&"
		    " dwz -m $f.common $f.debug $f.2 && test -s $f.common && strip $f",
		    path);
		/* By build-id, for a stripped program; or the debug file asked for by itself, as importers do. */
		snprintf(debug, sizeof(debug), "%s.debug", path);
		snprintf(common, sizeof(common), "%s.common", path);
		snprintf(wants, sizeof(wants), "wants %s as supplement", common);
		int fd CAM_AUTOCLOSE = open(own ? debug : path, O_RDONLY | O_CLOEXEC);
		int debug_fd CAM_AUTOCLOSE = own ? -1 : open(debug, O_RDONLY | O_CLOEXEC);
		int common_fd CAM_AUTOCLOSE = open(common, O_RDONLY | O_CLOEXEC);
		s.format = own ? CAM_FORMAT_DEBUG : CAM_FORMAT_ELF;
		s.supplement = -1;
		s.search_supplement = true;
		assert_string_equal(ask_chain(&s, from, !own, fd, debug_fd), wants);
		/* Another file, and one that is none. */
		s.supplement = fd;
		assert_string_equal(ask_chain(&s, from, !own, fd, debug_fd), wants);
		int text CAM_AUTOCLOSE = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
		s.supplement = text;
		assert_string_equal(ask_chain(&s, from, !own, fd, debug_fd), wants);
		s.supplement = common_fd;
		unsigned found = 0;
		for (uint64_t at = from; at < from + bytes; at++)
			found += !strcmp(ask_chain(&s, at, !own, fd, debug_fd), "spin>mix>turn");
		assert_int_equal(found, deep);
		assert_false(s.elsewhere);
		s.format = CAM_FORMAT_ELF;
		s.supplement = -1;
		s.search_supplement = false;
	}
	stop(&s);
}

/* Symbols that a stripped file carries along, as Fedora makes them. */
static void mini_debug_information_names_functions(void **state)
{
	(void)state;
	const char *path = oracle_build("inlines.c", "gcc -g -O2 %s -o %s");
	struct served s;
	uint64_t from, bytes;
	find_spin(path, &from, &bytes);
	start(&s, IDLE_MS);
	run("objcopy --only-keep-debug $f $f.d && objcopy -S --keep-symbol=spin $f.d $f.mini && xz -k $f.mini"
	    " && strip $f && cp $f $f.plain && objcopy --add-section .gnu_debugdata=$f.mini.xz $f",
	    path);
	char plain[140];
	snprintf(plain, sizeof(plain), "%s.plain", path);
	assert_string_equal(ask_once(&s, plain, NULL, false, from + bytes / 2), "");
	assert_string_equal(ask_once(&s, path, NULL, false, from + bytes / 2), "spin");
	assert_string_equal(ask_once(&s, path, NULL, false, from + bytes), "");
	/* Damaged, it names nothing. */
	run("head -c 200 $f.mini.xz > $f.cut && objcopy --update-section .gnu_debugdata=$f.cut $f",
	    path);
	assert_string_equal(ask_once(&s, path, NULL, false, from + bytes / 2), "");
	stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_inlined_is_told),
		cmocka_unit_test(what_a_handler_returns_to_has_its_name),
		cmocka_unit_test(a_debug_file_tells_what_was_stripped),
		cmocka_unit_test(debug_information_that_is_too_large_is_left_out),
		cmocka_unit_test(what_lies_in_further_files_is_said),
		cmocka_unit_test(the_supplement_of_debug_files_is_asked_for),
		cmocka_unit_test(mini_debug_information_names_functions),
		cmocka_unit_test(files_are_named_and_bad_ones_cost_only_themselves),
		cmocka_unit_test(the_kernel_is_named_once_its_symbols_are_given),
		cmocka_unit_test(the_vdso_is_named_as_readelf_says),
		cmocka_unit_test(a_function_without_a_name_says_how_far_it_goes),
		cmocka_unit_test(long_names_come_in_several_packets),
		cmocka_unit_test(files_that_do_not_fit_together_are_named_all_the_same),
		cmocka_unit_test(tables_are_answered_in_pieces_and_in_bounds),
		cmocka_unit_test(without_work_it_ends),
	};
	return cmocka_run_group_tests(tests, NULL, oracle_clean);
}
