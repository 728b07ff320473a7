// SPDX-License-Identifier: Apache-2.0
/* Records as the kernel hands them out, one a read: from a socket that keeps messages apart. */
#include "events/kmsg.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct log {
	int fd;
	struct cam_kmsg *kmsg;
	char lines[16][256];
	struct cam_kmsg_record records[16];
	size_t n;
};

static void keep(void *arg, const struct cam_kmsg_record *r)
{
	struct log *l = arg;
	assert_true(l->n < 16 && r->text.n < 256);
	memcpy(l->lines[l->n], r->text.p, r->text.n);
	l->records[l->n++] = *r;
}

static struct log open_log(void)
{
	int fds[2];
	struct log l = {0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	l.fd = fds[0];
	assert_int_equal(cam_kmsg_adopt(fds[1], &l.kmsg), 0);
	return l;
}

static void close_log(struct log *l)
{
	close(l->fd);
	cam_kmsg_close(l->kmsg);
}

static void say(struct log *l, const char *record)
{
	assert_int_equal(send(l->fd, record, strlen(record), 0), (ssize_t)strlen(record));
}

static void a_record_has_what_the_kernel_documents(void **state)
{
	(void)state;
	struct log l = open_log();
	say(&l, "6,339,5140900,-,caller=T1;NET: Registered protocol family 10\n");
	say(&l,
	    "30,340,5690716,-;udevd[80]: starting version 181\n SUBSYSTEM=acpi\n DEVICE=+acpi:x\n");
	say(&l, "3,341,5690717,-;a\\x5cx41 \\x1b[31mred\\x0aend \\xc3\\xa9 \\xzz\n");
	assert_true(cam_kmsg_is_ready(l.kmsg));
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	assert_false(cam_kmsg_is_ready(l.kmsg));
	assert_int_equal(l.n, 3);
	assert_string_equal(l.lines[0], "NET: Registered protocol family 10");
	assert_int_equal(l.records[0].sched_ns, 5140900000);
	assert_int_equal(l.records[0].severity, CAM_SEVERITY_INFO);
	assert_int_equal(l.records[0].facility, 0);
	assert_string_equal(l.lines[1], "udevd[80]: starting version 181");
	assert_int_equal(l.records[1].facility, 3);
	/* What was a backslash stays one; control bytes are data. */
	assert_string_equal(l.lines[2], "a\\x41 \x1b[31mred\nend \xc3\xa9 \\xzz");
	assert_int_equal(l.records[2].severity, CAM_SEVERITY_ERR);
	close_log(&l);
}

static void what_was_overwritten_is_counted(void **state)
{
	(void)state;
	struct log l = open_log();
	say(&l, "6,10,1,-;a\n");
	say(&l, "6,15,2,-;b\n");
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	say(&l, "6,16,3,-;c\n");
	say(&l, "6,1016,4,-;d\n");
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(cam_kmsg_counts(l.kmsg).missed, 4 + 999);
	assert_int_equal(cam_kmsg_counts(l.kmsg).lines, 4);
	close_log(&l);
}

static void put_record(int fd, const char *text)
{
	assert_int_equal(pwrite(fd, text, strlen(text), lseek(fd, 0, SEEK_CUR)), strlen(text));
}

/* Not the kernel's doing: it had them. */
static void what_is_passed_over_is_not_overwritten(void **state)
{
	(void)state;
	struct log l = {0};
	int fd = memfd_create("kmsg", MFD_CLOEXEC);
	assert_int_equal(cam_kmsg_adopt(fd, &l.kmsg), 0);
	put_record(fd, "6,10,1,-;a\n");
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	put_record(fd, "6,11,2,-;b\n");
	cam_kmsg_skip(l.kmsg);
	put_record(fd, "6,12,3,-;c\n");
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	put_record(fd, "6,17,4,-;d\n");
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	assert_int_equal(l.n, 3);
	assert_int_equal(cam_kmsg_counts(l.kmsg).skipped, 1);
	assert_int_equal(cam_kmsg_counts(l.kmsg).missed, 4);
	cam_kmsg_close(l.kmsg);
}

static void pieces_of_a_line_are_joined(void **state)
{
	(void)state;
	struct log l = open_log();
	say(&l, "6,1,1,-;ACPI: PCI Root Bridge\n");
	say(&l, "4,2,2,c; [PCI0]\n");
	say(&l, "4,3,3,c; ok\n");
	say(&l, "6,4,4,-;next\n");
	/* One is missing between: it cannot be the continuation of that. */
	say(&l, "4,6,5,c;lone\n");
	assert_int_equal(cam_kmsg_read(l.kmsg, 10, keep, &l), 0);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.lines[0], "ACPI: PCI Root Bridge [PCI0] ok");
	assert_int_equal(l.records[0].sched_ns, 1000);
	assert_string_equal(l.lines[1], "next");
	assert_string_equal(l.lines[2], "lone");
	close_log(&l);
}

static void a_turn_is_bounded(void **state)
{
	(void)state;
	struct log l = open_log();
	for (int i = 0; i < 8; i++) {
		char record[64];
		snprintf(record, sizeof(record), "6,%d,%d,-;line %d\n", i, i, i);
		say(&l, record);
	}
	assert_int_equal(cam_kmsg_read(l.kmsg, 3, keep, &l), 1);
	assert_int_equal(l.n, 3);
	assert_int_equal(cam_kmsg_read(l.kmsg, 3, keep, &l), 1);
	assert_int_equal(cam_kmsg_read(l.kmsg, 3, keep, &l), 0);
	assert_int_equal(l.n, 8);
	close_log(&l);
}

static void what_is_no_record_is_counted(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"x",
		",,,;",
		"6,1,1",
		"6,1,1,-",
		"6;text\n",
		"-6,1,1,-;t\n",
		"6,99999999999999999999999,1,-;t\n",
		"6,1,18446744073709551615,-;t\n",
		"99999999999,1,1,-;t\n",
	};
	struct log l = open_log();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		say(&l, bad[i]);
	assert_int_equal(cam_kmsg_read(l.kmsg, 100, keep, &l), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(cam_kmsg_counts(l.kmsg).bad, sizeof(bad) / sizeof(bad[0]));
	close_log(&l);
	struct cam_kmsg *k;
	assert_int_equal(cam_kmsg_open("/nonexistent/kmsg", false, &k), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_has_what_the_kernel_documents),
		cmocka_unit_test(what_was_overwritten_is_counted),
		cmocka_unit_test(what_is_passed_over_is_not_overwritten),
		cmocka_unit_test(pieces_of_a_line_are_joined),
		cmocka_unit_test(a_turn_is_bounded),
		cmocka_unit_test(what_is_no_record_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
