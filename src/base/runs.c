// SPDX-License-Identifier: Apache-2.0
#include "base/runs.h"

#include <stdio.h>
#include <string.h>

static void put(struct cam_runs *r)
{
	char word[32];
	int n = snprintf(word, sizeof(word), "%s%d*%u", r->n ? " " : "", r->last, r->times);
	r->full |= n <= 0 || r->n + (size_t)n > sizeof(r->text);
	if (!r->full) {
		memcpy(r->text + r->n, word, (size_t)n);
		r->n += (size_t)n;
	}
	r->times = 0;
}

void cam_runs_add(struct cam_runs *r, int number)
{
	if (r->times && r->last != number)
		put(r);
	r->last = number;
	r->times++;
}

struct cam_text cam_runs_end(struct cam_runs *r)
{
	if (r->times)
		put(r);
	return (struct cam_text){r->text, r->n};
}

/* Digits, at most seven; false: there are none, or more. */
static bool take_number(struct cam_text *s, uint32_t *out)
{
	size_t n = 0;
	*out = 0;
	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9' && n < 8)
		*out = *out * 10 + (uint32_t)(s->p[n++] - '0');
	*s = (struct cam_text){s->p + n, s->n - n};
	return n && n < 8;
}

static bool take_char(struct cam_text *s, char c)
{
	if (!s->n || s->p[0] != c)
		return false;
	*s = (struct cam_text){s->p + 1, s->n - 1};
	return true;
}

int cam_runs_at(struct cam_text runs, uint32_t place)
{
	uint64_t passed = 0;
	while (runs.n) {
		uint32_t number, times;
		bool minus = take_char(&runs, '-');
		if (!take_number(&runs, &number) || !take_char(&runs, '*') ||
		    !take_number(&runs, &times))
			return CAM_RUNS_NONE;
		passed += times;
		if (place < passed)
			return minus ? CAM_RUNS_NONE : (int)number;
		if (!take_char(&runs, ' '))
			break;
	}
	return CAM_RUNS_NONE;
}
