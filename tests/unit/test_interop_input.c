// SPDX-License-Identifier: Apache-2.0
#include "support_input.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Text that compresses about as profiles do, and whose every part can be told from another. */
static struct cam_buf make_text(size_t lines)
{
	struct cam_buf b = CAM_BUF(1u << 28);
	for (size_t i = 0; i < lines; i++)
		cam_buf_printf(&b, "\t%16zx function_%zu+0x%zx (/usr/lib/lib%zu.so)\n", i * 7919,
			       i * i % 1009, i % 512, i % 17);
	assert_int_equal(cam_buf_error(&b), 0);
	return b;
}

static void expect_text(const struct cam_buf *packed, size_t step, const struct cam_buf *want,
			enum cam_input_wrap wrap)
{
	struct memory_source s = {.step = step};
	struct cam_input *in = input_of(&s, packed->data, packed->len);
	struct cam_buf got = slurp_input(in);
	assert_int_equal(in->wrap, wrap);
	assert_int_equal(in->state, CAM_INPUT_WHOLE);
	assert_int_equal(in->bytes_in, packed->len);
	assert_int_equal(in->bytes, want->len);
	assert_int_equal(got.len, want->len);
	if (got.len)
		assert_memory_equal(got.data, want->data, got.len);
	cam_buf_free(&got);
	cam_input_close(in);
}

static void every_wrapping_gives_the_same_text(void **state)
{
	(void)state;
	struct cam_buf text = make_text(20000);
	struct cam_buf gz = gzip_of(text.data, text.len), zst = zstd_of(text.data, text.len);
	static const size_t steps[] = {0, 1, 3, 4096, 100000};
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		expect_text(&text, steps[i], &text, CAM_INPUT_PLAIN);
		expect_text(&gz, steps[i], &text, CAM_INPUT_GZIP);
		expect_text(&zst, steps[i], &text, CAM_INPUT_ZSTD);
	}
	cam_buf_free(&text);
	cam_buf_free(&gz);
	cam_buf_free(&zst);
}

static void small_inputs(void **state)
{
	(void)state;
	struct cam_buf none = CAM_BUF(16), one = CAM_BUF(16), three = CAM_BUF(16);
	cam_buf_put(&one, "\n", 1);
	cam_buf_put(&three,
		    "\x1f"
		    "ab",
		    3);
	expect_text(&none, 0, &none, CAM_INPUT_PLAIN);
	expect_text(&one, 0, &one, CAM_INPUT_PLAIN);
	expect_text(&three, 1, &three, CAM_INPUT_PLAIN);
	struct cam_buf gz = gzip_of("", 0), zst = zstd_of("", 0);
	expect_text(&gz, 1, &none, CAM_INPUT_GZIP);
	expect_text(&zst, 1, &none, CAM_INPUT_ZSTD);
	cam_buf_free(&one);
	cam_buf_free(&three);
	cam_buf_free(&gz);
	cam_buf_free(&zst);
}

