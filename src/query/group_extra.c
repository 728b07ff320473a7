// SPDX-License-Identifier: Apache-2.0
#include "query/group_extra.h"

#include "base/runs.h"
#include "query/reshape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define UNASKED	 UINT32_MAX
#define MAX_NAME (1u << 20)

enum { NOT_ASKED, NO, YES };

static int keep_sockets(void *arg, const struct cam_fact *f)
{
	struct cam_group_extra *e = arg;
	struct cam_text value = cam_string(e->t, f->value);
	if (e->sockets || !value.n ||
	    !cam_text_equal(cam_string(e->t, f->key), CAM_TEXT(CAM_FACT_SOCKETS)))
		return 0;
	e->sockets = malloc(value.n);
	if (!e->sockets)
		return -ENOMEM;
	memcpy(e->sockets, value.p, value.n);
	e->sockets_bytes = value.n;
	return 0;
}

static int make_parents(struct cam_group_extra *e)
{
	e->n_parents = e->t->stacks.n;
	e->parents = malloc((e->n_parents + 1) * sizeof(*e->parents));
	e->matches = calloc(e->t->n_functions + 1, 1);
	e->name = CAM_BUF(MAX_NAME);
	if (!e->parents || !e->matches)
		return -ENOMEM;
	memset(e->parents, 0xff, (e->n_parents + 1) * sizeof(*e->parents));
	e->parents[0] = 0;
	return 0;
}

int cam_group_extra_open(struct cam_group_extra *e, struct cam_window *w,
			 const struct cam_tables *t, bool sockets, bool lines)
{
	*e = (struct cam_group_extra){.t = t};
	int err = sockets ? w->ops->facts(w, keep_sockets, e) : 0;
	return err || !lines ? err : cam_source_lines_load(&e->lines, w);
}

void cam_group_extra_close(struct cam_group_extra *e)
{
	cam_source_lines_free(&e->lines);
	free(e->sockets);
	free(e->parents);
	free(e->matches);
	cam_buf_free(&e->name);
	*e = (struct cam_group_extra){0};
}

static int is_match(struct cam_group_extra *e, const struct cam_select_expressions *match,
		    uint32_t function)
{
	char room[512];
	if (function >= e->t->n_functions)
		return 0;
	if (e->matches[function] == NOT_ASKED) {
		struct cam_text label = cam_function_label(e->t, (struct cam_func_id){function},
							   room, sizeof(room));
		int found = cam_reshape_match(match, label, &e->name);
		if (found < 0)
			return found;
		e->matches[function] = found ? YES : NO;
	}
	return e->matches[function] == YES;
}

int cam_group_extra_parent(struct cam_group_extra *e, const struct cam_select_expressions *match,
			   bool outermost, uint32_t stack, uint32_t *out)
{
	uint32_t path[CAM_MAX_STACK_FRAMES + 1];
	size_t n = 0;
	int err = e->parents ? 0 : make_parents(e);
	if (err)
		return err;
	for (; stack < e->n_parents && e->parents[stack] == UNASKED;
	     stack = e->t->stacks.parent[stack]) {
		if (n == sizeof(path) / sizeof(path[0]))
			return -EBADMSG;
		path[n++] = stack;
	}
	if (stack >= e->n_parents)
		return -EBADMSG;
	*out = e->parents[stack];
	while (n) {
		uint32_t function = e->t->stacks.item[stack = path[--n]];
		int found = outermost && *out ? 0 : is_match(e, match, function);
		if (found < 0)
			return found;
		if (found)
			*out = function + 1;
		e->parents[stack] = *out;
	}
	return 0;
}

int cam_group_extra_socket(const struct cam_group_extra *e, uint32_t cpu)
{
	return cam_runs_at((struct cam_text){e->sockets, e->sockets_bytes}, cpu);
}

uint32_t cam_group_extra_line(const struct cam_group_extra *e, uint32_t stack, uint64_t leaf_offset)
{
	if (!stack || stack >= e->t->stacks.n || leaf_offset == CAM_OFFSET_NONE)
		return 0;
	return cam_source_lines_row(&e->lines, e->t->stacks.item[stack], leaf_offset);
}

struct cam_text cam_group_extra_text(const struct cam_group_extra *e, uint32_t row, bool number,
				     char *room, size_t bytes)
{
	struct cam_text file;
	uint32_t line;
	if (!row)
		return CAM_TEXT("[unknown]");
	cam_source_lines_at(&e->lines, row, &file, &line);
	const char *slash = memrchr(file.p, '/', file.n);
	if (slash)
		file = (struct cam_text){slash + 1, (size_t)(file.p + file.n - slash - 1)};
	if (!number)
		return file;
	int n = snprintf(room, bytes, "%.*s:%u", (int)(file.n < 400 ? file.n : 400), file.p, line);
	return (struct cam_text){room, n > 0 && (size_t)n < bytes ? (size_t)n : 0};
}
