// SPDX-License-Identifier: Apache-2.0
#include "support_folded.h"

#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static void must(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "folded: %s\n", what);
		abort();
	}
}

char *read_data(const char *name)
{
	const char *root = getenv("PERFCAM_TEST_DATA");
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", root ? root : "tests/data", name);
	gzFile in = gzopen(path, "rb");
	must(in != NULL, path);
	size_t n = 0, cap = 1 << 20;
	char *text = malloc(cap);
	for (;;) {
		must(text != NULL, "memory");
		int got = gzread(in, text + n, (unsigned)(cap - n - 1));
		must(got >= 0, path);
		if (!got)
			break;
		n += (size_t)got;
		if (cap - n < 2)
			text = realloc(text, cap *= 2);
	}
	text[n] = 0;
	gzclose(in);
	return text;
}

static struct cam_loc_id frame_of(struct fake_window *f, struct cam_text name)
{
	struct cam_function fn = {.source = CAM_NAME_IMPORTED};
	struct cam_location l = {.func_offset = CAM_OFFSET_NONE};
	struct cam_loc_id id = {0};
	if (name.n > 4 && !memcmp(name.p + name.n - 4, "_[", 2)) {
		char kind = name.p[name.n - 2];
		fn.kind = kind == 'k'	? CAM_FUNC_KERNEL
			  : kind == 'j' ? CAM_FUNC_JIT
			  : kind == 'i' ? CAM_FUNC_INLINED
					: CAM_FUNC_USER;
		name.n -= 4;
	}
	must(!cam_string_intern(&f->t, name, &fn.name) &&
		     !cam_function_intern(&f->t, &fn, &l.func) &&
		     !cam_location_intern(&f->t, &l, &id),
	     "intern");
	return id;
}

static void add_line(struct fake_window *f, const char *line, size_t n, unsigned times)
{
	const char *space = memrchr(line, ' ', n);
	const char *end = memchr(line, ';', n);
	must(space != NULL, "a line without a count");
	if (!end)
		end = space;
	char comm[64];
	snprintf(comm, sizeof(comm), "%.*s", (int)(end - line), line);
	struct cam_sample s = {.task = fake_task(f, CAM_PID_NONE, CAM_PID_NONE, comm),
			       .weight = strtoull(space + 1, NULL, 10)};
	for (const char *p = end; p < space; p = end) {
		p++;
		end = memchr(p, ';', (size_t)(space - p));
		if (!end)
			end = space;
		struct cam_loc_id loc = frame_of(f, (struct cam_text){p, (size_t)(end - p)});
		must(!cam_tree_intern(&f->t, &f->t.places, s.place.v, loc.v, &s.place.v), "intern");
	}
	for (unsigned i = 0; i < times; i++) {
		s.time_ns = (1 + i) * CAM_NS_PER_SEC;
		fake_add_sample(f, &s);
	}
}

struct fake_window *folded_window(const char *text, unsigned times)
{
	struct fake_window *f = fake_window_new();
	f->t.etypes[0].has_weight = true;
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		if (n)
			add_line(f, line, n, times);
		line += n + (line[n] == '\n');
	}
	fake_window_ready(f);
	return f;
}
