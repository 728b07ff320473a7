// SPDX-License-Identifier: Apache-2.0
#include "support_frames.h"

#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void check_piece(const struct frames *f, const struct cam_ehframe_piece *p)
{
	assert_false(f->ended);
	assert_true(f->n_rules <= CAM_UNWIND_MAX_RULES && f->n_rows <= CAM_UNWIND_MAX_ROWS);
	assert_true(p->n_rows <= CAM_EHFRAME_PIECE_ROWS);
	for (size_t i = f->n_rules - p->n_rules; i < f->n_rules; i++)
		assert_true(f->rules[i].cfa < CAM_CFA_KINDS && f->rules[i].rbp < CAM_RBP_KINDS);
	for (size_t i = f->n_rows - p->n_rows; i < f->n_rows; i++) {
		assert_true(f->rows[i].rule < f->n_rules);
		if (i)
			assert_true(f->rows[i].offset > f->rows[i - 1].offset &&
				    f->rows[i].rule != f->rows[i - 1].rule);
	}
}

static int take_piece(void *arg, const struct cam_ehframe_piece *p)
{
	struct frames *f = arg;
	assert_int_equal(cam_vec_reserve(&f->rules, &f->rules_cap, f->n_rules + p->n_rules,
					 sizeof(*f->rules), CAM_UNWIND_MAX_RULES),
			 0);
	assert_int_equal(cam_vec_reserve(&f->rows, &f->rows_cap, f->n_rows + p->n_rows,
					 sizeof(*f->rows), CAM_UNWIND_MAX_ROWS),
			 0);
	if (p->n_rules)
		memcpy(f->rules + f->n_rules, p->rules, p->n_rules * sizeof(*f->rules));
	if (p->n_rows)
		memcpy(f->rows + f->n_rows, p->rows, p->n_rows * sizeof(*f->rows));
	f->n_rules += p->n_rules;
	f->n_rows += p->n_rows;
	f->pieces++;
	check_piece(f, p);
	f->ended = !p->more;
	return 0;
}

int frames_of_bytes(const struct cam_bytes *b, struct frames *f)
{
	*f = (struct frames){0};
	int error = cam_ehframe_read(b, take_piece, f);
	if (!error)
		assert_true(f->ended);
	return error;
}

void frames_of_path(const char *path, struct frames *f)
{
	struct stat s;
	struct cam_bytes b = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	assert_true(b.fd >= 0);
	assert_int_equal(fstat(b.fd, &s), 0);
	b.size = (uint64_t)s.st_size;
	assert_int_equal(frames_of_bytes(&b, f), 0);
	close(b.fd);
}

void frames_free(struct frames *f)
{
	free(f->rules);
	free(f->rows);
	*f = (struct frames){0};
}

long frames_row(const struct frames *f, uint64_t offset)
{
	size_t low = 0, high = f->n_rows;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (f->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return (long)low - 1;
}

const struct cam_unwind_rule *frames_rule(const struct frames *f, uint64_t offset)
{
	long i = frames_row(f, offset);
	return i < 0 ? NULL : &f->rules[f->rows[i].rule];
}

const char *frames_text(const struct cam_unwind_rule *r)
{
	static const char *const kinds[] = {"none",	 "rsp%+d", "rbp%+d", "plt%+d",
					    "*(rbp%+d)", "signal", "end",    "unsupported"};
	static const char *const rbps[] = {"", " rbp@cfa%+d", " rbp@rbp%+d", " rbp-gone"};
	static char text[64];
	if (!r)
		return "nothing";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = snprintf(text, sizeof(text), kinds[r->cfa], r->cfa_offset);
	snprintf(text + n, sizeof(text) - (size_t)n, rbps[r->rbp], r->rbp_offset);
#pragma GCC diagnostic pop
	return text;
}
