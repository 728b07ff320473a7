// SPDX-License-Identifier: Apache-2.0
#include "base/expression.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A group that is open: what it has so far, and the last thing in it, which a repetition repeats. */
struct level {
	uint64_t steps, last;
	bool stars, last_stars; /* there is a * or ? in it; in the last thing */
};

struct scan {
	struct cam_text text;
	size_t at;
	struct level levels[CAM_EXPRESSION_DEPTH + 1];
	unsigned depth;
};

static char look(const struct scan *s, size_t ahead)
{
	return s->at + ahead < s->text.n ? s->text.p[s->at + ahead] : '\0';
}

/* "[]a-z[:alpha:]]": behind it. A ']' that comes first is one of the set, as is any backslash. */
static void skip_set(struct scan *s)
{
	s->at++;
	s->at += look(s, 0) == '^';
	s->at += look(s, 0) == ']';
	while (s->at < s->text.n && look(s, 0) != ']') {
		char kind = look(s, 1);
		if (look(s, 0) != '[' || (kind != ':' && kind != '.' && kind != '=')) {
			s->at++;
			continue;
		}
		s->at += 2;
		while (s->at < s->text.n && !(look(s, 0) == kind && look(s, 1) == ']'))
			s->at++;
		s->at += 2;
	}
	s->at++;
}

/* "{2,5}": 5, "{2,}": 3, since the endless rest is a step; 0: it is no repetition, but a brace. */
static uint64_t take_bounds(struct scan *s)
{
	size_t at = 1;
	uint64_t bounds[2] = {0, 0};
	bool comma = false, endless = true;
	for (;; at++) {
		char c = look(s, at);
		if (c >= '0' && c <= '9') {
			uint64_t *n = &bounds[comma];
			*n = *n > UINT16_MAX ? *n : *n * 10 + (uint64_t)(c - '0');
			endless = endless && !comma;
		} else if (c == ',' && !comma) {
			comma = true;
		} else {
			break;
		}
	}
	if (look(s, at) != '}' || at == 1)
		return 0;
	s->at += at + 1;
	if (comma && endless)
		return bounds[0] + 1;
	uint64_t most = bounds[0] > bounds[1] ? bounds[0] : bounds[1];
	return most ? most : 1;
}

static void add_steps(struct level *l, uint64_t n)
{
	l->last = n;
	l->last_stars = false;
	l->steps += n;
}

static void repeat(struct level *l, uint64_t times)
{
	l->steps += l->last * (times - 1);
	l->last *= times;
}

/* One thing of the expression. NULL, or what is wrong with it. */
static const char *take(struct scan *s)
{
	struct level *l = &s->levels[s->depth];
	uint64_t times;
	switch (look(s, 0)) {
	case '\\':
		if (look(s, 1) >= '1' && look(s, 1) <= '9')
			return "back-references (\\1) are not supported";
		s->at += 2;
		add_steps(l, 1);
		return NULL;
	case '[':
		skip_set(s);
		add_steps(l, 1);
		return NULL;
	case '(':
		if (s->depth == CAM_EXPRESSION_DEPTH)
			return "parentheses more than 32 deep";
		s->levels[++s->depth] = (struct level){0};
		s->at++;
		return NULL;
	case ')':
		s->at++;
		if (!s->depth) {
			add_steps(l, 1);
			return NULL;
		}
		s->depth--;
		add_steps(l - 1, l->steps ? l->steps : 1);
		(l - 1)->last_stars = l->stars;
		(l - 1)->stars = (l - 1)->stars || l->stars;
		return NULL;
	case '+':
		s->at++;
		/* As glibc writes it: once, and then any number. Where each may be empty, each leads to all others. */
		repeat(l, l->last_stars ? 4 : 2);
		return NULL;
	case '*':
	case '?':
		s->at++;
		l->last_stars = l->stars = true;
		return NULL;
	case '{':
		times = take_bounds(s);
		if (times) {
			repeat(l, times);
			return NULL;
		}
		break;
	default:
		break;
	}
	s->at++;
	add_steps(l, 1);
	return NULL;
}

int cam_expression_check(struct cam_text text, unsigned *steps, char *why, size_t why_bytes)
{
	struct scan s = {.text = text};
	const char *wrong = NULL;
	while (s.at < text.n && !wrong) {
		wrong = take(&s);
		/* Each level by itself: so no number grows past 64 bits. */
		if (!wrong && s.levels[s.depth].steps > CAM_EXPRESSION_STEPS)
			wrong = "too many repetitions: written out it is longer than 1100 steps";
	}
	if (wrong) {
		snprintf(why, why_bytes, "%s", wrong);
		return -EINVAL;
	}
	*steps = (unsigned)s.levels[0].steps;
	return 0;
}

bool cam_expression_fits(const regex_t *expression, struct cam_text text)
{
	char room[CAM_EXPRESSION_TEXT + 1];
	size_t n = text.n < CAM_EXPRESSION_TEXT ? text.n : CAM_EXPRESSION_TEXT;
	for (size_t i = 0; i < n; i++)
		room[i] = (char)(text.p[i] ? text.p[i] : ' ');
	room[n] = 0;
	return regexec(expression, room, 0, NULL, 0) == 0;
}
