// SPDX-License-Identifier: Apache-2.0
#include "events/rule.h"

#include "base/expression.h"
#include "base/units.h"
#include "model/severity.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define EARN	     50u /* one part of so many of the time that passes */
#define ANEW_NS	     (CAM_RULE_CPU_NS / 2)
#define FIRST_PREFIX 64u

static const char usage[] = "try: on kmsg /Tx timeout/ pin 5m before 1m after";

struct parse {
	struct cam_text rest;
	char *why;
	size_t why_bytes;
};

__attribute__((format(printf, 2, 3))) static int wrong(const struct parse *p, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(p->why, p->why_bytes, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void skip(struct parse *p, size_t n)
{
	p->rest.p += n;
	p->rest.n -= n;
}

static void skip_blanks(struct parse *p)
{
	while (p->rest.n && (p->rest.p[0] == ' ' || p->rest.p[0] == '\t'))
		skip(p, 1);
}

/* Up to a blank or a comma. */
static struct cam_text take_word(struct parse *p)
{
	skip_blanks(p);
	struct cam_text w = {p->rest.p, 0};
	while (w.n < p->rest.n && !strchr(" \t,", p->rest.p[w.n]))
		w.n++;
	skip(p, w.n);
	return w;
}

static int take_source(struct parse *p, struct cam_rule *r)
{
	static const char *const sources[] = {"any",   "kmsg",	  "mark",    "log",    "journal",
					      "alert", "finding", "process", "perfcam"};
	struct cam_text w = take_word(p);
	if (!w.n || w.p[0] == '/')
		return wrong(p, "on what? A source comes first; %s", usage);
	bool known = cam_text_starts(w, CAM_TEXT("log:"));
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]) && !known; i++)
		known = cam_text_equal(w, cam_text_of(sources[i]));
	if (!known || w.n >= sizeof(r->source))
		return wrong(
			p,
			"'%.*s' is no source; kmsg, mark, log (log:NAME), journal, alert, finding, process, perfcam and any are",
			(int)(w.n < 32 ? w.n : 32), w.p);
	if (!cam_text_equal(w, CAM_TEXT("any")))
		memcpy(r->source, w.p, w.n);
	return 0;
}

static int compile(struct cam_rule *r)
{
	int code = regcomp(&r->expression, r->text, REG_EXTENDED | REG_NOSUB);
	r->compiled = code == 0;
	r->used_ns = 0;
	return code;
}

static int take_expression(struct parse *p, struct cam_rule *r)
{
	char *text = r->text;
	size_t n = 0;
	unsigned steps;
	skip_blanks(p);
	if (!p->rest.n || p->rest.p[0] != '/')
		return wrong(p, "an expression between slashes comes behind the source; %s", usage);
	for (skip(p, 1); p->rest.n && p->rest.p[0] != '/'; skip(p, 1)) {
		if (p->rest.n > 1 && p->rest.p[0] == '\\' && p->rest.p[1] == '/')
			skip(p, 1);
		else if (p->rest.n > 1 && p->rest.p[0] == '\\') {
			/* Both, so that the second of two backslashes does not hide a slash. */
			text[n++] = '\\';
			skip(p, 1);
		}
		if (n + 2 >= sizeof(r->text) || !p->rest.p[0])
			return wrong(p, "the expression is too long, or has a NUL byte");
		text[n++] = p->rest.p[0];
	}
	if (!p->rest.n || !n)
		return wrong(p, "the expression is empty, or has no slash at its end");
	skip(p, 1);
	text[n] = 0;
	int err = cam_expression_check((struct cam_text){text, n}, &steps, p->why, p->why_bytes);
	if (err)
		return err;
	int code = compile(r);
	if (code)
		regerror(code, &r->expression, p->why, p->why_bytes);
	return !code ? 0 : code == REG_ESPACE ? -ENOMEM : -EINVAL;
}

/* "5m before 1m after": one of them, or both. */
static int take_pin(struct parse *p, struct cam_rule *r)
{
	for (unsigned i = 0; i < 2; i++) {
		struct parse at = *p;
		struct cam_text length = take_word(p), side = {"", 0};
		uint64_t ns;
		if (length.n && cam_duration_parse(length, &ns) == 0)
			side = take_word(p);
		bool before = cam_text_equal(side, CAM_TEXT("before"));
		bool after = cam_text_equal(side, CAM_TEXT("after"));
		if (!before && !after) {
			if (!i)
				return wrong(p, "pin how much? pin 5m before 1m after");
			*p = at;
			break;
		}
		if (ns > CAM_RULE_PIN_NS)
			return wrong(p, "a rule pins at most a day before and a day after");
		*(before ? &r->before_ns : &r->after_ns) = ns;
	}
	/* The moment itself lies in it. */
	if (!r->before_ns)
		r->before_ns = CAM_NS_PER_SEC;
	if (!r->after_ns)
		r->after_ns = CAM_NS_PER_SEC;
	r->pins = true;
	return 0;
}

