// SPDX-License-Identifier: Apache-2.0
#include "cli/reading.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/perf_name.h"
#include "cli/perf_reading.h"
#include "cli/place.h"
#include "cli/say.h"
#include "ingest/collect.h"
#include "interop/chrome_in.h"
#include "interop/detect.h"
#include "interop/folded_in.h"
#include "interop/perf_script_in.h"
#include "interop/pprof_in.h"
#include "interop/speedscope_in.h"
#include "store/io.h"
#include "store/single.h"
#include "store/store.h"
#include "store/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A text of a gigabyte is to fit into 200 MB of memory; past this a new window is begun. */
#define MAX_TABLE_BYTES	   (96u << 20)
#define MAX_WINDOW_SAMPLES 2000000u

static bool is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* -1 after saying why. Of a directory that perf wrote: the file with the header. */
static int open_file(const char *path)
{
	int fd = is_stdin(path) ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		int dir = fd;
		bool perf = cam_perf_reading_is_directory(dir);
		fd = perf ? openat(dir, "data", O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
		close(dir);
		if (!perf)
			errno = EISDIR;
	}
	if (fd < 0 && errno == EISDIR)
		cam_failed(
			"%s: a directory; one file of it is wanted (perfcam import takes them all)",
			path);
	else if (fd < 0)
		cam_failed("%s: %s", path, strerror(errno));
	return fd;
}

bool cam_reading_is_folder(const char *path)
{
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	return fd >= 0 && !cam_perf_reading_is_directory(fd);
}

static struct cam_import_options import_options(const struct cam_wanted *want)
{
	return (struct cam_import_options){
		/* perf prints "captured on" in the zone of whoever runs perf script: most often
		 * this one. */
		.local_zone = true,
		.drop_details = !want->details,
		.drop_addresses = !want->addresses,
		.drop_stacks = want->no_stacks,
		.drop_tasks = want->no_stacks && want->no_tasks,
	};
}

static int say_unknown(const char *path, enum cam_format format)
{
	if (format == CAM_FORMAT_EMPTY)
		return cam_failed("%s: the file is empty", path);
	if (format == CAM_FORMAT_WINDOW)
		return cam_failed(
			"%s: a window of perfcam's own; -i reads it where it lies (a file, "
			"not compressed, not a pipe)",
			path);
	return cam_failed(
		"%s: %s; perfcam reads perf.data, perf script text, folded stacks, pprof, "
		"speedscope, Chrome's CPU profiles and trace events, and its own windows; "
		"plain, gzip or zstd",
		path, cam_format_name(format));
}

typedef int read_fn(struct cam_input *in, struct cam_sink *sink, const struct cam_import_options *o,
		    struct cam_import_stats *st);

/* NULL: none reads it as a stream. */
static read_fn *reader_of(enum cam_format format)
{
	switch (format) {
	case CAM_FORMAT_FOLDED:
		return cam_folded_read;
	case CAM_FORMAT_PERF_SCRIPT:
		return cam_perf_script_read;
	case CAM_FORMAT_PPROF:
		return cam_pprof_read;
	case CAM_FORMAT_SPEEDSCOPE:
		return cam_speedscope_read;
	case CAM_FORMAT_CPUPROFILE:
		return cam_cpuprofile_read;
	case CAM_FORMAT_TRACE_EVENTS:
		return cam_trace_events_read;
	default:
		return NULL;
	}
}

/* By its first bytes, whether it is compressed or not. */
static bool is_known(int dir, const char *name)
{
	CAM_AUTOCLOSE int fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	struct cam_input *in;
	if (fd < 0 || fstat(fd, &st))
		return false;
	if (S_ISDIR(st.st_mode))
		return cam_perf_reading_is_directory(fd);
	if (!S_ISREG(st.st_mode) || cam_input_open_fd(&in, fd, NULL))
		return false;
	enum cam_format format = cam_detect(cam_input_peek(in));
	cam_input_close(in);
	return format == CAM_FORMAT_PERF_DATA || reader_of(format);
}

int cam_reading_list(const char *folder, char ***names, size_t *n)
{
	struct dirent **found;
	int count = scandir(folder, &found, NULL, alphasort);
	*names = NULL;
	*n = 0;
	if (count < 0)
		return cam_failed("%s: %s", folder, strerror(errno));
	CAM_AUTOCLOSE int dir = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	char **list = calloc((size_t)count + 1, sizeof(*list));
	int status = list ? CAM_EXIT_OK : cam_failed("%s: %s", folder, strerror(ENOMEM));
	for (int i = 0; i < count; i++) {
		const char *name = found[i]->d_name;
		if (list && name[0] != '.' && is_known(dir, name) &&
		    asprintf(&list[*n], "%s/%s", folder, name) > 0)
			++*n;
		else if (list && name[0] != '.')
			cam_note("%s/%s: left out: not a recording", folder, name);
		free(found[i]);
	}
	free(found);
	*names = list;
	return status;
}

