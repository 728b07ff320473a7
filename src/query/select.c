// SPDX-License-Identifier: Apache-2.0
#include "query/select.h"

#include "base/expression.h"
#include "base/vec.h"

#include <stdio.h>

#define CPU_WORDS ((CAM_SELECT_MAX_CPU + 1) / 64)
#define STEP_NS	  60000000000
#define MAX_STEPS (2 * CAM_EXPRESSION_STEPS) /* of all expressions of a kind */

void cam_selection_init(struct cam_selection *s)
{
	*s = (struct cam_selection){0};
}

static void free_patterns(struct cam_select_patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
}

void cam_select_expressions_free(struct cam_select_expressions *e)
{
	for (size_t i = 0; i < e->n; i++)
		regfree(&e->v[i]);
	free(e->v);
}

int cam_select_expressions_try(const struct cam_select_expressions *e, struct cam_text name,
			       struct cam_buf *room, uint32_t *which)
{
	uint32_t bits = 0;
	if (!e->n)
		return 0;
	int err = e->patience ? e->patience->tell(e->patience->arg, 0, 0) : 0;
	if (err)
		return err;
	if (e->patience && name.n > CAM_SELECT_PATIENT_TEXT)
		name.n = CAM_SELECT_PATIENT_TEXT;
	/* A zero byte ends what an expression can look at. */
	cam_buf_clear(room);
	cam_buf_put(room, name.p, name.n);
	cam_buf_put_u8(room, 0);
	if (cam_buf_error(room))
		return -ENOMEM;
	for (size_t i = 0; i < e->n && (which || !bits); i++) {
		int code = regexec(&e->v[i], (const char *)room->data, 0, NULL, 0);
		if (code == REG_ESPACE)
			return -ENOMEM;
		bits |= code ? 0 : 1u << i;
	}
	if (which)
		*which = bits;
	return bits != 0;
}

void cam_selection_free(struct cam_selection *s)
{
	free(s->pids.v);
	free(s->tids.v);
	free(s->uids.v);
	free_patterns(&s->comms);
	free_patterns(&s->etypes);
	free_patterns(&s->exes);
	free_patterns(&s->cgroups);
	free_patterns(&s->containers);
	free_patterns(&s->pods);
	cam_select_expressions_free(&s->match);
	cam_select_expressions_free(&s->exclude);
	free(s->cpus);
	cam_when_free(&s->when);
	cam_selection_init(s);
}

static int refuse(int err, const char *what, char *why, size_t why_bytes)
{
	snprintf(why, why_bytes, "%s", what);
	return err;
}

/* The decimal number at the start of *s, which is cut off; -EINVAL, -ERANGE. */
static int take_number(struct cam_text *s, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;
	size_t i = 0;
	for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++) {
		v = v * 10 + (uint64_t)(s->p[i] - '0');
		if (v > max)
			return -ERANGE;
	}
	if (i == 0)
		return -EINVAL;
	*out = (uint32_t)v;
	*s = (struct cam_text){s->p + i, s->n - i};
	return 0;
}

static bool take_char(struct cam_text *s, char c)
{
	if (!s->n || s->p[0] != c)
		return false;
	*s = (struct cam_text){s->p + 1, s->n - 1};
	return true;
}

static int add_numbers(struct cam_select_values *values, struct cam_text s, uint32_t max)
{
	do {
		uint32_t v;
		int err = take_number(&s, max, &v);
		if (!err)
			err = cam_vec_reserve(&values->v, &values->cap, values->n + 1,
					      sizeof(*values->v), CAM_SELECT_MAX_VALUES);
		if (err)
			return err;
		values->v[values->n++] = v;
	} while (take_char(&s, ','));
	return s.n ? -EINVAL : 0;
}

static int take_cpus(struct cam_text text, uint64_t *bits)
{
	do {
		uint32_t from = 0, to;
		int err = take_number(&text, CAM_SELECT_MAX_CPU, &from);
		to = from;
		if (!err && take_char(&text, '-'))
			err = take_number(&text, CAM_SELECT_MAX_CPU, &to);
		if (err)
			return err;
		if (to < from)
			return -EINVAL;
		for (uint32_t c = from; c <= to; c++)
			bits[c / 64] |= 1ull << c % 64;
	} while (take_char(&text, ','));
	return text.n ? -EINVAL : 0;
}

