// SPDX-License-Identifier: Apache-2.0
/* Written times against windows whose clocks are known; whole selections in words. */
#include "base/units.h"
#include "query/event_id.h"
#include "query/select.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEC ((int64_t)CAM_NS_PER_SEC)
/* 2026-04-15T03:14:07Z */
#define NOW (1776222847 * SEC)

static char why[CAM_WHEN_WHY_BYTES];
static bool of_files;

static int32_t utc(void *arg, int64_t sec)
{
	(void)arg;
	(void)sec;
	return 0;
}

static bool one_user(void *arg, const char *name, uint32_t *uid)
{
	(void)arg;
	*uid = 1000;
	return !strcmp(name, "git");
}

static struct cam_selection empty(void)
{
	struct cam_selection s;
	cam_selection_init(&s);
	s.world = (struct cam_select_world){.time = {NOW, utc, NULL}, .user = one_user};
	return s;
}

static int read_words(const char *words, struct cam_selection *s)
{
	*s = empty();
	why[0] = 0;
	int err = cam_selection_read(s, cam_text_of(words), why, sizeof(why));
	return err ? err : cam_selection_check(s, why, sizeof(why));
}

static struct cam_selection good(const char *words)
{
	struct cam_selection s;
	if (read_words(words, &s))
		fail_msg("%s: %s", words, why);
	return s;
}

static struct cam_selection settled(const char *words, struct cam_source *source)
{
	struct cam_selection s = good(words);
	s.when.of_files = of_files;
	if (cam_selection_settle(&s, source, why, sizeof(why)))
		fail_msg("%s: %s", words, why);
	return s;
}

/* A window of 100 s from `clock_s` on, whose kernel log's clock runs ahead of it by `ahead_s`. */
static struct fake_window *window_at(int64_t clock_s, int64_t wall_s, int64_t ahead_s, uint8_t boot,
				     const char *name)
{
	struct fake_window *f = fake_window_new();
	fake_sample(f, (uint64_t)(clock_s * SEC), 0, fake_task(f, 1, 1, "x"),
		    fake_place(f, "main"));
	f->w.info.start_ns = (uint64_t)(clock_s * SEC);
	f->w.info.end_ns = (uint64_t)((clock_s + 100) * SEC);
	f->w.info.name = cam_text_of(name);
	f->w.info.boot_id.bytes[0] = boot;
	for (int64_t i = 0; i <= 100; i += 10)
		fake_add_anchor(f, &(struct cam_anchor){
					   .time_ns = (uint64_t)((clock_s + i) * SEC),
					   .sched_ns = (uint64_t)((clock_s + ahead_s + i) * SEC),
					   .realtime_ns = (wall_s + i) * SEC,
				   });
	return f;
}

/* Boot 1 was recorded from 1000 to 1200 s, and again 5000 to 5100; boot 2 from 20 to 120. Its kernel
 * log's clock is 7 s ahead. */
static struct cam_source *two_boots(void)
{
	struct fake_window *w[] = {window_at(1000, 500000, 7, 1, "a.pcw"),
				   window_at(1100, 500100, 7, 1, "b.pcw"),
				   window_at(5000, 504000, 7, 1, "c.pcw"),
				   window_at(20, 700000, 7, 2, "d.pcw")};
	return fake_source_new(w, 4);
}

static void check_boot(const struct cam_selection *s, uint8_t boot, int64_t from_s, int64_t to_s)
{
	assert_int_equal(s->clock, CAM_SELECT_CLOCK);
	assert_true(s->one_boot);
	assert_int_equal(s->boot_id.bytes[0], boot);
	assert_int_equal(s->from_ns, from_s * SEC);
	assert_int_equal(s->to_ns, to_s * SEC);
}