static bool wall_in_zone(void *zone, const struct cam_utc *local, int64_t *realtime_ns)
{
	return cam_perf_name_realtime(local, zone, realtime_ns);
}

/* The part after the format is known: the file into the sink, and what there is to say. */
static int import_text(const struct cam_opened *from, enum cam_format format,
		       struct cam_collect *collect, const struct cam_wanted *want,
		       const struct cam_told *told)
{
	struct cam_import_options o = import_options(want);
	struct cam_import_stats st = {0};
	struct cam_sink *sink = cam_collect_sink(collect);
	int err;
	if (format == CAM_FORMAT_PERF_DATA)
		err = cam_perf_reading_import(from, told, sink, &o, &st);
	else {
		o.began_ns = told->began_ns;
		o.began_uncertain_ns =
			told->began_uncertain_ns ? told->began_uncertain_ns : CAM_NS_PER_SEC;
		o.wall_of = told->zone ? wall_in_zone : NULL;
		o.wall_arg = (void *)told->zone;
		err = reader_of(format)(from->in, sink, &o, &st);
	}
	if (!err)
		err = cam_collect_finish(collect);
	cam_progress_bar_end(from->bar);
	const char *path = from->path;
	char why[512] = "";
	cam_import_explain(&st, why, sizeof(why));
	if (err)
		return cam_failed("%s: %s%s%s", path, why, *why ? "; " : "", cam_errno_words(err));
	if (!st.samples)
		return cam_failed("%s: no samples in it%s%s", path, *why ? ": " : "", why);
	if (told->again)
		return CAM_EXIT_OK;
	if (st.files_not_here && told->where_names_are)
		cam_note("%s: functions of %llu of its %llu files have no names: %s", path,
			 (unsigned long long)st.files_not_here, (unsigned long long)st.files,
			 told->where_names_are);
	if (cam_import_is_partial(&st))
		return cam_incomplete("%s: %s", path, why);
	return CAM_EXIT_OK;
}

static int import_input(const struct cam_opened *from, struct cam_journal *to, uint64_t window_ns,
			const struct cam_wanted *want, const struct cam_told *told,
			struct cam_imported *done)
{
	const char *path = from->path;
	enum cam_format format = cam_detect(cam_input_peek(from->in));
	if (!reader_of(format) && format != CAM_FORMAT_PERF_DATA)
		return say_unknown(path, format);
	struct cam_collect_options o = {
		.window_ns = window_ns,
		.max_samples = MAX_WINDOW_SAMPLES,
		.max_table_bytes = MAX_TABLE_BYTES,
		.host = CAM_TEXT(""),
		.clock = CAM_CLOCK_FOREIGN,
		.imported = true,
	};
	struct cam_collect *collect;
	int err = cam_collect_new(to, &o, &collect);
	if (err)
		return cam_failed("%s: %s", path, cam_errno_words(err));
	int status = import_text(from, format, collect, want, told);
	struct cam_collect_stats st = cam_collect_stats(collect);
	done->samples = st.samples;
	done->windows = st.windows;
	done->unplaced_ns = st.unplaced_ns;
	cam_collect_free(collect);
	return status;
}

/* A descriptor read from its beginning to its end, and who is told how far. */
struct stream {
	int fd;
	uint64_t at;
	struct cam_progress_bar bar;
};

static ssize_t read_stream(void *arg, void *room, size_t n)
{
	struct stream *s = arg;
	ssize_t got;
	do
		got = read(s->fd, room, n);
	while (got < 0 && errno == EINTR);
	s->at += got > 0 ? (uint64_t)got : 0;
	cam_progress_bar_at(&s->bar, s->at);
	return got < 0 ? -errno : got;
}

static int import_fd(const char *path, int fd, struct cam_journal *to, uint64_t window_ns,
		     const struct cam_wanted *want, const struct cam_told *told,
		     struct cam_imported *done)
{
	struct stream stream = {.fd = fd};
	struct cam_input *in;
	cam_progress_bar_read(&stream.bar, fd, path);
	int err = cam_input_open_fn(&in, read_stream, &stream, NULL);
	if (err)
		return cam_failed("%s: %s", path, cam_errno_words(err));
	const struct cam_opened from = {path, fd, in, &stream.bar};
	int status = import_input(&from, to, window_ns, want, told, done);
	cam_input_close(in);
	return status;
}

