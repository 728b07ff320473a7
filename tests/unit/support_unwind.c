// SPDX-License-Identifier: Apache-2.0
#include "support_unwind.h"

#include "model/ids.h"
#include "symbol/ehframe.h"
#include "symbol/vdso.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct to {
	struct cam_unwinder *u;
	uint32_t file;
};

static int on_piece(void *arg, const struct cam_ehframe_piece *p)
{
	struct to *to = arg;
	return to->u->table_rows(to->u, to->file, p->rules, p->n_rules, p->rows, p->n_rows);
}

struct cam_bytes tell_open(const char *path)
{
	struct cam_bytes b = {.fd = -1};
	struct stat st;
	if (strcmp(path, "[vdso]") == 0) {
		assert_int_equal(cam_vdso_copy(&b), 0);
		return b;
	}
	b.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(b.fd >= 0);
	assert_int_equal(fstat(b.fd, &st), 0);
	b.size = (uint64_t)st.st_size;
	return b;
}

void tell_close(struct cam_bytes *b)
{
	if (b->fd >= 0 && !b->memory)
		close(b->fd);
	free((void *)b->memory);
}

static void tell_table(struct cam_unwinder *u, uint32_t file, const char *path)
{
	struct cam_bytes b = tell_open(path);
	struct to to = {u, file};
	assert_int_equal(u->table_begin(u, file), 0);
	assert_int_equal(cam_ehframe_read(&b, on_piece, &to), 0);
	assert_false(u->table_has(u, file));
	assert_int_equal(u->table_end(u, file), 0);
	assert_true(u->table_has(u, file));
	tell_close(&b);
}

static uint32_t file_number(struct tell *t, const char *path)
{
	for (uint32_t i = 0; i < t->n_files; i++)
		if (strcmp(t->path[i], path) == 0)
			return i;
	assert_true(t->n_files < TELL_MAX_FILES);
	snprintf(t->path[t->n_files], sizeof(t->path[0]), "%s", path);
	return t->n_files++;
}

size_t tell_maps(struct tell *t, pid_t pid, struct cam_unwind_mapping *maps)
{
	char name[64], line[512];
	size_t n = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	FILE *f = fopen(name, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct cam_unwind_mapping *m = &maps[n];
		char rights[8] = "", path[256] = "";
		assert_true(sscanf(line,
				   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255[^\n]",
				   &m->start, &m->end, rights, &m->offset, path) >= 4);
		if (rights[2] != 'x' || m->start >> 63)
			continue;
		bool file = path[0] == '/' || strcmp(path, "[vdso]") == 0;
		m->file = file ? file_number(t, path) : CAM_NONE;
		n++;
	}
	fclose(f);
	return n;
}

uint32_t tell_process(struct tell *t, struct cam_unwinder *u, pid_t pid, uint64_t start_ns)
{
	struct cam_unwind_mapping maps[CAM_UNWIND_MAX_MAPS];
	size_t n = tell_maps(t, pid, maps);
	for (; t->n_told < t->n_files; t->n_told++)
		tell_table(u, t->n_told, t->path[t->n_told]);
	const struct cam_unwind_process p = {
		.pid = pid, .start_ns = start_ns, .image = ++t->next_image};
	assert_int_equal(u->process(u, &p, maps, n), 0);
	return p.image;
}