static int add_cpus(struct cam_selection *s, struct cam_text text)
{
	uint64_t bits[CPU_WORDS] = {0};
	int err = take_cpus(text, bits);
	if (err)
		return err;
	if (!s->cpus)
		s->cpus = calloc(CPU_WORDS, sizeof(*s->cpus));
	if (!s->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < CPU_WORDS; i++)
		s->cpus[i] |= bits[i];
	return 0;
}

/* Checks a pattern; it is used as a C string. */
static int check_pattern(struct cam_text value)
{
	if (!value.n || memchr(value.p, 0, value.n))
		return -EINVAL;
	return value.n > CAM_SELECT_MAX_PATTERN ? -E2BIG : 0;
}

static int add_pattern(struct cam_select_patterns *patterns, struct cam_text value)
{
	int err = check_pattern(value);
	if (!err)
		err = cam_vec_reserve(&patterns->v, &patterns->cap, patterns->n + 1,
				      sizeof(*patterns->v), CAM_SELECT_MAX_VALUES);
	if (err)
		return err;
	char *text = strndup(value.p, value.n);
	if (!text)
		return -ENOMEM;
	patterns->v[patterns->n++] = text;
	return 0;
}

int cam_select_expression_add(struct cam_select_expressions *e, struct cam_text value, char *why,
			      size_t why_bytes)
{
	char text[CAM_SELECT_MAX_PATTERN + 1];
	int err = check_pattern(value);
	if (!err)
		err = cam_vec_reserve(&e->v, &e->cap, e->n + 1, sizeof(*e->v),
				      CAM_SELECT_MAX_EXPRESSIONS);
	if (err)
		return err;
	const struct cam_text prefix =
		CAM_TEXT("(?i)"); /* of no other meaning in a POSIX expression */
	bool any_case = value.n > prefix.n && !memcmp(value.p, prefix.p, prefix.n);
	if (any_case)
		value = (struct cam_text){value.p + prefix.n, value.n - prefix.n};
	unsigned steps;
	err = cam_expression_check(value, &steps, why, why_bytes);
	if (err)
		return err;
	if (e->steps + steps > MAX_STEPS)
		return refuse(-EINVAL, "too much, together with the other expressions", why,
			      why_bytes);
	memcpy(text, value.p, value.n);
	text[value.n] = 0;
	int code =
		regcomp(&e->v[e->n], text, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0));
	if (code) {
		regerror(code, &e->v[e->n], why, why_bytes);
		return code == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	e->n++;
	e->steps += steps;
	return 0;
}

int cam_selection_add(struct cam_selection *s, enum cam_filter filter, struct cam_text value,
		      char *why, size_t why_bytes)
{
	int err = -EINVAL;
	why[0] = 0;
	switch (filter) {
	case CAM_FILTER_PID:
		err = add_numbers(&s->pids, value, INT32_MAX);
		break;
	case CAM_FILTER_TID:
		err = add_numbers(&s->tids, value, INT32_MAX);
		break;
	case CAM_FILTER_UID:
		err = add_numbers(&s->uids, value, UINT32_MAX - 1);
		break;
	case CAM_FILTER_CPU:
		err = add_cpus(s, value);
		break;
	case CAM_FILTER_COMM:
		err = add_pattern(&s->comms, value);
		break;
	case CAM_FILTER_ETYPE:
		err = add_pattern(&s->etypes, value);
		break;
	case CAM_FILTER_EXE:
		err = add_pattern(&s->exes, value);
		break;
	case CAM_FILTER_CGROUP:
		err = add_pattern(&s->cgroups, value);
		break;
	case CAM_FILTER_CONTAINER:
		err = add_pattern(&s->containers, value);
		break;
	case CAM_FILTER_POD:
		err = add_pattern(&s->pods, value);
		break;
	case CAM_FILTER_MATCH:
		err = cam_select_expression_add(&s->match, value, why, why_bytes);
		break;
	case CAM_FILTER_EXCLUDE:
		err = cam_select_expression_add(&s->exclude, value, why, why_bytes);
		break;
	case CAM_FILTER_MAX:
		break;
	}
	if (!err || why[0])
		return err;
	if (err == -E2BIG)
		return refuse(err, "too many values, or too long", why, why_bytes);
	if (err == -ERANGE)
		return refuse(err, "number out of range", why, why_bytes);
	if (err == -ENOMEM)
		return refuse(err, "out of memory", why, why_bytes);
	return refuse(err,
		      filter == CAM_FILTER_CPU	 ? "not a list of CPUs like 0-3,8"
		      : filter < CAM_FILTER_COMM ? "not a list of numbers like 1,2"
						 : "empty, or holds a zero byte",
		      why, why_bytes);
}

