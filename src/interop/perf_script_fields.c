// SPDX-License-Identifier: Apache-2.0
#include "interop/perf_script_fields.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	const char *name;
	unsigned field;
} names[] = {
	{"comm", CAM_PERF_COMM},     {"pid", CAM_PERF_PID},	    {"tid", CAM_PERF_TID},
	{"cpu", CAM_PERF_CPU},	     {"time", CAM_PERF_TIME},	    {"period", CAM_PERF_PERIOD},
	{"event", CAM_PERF_EVENT},   {"trace", CAM_PERF_TRACE},	    {"ip", CAM_PERF_IP},
	{"sym", CAM_PERF_SYM},	     {"symoff", CAM_PERF_SYMOFF},   {"dso", CAM_PERF_DSO},
	{"cgroup", CAM_PERF_CGROUP}, {"srcline", CAM_PERF_SRCLINE},
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

#define STACK (CAM_PERF_IP | CAM_PERF_SYM | CAM_PERF_SYMOFF | CAM_PERF_DSO)

enum change { CHANGE_NONE, CHANGE_SET, CHANGE_ADD, CHANGE_REMOVE };

static int refuse(char *why, size_t why_bytes, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(char *why, size_t why_bytes, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(why, why_bytes, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

const char *cam_perf_field_name(unsigned fields)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		if (fields & names[i].field)
			return names[i].name;
	}
	return "";
}

static unsigned field_of(struct cam_text word)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		if (cam_text_equal(word, cam_text_of(names[i].name)))
			return names[i].field;
	}
	return 0;
}

/* Takes "trace:" and the like off the list. */
static int take_type(struct cam_text *list, bool *plain, bool *trace, char *why, size_t why_bytes)
{
	static const char *const others[] = {"hw", "sw", "raw", "break", "synth"};
	const char *colon = list->n ? memchr(list->p, ':', list->n) : NULL;
	*plain = *trace = true;
	if (!colon)
		return 0;
	struct cam_text type = {list->p, (size_t)(colon - list->p)};
	*plain = false;
	if (!cam_text_equal(type, CAM_TEXT("trace"))) {
		*trace = false;
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			*plain |= cam_text_equal(type, cam_text_of(others[i]));
	}
	if (!*plain && !*trace)
		return refuse(why, why_bytes, "'%.*s' is no type of event: hw, sw, raw, trace",
			      (int)(type.n & 63), type.p);
	*list = (struct cam_text){colon + 1, (size_t)(list->p + list->n - colon - 1)};
	return 0;
}

static void apply(unsigned *fields, enum change change, unsigned field)
{
	*fields = change == CHANGE_REMOVE ? *fields & ~field : *fields | field;
}

static int take_word(struct cam_text word, enum change *change, unsigned *field, char *why,
		     size_t why_bytes)
{
	enum change now = word.n && word.p[0] == '+'   ? CHANGE_ADD
			  : word.n && word.p[0] == '-' ? CHANGE_REMOVE
						       : CHANGE_SET;
	bool mixed = *change != CHANGE_NONE && (*change == CHANGE_SET) != (now == CHANGE_SET);
	if (mixed)
		return refuse(why, why_bytes, "fields with + or - and fields without do not mix");
	*change = now;
	if (now != CHANGE_SET)
		word = (struct cam_text){word.p + 1, word.n - 1};
	*field = field_of(word);
	if (*field)
		return 0;
	return refuse(why, why_bytes,
		      "'%.*s' is no field that a window keeps; it has comm, pid, tid, cpu, time, "
		      "period, event, trace, ip, sym, symoff, dso, cgroup, srcline",
		      word.n < 64 ? (int)word.n : 64, word.p);
}

/* Of names and files without addresses, and of offsets without names, tracepoints have none. */
static unsigned without_strays(unsigned fields)
{
	if (!(fields & CAM_PERF_IP))
		fields &= ~(unsigned)(CAM_PERF_SYM | CAM_PERF_DSO);
	return fields & CAM_PERF_SYM ? fields : fields & ~(unsigned)CAM_PERF_SYMOFF;
}

int cam_perf_fields_parse(struct cam_text list, struct cam_perf_script_options *o, char *why,
			  size_t why_bytes)
{
	bool plain, trace;
	enum change change = CHANGE_NONE;
	int err = take_type(&list, &plain, &trace, why, why_bytes);
	while (!err) {
		const char *comma = list.n ? memchr(list.p, ',', list.n) : NULL;
		struct cam_text word = {list.p, comma ? (size_t)(comma - list.p) : list.n};
		bool first = change == CHANGE_NONE;
		unsigned field = 0;
		err = take_word(word, &change, &field, why, why_bytes);
		if (err)
			break;
		if (first && change == CHANGE_SET) {
			o->fields = plain ? 0 : o->fields;
			o->trace_fields = trace ? 0 : o->trace_fields;
		}
		/* perf gives tracepoints their stacks only where nobody said anything. */
		if (first && trace && o->trace_fields == CAM_PERF_TRACE_DEFAULT)
			o->trace_fields &= ~(unsigned)STACK;
		if (plain)
			apply(&o->fields, change, field);
		if (trace)
			apply(&o->trace_fields, change, field);
		apply(&o->exact, change, field);
		if (!comma)
			break;
		list = (struct cam_text){comma + 1, list.n - word.n - 1};
	}
	/* A change of both is one of what each has: "+symoff" is meant for those that have names. */
	if (plain && trace && change != CHANGE_SET)
		o->trace_fields = without_strays(o->trace_fields);
	return err;
}

int cam_perf_fields_check(const struct cam_perf_script_options *o, char *why, size_t why_bytes)
{
	const unsigned both[] = {o->fields, o->trace_fields};
	for (size_t i = 0; i < 2; i++) {
		unsigned f = both[i];
		if (!(f & CAM_PERF_IP) && (f & CAM_PERF_SYM))
			return refuse(why, why_bytes, "sym needs ip: names are those of addresses");
		if (!(f & CAM_PERF_IP) && (f & CAM_PERF_DSO))
			return refuse(why, why_bytes, "dso needs ip: files are those of addresses");
		if (!(f & CAM_PERF_SYM) && (f & CAM_PERF_SYMOFF))
			return refuse(why, why_bytes, "symoff needs sym");
	}
	return 0;
}
