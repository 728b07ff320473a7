// SPDX-License-Identifier: Apache-2.0
/* Lines become events: placed, bounded, and counted where they are not. */
#include "events/intake.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define S 1000000000ull

struct kept {
	struct cam_happening last;
	char text[2048], source[64];
	size_t n, reports;
};

static void keep(void *arg, const struct cam_happening *h)
{
	struct kept *k = arg;
	k->last = *h;
	assert_true(h->text.n < sizeof(k->text));
	memcpy(k->text, h->text.p, h->text.n);
	k->text[h->text.n] = 0;
	snprintf(k->source, sizeof(k->source), "%.*s", (int)h->source.n, h->source.p);
	if (!strcmp(k->source, "perfcam"))
		k->reports++;
	else
		k->n++;
}

static struct cam_intake *open_intake(struct kept *k)
{
	struct cam_intake *in;
	*k = (struct kept){0};
	assert_int_equal(cam_intake_new(keep, k, &in), 0);
	/* sched_clock is 400 µs ahead, and the wall clock was stepped back by 100 s at 20 s. */
	const struct cam_anchor a[] = {
		{10 * S, 10 * S, 10 * S, 10 * S + 400000, 1000 * (int64_t)S, 100},
		{20 * S, 20 * S, 20 * S, 20 * S + 400000, 1010 * (int64_t)S, 100},
		{20 * S, 20 * S, 20 * S, 20 * S + 400000, 910 * (int64_t)S, 100},
	};
	for (size_t i = 0; i < 3; i++)
		cam_axis_add(cam_intake_axis(in), &a[i]);
	return in;
}

static struct cam_intake_line line(enum cam_intake_clock clock, int64_t stamp, const char *text)
{
	return (struct cam_intake_line){.clock = clock,
					.stamp_ns = stamp,
					.severity = CAM_SEVERITY_INFO,
					.text = cam_text_of(text)};
}

static void stamps_of_each_clock_are_placed(void **state)
{
	(void)state;
	struct kept k;
	struct cam_intake *in = open_intake(&k);
	int src = cam_intake_source(in, "kmsg");
	struct cam_intake_line l = line(CAM_INTAKE_SCHED, (int64_t)(15 * S) + 400000, "x");
	assert_true(cam_intake_take(in, src, &l, 21 * S));
	assert_in_range(k.last.time_ns, 15 * S - 1000, 15 * S + 1000);
	assert_true(k.last.uncertainty_ns >= 50000 && k.last.uncertainty_ns < 10000000);
	l = line(CAM_INTAKE_WALL, 1003 * (int64_t)S, "x");
	l.doubt_ns = S;
	assert_true(cam_intake_take(in, src, &l, 21 * S));
	assert_int_equal(k.last.time_ns, 13 * S);
	assert_true(k.last.uncertainty_ns >= S);
	/* Before the first anchor: less sure, the older the less. */
	l = line(CAM_INTAKE_SCHED, 400000, "x");
	assert_true(cam_intake_take(in, src, &l, 21 * S));
	assert_true(k.last.uncertainty_ns >= 10 * S / 2000);
	/* A clock that is ahead: it happened now at the latest, and who knows when. */
	l = line(CAM_INTAKE_WALL, 5000 * (int64_t)S, "x");
	assert_true(cam_intake_take(in, src, &l, 21 * S));
	assert_int_equal(k.last.time_ns, 21 * S);
	assert_true(k.last.uncertainty_ns > 1000 * S);
	cam_intake_free(in);
}

static void times_that_a_log_claims_are_not_believed(void **state)
{
	(void)state;
	struct kept k;
	struct cam_intake *in = open_intake(&k);
	int src = cam_intake_source(in, "log:app.log");
	/* A day before this boot: now, wrong by a day; not the moment of the boot. */
	struct cam_intake_line l = line(CAM_INTAKE_WALL, (910 - 86400) * (int64_t)S, "old");
	assert_true(cam_intake_take(in, src, &l, 20 * S));
	assert_int_equal(k.last.time_ns, 20 * S);
	assert_int_equal(k.last.uncertainty_ns, 86400 * S);
	/* Spread over the past, as many as a flood of now. */
	for (unsigned i = 0; i < 2500; i++) {
		l = line(CAM_INTAKE_WALL, 1000 * (int64_t)S + i * 4000000ll, "x");
		cam_intake_take(in, src, &l, 20 * S);
	}
	assert_int_equal(k.n, 1000);
	cam_intake_free(in);
}