/* `cat a.gz b.gz`, zstd's frames to skip, and the zeros that tape and block devices add. */
static void several_streams_are_one_text(void **state)
{
	(void)state;
	struct cam_buf text = make_text(50), twice = CAM_BUF(1u << 20);
	cam_buf_put(&twice, text.data, text.len);
	cam_buf_put(&twice, text.data, text.len);
	struct cam_buf gz = gzip_of(text.data, text.len), gz2 = CAM_BUF(1u << 20);
	cam_buf_put(&gz2, gz.data, gz.len);
	cam_buf_put(&gz2, gz.data, gz.len);
	cam_buf_put(&gz2, "\0\0\0\0\0", 5);
	struct cam_buf zst = zstd_of(text.data, text.len), zst2 = CAM_BUF(1u << 20);
	cam_buf_put(&zst2, "\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
	cam_buf_put(&zst2, zst.data, zst.len);
	cam_buf_put(&zst2, zst.data, zst.len);
	for (size_t step = 0; step < 3; step++) {
		expect_text(&gz2, step, &twice, CAM_INPUT_GZIP);
		expect_text(&zst2, step, &twice, CAM_INPUT_ZSTD);
	}
	struct cam_buf *all[] = {&text, &twice, &gz, &gz2, &zst, &zst2};
	for (size_t i = 0; i < 6; i++)
		cam_buf_free(all[i]);
}

static void a_cut_stream_gives_what_was_before(void **state)
{
	(void)state;
	struct cam_buf text = make_text(300);
	struct cam_buf packed[] = {gzip_of(text.data, text.len), zstd_of(text.data, text.len)};
	for (size_t k = 0; k < 2; k++) {
		size_t longest = 0;
		for (size_t n = 4; n < packed[k].len; n++) {
			struct memory_source s = {0};
			struct cam_input *in = input_of(&s, packed[k].data, n);
			struct cam_buf got = slurp_input(in);
			assert_int_equal(in->state, CAM_INPUT_CUT);
			assert_true(got.len <= text.len);
			if (got.len)
				assert_memory_equal(got.data, text.data, got.len);
			longest = got.len > longest ? got.len : longest;
			cam_buf_free(&got);
			cam_input_close(in);
		}
		/* gzip's last 8 bytes are a checksum: all text came before them. */
		if (k == 0)
			assert_int_equal(longest, text.len);
		cam_buf_free(&packed[k]);
	}
	cam_buf_free(&text);
}

static void a_changed_byte_is_noticed(void **state)
{
	(void)state;
	struct cam_buf text = make_text(300), gz = gzip_of(text.data, text.len);
	/* Behind the header (whose time and flags nothing guards) each bit is under the checksum. */
	for (size_t i = 10; i < gz.len; i++) {
		gz.data[i] ^= 0x10;
		struct memory_source s = {0};
		struct cam_input *in = input_of(&s, gz.data, gz.len);
		struct cam_buf got = slurp_input(in);
		assert_true(in->state == CAM_INPUT_DAMAGED || in->state == CAM_INPUT_CUT);
		cam_buf_free(&got);
		cam_input_close(in);
		gz.data[i] ^= 0x10;
	}
	/* Bytes that are no member behind the last one. */
	cam_buf_put(&gz, "junk", 4);
	struct memory_source s = {0};
	struct cam_input *in = input_of(&s, gz.data, gz.len);
	struct cam_buf got = slurp_input(in);
	assert_int_equal(in->state, CAM_INPUT_DAMAGED);
	assert_int_equal(got.len, text.len);
	cam_buf_free(&got);
	cam_input_close(in);
	cam_buf_free(&gz);
	cam_buf_free(&text);
}

static void a_failed_read_is_told(void **state)
{
	(void)state;
	struct memory_source s = {.error = -EIO};
	struct cam_input *in = input_of(&s, "some text\nmore", 14);
	struct cam_text line;
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_WHOLE);
	assert_int_equal(line.n, 9);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_END);
	assert_int_equal(in->state, CAM_INPUT_UNREADABLE);
	assert_int_equal(in->error, -EIO);
	assert_int_equal(in->cut_lines, 1);
	cam_input_close(in);
}

