// SPDX-License-Identifier: Apache-2.0
/* Any bytes as perf.data: the form of a pipe, or of a file (whole, and as a thread's beside itself). */
#include "importer.h"
#include "interop/perf_data_in.h"

static struct fuzz_bytes whole;

static ssize_t read_at(void *arg, void *room, size_t n, uint64_t at)
{
	const struct fuzz_bytes *b = arg;
	if (at >= b->left)
		return 0;
	n = n < b->left - at ? n : b->left - at;
	memcpy(room, b->p + at, n);
	return (ssize_t)n;
}

static int read_any(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		    struct cam_import_stats *st)
{
	int err = cam_perf_data_read(in, sink, o, st);
	if (err != -ESPIPE || in->wrap != CAM_INPUT_PLAIN)
		return err == -ESPIPE ? -ENOMEM : err;
	const struct cam_perf_file files[] = {
		{&whole, read_at, whole.left},
		{&whole, read_at, whole.left},
	};
	size_t n = whole.left % 3 ? 1 : 2;
	err = cam_perf_data_read_files(files, n, sink, o, st);
	st->bytes_in /= n;
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	whole = (struct fuzz_bytes){data, size, 0};
	return fuzz_import(data, size, read_any);
}
