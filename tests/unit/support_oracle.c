// SPDX-License-Identifier: Apache-2.0
#include "support_oracle.h"

#include "base/cleanup.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static char dir[64];

struct cam_buf oracle_run(const char *fmt, ...)
{
	char command[4096];
	struct cam_buf out = CAM_BUF(256u << 20);
	va_list args;
	va_start(args, fmt);
	assert_in_range(vsnprintf(command, sizeof(command), fmt, args), 1, sizeof(command) - 1);
	va_end(args);
	FILE *f = popen(command, "r");
	assert_non_null(f);
	for (;;) {
		uint8_t *room = cam_buf_reserve(&out, 65536);
		assert_non_null(room);
		size_t got = fread(room, 1, 65536, f);
		if (!got)
			break;
		out.len += got;
	}
	int status = pclose(f);
	if (status)
		fail_msg("status %d from: %s", status, command);
	cam_buf_put_u8(&out, 0);
	out.len--;
	return out;
}

const char *oracle_dir(void)
{
	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "/tmp/perfcam-oracle-XXXXXX");
		assert_non_null(mkdtemp(dir));
	}
	return dir;
}

int oracle_clean(void **state)
{
	(void)state;
	if (dir[0]) {
		struct cam_buf b = oracle_run("rm -rf %s", dir);
		cam_buf_free(&b);
	}
	dir[0] = 0;
	return 0;
}

const char *oracle_build(const char *source, const char *command)
{
	static char product[128];
	static unsigned int built;
	char from[1024], line[3072];
	snprintf(from, sizeof(from), "%s/tests/workloads/%s", getenv("PERFCAM_SOURCE"), source);
	snprintf(product, sizeof(product), "%s/%u.elf", oracle_dir(), built++);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(line, sizeof(line), command, from, product);
#pragma GCC diagnostic pop
	/* There, since compilers leave files (.dwo) where they are started. */
	struct cam_buf b = oracle_run("cd %s && %s", oracle_dir(), line);
	cam_buf_free(&b);
	return product;
}

static int by_start(const void *a, const void *b)
{
	const struct oracle_symbol *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_code_segment(const char *path, struct oracle_symbols *s)
{
	struct cam_buf b = oracle_run("readelf -lW %s", path);
	unsigned int found = 0;
	char *rest = NULL;
	for (char *l = strtok_r((char *)b.data, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
		unsigned long at, address, bytes;
		char flags[4];
		if (sscanf(l, " LOAD 0x%lx 0x%lx 0x%*x 0x%lx 0x%*x %3[RWE ]", &at, &address, &bytes,
			   flags) != 4 ||
		    !strchr(flags, 'E'))
			continue;
		s->code_at = at;
		s->code_address = address;
		s->code_bytes = bytes;
		found++;
	}
	assert_int_equal(found, 1);
	cam_buf_free(&b);
}

/* `  12: 0000000000001130    64 FUNC    GLOBAL DEFAULT   14 name@@V` */
static bool parse_symbol(char *line, const struct oracle_symbols *s, struct oracle_symbol *out)
{
	unsigned long address, bytes;
	char type[16], visibility[16], section[16];
	int name_at = 0;
	if (sscanf(line, " %*u: %lx %li %15s %*s %15s %15s %n", &address, (long *)&bytes, type,
		   visibility, section, &name_at) != 5 ||
	    !name_at || !line[name_at] || !strcmp(section, "UND"))
		return false;
	bool label = !strcmp(type, "NOTYPE") && !bytes && !strcmp(visibility, "DEFAULT");
	if (strcmp(type, "FUNC") && strcmp(type, "IFUNC") && !label)
		return false;
	if (address < s->code_address || address - s->code_address >= s->code_bytes)
		return false;
	out->name = line + name_at;
	out->name[strcspn(out->name, " ")] = 0; /* " (2)", a version's number */
	char *version = strchr(out->name + 1, '@');
	if (version)
		*version = 0;
	out->start = address - s->code_address + s->code_at;
	out->bytes = bytes;
	return true;
}

/* All names through one c++filt, a line each. */
static void read_readable(struct oracle_symbols *s)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/mangled", oracle_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < s->n; i++)
		fprintf(f, "%s\n", s->rows[i].name);
	assert_int_equal(fclose(f), 0);
	struct cam_buf b = oracle_run("c++filt -p -i < %s", path);
	char *line = (char *)b.data;
	for (size_t i = 0; i < s->n; i++) {
		char *end = strchr(line, '\n');
		assert_non_null(end);
		*end = 0;
		s->rows[i].readable = strdup(line);
		line = end + 1;
	}
	cam_buf_free(&b);
}

struct oracle_symbols oracle_symbols(const char *path)
{
	struct oracle_symbols s = {.text = oracle_run("readelf -sW %s", path)};
	size_t lines = 0;
	read_code_segment(path, &s);
	for (size_t i = 0; i < s.text.len; i++)
		lines += s.text.data[i] == '\n';
	s.rows = calloc(lines + 1, sizeof(*s.rows));
	assert_non_null(s.rows);
	bool dynamic = false;
	char *rest = NULL, *line = strtok_r((char *)s.text.data, "\n", &rest);
	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "Symbol table", 12))
			dynamic = strstr(line, ".dynsym") != NULL;
		s.rows[s.n].dynamic = dynamic;
		s.n += parse_symbol(line, &s, &s.rows[s.n]);
	}
	read_readable(&s);
	qsort(s.rows, s.n, sizeof(*s.rows), by_start);
	return s;
}