int cam_reading_import(const char *path, struct cam_journal *to, uint64_t window_ns,
		       const struct cam_wanted *want, const struct cam_told *told,
		       struct cam_imported *done)
{
	CAM_AUTOCLOSE int fd = open_file(path);
	return fd < 0 ? CAM_EXIT_FAILED : import_fd(path, fd, to, window_ns, want, told, done);
}

/* A window must be a file that can be read in any order: what comes through a pipe is none. */
static bool is_window(int fd)
{
	char head[64];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	return n > 0 && cam_detect((struct cam_text){head, (size_t)n}) == CAM_FORMAT_WINDOW;
}

static int open_window(const char *path, int fd, struct cam_reading *r)
{
	struct cam_file *file;
	int err = cam_file_from_fd(fd, &file);
	if (!err)
		err = cam_single_open(file, path, MAX_TABLE_BYTES * 4ul, &r->source);
	return err ? cam_failed("%s: %s", path, cam_errno_words(err)) : CAM_EXIT_OK;
}

#define HEAP_STEP (16ul << 20)

/*
 * Windows are opened and closed by the hundred: what one gave back the next one uses, page by page. And large pages, where
 * the kernel has them on request: to fault in small ones was a fifth of what a flame graph of five seconds takes.
 */
static void keep_memory(int mmap_bytes)
{
	mallopt(M_MMAP_THRESHOLD, mmap_bytes);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, HEAP_STEP);
	uintptr_t page = 4096, from = ((uintptr_t)sbrk(0) + page - 1) / page * page;
	void *volatile some = malloc(HEAP_STEP / 4); /* the heap is there now */
	free(some);
	uintptr_t end = (uintptr_t)sbrk(0);
	if (from && end != UINTPTR_MAX && end > from)
		madvise((void *)from, end - from, MADV_HUGEPAGE);
}

/* Opened once: a FIFO's writer would not come back for a second reader. */
static int open_given_file(const struct cam_reading_options *o, struct cam_reading *r)
{
	CAM_AUTOCLOSE int fd = open_file(o->file);
	if (fd < 0)
		return CAM_EXIT_FAILED;
	if (is_window(fd)) {
		int taken = fd;
		fd = -1;
		return open_window(o->file, taken, r);
	}
	/* Its tables grow as it is read: what is mapped by itself grows without being copied, and nothing stays behind. */
	keep_memory(1 << 20);
	int err = cam_temporary_new(MAX_TABLE_BYTES * 4ul, &r->temporary);
	if (err)
		return cam_failed("%s: %s", o->file, cam_errno_words(err));
	struct cam_imported done = {0};
	int status = import_fd(o->file, fd, cam_temporary_journal(r->temporary), 0, &o->want,
			       &o->told, &done);
	r->source = cam_temporary_source(r->temporary);
	r->foreign = true;
	return status;
}

static int open_store(const struct cam_reading_options *o, struct cam_reading *r)
{
	keep_memory(16 << 20);
	char *path = r->name;
	int err = cam_store_path(o->store, path, sizeof(r->name));
	if (err)
		return cam_failed("no store: say --store DIR or -i FILE");
	err = cam_io_posix_open(path, false, &r->io);
	if (err == -ENOENT)
		return cam_failed("store %s does not exist; perfcam import makes one, and -i FILE "
				  "reads a file without",
				  path);
	if (!err)
		err = cam_store_open_read(r->io, &r->source);
	r->stored = true;
	return err ? cam_failed("store %s: %s", path, cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_reading_open(const struct cam_reading_options *o, struct cam_reading *r)
{
	*r = (struct cam_reading){0};
	if (o->file && o->store)
		return cam_usage("-i and --store exclude each other");
	if (o->file)
		snprintf(r->name, sizeof(r->name), "%s", o->file);
	int status = o->file ? open_given_file(o, r) : open_store(o, r);
	if (status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE)
		cam_reading_close(r);
	return status;
}

void cam_reading_close(struct cam_reading *r)
{
	if (r->source && !r->temporary)
		r->source->ops->close(r->source);
	cam_temporary_free(r->temporary);
	if (r->io)
		cam_io_posix_close(r->io);
	*r = (struct cam_reading){0};
}