static int take_severity(struct parse *p, struct cam_rule *r)
{
	struct cam_text w = take_word(p);
	if (cam_severity_parse(w, &r->severity))
		return 0;
	return wrong(
		p,
		"'%.*s' is no severity; emerg, alert, crit, err, warning, notice, info and debug are",
		(int)(w.n < 32 ? w.n : 32), w.p);
}

/* The rest of the line, at blanks: nothing of it means anything. */
static int take_run(struct parse *p, struct cam_rule *r)
{
	size_t n = 0, at = 0;
	for (skip_blanks(p); p->rest.n; skip_blanks(p)) {
		size_t word = 0;
		while (word < p->rest.n && p->rest.p[word] != ' ' && p->rest.p[word] != '\t')
			word++;
		if (n == CAM_RULE_WORDS || word >= sizeof(r->words) - at)
			return wrong(p, "a command has at most %u words and %u bytes",
				     CAM_RULE_WORDS, CAM_RULE_BYTES - 1);
		memcpy(r->words + at, p->rest.p, word);
		r->argv[n++] = r->words + at;
		at += word + 1;
		skip(p, word);
	}
	if (!n || r->argv[0][0] != '/')
		return wrong(p, "run needs the whole path of a program: run /usr/local/bin/page");
	return 0;
}

static int take_actions(struct parse *p, struct cam_rule *r)
{
	int err = 0;
	for (bool more = true; more && !err;) {
		struct cam_text word = take_word(p);
		if (cam_text_equal(word, CAM_TEXT("pin")))
			err = take_pin(p, r);
		else if (cam_text_equal(word, CAM_TEXT("capsule")))
			r->capsule = true;
		else if (cam_text_equal(word, CAM_TEXT("severity")))
			err = take_severity(p, r);
		else if (cam_text_equal(word, CAM_TEXT("run")))
			err = take_run(p, r);
		else
			return wrong(p, "'%.*s' is no action; pin, capsule, severity and run are",
				     (int)(word.n < 32 ? word.n : 32), word.p);
		skip_blanks(p);
		more = !err && p->rest.n && p->rest.p[0] == ',';
		if (more)
			skip(p, 1);
	}
	if (!err && p->rest.n)
		err = wrong(p, "'%.*s': a comma comes between actions",
			    (int)(p->rest.n < 32 ? p->rest.n : 32), p->rest.p);
	return err;
}

int cam_rule_parse(struct cam_rule *r, struct cam_text text, char *why, size_t why_bytes)
{
	struct parse p = {text, why, why_bytes};
	*r = (struct cam_rule){.severity = CAM_SEVERITY_MAX};
	int err = text.n >= CAM_RULE_BYTES ? wrong(&p, "longer than %u bytes", CAM_RULE_BYTES - 1)
					   : 0;
	if (!err)
		err = take_source(&p, r);
	if (!err)
		err = take_expression(&p, r);
	if (!err)
		err = take_actions(&p, r);
	if (err)
		cam_rule_free(r);
	return err;
}

void cam_rule_free(struct cam_rule *r)
{
	if (r->compiled)
		regfree(&r->expression);
	r->compiled = false;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * CAM_NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void earn(struct cam_rule *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), earned = (now - r->earned_ns) / EARN;
	r->spent_ns -= earned < r->spent_ns ? earned : r->spent_ns;
	r->earned_ns = now;
}

/* The first bytes of it first, then twice as many: what takes long takes long there, too, and is given up. */
static bool try_it(struct cam_rule *r, struct cam_text text)
{
	struct cam_text prefix = {text.p, 0};
	bool fits = false;
	for (size_t n = FIRST_PREFIX; prefix.n < text.n && r->spent_ns < CAM_RULE_CPU_NS; n *= 2) {
		prefix.n = n < text.n ? n : text.n;
		uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		fits = cam_expression_fits(&r->expression, prefix);
		uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
		r->spent_ns += took;
		r->used_ns += took;
	}
	/* What begins a text does not answer for it: $ fits at the end of either. */
	if (prefix.n == text.n)
		return text.n ? fits : cam_expression_fits(&r->expression, text);
	r->untried++;
	return false;
}

bool cam_rule_is_about(struct cam_rule *r, struct cam_text source, struct cam_text text)
{
	/* Of "log:/var/log/x", "log" is the kind of source. */
	struct cam_text wanted = cam_text_of(r->source);
	bool same = cam_text_starts(source, wanted) &&
		    (source.n == wanted.n || source.p[wanted.n] == ':');
	if (wanted.n && !same)
		return false;
	earn(r);
	/* glibc keeps every state it has met, until the expression is freed. */
	if (r->used_ns >= ANEW_NS)
		cam_rule_free(r);
	if (!r->compiled && compile(r)) {
		r->untried++;
		return false;
	}
	return try_it(r, text);
}