static void test_stamps_find_their_boot(void **state)
{
	(void)state;
	struct cam_source *source = two_boots();
	static const struct {
		const char *words;
		uint8_t boot;
		int64_t from_s, to_s;
	} cases[] = {
		{"boot+57 around 5s", 2, 45, 55},	     /* the newest boot has it */
		{"at=boot+1017 around=2s", 1, 1008, 1012},   /* only the older one has */
		{"at boot+1157 --around 1s", 1, 1149, 1151}, /* in its second window */
		{"at boot+3007 around 1s", 1, 2999, 3001},   /* in a gap: still that boot */
		{"from boot+1017 to boot+1187", 1, 1010, 1180},
		{"window=c.pcw", 1, 5000, 5100},
		{"d.pcw", 2, 20, 120},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_selection s = settled(cases[i].words, source);
		/* A window's last nanosecond is its, too. */
		s.to_ns -= s.to_ns % SEC;
		check_boot(&s, cases[i].boot, cases[i].from_s, cases[i].to_s);
		/* What another boot recorded on the same clock is not meant. */
		struct cam_window_info other = {.clock = CAM_CLOCK_MONOTONIC, .end_ns = UINT64_MAX};
		assert_false(cam_selection_may_touch(&s, &other, NULL));
		cam_selection_free(&s);
	}
	/* From a stamp to now: by the wall. */
	struct cam_selection s = settled("from boot+57", source);
	assert_int_equal(s.clock, CAM_SELECT_WALL);
	assert_int_equal(s.from_ns, 700030 * SEC);
	assert_int_equal(s.to_ns, NOW);
	cam_selection_free(&s);
	static const char *const none[] = {"boot+500", "boot+9000", "boot+3", "window=x.pcw",
					   "event=abcd"};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		s = good(none[i]);
		assert_int_equal(cam_selection_settle(&s, source, why, sizeof(why)), -ENODATA);
		assert_true(strlen(why) > 20);
		cam_selection_free(&s);
	}
	source->ops->close(source);
}

/* The wall clock goes back by an hour within a window: a stamp is still one moment. */
static void test_stamps_across_a_step(void **state)
{
	(void)state;
	struct fake_window *f = window_at(1000, 500000, 0, 1, "a.pcw");
	for (size_t i = 5; i < f->n_anchors; i++)
		f->anchors[i].realtime_ns -= 3600 * SEC;
	struct cam_source *source = fake_source_new(&f, 1);
	struct cam_selection s = settled("boot+1030 around 1s", source);
	check_boot(&s, 1, 1029, 1031);
	int64_t from, to;
	assert_int_equal(cam_when_settle_wall(&s.when, source, &from, &to, why, sizeof(why)), 0);
	assert_int_equal(from, 500029 * SEC);
	assert_int_equal(to, 500031 * SEC);
	cam_selection_free(&s);
	s = settled("boot+1070 around 1s", source);
	check_boot(&s, 1, 1069, 1071);
	assert_int_equal(cam_when_settle_wall(&s.when, source, &from, &to, why, sizeof(why)), 0);
	assert_int_equal(from, (500069 - 3600) * SEC);
	cam_selection_free(&s);
	source->ops->close(source);
}

/* A file from another day: its end is what "now" and "latest" are about. */
static void test_a_file_has_its_own_now(void **state)
{
	(void)state;
	struct fake_window *f = window_at(1000, 500000, 0, 1, "a.pcw");
	struct cam_source *source = fake_source_new(&f, 1);
	struct cam_selection s = settled("last 10s", source);
	assert_int_equal(s.to_ns, NOW);
	cam_selection_free(&s);
	of_files = true;
	s = settled("last 10s", source);
	assert_int_equal(s.from_ns, 500090 * SEC);
	assert_int_equal(s.to_ns, 500100 * SEC);
	cam_selection_free(&s);
	/* 500100 is 1970-01-06T18:55:00Z. */
	s = settled("at 18:54:30 around 1s", source);
	assert_int_equal(s.from_ns, 500069 * SEC);
	cam_selection_free(&s);
	s = settled("at 18:55:30 around 1s", source);
	assert_int_equal(s.from_ns, (500129 - 86400) * SEC);
	cam_selection_free(&s);
	s = settled("from 18:54 to 18:54:10", source);
	assert_int_equal(s.from_ns, 500040 * SEC);
	assert_int_equal(s.to_ns, 500050 * SEC);
	cam_selection_free(&s);
	of_files = false;
	source->ops->close(source);
}

/* perf's parts: of what begins at 1000 s and has its last sample at 1100 s. */
static void test_parts_as_perf_writes_them(void **state)
{
	(void)state;
	static const struct {
		const char *words;
		int64_t from_ns, to_ns;
	} cases[] = {
		{"time 10%/2", 1010 * SEC, 1020 * SEC},
		{"time 10%/10", 1090 * SEC, 1100 * SEC + 1}, /* the last one has the last sample */
		{"time=10%-20%", 1010 * SEC, 1020 * SEC},
		{"--time 0%-100%", 1000 * SEC, 1100 * SEC + 1},
		{"time 12.5%/3", 1025 * SEC, 1037 * SEC + SEC / 2},
		{"time 1010.123456789,1020", 1010 * SEC + 123456789, 1020 * SEC + 1},
		{"time 1010,", 1010 * SEC, 1100 * SEC + 1},
		{"time ,1010.5", 0, 1010 * SEC + SEC / 2 + 1},
	};
	struct fake_window *f = window_at(1000, 500000, 0, 1, "a.pcw");
	f->w.info.end_ns++;
	struct cam_source *source = fake_source_new(&f, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_selection s = settled(cases[i].words, source);
		assert_int_equal(s.clock, CAM_SELECT_CLOCK);
		assert_int_equal(s.from_ns, cases[i].from_ns);
		assert_int_equal(s.to_ns, cases[i].to_ns);
		cam_selection_free(&s);
	}
	struct cam_selection s = good("time 1200,");
	assert_int_equal(cam_selection_settle(&s, source, why, sizeof(why)), -ENODATA);
	assert_string_equal(why, "1200, begins behind all there is");
	cam_selection_free(&s);
	source->ops->close(source);
	/* Windows of several boots: by the wall, from the first one to the last. */
	source = two_boots();
	s = settled("time 50%/1", source);
	assert_int_equal(s.clock, CAM_SELECT_WALL);
	assert_int_equal(s.from_ns, 500000 * SEC);
	assert_int_equal(s.to_ns, (500000 + (700100 - 500000) / 2) * SEC);
	cam_selection_free(&s);
	source->ops->close(source);
}