static void a_flood_is_bounded_and_counted(void **state)
{
	(void)state;
	struct kept k;
	struct cam_intake *in = open_intake(&k);
	int src = cam_intake_source(in, "kmsg");
	struct cam_intake_line junk = line(CAM_INTAKE_OWN, 21 * S, "nothing of note");
	const struct cam_intake_line oom =
		line(CAM_INTAKE_OWN, 21 * S, "Out of memory: Killed process 1 (init)");
	uint64_t now = 21 * S;
	for (unsigned i = 0; i < 110000; i++, now += S / 10000) {
		junk.stamp_ns = (int64_t)now;
		cam_intake_take(in, src, &junk, now);
	}
	/* 1000 at once, 20 a second in 11 s. */
	assert_in_range(k.n, 1210, 1230);
	/* What matters gets through all the same. */
	assert_true(cam_intake_take(in, src, &oom, now));
	assert_int_equal(k.last.severity, CAM_SEVERITY_CRIT);
	assert_string_equal(k.last.kind->name, "oom-kill");
	cam_intake_report(in, now, false);
	assert_int_equal(k.reports, 1);
	cam_intake_report(in, now + S, true);
	assert_int_equal(k.reports, 1);
	assert_int_equal(k.last.severity, CAM_SEVERITY_WARNING);
	unsigned long long left_out = 0;
	assert_int_equal(sscanf(k.text, "kmsg: %llu lines were left out", &left_out), 1);
	assert_int_equal(left_out, 110001 - k.n);
	struct cam_intake_counts c = cam_intake_counts(in, src);
	assert_int_equal(c.lines, 110001);
	assert_int_equal(c.suppressed, left_out);
	assert_non_null(strstr(k.text, "more than 20 a second came"));
	/* Lines that were never seen are told, too, each with its own reason; and time heals. */
	unsigned before = k.reports;
	cam_intake_skipped(in, src, 5);
	cam_intake_lost(in, src, 0);
	cam_intake_report(in, now, true);
	assert_int_equal(k.reports, before + 1);
	assert_non_null(strstr(k.text, "kmsg: 5 lines were left out"));
	assert_non_null(strstr(k.text, "more came than is read in a second"));
	cam_intake_lost(in, src, 7);
	cam_intake_report(in, now, true);
	assert_non_null(strstr(k.text, "kmsg: 7 lines were lost"));
	assert_non_null(strstr(k.text, "overwritten"));
	assert_null(strstr(k.text, "a second"));
	junk.stamp_ns += 10 * (int64_t)S;
	assert_true(cam_intake_take(in, src, &junk, now + 10 * S));
	cam_intake_free(in);
}

static void texts_are_bounded_and_without_secrets(void **state)
{
	(void)state;
	struct kept k;
	struct cam_intake *in = open_intake(&k);
	int src = cam_intake_source(in, "log");
	char text[8192];
	/* Of two bytes each: cut between characters. */
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 2 ? '\xa9' : '\xc3';
	text[sizeof(text) - 1] = 0;
	struct cam_intake_line l = line(CAM_INTAKE_OWN, 21 * S, text);
	assert_true(cam_intake_take(in, src, &l, 21 * S));
	assert_true(k.last.text.n <= CAM_INTAKE_TEXT_BYTES);
	assert_string_equal(k.text + k.last.text.n - 3, "…");
	assert_int_equal((k.last.text.n - 3) % 2, 0);
	l = line(CAM_INTAKE_OWN, 21 * S, "user=bob password=hunter2 \r\n");
	assert_true(cam_intake_take(in, src, &l, 21 * S));
	assert_string_equal(k.text, "user=bob password=[redacted]");
	assert_int_equal(cam_intake_counts(in, src).redacted, 1);
	l = line(CAM_INTAKE_OWN, 21 * S, " \n");
	assert_false(cam_intake_take(in, src, &l, 21 * S));
	cam_intake_free(in);
}

static void sources_are_bounded(void **state)
{
	(void)state;
	struct kept k;
	struct cam_intake *in = open_intake(&k);
	char name[100];
	for (unsigned i = 0; i < CAM_INTAKE_SOURCES; i++) {
		snprintf(name, sizeof(name), "log%u", i);
		assert_int_equal(cam_intake_source(in, name), i);
	}
	assert_int_equal(cam_intake_source(in, "log3"), 3);
	assert_int_equal(cam_intake_source(in, "more"), -ENOSPC);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(cam_intake_source(in, name), -EINVAL);
	cam_intake_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stamps_of_each_clock_are_placed),
		cmocka_unit_test(times_that_a_log_claims_are_not_believed),
		cmocka_unit_test(a_flood_is_bounded_and_counted),
		cmocka_unit_test(texts_are_bounded_and_without_secrets),
		cmocka_unit_test(sources_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
