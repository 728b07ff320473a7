// SPDX-License-Identifier: Apache-2.0
#include "serve/columns.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The whole answer, byte by byte, as docs/http-api.md describes it. */
static void test_bytes(void **state)
{
	(void)state;
	static const uint8_t a[] = {1, 2, 3};
	static const uint32_t b[] = {7, 0x01020304};
	static const double d[] = {0.5};
	static const char json[] =
		"{\"unit\":\"samples\",\"columns\":{\"a\":[\"u8\",0,3],"
		"\"b\":[\"u32\",8,2],\"d\":[\"f64\",16,1],\"e\":[\"f32\",24,0]}}";
	struct cam_columns c;
	struct cam_buf out = CAM_BUF(1000);
	cam_columns_begin(&c);
	cam_json_text(&c.json, "unit", CAM_TEXT("samples"));
	cam_columns_add(&c, "a", CAM_COLUMN_U8, a, 3);
	cam_columns_add(&c, "b", CAM_COLUMN_U32, b, 2);
	cam_columns_add(&c, "d", CAM_COLUMN_F64, d, 1);
	cam_columns_add(&c, "e", CAM_COLUMN_F32, NULL, 0);
	assert_int_equal(cam_columns_finish(&c, &out), 0);
	size_t text = sizeof(json) - 1, start = (8 + text + 7) / 8 * 8;
	assert_int_equal(out.len, start + 24);
	assert_memory_equal(out.data, "PCC1", 4);
	assert_int_equal(out.data[4], text);
	assert_memory_equal(out.data + 8, json, text);
	for (size_t i = 8 + text; i < start; i++)
		assert_int_equal(out.data[i], 0);
	static const uint8_t rest[] = {1, 2, 3, 0, 0, 0, 0, 0, 7, 0, 0,	   0,
				       4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f};
	assert_memory_equal(out.data + start, rest, sizeof(rest));
	cam_buf_free(&out);
}

static void test_too_large(void **state)
{
	(void)state;
	static const uint8_t a[100];
	struct cam_columns c;
	struct cam_buf out = CAM_BUF(100);
	cam_columns_begin(&c);
	cam_columns_add(&c, "a", CAM_COLUMN_U8, a, sizeof(a));
	assert_int_equal(cam_columns_finish(&c, &out), -E2BIG);
	cam_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_too_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
