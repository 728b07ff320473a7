// SPDX-License-Identifier: Apache-2.0
#include "events/journal_entry.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_US	 1000
#define OTHER_BOOT_NS	 UINT64_C(1000000000)
#define ON_ITS_WAY_US	 (5 * INT64_C(1000000)) /* more than that is a clock that was set */
#define MAX_US		 (INT64_MAX / NS_PER_US)
#define IDENTIFIER_BYTES 64u

static int add_word(struct cam_journal_wish *w, struct cam_text word)
{
	if (cam_text_equal(word, CAM_TEXT("all")))
		return 0;
	if (word.p[0] == '/') {
		if (w->directory[0] || word.n >= sizeof(w->directory))
			return -EINVAL;
		memcpy(w->directory, word.p, word.n);
		w->directory[word.n] = 0;
		return 0;
	}
	/* A unit's name has no slash: this is a path that is not absolute. */
	if (w->n_units == CAM_JOURNAL_UNITS || memchr(word.p, '/', word.n) ||
	    memchr(word.p, 0, word.n))
		return -EINVAL;
	char *unit = w->units[w->n_units++];
	bool plain = !memchr(word.p, '.', word.n) && !memchr(word.p, '*', word.n);
	int n = snprintf(unit, sizeof(w->units[0]), "%.*s%s", (int)word.n, word.p,
			 plain ? ".service" : "");
	return (size_t)n < sizeof(w->units[0]) ? 0 : -EINVAL;
}

int cam_journal_wish_parse(struct cam_journal_wish *w, struct cam_text text)
{
	for (size_t at = 0; at <= text.n;) {
		size_t end = at;
		while (end < text.n && text.p[end] != ',')
			end++;
		struct cam_text word = {text.p + at, end - at};
		at = end + 1;
		while (word.n && (word.p[0] == ' ' || word.p[0] == '\t'))
			word = (struct cam_text){word.p + 1, word.n - 1};
		while (word.n && (word.p[word.n - 1] == ' ' || word.p[word.n - 1] == '\t'))
			word.n--;
		int err = word.n ? add_word(w, word) : -EINVAL;
		if (err)
			return err;
	}
	return 0;
}

static bool is_of_unit(const struct cam_journal_entry *e, const char *pattern)
{
	char name[256];
	for (size_t i = 0; i < sizeof(e->units) / sizeof(e->units[0]); i++) {
		struct cam_text u = e->units[i];
		if (!u.n || u.n >= sizeof(name))
			continue;
		memcpy(name, u.p, u.n);
		name[u.n] = 0;
		if (fnmatch(pattern, name, 0) == 0)
			return true;
	}
	return false;
}

static bool is_wanted(const struct cam_journal_entry *e, const struct cam_journal_wish *w)
{
	if (!e->message.n)
		return false;
	/* Else each would be there twice: as the kernel's own log has it, and so. */
	if (cam_text_equal(e->transport, CAM_TEXT("kernel")))
		return w->kernel;
	for (unsigned i = 0; i < w->n_units; i++) {
		if (is_of_unit(e, w->units[i]))
			return true;
	}
	return !w->n_units;
}

/* False: it is no number of microseconds. */
static bool read_us(struct cam_text s, int64_t *us)
{
	*us = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || *us > MAX_US / 10 - 1)
			return false;
		*us = *us * 10 + (s.p[i] - '0');
	}
	return s.n > 0;
}

static void place(const struct cam_journal_entry *e, struct cam_intake_line *out)
{
	int64_t source = 0;
	int64_t realtime = e->realtime_us < MAX_US ? (int64_t)e->realtime_us : MAX_US;
	int64_t monotonic = e->monotonic_us < MAX_US ? (int64_t)e->monotonic_us : MAX_US;
	bool kernel = cam_text_equal(e->transport, CAM_TEXT("kernel"));
	out->doubt_ns = NS_PER_US;
	if (e->this_boot && kernel && read_us(e->source_monotonic, &source)) {
		out->clock = CAM_INTAKE_SCHED;
		out->stamp_ns = source * NS_PER_US;
		return;
	}
	int64_t way = read_us(e->source_realtime, &source) ? realtime - source : 0;
	if (way < 0 || way > ON_ITS_WAY_US)
		way = 0;
	out->clock = e->this_boot ? CAM_INTAKE_OWN : CAM_INTAKE_WALL;
	out->stamp_ns = ((e->this_boot ? monotonic : realtime) - way) * NS_PER_US;
	if (!e->this_boot)
		out->doubt_ns = OTHER_BOOT_NS;
}

bool cam_journal_entry_line(const struct cam_journal_entry *e, const struct cam_journal_wish *w,
			    char room[CAM_JOURNAL_LINE_BYTES], struct cam_intake_line *out)
{
	if (!is_wanted(e, w))
		return false;
	struct cam_text who = e->identifier.n ? e->identifier : e->comm;
	size_t n = 0;
	if (who.n && !cam_text_equal(e->transport, CAM_TEXT("kernel"))) {
		who.n = who.n < IDENTIFIER_BYTES ? who.n : IDENTIFIER_BYTES;
		bool numbered = e->pid.n && e->pid.n < 16;
		n = (size_t)snprintf(room, CAM_JOURNAL_LINE_BYTES, "%.*s%s%.*s%s: ", (int)who.n,
				     who.p, numbered ? "[" : "", numbered ? (int)e->pid.n : 0,
				     numbered ? e->pid.p : "", numbered ? "]" : "");
	}
	size_t left = CAM_JOURNAL_LINE_BYTES - n;
	size_t more = e->message.n < left ? e->message.n : left;
	memcpy(room + n, e->message.p, more);
	bool has_priority = e->priority.n == 1 && e->priority.p[0] >= '0' && e->priority.p[0] < '8';
	*out = (struct cam_intake_line){
		.severity = has_priority ? (enum cam_severity)(e->priority.p[0] - '0')
					 : CAM_SEVERITY_INFO,
		.text = {room, n + more},
	};
	place(e, out);
	return true;
}
