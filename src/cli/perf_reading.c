// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_reading.h"

#include "base/units.h"
#include "interop/perf_data_in.h"
#include "store/io.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_fd_at(void *arg, void *room, size_t n, uint64_t at)
{
	const int *fd = arg;
	ssize_t got;
	do
		got = pread(*fd, room, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int read_fd(int fd, uint64_t bytes, struct cam_sink *sink,
		   const struct cam_import_options *o, struct cam_import_stats *st)
{
	const struct cam_perf_file file = {&fd, read_fd_at, bytes};
	return cam_perf_data_read_files(&file, 1, sink, o, st);
}

/* All that an input has, into a file. */
static int spool(struct cam_input *in, struct cam_file *to, uint64_t *bytes)
{
	*bytes = 0;
	do {
		size_t n = (size_t)(in->end - in->p);
		int err = n ? to->ops->pwrite(to, in->p, n, *bytes) : 0;
		if (err)
			return err;
		*bytes += n;
		in->p = in->end;
	} while (cam_input_more(in));
	if (in->state == CAM_INPUT_BOMB)
		return -EFBIG;
	return in->state == CAM_INPUT_UNREADABLE ? in->error : 0;
}

static int read_spooled(struct cam_input *in, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st)
{
	struct cam_file *file;
	uint64_t bytes;
	*st = (struct cam_import_stats){0};
	int err = cam_file_temporary(&file);
	if (err)
		return err;
	err = spool(in, file, &bytes);
	st->end = in->state;
	if (!err)
		err = read_fd(cam_file_fd(file), bytes, sink, o, st);
	if (in->state != CAM_INPUT_WHOLE)
		st->end = in->state;
	file->ops->close(file);
	return err;
}

int cam_perf_reading_import(int fd, struct cam_input *in, struct cam_sink *sink,
			    struct cam_import_options *o, struct cam_import_stats *st)
{
	struct stat about;
	bool regular = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
	if (regular)
		o->written_ns =
			about.st_mtim.tv_sec * (int64_t)CAM_NS_PER_SEC + about.st_mtim.tv_nsec;
	int err = cam_perf_data_read(in, sink, o, st);
	if (err != -ESPIPE)
		return err;
	if (regular && in->wrap == CAM_INPUT_PLAIN)
		return read_fd(fd, (uint64_t)about.st_size, sink, o, st);
	return read_spooled(in, sink, o, st);
}
