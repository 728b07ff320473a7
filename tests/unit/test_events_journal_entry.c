// SPDX-License-Identifier: Apache-2.0
/* Entries of systemd's journal as lines: whose, when, how bad; and what is asked of a journal. */
#include "events/journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct cam_journal_entry entry(void)
{
	return (struct cam_journal_entry){
		.realtime_us = 1776222847000000,
		.monotonic_us = 5000000,
		.this_boot = true,
		.message = CAM_TEXT("Connection closed"),
		.priority = CAM_TEXT("4"),
		.transport = CAM_TEXT("syslog"),
		.identifier = CAM_TEXT("sshd"),
		.comm = CAM_TEXT("sshd-session"),
		.pid = CAM_TEXT("812"),
		.units = {CAM_TEXT("ssh.service")},
	};
}

static void assert_line(const struct cam_journal_entry *e, const char *text)
{
	const struct cam_journal_wish all = {.n_units = 0};
	char room[CAM_JOURNAL_LINE_BYTES];
	struct cam_intake_line l;
	assert_true(cam_journal_entry_line(e, &all, room, &l));
	assert_int_equal(l.text.n, strlen(text));
	assert_memory_equal(l.text.p, text, l.text.n);
}

static void a_line_is_what_journalctl_shows(void **state)
{
	(void)state;
	struct cam_journal_entry e = entry();
	assert_line(&e, "sshd[812]: Connection closed");
	e.identifier.n = 0;
	assert_line(&e, "sshd-session[812]: Connection closed");
	e.pid.n = 0;
	assert_line(&e, "sshd-session: Connection closed");
	e.comm.n = 0;
	assert_line(&e, "Connection closed");
}

static struct cam_intake_line line_of(const struct cam_journal_entry *e)
{
	static char room[CAM_JOURNAL_LINE_BYTES];
	const struct cam_journal_wish all = {.kernel = true};
	struct cam_intake_line l;
	assert_true(cam_journal_entry_line(e, &all, room, &l));
	return l;
}

static void its_time_is_the_best_there_is(void **state)
{
	(void)state;
	struct cam_journal_entry e = entry();
	struct cam_intake_line l = line_of(&e);
	assert_int_equal(l.clock, CAM_INTAKE_OWN);
	assert_int_equal(l.stamp_ns, 5000000000);
	assert_int_equal(l.doubt_ns, 1000);
	assert_int_equal(l.severity, CAM_SEVERITY_WARNING);
	/* A quarter of a second from the program to journald. */
	e.source_realtime = CAM_TEXT("1776222846750000");
	assert_int_equal(line_of(&e).stamp_ns, 4750000000);
	/* The wall clock was set in between; no number; far too large. */
	e.source_realtime = CAM_TEXT("1776222000000000");
	assert_int_equal(line_of(&e).stamp_ns, 5000000000);
	e.source_realtime = CAM_TEXT("17762228467x");
	assert_int_equal(line_of(&e).stamp_ns, 5000000000);
	e.source_realtime = CAM_TEXT("99999999999999999999999999");
	assert_int_equal(line_of(&e).stamp_ns, 5000000000);
	/* Of another boot: by the wall clock alone. */
	e.this_boot = false;
	l = line_of(&e);
	assert_int_equal(l.clock, CAM_INTAKE_WALL);
	assert_int_equal(l.stamp_ns, 1776222847000000000);
	assert_int_equal(l.doubt_ns, 1000000000);
	/* The kernel's own stamp, and no name in front. */
	e.this_boot = true;
	e.transport = CAM_TEXT("kernel");
	e.source_monotonic = CAM_TEXT("4999000");
	l = line_of(&e);
	assert_int_equal(l.clock, CAM_INTAKE_SCHED);
	assert_int_equal(l.stamp_ns, 4999000000);
	assert_int_equal(l.text.n, strlen("Connection closed"));
	/* Times that nobody has; a priority that is none. */
	e = entry();
	e.realtime_us = e.monotonic_us = UINT64_MAX;
	e.priority = CAM_TEXT("9");
	l = line_of(&e);
	assert_true(l.stamp_ns > 0);
	assert_int_equal(l.severity, CAM_SEVERITY_INFO);
}