static void a_bomb_is_stopped(void **state)
{
	(void)state;
	struct cam_buf gz = gzip_of_many('a', 100u << 20);
	assert_true((100u << 20) / gz.len > 900);
	struct memory_source s = {0};
	struct cam_input *in = input_of(&s, gz.data, gz.len);
	struct cam_text line;
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_LONG);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_END);
	assert_int_equal(in->state, CAM_INPUT_BOMB);
	assert_in_range(in->bytes, 16u << 20, (16u << 20) + 2 * CAM_INPUT_TEXT_BYTES);
	cam_input_close(in);

	/* The same file under other limits. */
	struct cam_input_limits generous = {.ratio = 2000}, strict = {.free_bytes = 1u << 20};
	s = (struct memory_source){.p = (char *)gz.data, .left = gz.len};
	assert_int_equal(cam_input_open_fn(&in, memory_source_read, &s, &generous), 0);
	while (cam_input_more(in))
		in->p = in->end;
	assert_int_equal(in->state, CAM_INPUT_WHOLE);
	assert_int_equal(in->bytes, 100u << 20);
	cam_input_close(in);
	s = (struct memory_source){.p = (char *)gz.data, .left = gz.len};
	assert_int_equal(cam_input_open_fn(&in, memory_source_read, &s, &strict), 0);
	while (cam_input_more(in))
		in->p = in->end;
	assert_int_equal(in->state, CAM_INPUT_BOMB);
	assert_in_range(in->bytes, 1u << 20, (1u << 20) + 2 * CAM_INPUT_TEXT_BYTES);
	cam_input_close(in);
	cam_buf_free(&gz);
}

static void a_window_of_2_gib_is_refused(void **state)
{
	(void)state;
	/* Frame header: no content size, window descriptor 2^31. */
	static const char frame[] = "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00";
	struct memory_source s = {0};
	struct cam_input *in = input_of(&s, frame, sizeof(frame) - 1);
	assert_false(cam_input_more(in));
	assert_int_equal(in->state, CAM_INPUT_BOMB);
	cam_input_close(in);
}

static void only_one_layer_is_undone(void **state)
{
	(void)state;
	struct cam_buf gz = gzip_of("text\n", 5), twice = gzip_of(gz.data, gz.len);
	expect_text(&twice, 0, &gz, CAM_INPUT_GZIP);
	cam_buf_free(&gz);
	cam_buf_free(&twice);
}

static void lines_up_to_the_bound_are_whole(void **state)
{
	(void)state;
	static const size_t sizes[] = {0,
				       1,
				       CAM_INPUT_LINE_BYTES - 1,
				       CAM_INPUT_LINE_BYTES,
				       CAM_INPUT_LINE_BYTES + 1,
				       CAM_INPUT_TEXT_BYTES - 1,
				       CAM_INPUT_TEXT_BYTES,
				       3 * CAM_INPUT_TEXT_BYTES + 17};
	struct cam_buf text = CAM_BUF(1u << 24);
	size_t n = sizeof(sizes) / sizeof(sizes[0]);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			cam_buf_put_u8(&text, (uint8_t)('a' + (k + i) % 26));
		if (i + 1 < n)
			cam_buf_put_u8(&text, '\n');
	}
	for (size_t step = 0; step < 70000; step += 33333) {
		struct memory_source s = {.step = step};
		struct cam_input *in = input_of(&s, text.data, text.len);
		const uint8_t *at = text.data;
		for (size_t i = 0; i < n; i++) {
			struct cam_text line;
			bool fits = sizes[i] <= CAM_INPUT_LINE_BYTES;
			assert_int_equal(cam_input_line(in, &line),
					 fits ? CAM_LINE_WHOLE : CAM_LINE_LONG);
			assert_int_equal(line.n, fits ? sizes[i] : CAM_INPUT_HEAD_BYTES);
			assert_memory_equal(line.p, at, line.n);
			if (fits)
				assert_int_equal(line.p[line.n], '\n');
			at += sizes[i] + 1;
		}
		struct cam_text line;
		assert_int_equal(cam_input_line(in, &line), CAM_LINE_END);
		assert_int_equal(cam_input_line(in, &line), CAM_LINE_END);
		assert_int_equal(in->long_lines, 4);
		cam_input_close(in);
	}
	cam_buf_free(&text);
}

static void a_last_line_without_newline(void **state)
{
	(void)state;
	struct cam_text line;
	struct memory_source s = {0};
	struct cam_input *in = input_of(&s, "a\nbc", 4);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_WHOLE);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_WHOLE);
	assert_int_equal(line.n, 2);
	assert_memory_equal(line.p, "bc\n", 3);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_END);
	cam_input_close(in);
	/* Of a stream that is cut it may be half a line, and is not given. */
	struct cam_buf gz = gzip_of("a\nbc", 4);
	in = input_of(&s, gz.data, gz.len - 1);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_WHOLE);
	assert_int_equal(cam_input_line(in, &line), CAM_LINE_END);
	assert_int_equal(in->cut_lines, 1);
	cam_input_close(in);
	cam_buf_free(&gz);
}

