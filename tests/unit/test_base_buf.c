// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void integers_come_back(void **state)
{
	(void)state;
	static const uint64_t values[] = {0,
					  1,
					  127,
					  128,
					  16383,
					  16384,
					  1u << 31,
					  UINT32_MAX,
					  1ull << 63,
					  UINT64_MAX,
					  0x0102030405060708u};
	struct cam_buf b = CAM_BUF(4096);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		cam_buf_put_varint(&b, values[i]);
		cam_buf_put_u64(&b, values[i]);
		cam_buf_put_u32(&b, (uint32_t)values[i]);
		cam_buf_put_u16(&b, (uint16_t)values[i]);
		cam_buf_put_u8(&b, (uint8_t)values[i]);
		cam_buf_put_zigzag(&b, (int64_t)values[i]);
	}
	assert_int_equal(cam_buf_error(&b), 0);
	struct cam_rd r = cam_rd_make(b.data, b.len);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_true(cam_rd_varint(&r) == values[i]);
		assert_true(cam_rd_u64(&r) == values[i]);
		assert_true(cam_rd_u32(&r) == (uint32_t)values[i]);
		assert_true(cam_rd_u16(&r) == (uint16_t)values[i]);
		assert_true(cam_rd_u8(&r) == (uint8_t)values[i]);
		assert_true(cam_rd_zigzag(&r) == (int64_t)values[i]);
	}
	assert_int_equal(cam_rd_error(&r), 0);
	assert_int_equal(cam_rd_left(&r), 0);
	cam_buf_free(&b);
}

static void bytes_are_little_endian_on_every_host(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(64);
	cam_buf_put_u32(&b, 0x11223344);
	cam_buf_put_varint(&b, 300);
	assert_memory_equal(b.data, "\x44\x33\x22\x11\xac\x02", 6);
	assert_int_equal(b.len, 6);
	cam_buf_free(&b);
}

static void the_maximum_holds_and_the_error_sticks(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(8);
	cam_buf_put_u64(&b, 1);
	assert_int_equal(cam_buf_error(&b), 0);
	cam_buf_put_u8(&b, 1);
	assert_int_equal(cam_buf_error(&b), -E2BIG);
	assert_int_equal(b.len, 8);
	cam_buf_clear(&b);
	cam_buf_put_u8(&b, 7);
	assert_int_equal(cam_buf_error(&b), 0);
	assert_int_equal(b.len, 1);
	assert_true(b.cap <= 8);
	cam_buf_free(&b);
}

static void reading_past_the_end_is_an_error_not_a_read(void **state)
{
	(void)state;
	struct cam_rd r = cam_rd_make("\x01\x02", 2);
	assert_int_equal(cam_rd_u32(&r), 0);
	assert_int_equal(cam_rd_error(&r), -EBADMSG);
	assert_int_equal(cam_rd_u8(&r), 0);

	/* A string longer than what is left; a varint that never ends; one of 65 bits. */
	size_t n = 99;
	r = cam_rd_make("\x05xy", 3);
	assert_null(cam_rd_string(&r, &n));
	assert_int_equal(n, 0);
	assert_int_equal(cam_rd_error(&r), -EBADMSG);
	r = cam_rd_make("\xff\xff\xff", 3);
	cam_rd_varint(&r);
	assert_int_equal(cam_rd_error(&r), -EBADMSG);
	r = cam_rd_make("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	cam_rd_varint(&r);
	assert_int_equal(cam_rd_error(&r), -EBADMSG);
}

static void printf_appends(void **state)
{
	(void)state;
	struct cam_buf b = CAM_BUF(100000);
	for (int i = 0; i < 1000; i++)
		cam_buf_printf(&b, "%d,", i);
	assert_int_equal(cam_buf_error(&b), 0);
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	assert_memory_equal(b.data, "0,1,2,", 6);
	cam_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_come_back),
		cmocka_unit_test(bytes_are_little_endian_on_every_host),
		cmocka_unit_test(the_maximum_holds_and_the_error_sticks),
		cmocka_unit_test(reading_past_the_end_is_an_error_not_a_read),
		cmocka_unit_test(printf_appends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