static void test_events_by_id(void **state)
{
	(void)state;
	struct fake_window *f = window_at(1000, 500000, 0, 1, "a.pcw");
	for (uint64_t i = 0; i < 40; i++)
		fake_add_event(f, (1000 + i) * CAM_NS_PER_SEC, CAM_SEVERITY_ERR, "kmsg", "oops");
	struct cam_source *source = fake_source_new(&f, 1);
	for (uint64_t i = 0; i < 40; i++) {
		char id[CAM_EVENT_ID_BYTES], words[64];
		cam_event_id_write(cam_event_id(&f->t, &f->w.info.boot_id, &f->events[i]), id);
		snprintf(words, sizeof(words), "--event %s --around 2s", id);
		struct cam_selection s = settled(words, source);
		check_boot(&s, 1, 998 + (int64_t)i, 1002 + (int64_t)i);
		cam_selection_free(&s);
		/* The first digits, in capitals. */
		snprintf(words, sizeof(words), "event=%.8s", id + strlen("ev-"));
		for (char *p = words + 6; *p; p++)
			*p = (char)(*p >= 'a' && *p <= 'f' ? *p - 32 : *p);
		s = settled(words, source);
		check_boot(&s, 1, 995 + (int64_t)i, 1005 + (int64_t)i);
		cam_selection_free(&s);
	}
	source->ops->close(source);
	uint64_t first;
	unsigned digits;
	assert_int_equal(cam_event_id_parse(CAM_TEXT("abc"), &first, &digits), -EINVAL);
	assert_int_equal(cam_event_id_parse(CAM_TEXT("abcdeg"), &first, &digits), -EINVAL);
	assert_int_equal(cam_event_id_parse(CAM_TEXT("ev-"), &first, &digits), -EINVAL);
	assert_int_equal(cam_event_id_parse(CAM_TEXT("ev-abc"), &first, &digits), -EINVAL);
	assert_int_equal(cam_event_id_parse(CAM_TEXT("0123456789abc"), &first, &digits), -EINVAL);
}

static void test_words(void **state)
{
	(void)state;
	struct cam_selection s =
		good("  --pid 1,2 pid=7 comm='my server' --match=\"a|b c\" user git idle "
		     "--kernel-only cpu 0-3 exe=/bin/a\\ b  ");
	assert_int_equal(s.pids.n, 3);
	assert_string_equal(s.comms.v[0], "my server");
	assert_int_equal(s.match.n, 1);
	assert_int_equal(regexec(&s.match.v[0], "xb cx", 0, NULL, 0), 0);
	assert_int_equal(s.uids.v[0], 1000);
	assert_true(s.with_idle);
	assert_int_equal(s.mode, CAM_SELECT_KERNEL);
	assert_int_equal(s.cpus[0], 15);
	assert_string_equal(s.exes.v[0], "/bin/a b");
	assert_int_equal(s.clock, CAM_SELECT_ALWAYS);
	cam_selection_free(&s);
	s = settled("-90s", NULL);
	assert_int_equal(s.clock, CAM_SELECT_WALL);
	assert_int_equal(s.from_ns, NOW - 95 * SEC);
	cam_selection_free(&s);
	s = settled("from 23:50 to 00:10", NULL);
	assert_int_equal(s.to_ns - s.from_ns, 20 * 60 * SEC);
	cam_selection_free(&s);
	s = good("");
	assert_int_equal(s.clock, CAM_SELECT_ALWAYS);
	cam_selection_free(&s);
	s = good("idle=0 no-idle=1");
	assert_false(s.with_idle);
	cam_selection_free(&s);
}

