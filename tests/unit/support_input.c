// SPDX-License-Identifier: Apache-2.0
#include "support_input.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

ssize_t memory_source_read(void *arg, void *room, size_t n)
{
	struct memory_source *s = arg;
	if (!s->left)
		return s->error;
	n = n < s->left ? n : s->left;
	n = s->step && n > s->step ? s->step : n;
	memcpy(room, s->p, n);
	s->p += n;
	s->left -= n;
	return (ssize_t)n;
}

struct cam_input *input_of(struct memory_source *s, const void *bytes, size_t n)
{
	struct cam_input *in;
	s->p = bytes;
	s->left = n;
	assert_int_equal(cam_input_open_fn(&in, memory_source_read, s, NULL), 0);
	return in;
}

int open_data(const char *name)
{
	char path[1024];
	snprintf(path, sizeof(path), "%s/%s", getenv("PERFCAM_TEST_DATA"), name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("cannot open %s", path);
	return fd;
}

struct cam_buf slurp_input(struct cam_input *in)
{
	struct cam_buf out = CAM_BUF(1u << 30);
	do {
		cam_buf_put(&out, in->p, (size_t)(in->end - in->p));
		in->p = in->end;
	} while (cam_input_more(in));
	assert_int_equal(cam_buf_error(&out), 0);
	return out;
}

struct cam_buf slurp_data(const char *name)
{
	struct cam_input *in;
	int fd = open_data(name);
	assert_int_equal(cam_input_open_fd(&in, fd, NULL), 0);
	struct cam_buf out = slurp_input(in);
	assert_int_equal(in->state, CAM_INPUT_WHOLE);
	cam_input_close(in);
	close(fd);
	return out;
}

static struct cam_buf deflate_blocks(const void *bytes, size_t n, size_t times)
{
	struct cam_buf out = CAM_BUF(1u << 30);
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), 0);
	for (size_t i = 0; i < times; i++) {
		z.next_in = (unsigned char *)bytes;
		z.avail_in = (uInt)n;
		do {
			unsigned char *room = cam_buf_reserve(&out, 65536);
			assert_non_null(room);
			z.next_out = room;
			z.avail_out = 65536;
			deflate(&z, i + 1 == times ? Z_FINISH : Z_NO_FLUSH);
			out.len += 65536 - z.avail_out;
		} while (z.avail_out == 0);
	}
	deflateEnd(&z);
	return out;
}

struct cam_buf gzip_of(const void *bytes, size_t n)
{
	return deflate_blocks(bytes, n, 1);
}

struct cam_buf gzip_of_many(char c, size_t n)
{
	static char block[1u << 20];
	memset(block, c, sizeof(block));
	return deflate_blocks(block, sizeof(block), n / sizeof(block));
}

struct cam_buf zstd_of(const void *bytes, size_t n)
{
	struct cam_buf out = CAM_BUF(1u << 30);
	size_t bound = ZSTD_compressBound(n);
	uint8_t *room = cam_buf_reserve(&out, bound);
	assert_non_null(room);
	out.len = ZSTD_compress(room, bound, bytes, n, 3);
	assert_false(ZSTD_isError(out.len));
	return out;
}

long peak_growth_kib(int (*fn)(void *arg), void *arg)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rusage before, after;
		getrusage(RUSAGE_SELF, &before);
		int failed = fn(arg);
		getrusage(RUSAGE_SELF, &after);
		long grown = failed ? -1 : after.ru_maxrss - before.ru_maxrss;
		_exit(write(ends[1], &grown, sizeof(grown)) == sizeof(grown) ? 0 : 1);
	}
	long grown = -1;
	close(ends[1]);
	assert_int_equal(read(ends[0], &grown, sizeof(grown)), sizeof(grown));
	close(ends[0]);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(grown >= 0);
	return grown;
}
