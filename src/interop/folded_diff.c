// SPDX-License-Identifier: Apache-2.0
#include "interop/folded_diff.h"

#include "base/vec.h"
#include "interop/folded_lines.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_LINES (1u << 28)

struct line {
	size_t at, n; /* in the text of stacks */
	uint64_t count[2];
};

struct lines {
	struct cam_buf text;
	struct line *v;
	size_t n, cap;
	uint64_t total[2];
	bool thousandths; /* what is counted: some count has a fraction */
};

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static void put_stack(struct cam_buf *to, struct cam_text s, bool strip_hex)
{
	for (size_t i = 0; i < s.n;) {
		if (strip_hex && i + 2 < s.n && s.p[i] == '0' && s.p[i + 1] == 'x' &&
		    is_hex(s.p[i + 2])) {
			cam_buf_put(to, "0x...", 5);
			for (i += 2; i < s.n && is_hex(s.p[i]);)
				i++;
			continue;
		}
		cam_buf_put(to, s.p + i++, 1);
	}
}

/* "stack 12", "stack 2.5"; false: it is not of that form. */
static bool split(struct cam_text line, bool thousandths, struct cam_text *stack, uint64_t *count)
{
	const char *space = memrchr(line.p, ' ', line.n);
	if (!space || space == line.p || space + 1 == line.p + line.n)
		return false;
	*stack = (struct cam_text){line.p, (size_t)(space - line.p)};
	*count = 0;
	unsigned decimals = thousandths ? 3 : 0;
	const char *p = space + 1, *end = line.p + line.n, *dot = NULL;
	for (; p < end && !(dot && p - dot > 3); p++) {
		if (*p == '.' && thousandths && !dot) {
			dot = p;
			continue;
		}
		if (*p < '0' || *p > '9' || *count > UINT64_MAX / 16)
			return false;
		*count = *count * 10 + (uint64_t)(*p - '0');
		decimals -= dot != NULL;
	}
	for (; decimals; decimals--) {
		if (__builtin_mul_overflow(*count, 10u, count))
			return false;
	}
	return true;
}

/* Whether any line's count has a fraction. */
static bool has_fraction(struct cam_text text)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;
		const char *space = memrchr(text.p, ' ', n);
		if (space && memchr(space, '.', n - (size_t)(space - text.p)))
			return true;
		text = (struct cam_text){text.p + n + (end != NULL), text.n - n - (end != NULL)};
	}
	return false;
}

static int read_lines(struct lines *l, struct cam_text text, int side, bool strip_hex)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		struct cam_text line = {text.p, end ? (size_t)(end - text.p) : text.n}, stack;
		size_t used = line.n + (end != NULL);
		uint64_t count;
		text = (struct cam_text){text.p + used, text.n - used};
		if (!line.n || !split(line, l->thousandths, &stack, &count))
			continue;
		int err = cam_vec_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v), MAX_LINES);
		if (err)
			return err;
		struct line *row = &l->v[l->n++];
		*row = (struct line){.at = l->text.len};
		row->count[side] = count;
		l->total[side] += count;
		put_stack(&l->text, stack, strip_hex);
		row->n = l->text.len - row->at;
	}
	return cam_buf_error(&l->text);
}

static int by_stack(const void *x, const void *y, void *arg)
{
	const struct line *a = x, *b = y;
	const char *text = arg;
	size_t n = a->n < b->n ? a->n : b->n;
	int order = n ? memcmp(text + a->at, text + b->at, n) : 0;
	return order ? order : a->n < b->n ? -1 : a->n > b->n;
}

static void write_lines(struct lines *l, bool normalise, struct cam_out *out)
{
	const char *text = (const char *)l->text.data;
	if (l->n)
		qsort_r(l->v, l->n, sizeof(*l->v), by_stack, l->text.data);
	for (size_t i = 0; i < l->n;) {
		uint64_t count[2] = {0};
		size_t first = i;
		for (; i < l->n && !by_stack(&l->v[first], &l->v[i], l->text.data); i++) {
			count[0] += l->v[i].count[0];
			count[1] += l->v[i].count[1];
		}
		/* In that script's order of steps, so that it is rounded as there: to whole counts. */
		uint64_t unit = l->thousandths ? 1000 : 1;
		if (normalise && l->total[0] && l->total[0] != l->total[1])
			count[0] = (uint64_t)((double)count[0] / (double)unit *
					      (double)l->total[1] / (double)l->total[0]) *
				   unit;
		cam_out_text(out, (struct cam_text){text + l->v[first].at, l->v[first].n});
		for (int side = 0; side < 2; side++) {
			char room[24];
			cam_out_bytes(out, room,
				      cam_folded_count_text(count[side], l->thousandths, room));
		}
		cam_out_str(out, "\n");
	}
}

int cam_folded_diff_write(struct cam_text before, struct cam_text after,
			  const struct cam_folded_diff_options *o, struct cam_out *out)
{
	struct lines l = {.text = CAM_BUF(SIZE_MAX / 2)};
	l.thousandths = has_fraction(before) || has_fraction(after);
	int err = read_lines(&l, before, 0, o->strip_hex);
	if (!err)
		err = read_lines(&l, after, 1, o->strip_hex);
	if (!err) {
		write_lines(&l, o->normalise, out);
		err = out->error;
	}
	cam_buf_free(&l.text);
	free(l.v);
	return err;
}
