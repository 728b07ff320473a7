// SPDX-License-Identifier: Apache-2.0
/* Lines as programs write them; their times worked out by `date -u -d`. */
#include "events/log_time.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define S 1000000000ll
/* 2026-04-15T03:14:07Z */
#define T 1776222847ll

static int32_t two_hours(void *arg, int64_t sec)
{
	(void)arg;
	(void)sec;
	return 7200;
}

static const struct cam_log_world world = {(T + 3600) * S, two_hours, NULL};

struct line {
	const char *line;
	enum cam_log_format format;
	int64_t time_ns;
	uint64_t doubt_ns;
	enum cam_severity severity;
	const char *text;
};

static void check(const struct line *l, enum cam_log_format as)
{
	struct cam_log_stamp s;
	char text[256];
	cam_log_stamp_read(cam_text_of(l->line), as, &world, &s);
	snprintf(text, sizeof(text), "%.*s", (int)s.text.n, s.text.p);
	if (s.format != l->format || (l->format && s.time_ns != l->time_ns) ||
	    (l->format && s.doubt_ns != l->doubt_ns) || s.severity != l->severity ||
	    strcmp(text, l->text) != 0)
		fail_msg("%s: format %d, time %" PRId64 ", doubt %" PRIu64 ", severity %d, '%s'",
			 l->line, s.format, s.time_ns, s.doubt_ns, s.severity, text);
}

#define NO CAM_SEVERITY_MAX

static const struct line lines[] = {
	{"2026-04-15T03:14:07.25Z up", CAM_LOG_ISO, T *S + 250000000, 10000000, NO, "up"},
	{"2026-04-15 05:14:07,250 ERROR x", CAM_LOG_ISO, T *S + 250000000, 1000000,
	 CAM_SEVERITY_ERR, "ERROR x"},
	{"[2026-04-15T03:14:07+00:00] [warn] y", CAM_LOG_ISO, T *S, S, CAM_SEVERITY_WARNING,
	 "[warn] y"},
	{"2026-04-15 04:14:07 +0100 level=info z", CAM_LOG_ISO, T *S, S, CAM_SEVERITY_INFO,
	 "level=info z"},
	{"{\"level\":\"error\",\"ts\":\"2026-04-15T03:14:07.000Z\"}", CAM_LOG_ISO, T *S, 1000000,
	 CAM_SEVERITY_ERR, "{\"level\":\"error\",\"ts\":\"2026-04-15T03:14:07.000Z\"}"},
	{"Apr 15 05:14:07 web1 sshd[7]: hello", CAM_LOG_SYSLOG, T *S, S, NO, "web1 sshd[7]: hello"},
	{"<11>Apr  5 05:14:07 web1 x", CAM_LOG_SYSLOG, (T - 10 * 86400) * S, S, CAM_SEVERITY_ERR,
	 "web1 x"},
	/* Half a year ahead is half a year ago. */
	{"Oct 15 05:14:07 web1 x", CAM_LOG_SYSLOG, 1760498047 * S, S, NO, "web1 x"},
	{"<34>1 2026-04-15T03:14:07.003Z host app - - - m", CAM_LOG_ISO, T *S + 3000000, 1000000,
	 CAM_SEVERITY_CRIT, "host app - - - m"},
	{"[Wed Apr 15 05:14:07 2026] usb 1-1: x", CAM_LOG_SYSLOG, T *S, S, NO, "usb 1-1: x"},
	{"[Tue Apr 15 05:14:07 2025] y", CAM_LOG_SYSLOG, (T - 365 * 86400) * S, S, NO, "y"},
	{"<6>[   12.345678] z", CAM_LOG_DMESG, 12345678000, 1000, CAM_SEVERITY_INFO, "z"},
	{"kern  :warn  : [   12.345678] z", CAM_LOG_DMESG, 12345678000, 1000, CAM_SEVERITY_WARNING,
	 "z"},
	{"daemon:err   : [Wed Apr 15 05:14:07 2026] z", CAM_LOG_SYSLOG, T *S, S, CAM_SEVERITY_ERR,
	 "z"},
	{"1776222847 a", CAM_LOG_EPOCH, T *S, S, NO, "a"},
	{"[1776222847.123456789] a", CAM_LOG_EPOCH, T *S + 123456789, 1, NO, "a"},
	{"1776222847250 a", CAM_LOG_EPOCH, T *S + 250000000, 1000000, NO, "a"},
	{"1776222847250001 a", CAM_LOG_EPOCH, T *S + 250001000, 1000, NO, "a"},
	{"1776222847250000001 a", CAM_LOG_EPOCH, T *S + 250000001, 1, NO, "a"},
	{"{\"level\":\"warn\",\"ts\":1776222847.25,\"msg\":\"x\"}", CAM_LOG_EPOCH, T *S + 250000000,
	 10000000, CAM_SEVERITY_WARNING, "{\"level\":\"warn\",\"ts\":1776222847.25,\"msg\":\"x\"}"},
	{"time=\"2026-04-15T03:14:07Z\" level=warning msg=x", CAM_LOG_ISO, T *S, S,
	 CAM_SEVERITY_WARNING, "time=\"2026-04-15T03:14:07Z\" level=warning msg=x"},
	{"level=error ts=2026-04-15T03:14:07.250Z msg=x", CAM_LOG_ISO, T *S + 250000000, 1000000,
	 CAM_SEVERITY_ERR, "level=error ts=2026-04-15T03:14:07.250Z msg=x"},
	{"level=error ts=1776222847250 msg=x", CAM_LOG_EPOCH, T *S + 250000000, 1000000,
	 CAM_SEVERITY_ERR, "level=error ts=1776222847250 msg=x"},
	{"2026/04/15 05:14:07 [error] 12#12: *1 open() failed", CAM_LOG_NGINX, T *S, S,
	 CAM_SEVERITY_ERR, "[error] 12#12: *1 open() failed"},
	{"10.0.0.1 - - [15/Apr/2026:05:14:07 +0200] \"GET / HTTP/1.1\" 200 5", CAM_LOG_NGINX, T *S,
	 S, NO, "10.0.0.1 - - [15/Apr/2026:05:14:07 +0200] \"GET / HTTP/1.1\" 200 5"},
	{"E0415 05:14:07.250123   12345 kubelet.go:7] no", CAM_LOG_KLOG, T *S + 250123000, 1000,
	 CAM_SEVERITY_ERR, "12345 kubelet.go:7] no"},
	{"[   12.345678] usb 1-1: x", CAM_LOG_DMESG, 12345678000, 1000, NO, "usb 1-1: x"},
};

