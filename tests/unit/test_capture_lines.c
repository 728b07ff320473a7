// SPDX-License-Identifier: Apache-2.0
#include "capture/lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % below;
}

/* Lines of all lengths around the buffer's: each is given once, whole or by its beginning. */
static void every_line_is_given_once(void **state)
{
	(void)state;
	enum { BUFFER = sizeof(((struct cam_lines *)0)->bytes), MAX = 1 << 20 };
	struct cam_lines *l = malloc(sizeof(*l));
	char *text = malloc(MAX);
	assert_non_null(l);
	assert_non_null(text);
	uint64_t seed = 3;
	for (unsigned round = 0; round < 200; round++) {
		size_t at = 0, start[64], length[64];
		unsigned n = (unsigned)next_random(&seed, 20);
		for (unsigned i = 0; i < n; i++) {
			size_t most = next_random(&seed, 3) ? 200 : 3 * BUFFER;
			length[i] = next_random(&seed, most);
			if (next_random(&seed, 4) == 0)
				length[i] = BUFFER - 2 + next_random(&seed, 5);
			start[i] = at;
			if (at + length[i] + 1 > MAX) {
				n = i;
				break;
			}
			for (size_t k = 0; k < length[i]; k++)
				text[at++] = (char)('a' + next_random(&seed, 26));
			text[at++] = '\n';
		}
		/* The last one may end without a newline. */
		bool open_end = n && length[n - 1] && next_random(&seed, 2);
		int fd = memfd_create("lines", MFD_CLOEXEC);
		size_t bytes = at - open_end;
		assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
		/* Twice: it begins anew. */
		for (unsigned again = 0; again < 2; again++) {
			struct cam_text line;
			cam_lines_start(l, fd);
			for (unsigned i = 0; i < n; i++) {
				assert_true(cam_lines_next(l, &line));
				assert_true(line.n == length[i] ||
					    (length[i] >= BUFFER && line.n == BUFFER));
				assert_memory_equal(line.p, text + start[i], line.n);
			}
			assert_false(cam_lines_next(l, &line));
			assert_false(cam_lines_next(l, &line));
			assert_int_equal(l->error, 0);
		}
		close(fd);
	}
	struct cam_text line;
	cam_lines_start(l, -1);
	assert_false(cam_lines_next(l, &line));
	assert_int_equal(l->error, -EBADF);
	free(text);
	free(l);
}

static void numbers_are_taken_one_by_one(void **state)
{
	(void)state;
	struct cam_text s = CAM_TEXT("  12\t0x 18446744073709551615 18446744073709551616 -1");
	uint64_t v;
	assert_true(cam_number_take(&s, 10, &v));
	assert_int_equal(v, 12);
	assert_true(cam_number_take(&s, 10, &v));
	assert_int_equal(v, 0);
	assert_false(cam_number_take(&s, 10, &v));
	s = (struct cam_text){s.p + 1, s.n - 1};
	assert_true(cam_number_take(&s, 10, &v));
	assert_true(v == UINT64_MAX);
	assert_false(cam_number_take(&s, 10, &v));
	s = CAM_TEXT("0aF g");
	assert_true(cam_number_take(&s, 16, &v));
	assert_int_equal(v, 0xaf);
	assert_false(cam_number_take(&s, 16, &v));
	s = CAM_TEXT("");
	assert_false(cam_number_take(&s, 16, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_is_given_once),
		cmocka_unit_test(numbers_are_taken_one_by_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
