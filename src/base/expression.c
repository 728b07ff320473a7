// SPDX-License-Identifier: Apache-2.0
#include "base/expression.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MANY (1u << 20)

/* A group that is open: what it has so far, and the last thing in it, which a repetition repeats. */
struct level {
	uint64_t steps, last;
	unsigned nested, last_nested; /* endless repetitions in each other */
	/* In how many ways it can match nothing: alternatives that have ended; of this one what is before the
	 * last thing, and that. */
	uint64_t ended, before, empty;
	/* The ways through all of its parts that can match nothing: what is before the last thing, and that. */
	uint64_t ways_before, ways;
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

/* "{2,5}": 5, "{2,}": 3, since the rest, which is open, is a step; 0: it is no repetition, but a brace. */
static uint64_t take_bounds(struct scan *s, bool *open, bool *none)
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
	*open = comma && endless;
	*none = !bounds[0] || (comma && !*open && bounds[1] > bounds[0]);
	if (*open)
		return bounds[0] + 1;
	uint64_t most = bounds[0] > bounds[1] ? bounds[0] : bounds[1];
	return most ? most : 1;
}

static uint64_t times_at_most(uint64_t a, uint64_t b)
{
	return a * b > MANY ? MANY : a * b; /* both are at most MANY */
}

static uint64_t power(uint64_t base, uint64_t n)
{
	uint64_t v = 1;
	for (; n && v && v < MANY && base != 1; n--)
		v = times_at_most(v, base);
	return v;
}

static uint64_t empty_ways(const struct level *l)
{
	return l->ended + times_at_most(l->before, l->empty);
}

static void add_steps(struct level *l, uint64_t n, uint64_t empty)
{
	l->before = times_at_most(l->before, l->empty);
	l->empty = empty < MANY ? empty : MANY;
	l->ways_before = times_at_most(l->ways_before, l->ways);
	l->ways = l->empty > 1 ? l->empty : 1;
	l->last = n;
	l->last_nested = 0;
	l->steps += n;
}

/* NULL, or what is wrong with that. */
static const char *repeat(struct level *l, uint64_t times, bool endless, bool may_be_none)
{
	uint64_t once = l->empty, rest = times - endless;
	l->ways = power(l->ways, times);
	/* Each copy may be empty by itself; the endless rest, or one that need not be, is one way more. */
	l->empty =
		may_be_none ? power(once + 1 < MANY ? once + 1 : MANY, times) : power(once, rest);
	if (endless && !may_be_none)
		l->empty = times_at_most(l->empty, once + 1 < MANY ? once + 1 : MANY);
	l->ways = l->ways > l->empty ? l->ways : l->empty;
	l->steps += l->last * (times - 1);
	l->last *= times;
	l->last_nested += endless;
	l->nested = l->nested > l->last_nested ? l->nested : l->last_nested;
	if (times > 1 && l->last > CAM_EXPRESSION_REPEATED)
		return "too many repetitions: written out they are longer than 300 steps";
	return l->last_nested > CAM_EXPRESSION_NESTED
		       ? "repetitions of repetitions, more than 3 deep"
		       : NULL;
}

static bool is_tangled(const struct level *l)
{
	return times_at_most(l->ways_before, l->ways) > CAM_EXPRESSION_EMPTY ||
	       empty_ways(l) > CAM_EXPRESSION_EMPTY;
}

/* One thing of the expression. NULL, or what is wrong with it. */
static const char *take(struct scan *s)
{
	struct level *l = &s->levels[s->depth];
	uint64_t times, ways;
	unsigned nested;
	bool endless, none;
	switch (look(s, 0)) {
	case '\\':
		if (look(s, 1) >= '1' && look(s, 1) <= '9')
			return "back-references (\\1) are not supported";
		add_steps(l, 1, strchr("bB<>`'", look(s, 1)) != NULL);
		s->at += 2;
		return NULL;
	case '[':
		skip_set(s);
		add_steps(l, 1, 0);
		return NULL;
	case '(':
		if (s->depth == CAM_EXPRESSION_DEPTH)
			return "parentheses more than 32 deep";
		s->levels[++s->depth] =
			(struct level){.before = 1, .empty = 1, .ways_before = 1, .ways = 1};
		s->at++;
		return NULL;
	case ')':
		s->at++;
		if (!s->depth) {
			add_steps(l, 1, 0);
			return NULL;
		}
		s->depth--;
		nested = l->nested;
		ways = times_at_most(l->ways_before, l->ways);
		add_steps(l - 1, l->steps ? l->steps : 1, empty_ways(l));
		l[-1].ways = l[-1].ways > ways ? l[-1].ways : ways;
		l[-1].last_nested = nested;
		l[-1].nested = l[-1].nested > nested ? l[-1].nested : nested;
		return NULL;
	case '+':
		s->at++;
		return repeat(l, 2, true,
			      false); /* as glibc writes it: once, and then any number */
	case '*':
		s->at++;
		return repeat(l, 1, true, true);
	case '?':
		s->at++;
		return repeat(l, 1, false, true);
	case '|':
		s->at++;
		add_steps(l, 1, 1);
		l->ended = empty_ways(l) < MANY ? empty_ways(l) : MANY;
		l->before = l->empty = 1;
		return NULL;
	case '^':
	case '$':
		s->at++;
		add_steps(l, 1, 1);
		return NULL;
	case '{':
		times = take_bounds(s, &endless, &none);
		if (times)
			return repeat(l, times, endless, none);
		break;
	default:
		break;
	}
	s->at++;
	add_steps(l, 1, 0);
	return NULL;
}

int cam_expression_check(struct cam_text text, unsigned *steps, char *why, size_t why_bytes)
{
	struct scan s = {.text = text,
			 .levels = {{.before = 1, .empty = 1, .ways_before = 1, .ways = 1}}};
	const char *wrong = NULL;
	while (s.at < text.n && !wrong) {
		wrong = take(&s);
		/* Each level by itself: so no number grows past 64 bits. */
		if (!wrong && s.levels[s.depth].steps > CAM_EXPRESSION_STEPS)
			wrong = "too many repetitions: written out it is longer than 1100 steps";
		if (!wrong && is_tangled(&s.levels[s.depth]))
			wrong = "repetitions that can match nothing in more than 256 ways";
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