static void test_what_is_no_selection(void **state)
{
	(void)state;
	static const struct {
		const char *words, *says;
	} cases[] = {
		{"at 03:99", "at: '03:99' is not a time: minutes go to 59; try 03:14:07, -90s"},
		{"nonsense", "'nonsense' is not a time; try 03:14:07, -90s, boot+123.4"},
		{"--nonsense 1", "nonsense: not a word of a selection"},
		{"pid x", "pid: 'x': not a list of numbers like 1,2"},
		{"pid", "pid needs a value"},
		{"--match '(' ", "match: '(':"},
		{"user nobody-here", "user: 'nobody-here': there is no such user"},
		{"last 10", ""},
		{"last soon", "last: 'soon' is not a duration; try 90s, 10m or 2h"},
		{"around 5s", "--around needs --at or --event"},
		{"to now", "--to needs --from"},
		{"at now last 5m", "here are 2"},
		{"at now at now", "at: given twice"},
		{"event xyz", "event: 'xyz' is not an event's id"},
		{"time 10%", "time: '10%' is no part of the time; try 10%/2 (the second tenth)"},
		{"time 10%/11", "is no part of the time"},
		{"time 10%/99999999999999999999", "is no part of the time"},
		{"time 10%/0", "is no part of the time"},
		{"time 10%/1.5", "is no part of the time"},
		{"time 20%-10%", "is no part of the time"},
		{"time 0%-10%,30%-40%", "one part"},
		{"time 0x10,0x20", "is no part of the time"},
		{"time 5,4", "is no part of the time"},
		{"time ,", "is no part of the time"},
		{"time ''", "is no part of the time"},
		{"time 10%/2 last 5m", "here are 2"},
		{"user-only kernel-only", "--user-only and --kernel-only exclude each other"},
		{"idle no-idle", "--idle and --no-idle exclude each other"},
		{"idle=maybe", "idle: takes no value"},
		{"comm 'open", "a value"},
		{"'open", "a quote is not closed"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cam_selection s;
		int err = read_words(cases[i].words, &s);
		cam_selection_free(&s);
		if ((err == 0) != (cases[i].says[0] == 0) || !strstr(why, cases[i].says))
			fail_msg("'%s' said %d \"%s\"", cases[i].words, err, why);
	}
	struct cam_selection s = good("from 10:00 to 2020-01-01T00:00");
	assert_int_equal(cam_selection_settle(&s, NULL, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "--from 10:00 is not before --to 2020-01-01T00:00");
	cam_selection_free(&s);
}

/* A window may say that it lies at either end of all time, or fills all of it: what is asked of it has an answer, and none
 * the wrong way round. */
static void test_the_ends_of_all_time(void **state)
{
	(void)state;
	static const uint64_t clocks[] = {
		0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX};
	static const int64_t walls[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
	static const char *const words[] = {"window=a.pcw",
					    "time=10%/2",
					    "time=0%-100%",
					    "time=90%-100%",
					    "time=1.5,",
					    "time=0,8999999999",
					    "last=600000h",
					    "around=600000h at=boot+1",
					    "at=boot+9223372036 around=1s",
					    "from=boot+0 to=boot+9223372036"};
	unsigned answers = 0;
	for (size_t i = 0; i < 6 * 6 * 6 * (sizeof(words) / sizeof(words[0])); i++) {
		struct fake_window *f = fake_window_new();
		fake_sample(f, 1, 0, fake_task(f, 1, 1, "x"), fake_place(f, "main"));
		f->w.info.name = CAM_TEXT("a.pcw");
		f->w.info.start_ns = clocks[i % 6];
		f->w.info.end_ns = clocks[i / 6 % 6];
		f->w.info.realtime_ns = walls[i / 36 % 6];
		if (i % 2 && f->w.info.realtime_ns != INT64_MIN)
			fake_add_anchor(f,
					&(struct cam_anchor){.time_ns = f->w.info.start_ns,
							     .sched_ns = f->w.info.start_ns,
							     .realtime_ns = f->w.info.realtime_ns});
		struct cam_source *source = fake_source_new(&f, 1);
		struct cam_selection s = good(words[i / 216]);
		s.when.of_files = true;
		int err = cam_selection_settle(&s, source, why, sizeof(why));
		assert_true(err || s.from_ns < s.to_ns);
		answers += !err;
		cam_selection_free(&s);
		source->ops->close(source);
	}
	assert_in_range(answers, 200, 2160);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamps_find_their_boot),
		cmocka_unit_test(test_stamps_across_a_step),
		cmocka_unit_test(test_a_file_has_its_own_now),
		cmocka_unit_test(test_parts_as_perf_writes_them),
		cmocka_unit_test(test_events_by_id),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_what_is_no_selection),
		cmocka_unit_test(test_the_ends_of_all_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