static void peeking_takes_nothing(void **state)
{
	(void)state;
	struct cam_buf text = make_text(5000);
	struct memory_source s = {.step = 1000};
	struct cam_input *in = input_of(&s, text.data, text.len);
	struct cam_text first = cam_input_peek(in);
	assert_true(first.n >= 65536);
	assert_memory_equal(first.p, text.data, first.n);
	struct cam_buf all = slurp_input(in);
	assert_int_equal(all.len, text.len);
	assert_memory_equal(all.data, text.data, all.len);
	cam_input_close(in);
	in = input_of(&s, "short", 5);
	first = cam_input_peek(in);
	assert_int_equal(first.n, 5);
	cam_input_close(in);
	cam_buf_free(&all);
	cam_buf_free(&text);
}

/* Bytes of one line without end. */
static ssize_t endless_read(void *arg, void *room, size_t n)
{
	uint64_t *left = arg;
	n = n < *left ? n : (size_t)*left;
	memset(room, 'x', n);
	*left -= n;
	return (ssize_t)n;
}

static int read_one_line(void *arg)
{
	struct cam_input *in;
	struct cam_text line;
	uint64_t left = *(uint64_t *)arg, all = left;
	if (cam_input_open_fn(&in, endless_read, &left, NULL) ||
	    cam_input_line(in, &line) != CAM_LINE_LONG ||
	    cam_input_line(in, &line) != CAM_LINE_END || in->bytes != all)
		return 1;
	cam_input_close(in);
	return 0;
}

static void a_line_of_1_gib_needs_no_memory(void **state)
{
	(void)state;
	uint64_t bytes = 1ull << 30;
	long grown = peak_growth_kib(read_one_line, &bytes);
	assert_true(grown < 4096 + SANITIZER_SLACK_KIB);
}

static void a_pipe_will_do(void **state)
{
	(void)state;
	struct cam_buf text = make_text(20000), gz = gzip_of(text.data, text.len);
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[0]);
		for (size_t at = 0; at < gz.len;) {
			ssize_t n =
				write(ends[1], gz.data + at, gz.len - at < 777 ? gz.len - at : 777);
			if (n < 0)
				_exit(1);
			at += (size_t)n;
		}
		_exit(0);
	}
	close(ends[1]);
	struct cam_input *in;
	assert_int_equal(cam_input_open_fd(&in, ends[0], NULL), 0);
	struct cam_buf got = slurp_input(in);
	assert_int_equal(in->state, CAM_INPUT_WHOLE);
	assert_int_equal(got.len, text.len);
	assert_memory_equal(got.data, text.data, got.len);
	cam_input_close(in);
	close(ends[0]);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	cam_buf_free(&got);
	cam_buf_free(&text);
	cam_buf_free(&gz);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_wrapping_gives_the_same_text),
		cmocka_unit_test(small_inputs),
		cmocka_unit_test(several_streams_are_one_text),
		cmocka_unit_test(a_cut_stream_gives_what_was_before),
		cmocka_unit_test(a_changed_byte_is_noticed),
		cmocka_unit_test(a_failed_read_is_told),
		cmocka_unit_test(a_bomb_is_stopped),
		cmocka_unit_test(a_window_of_2_gib_is_refused),
		cmocka_unit_test(only_one_layer_is_undone),
		cmocka_unit_test(lines_up_to_the_bound_are_whole),
		cmocka_unit_test(a_last_line_without_newline),
		cmocka_unit_test(peeking_takes_nothing),
		cmocka_unit_test(a_line_of_1_gib_needs_no_memory),
		cmocka_unit_test(a_pipe_will_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