void oracle_symbols_free(struct oracle_symbols *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->rows[i].readable);
	free(s->rows);
	cam_buf_free(&s->text);
}

/*
 * perf.data as it goes through a pipe: a head, the event's attributes, then records. Each sample
 * is one address, so that perf answers one line each.
 */
enum { SAMPLE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME };
enum { HEADER_ATTR = 64, EVENT_ID = 1, PID = 100 };

static size_t start_record(struct cam_buf *b, uint32_t type, uint16_t misc)
{
	size_t at = b->len;
	cam_buf_put_u32(b, type);
	cam_buf_put_u16(b, misc);
	cam_buf_put_u16(b, 0);
	return at;
}

static void end_record(struct cam_buf *b, size_t at, bool with_id)
{
	if (with_id) { /* what sample_id_all appends: tid, time, identifier */
		cam_buf_put_u32(b, PID);
		cam_buf_put_u32(b, PID);
		cam_buf_put_u64(b, 1);
		cam_buf_put_u64(b, EVENT_ID);
	}
	assert_int_equal(cam_buf_error(b), 0);
	b->data[at + 6] = (uint8_t)(b->len - at);
	b->data[at + 7] = (uint8_t)((b->len - at) >> 8);
}

static void put_padded(struct cam_buf *b, const char *text)
{
	cam_buf_put(b, text, strlen(text) + 1);
	while (b->len % 8)
		cam_buf_put_u8(b, 0);
}

static void put_head(struct cam_buf *b)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.sample_period = 1000000,
		.sample_type = SAMPLE,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.sample_id_all = 1,
	};
	cam_buf_put(b, "PERFILE2", 8);
	cam_buf_put_u64(b, 16);
	size_t at = start_record(b, HEADER_ATTR, 0);
	cam_buf_put(b, &attr, sizeof(attr));
	cam_buf_put_u64(b, EVENT_ID);
	end_record(b, at, false);
	at = start_record(b, PERF_RECORD_COMM, 0);
	cam_buf_put_u32(b, PID);
	cam_buf_put_u32(b, PID);
	put_padded(b, "program");
	end_record(b, at, true);
}

static void put_kernel(struct cam_buf *b)
{
	static const uint64_t text = 0xffffffff81000000;
	size_t at = start_record(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	cam_buf_put_u32(b, UINT32_MAX);
	cam_buf_put_u32(b, 0);
	cam_buf_put_u64(b, text);
	cam_buf_put_u64(b, 0x3000000);
	cam_buf_put_u64(b, text);
	put_padded(b, "[kernel.kallsyms]_text");
	end_record(b, at, true);
}

static const uint64_t file_base = 0x500000000000;

static void put_file(struct cam_buf *b, const char *path)
{
	size_t at = start_record(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	cam_buf_put_u32(b, PID);
	cam_buf_put_u32(b, PID);
	cam_buf_put_u64(b, file_base);
	cam_buf_put_u64(b, 1ull << 32);
	for (int i = 0; i < 4; i++) /* offset, device, inode, generation: not known */
		cam_buf_put_u64(b, 0);
	cam_buf_put_u32(b, 5); /* PROT_READ | PROT_EXEC */
	cam_buf_put_u32(b, 2); /* MAP_PRIVATE */
	put_padded(b, path);
	end_record(b, at, true);
}

static char **ask_perf(struct cam_buf *b, uint16_t misc, uint64_t base, const uint64_t *at,
		       size_t n)
{
	char path[128];
	for (size_t i = 0; i < n; i++) {
		size_t record = start_record(b, PERF_RECORD_SAMPLE, misc);
		cam_buf_put_u64(b, EVENT_ID);
		cam_buf_put_u64(b, base + at[i]);
		cam_buf_put_u32(b, PID);
		cam_buf_put_u32(b, PID);
		cam_buf_put_u64(b, 2);
		end_record(b, record, false);
	}
	snprintf(path, sizeof(path), "%s/perf.data", oracle_dir());
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
	assert_int_equal(fclose(f), 0);
	cam_buf_free(b);
	struct cam_buf out =
		oracle_run("perf script -i - -F ip,sym,symoff --no-inline < %s 2>%s/errors", path,
			   oracle_dir());
	char **names = calloc(n, sizeof(*names)), *rest = NULL, *line = (char *)out.data;
	assert_non_null(names);
	line = strtok_r(line, "\n", &rest);
	for (size_t i = 0; i < n; i++, line = strtok_r(NULL, "\n", &rest)) {
		char *name;
		assert_non_null(line);
		assert_int_equal(strtoull(line, &name, 16), base + at[i]);
		assert_int_equal(*name++, ' ');
		names[i] = strcmp(name, "[unknown]") ? strdup(name) : NULL;
	}
	assert_null(line);
	cam_buf_free(&out);
	return names;
}

char **oracle_perf_file(const char *path, const uint64_t *offsets, size_t n)
{
	struct cam_buf b = CAM_BUF(64u << 20);
	put_head(&b);
	put_file(&b, path);
	return ask_perf(&b, PERF_RECORD_MISC_USER, file_base, offsets, n);
}

char **oracle_perf_kernel(const uint64_t *addresses, size_t n)
{
	struct cam_buf b = CAM_BUF(64u << 20);
	put_head(&b);
	put_kernel(&b);
	return ask_perf(&b, PERF_RECORD_MISC_KERNEL, 0, addresses, n);
}

void oracle_perf_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}
