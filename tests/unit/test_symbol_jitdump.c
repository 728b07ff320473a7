// SPDX-License-Identifier: Apache-2.0
/* jitdump: loads, moves, what is passed over, what is refused, and growing. */
#include "symbol/jitdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct dump {
	uint8_t bytes[1 << 16];
	size_t n;
};

static void put(struct dump *d, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		d->bytes[d->n++] = (uint8_t)(v >> 8 * i);
}

static void put_header(struct dump *d, uint64_t stamp)
{
	d->n = 0;
	put(d, 0x4a695444, 4);
	put(d, 1, 4);
	put(d, 40, 4);
	put(d, 62, 4);
	put(d, 0, 4);
	put(d, 77, 4);
	put(d, stamp, 8);
	put(d, 0, 8);
}

static void put_load(struct dump *d, uint64_t address, uint64_t bytes, const char *name)
{
	size_t name_bytes = strlen(name) + 1;
	put(d, 0, 4);
	put(d, 16 + 40 + name_bytes + bytes, 4);
	put(d, 1, 8);
	put(d, 77, 4);
	put(d, 77, 4);
	put(d, address, 8);
	put(d, address, 8);
	put(d, bytes, 8);
	put(d, 1, 8);
	memcpy(d->bytes + d->n, name, name_bytes);
	d->n += name_bytes;
	memset(d->bytes + d->n, 0x90, bytes);
	d->n += bytes;
}

static void put_move(struct dump *d, uint64_t from, uint64_t to, uint64_t bytes)
{
	put(d, 1, 4);
	put(d, 64, 4);
	put(d, 1, 8);
	put(d, 77, 4);
	put(d, 77, 4);
	put(d, to, 8);
	put(d, from, 8);
	put(d, to, 8);
	put(d, bytes, 8);
	put(d, 1, 8);
}

static void put_other(struct dump *d, uint32_t id, uint32_t bytes)
{
	put(d, id, 4);
	put(d, bytes, 4);
	for (uint32_t i = 8; i < bytes; i++)
		put(d, i, 1);
}

static int read_dump(struct cam_jitdump *j, const struct dump *d, size_t n)
{
	struct cam_bytes b = cam_bytes_of_memory(d->bytes, n);
	bool behind;
	return cam_jitdump_read(j, &b, 1 << 20, &behind);
}

static const char *name_of(const struct cam_jitdump *j, uint64_t address)
{
	static char name[CAM_JITCODE_MAX_NAME + 1];
	struct cam_jitcode_hit hit;
	if (!cam_jitcode_find(j->code, address, &hit))
		return "";
	memcpy(name, hit.name.p, hit.name.n);
	name[hit.name.n] = '\0';
	return name;
}

static struct dump d;

static void test_records(void **state)
{
	(void)state;
	struct cam_jitdump j;
	cam_jitdump_open(&j);
	put_header(&d, 5);
	put_other(&d, 4, 40);
	put_load(&d, 0x1000, 32, "f");
	put_other(&d, 2, 100);
	put_load(&d, 0x2000, 32, "g of h");
	put_move(&d, 0x1000, 0x3000, 32);
	put_load(&d, 0x1000, 16, "later");
	put_other(&d, 99, 24);
	put_move(&d, 0x9000, 0xa000, 32);
	put_other(&d, 3, 16);
	assert_int_equal(read_dump(&j, &d, d.n), 0);
	assert_string_equal(name_of(&j, 0x1000), "later");
	assert_string_equal(name_of(&j, 0x1010), "f");
	assert_string_equal(name_of(&j, 0x201f), "g of h");
	assert_string_equal(name_of(&j, 0x301f), "f");
	assert_string_equal(name_of(&j, 0xa000), "");
	assert_int_equal(j.bad_records, 1);
	cam_jitdump_close(&j);
}

/* Byte by byte, as it may be seen while it is written: each name is there exactly when whole. */
static void test_grows(void **state)
{
	(void)state;
	struct cam_jitdump j;
	cam_jitdump_open(&j);
	put_header(&d, 5);
	put_load(&d, 0x1000, 32, "f");
	size_t first = d.n;
	put_load(&d, 0x2000, 32, "g");
	for (size_t n = 0; n <= d.n; n++) {
		assert_int_equal(read_dump(&j, &d, n), 0);
		assert_string_equal(name_of(&j, 0x1000), n >= first ? "f" : "");
		assert_string_equal(name_of(&j, 0x2000), n >= d.n ? "g" : "");
	}
	/* Another dump in its place. */
	put_header(&d, 6);
	put_load(&d, 0x3000, 32, "h");
	put_load(&d, 0x4000, 64, "i");
	assert_int_equal(read_dump(&j, &d, d.n), 0);
	assert_string_equal(name_of(&j, 0x1000), "");
	assert_string_equal(name_of(&j, 0x4000), "i");
	cam_jitdump_close(&j);
}

static void test_refused(void **state)
{
	(void)state;
	struct cam_jitdump j;
	cam_jitdump_open(&j);
	put_header(&d, 5);
	put_load(&d, 0x1000, 32, "f");
	struct dump foreign = d;
	for (int i = 0; i < 4; i++)
		foreign.bytes[i] = d.bytes[3 - i];
	assert_int_equal(read_dump(&j, &foreign, d.n), -EBADMSG);
	struct dump newer = d;
	newer.bytes[4] = 2;
	assert_int_equal(read_dump(&j, &newer, d.n), -EBADMSG);
	struct dump tiny = d;
	tiny.bytes[8] = 8;
	assert_int_equal(read_dump(&j, &tiny, d.n), -EBADMSG);
	/* A record that cannot be passed over: what was before it stays. */
	put_other(&d, 7, 16);
	d.bytes[d.n - 12] = 3;
	put_load(&d, 0x2000, 32, "g");
	assert_int_equal(read_dump(&j, &d, d.n), 0);
	assert_true(j.broken);
	assert_string_equal(name_of(&j, 0x1000), "f");
	assert_string_equal(name_of(&j, 0x2000), "");
	cam_jitdump_close(&j);
}

static void test_a_lot_at_a_time(void **state)
{
	(void)state;
	struct cam_jitdump j;
	bool behind = true;
	int calls = 0;
	cam_jitdump_open(&j);
	put_header(&d, 5);
	for (int i = 0; i < 500; i++)
		put_load(&d, 0x1000 + (uint64_t)i * 16, 16, "f");
	struct cam_bytes b = cam_bytes_of_memory(d.bytes, d.n);
	for (; behind && calls < 100; calls++)
		assert_int_equal(cam_jitdump_read(&j, &b, 10000, &behind), 0);
	assert_in_range(calls, 4, 50);
	assert_string_equal(name_of(&j, 0x1000 + 499 * 16), "f");
	cam_jitdump_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_a_lot_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
