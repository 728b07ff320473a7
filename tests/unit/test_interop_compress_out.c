// SPDX-License-Identifier: Apache-2.0
/* The oracles are the decoders of zlib and zstd. */
#include "interop/compress_out.h"
#include "support_input.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void names_choose(void **state)
{
	(void)state;
	assert_int_equal(cam_compress_of_name(CAM_TEXT("a/b.folded.gz")), CAM_COMPRESS_GZIP);
	assert_int_equal(cam_compress_of_name(CAM_TEXT("x.zst")), CAM_COMPRESS_ZSTD);
	assert_int_equal(cam_compress_of_name(CAM_TEXT("x.svg")), CAM_COMPRESS_NONE);
	assert_int_equal(cam_compress_of_name(CAM_TEXT("gz")), CAM_COMPRESS_NONE);
	assert_int_equal(cam_compress_of_name(CAM_TEXT("")), CAM_COMPRESS_NONE);
}

static struct cam_buf compress(enum cam_compress kind, const struct cam_buf *text, size_t step)
{
	struct cam_buf packed = CAM_BUF(1u << 28);
	struct cam_out to;
	struct cam_compress_out *c;
	cam_out_to_buf(&to, &packed);
	assert_int_equal(cam_compress_out_new(&c, kind, &to), 0);
	for (size_t at = 0; at < text->len; at += step) {
		size_t n = text->len - at < step ? text->len - at : step;
		cam_out_bytes(cam_compress_out_stream(c), text->data + at, n);
	}
	assert_int_equal(cam_compress_out_finish(c), 0);
	cam_compress_out_free(c);
	return packed;
}

static void what_goes_in_comes_out(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("nginx-997.stacks.gz");
	struct cam_buf none = CAM_BUF(16);
	static const size_t steps[] = {1000, 100000, 1u << 30};
	static const enum cam_compress kinds[] = {CAM_COMPRESS_NONE, CAM_COMPRESS_GZIP,
						  CAM_COMPRESS_ZSTD};
	static const enum cam_input_wrap wraps[] = {CAM_INPUT_PLAIN, CAM_INPUT_GZIP,
						    CAM_INPUT_ZSTD};
	for (size_t i = 0; i < 9; i++) {
		struct cam_buf packed = compress(kinds[i % 3], &text, steps[i / 3]);
		struct memory_source s = {0};
		struct cam_input *in = input_of(&s, packed.data, packed.len);
		struct cam_buf got = slurp_input(in);
		assert_int_equal(in->wrap, wraps[i % 3]);
		assert_int_equal(in->state, CAM_INPUT_WHOLE);
		assert_int_equal(got.len, text.len);
		assert_memory_equal(got.data, text.data, got.len);
		if (kinds[i % 3] != CAM_COMPRESS_NONE)
			assert_true(packed.len * 8 < text.len);
		cam_input_close(in);
		cam_buf_free(&got);
		cam_buf_free(&packed);
		/* Nothing in is a whole, empty file. */
		packed = compress(kinds[i % 3], &none, 1);
		in = input_of(&s, packed.data, packed.len);
		assert_int_equal(cam_input_peek(in).n, 0);
		assert_int_equal(in->wrap, wraps[i % 3]);
		assert_int_equal(in->state, CAM_INPUT_WHOLE);
		cam_input_close(in);
		cam_buf_free(&packed);
	}
	cam_buf_free(&text);
}

static void errors_come_through(void **state)
{
	(void)state;
	struct cam_buf text = slurp_data("tmpl.stacks.gz");
	for (enum cam_compress kind = CAM_COMPRESS_NONE; kind <= CAM_COMPRESS_ZSTD; kind++) {
		struct cam_buf small = CAM_BUF(100);
		struct cam_out to;
		struct cam_compress_out *c;
		cam_out_to_buf(&to, &small);
		assert_int_equal(cam_compress_out_new(&c, kind, &to), 0);
		cam_out_bytes(cam_compress_out_stream(c), text.data, text.len);
		assert_int_equal(cam_compress_out_finish(c), -E2BIG);
		cam_compress_out_free(c);
		cam_buf_free(&small);
	}
	cam_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_choose),
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(errors_come_through),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