static void times_are_recognised(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		check(&lines[i], CAM_LOG_AUTO);
}

static void what_is_none_is_left_alone(void **state)
{
	(void)state;
	static const struct line none[] = {
		{"", CAM_LOG_AUTO, 0, 0, NO, ""},
		{"[9223372036.999999999] x", CAM_LOG_AUTO, 0, 0, NO, "[9223372036.999999999] x"},
		{"[9999999999.000000] x", CAM_LOG_AUTO, 0, 0, NO, "[9999999999.000000] x"},
		{"9223372036.999999999 x", CAM_LOG_AUTO, 0, 0, NO, "9223372036.999999999 x"},
		{"plain text", CAM_LOG_AUTO, 0, 0, NO, "plain text"},
		{"no error was found, and a warning", CAM_LOG_AUTO, 0, 0, NO,
		 "no error was found, and a warning"},
		{"2026-13-15T03:14:07Z x", CAM_LOG_AUTO, 0, 0, NO, "2026-13-15T03:14:07Z x"},
		{"2026-04-15T25:14:07Z x", CAM_LOG_AUTO, 0, 0, NO, "2026-04-15T25:14:07Z x"},
		{"0000-04-15 03:14:07 x", CAM_LOG_AUTO, 0, 0, NO, "0000-04-15 03:14:07 x"},
		{"Feb 32 03:14:07 x", CAM_LOG_AUTO, 0, 0, NO, "Feb 32 03:14:07 x"},
		{"12345 x", CAM_LOG_AUTO, 0, 0, NO, "12345 x"},
		{"1776222847abc x", CAM_LOG_AUTO, 0, 0, NO, "1776222847abc x"},
		{"FATAL: gone", CAM_LOG_AUTO, 0, 0, CAM_SEVERITY_CRIT, "FATAL: gone"},
		{"kern  :warn  : no stamp", CAM_LOG_AUTO, 0, 0, CAM_SEVERITY_WARNING,
		 "kern  :warn  : no stamp"},
		{"kern  :what  : [   12.345678] z", CAM_LOG_AUTO, 0, 0, NO,
		 "kern  :what  : [   12.345678] z"},
		/* Of something else, and of nothing. */
		{"user=1776222847 runtime=1776222847 x", CAM_LOG_AUTO, 0, 0, NO,
		 "user=1776222847 runtime=1776222847 x"},
		{"expires: \"2026-04-15T03:14:07Z\"", CAM_LOG_AUTO, 0, 0, NO,
		 "expires: \"2026-04-15T03:14:07Z\""},
		{"177622284725000000 x", CAM_LOG_AUTO, 0, 0, NO, "177622284725000000 x"},
		{"9999999999999999999 x", CAM_LOG_AUTO, 0, 0, NO, "9999999999999999999 x"},
		{"<999999>x", CAM_LOG_AUTO, 0, 0, NO, "<999999>x"},
	};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		check(&none[i], CAM_LOG_AUTO);
}

static void a_given_format_is_the_only_one(void **state)
{
	(void)state;
	struct line l = {"1776222847 a", CAM_LOG_AUTO, 0, 0, NO, "1776222847 a"};
	check(&l, CAM_LOG_ISO);
	check(&l, CAM_LOG_KLOG);
	l = (struct line){"1776222847 a", CAM_LOG_EPOCH, T * S, S, NO, "a"};
	check(&l, CAM_LOG_EPOCH);
	enum cam_log_format f;
	for (unsigned i = 0; i < CAM_LOG_FORMATS; i++) {
		assert_true(cam_log_format_parse(
			cam_text_of(cam_log_format_name((enum cam_log_format)i)), &f));
		assert_int_equal(f, i);
	}
	assert_false(cam_log_format_parse(CAM_TEXT("is"), &f));
}

/* Every prefix of every line, from memory of just its size: a read beyond it is the sanitizer's to see. */
static void nothing_is_read_beyond_a_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		for (size_t n = 1; n <= strlen(lines[i].line); n++) {
			char *cut = malloc(n);
			struct cam_log_stamp s;
			assert_non_null(cut);
			memcpy(cut, lines[i].line, n);
			for (unsigned f = 0; f < CAM_LOG_FORMATS; f++)
				cam_log_stamp_read((struct cam_text){cut, n},
						   (enum cam_log_format)f, &world, &s);
			free(cut);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_recognised),
		cmocka_unit_test(what_is_none_is_left_alone),
		cmocka_unit_test(a_given_format_is_the_only_one),
		cmocka_unit_test(nothing_is_read_beyond_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