/*
 * By wall time. The header has the wall clock at the window's start; how far it was stepped
 * until the next window's start, the next one's header tells. (Stepped there and back again within one
 * window, farther than STEP_NS: not seen here.)
 */
static bool may_touch_wall(const struct cam_selection *s, const struct cam_window_info *info,
			   const struct cam_window_info *next)
{
	bool told = next && next->realtime_ns != INT64_MIN && next->start_ns >= info->start_ns &&
		    memcmp(&next->boot_id, &info->boot_id, sizeof(info->boot_id)) == 0;
	/* Of one that is still open, or a boot's last, no other header tells: its anchors must. */
	if (info->realtime_ns == INT64_MIN || !info->sealed || (!told && !info->imported))
		return true;
	__int128 from = info->realtime_ns, to = from + (info->end_ns - info->start_ns);
	__int128 margin = (__int128)info->realtime_uncertainty_ns + STEP_NS;
	if (told) {
		__int128 step =
			next->realtime_ns - from - (__int128)(next->start_ns - info->start_ns);
		margin += step < 0 ? -step : step;
	}
	return s->from_ns < to + margin && s->to_ns > from - margin;
}

bool cam_selection_may_touch(const struct cam_selection *s, const struct cam_window_info *info,
			     const struct cam_window_info *next)
{
	if (s->one_boot && memcmp(&s->boot_id, &info->boot_id, sizeof(s->boot_id)) != 0)
		return false;
	if (s->clock == CAM_SELECT_ALWAYS || info->clock == CAM_CLOCK_ABSENT)
		return true;
	if (s->clock == CAM_SELECT_WALL)
		return may_touch_wall(s, info, next);
	return (__int128)s->from_ns < info->end_ns && (__int128)s->to_ns > info->start_ns;
}

bool cam_selection_is_plain(const struct cam_selection *s)
{
	return !s->pids.n && !s->tids.n && !s->uids.n && !s->comms.n && !s->etypes.n &&
	       !s->exes.n && !s->cgroups.n && !s->containers.n && !s->pods.n && !s->match.n &&
	       !s->exclude.n && s->mode == CAM_SELECT_ANY_MODE;
}

bool cam_selection_takes_cpu(const struct cam_selection *s, uint32_t cpu)
{
	return !s->cpus || (cpu <= CAM_SELECT_MAX_CPU && s->cpus[cpu / 64] >> cpu % 64 & 1);
}

bool cam_selection_gap(const struct cam_selection *s, const struct cam_window_info *earlier,
		       const struct cam_window_info *later, struct cam_ledger_row *gap)
{
	bool same_boot = memcmp(&earlier->boot_id, &later->boot_id, sizeof(later->boot_id)) == 0;
	if (s->one_boot && memcmp(&s->boot_id, &later->boot_id, sizeof(s->boot_id)) != 0)
		return false;
	if (!same_boot || !cam_gap_between(earlier, later, gap))
		return false;
	/* What is added to a time of the windows' clock to have one of the selection's. */
	__int128 shift = 0;
	if (s->clock == CAM_SELECT_ALWAYS)
		return true;
	if (s->clock == CAM_SELECT_WALL && later->realtime_ns != INT64_MIN)
		shift = (__int128)later->realtime_ns - later->start_ns;
	else if (s->clock == CAM_SELECT_WALL && earlier->realtime_ns != INT64_MIN)
		shift = (__int128)earlier->realtime_ns - earlier->start_ns;
	else if (s->clock == CAM_SELECT_WALL)
		return false;
	__int128 from = s->from_ns - shift, to = s->to_ns - shift;
	if (from > gap->from_ns)
		gap->from_ns = from < gap->to_ns ? (uint64_t)from : gap->to_ns;
	if (to < gap->to_ns)
		gap->to_ns = to > gap->from_ns ? (uint64_t)to : gap->from_ns;
	return gap->from_ns < gap->to_ns;
}