static bool takes(const char *wish, const struct cam_journal_entry *e)
{
	struct cam_journal_wish w = {.n_units = 0};
	char room[CAM_JOURNAL_LINE_BYTES];
	struct cam_intake_line l;
	assert_int_equal(cam_journal_wish_parse(&w, cam_text_of(wish)), 0);
	return cam_journal_entry_line(e, &w, room, &l);
}

static void units_are_chosen(void **state)
{
	(void)state;
	struct cam_journal_entry e = entry();
	assert_true(takes("all", &e));
	assert_true(takes("ssh", &e));
	assert_true(takes("nginx, ssh.service", &e));
	assert_true(takes("s*", &e));
	assert_true(takes("/var/log/journal", &e));
	assert_false(takes("sshd", &e));
	assert_false(takes("nginx,/var/log/journal", &e));
	/* What systemd says about a unit is of another one's. */
	e.units[2] = CAM_TEXT("nginx.service");
	assert_true(takes("nginx", &e));
	e.transport = CAM_TEXT("kernel");
	assert_false(takes("all", &e));
	e = entry();
	e.message.n = 0;
	assert_false(takes("all", &e));
}

static void wishes_that_are_none(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "a,,b", "var/log/journal", "/a,/b",
					    "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"};
	char longer[600];
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct cam_journal_wish w = {.n_units = 0};
		assert_int_equal(cam_journal_wish_parse(&w, cam_text_of(wrong[i])), -EINVAL);
	}
	memset(longer, 'x', sizeof(longer));
	for (unsigned path = 0; path < 2; path++) {
		struct cam_journal_wish w = {.n_units = 0};
		longer[0] = path ? '/' : 'x';
		assert_int_equal(cam_journal_wish_parse(&w,
							(struct cam_text){longer, sizeof(longer)}),
				 -EINVAL);
	}
}

static void a_long_message_is_cut(void **state)
{
	(void)state;
	static char bytes[2 * CAM_JOURNAL_LINE_BYTES];
	struct cam_journal_entry e = entry();
	memset(bytes, 'a', sizeof(bytes));
	e.message = e.identifier = (struct cam_text){bytes, sizeof(bytes)};
	assert_int_equal(line_of(&e).text.n, CAM_JOURNAL_LINE_BYTES);
}

static void packets_are_checked(void **state)
{
	(void)state;
	struct {
		struct cam_journal_packet head;
		char text[4];
	} p = {{.stamp_ns = 7, .clock = CAM_INTAKE_WALL, .severity = 3}, "text"};
	struct cam_intake_line l;
	const struct cam_text whole = {(const char *)&p, sizeof(p.head) + sizeof(p.text)};
	assert_int_equal(cam_journal_packet_read(whole, &l), 0);
	assert_int_equal(l.text.n, 4);
	assert_memory_equal(l.text.p, "text", 4);
	assert_int_equal(cam_journal_packet_read((struct cam_text){whole.p, 31}, &l), -EBADMSG);
	p.head.severity = 8;
	assert_int_equal(cam_journal_packet_read(whole, &l), -EBADMSG);
	p.head.severity = 3;
	p.head.clock = 3;
	assert_int_equal(cam_journal_packet_read(whole, &l), -EBADMSG);
	p.head.error = -EOVERFLOW;
	assert_int_equal(cam_journal_packet_read(whole, &l), -EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_what_journalctl_shows),
		cmocka_unit_test(its_time_is_the_best_there_is),
		cmocka_unit_test(units_are_chosen),
		cmocka_unit_test(wishes_that_are_none),
		cmocka_unit_test(a_long_message_is_cut),
		cmocka_unit_test(packets_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
