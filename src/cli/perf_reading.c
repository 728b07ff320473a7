// SPDX-License-Identifier: Apache-2.0
#include "cli/perf_reading.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/perf_name.h"
#include "daemon/librarian.h"
#include "daemon/shelf.h"
#include "ingest/files.h"
#include "interop/detect.h"
#include "interop/perf_data_in.h"
#include "store/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_THREADS 255u

/* Which modules without a build-id are here. */
struct finder {
	int64_t written_ns; /* of the recording; 0: not known */
	uint8_t room[CAM_ERRAND_MAX_BUILD_ID];
};

/*
 * Whether a file was written to since. Its change time alone does not say so where it has several names: to give it one more
 * sets that, too, and perf does so for every file of a recording (its cache in ~/.debug holds links).
 */
static bool is_changed(int fd, const struct cam_file_key *key, int64_t since_ns)
{
	struct stat s;
	if (!since_ns || key->ctime_ns < since_ns)
		return false;
	int64_t sec = since_ns / (int64_t)CAM_NS_PER_SEC, ns = since_ns % (int64_t)CAM_NS_PER_SEC;
	return fstat(fd, &s) || s.st_nlink < 2 || s.st_mtim.tv_sec > sec ||
	       (s.st_mtim.tv_sec == sec && s.st_mtim.tv_nsec >= ns);
}

/* The very file that was mapped: where it lay, with its inode, and not changed since. */
static void identify_file(struct finder *f, const struct cam_import_clue *clue,
			  struct cam_namer_module *m)
{
	char path[PATH_MAX];
	struct cam_file_key key;
	if (!clue->inode || m->path.n >= sizeof(path))
		return;
	memcpy(path, m->path.p, m->path.n);
	path[m->path.n] = 0;
	int fd = cam_shelf_open(path, &key);
	if (fd < 0)
		return;
	bool changed = is_changed(fd, &key, f->written_ns);
	close(fd);
	if (key.major != clue->major || key.minor != clue->minor || key.inode != clue->inode ||
	    changed)
		return;
	m->key = (struct cam_text){(const char *)f->room, cam_files_key_bytes(&key, f->room)};
}

/* The kernel that runs here: the same release at the same place. */
static void identify_kernel(struct finder *f, const struct cam_import_clue *clue,
			    struct cam_namer_module *m)
{
	struct utsname here;
	if (!m->landmark.n || uname(&here) ||
	    !cam_text_equal(clue->release, cam_text_of(here.release)))
		return;
	size_t n = cam_librarian_this_kernel(m->landmark, m->landmark_address, f->room);
	m->build_id = (struct cam_text){(const char *)f->room, n};
}

/* The vdso is the kernel's: where that runs here, and is where it was, this process has the same image. */
static void identify_vdso(const struct cam_import_clue *clue, struct cam_namer_module *m)
{
	struct utsname here;
	uint8_t id[CAM_ERRAND_MAX_BUILD_ID];
	if (clue->inode || !clue->landmark.n || uname(&here) ||
	    !cam_text_equal(m->path, CAM_TEXT("[vdso]")) ||
	    !cam_text_equal(clue->release, cam_text_of(here.release)) ||
	    !cam_librarian_this_kernel(clue->landmark, clue->landmark_address, id))
		return;
	m->landmark = clue->landmark;
	m->landmark_address = clue->landmark_address;
}

static void identify(void *arg, const struct cam_import_clue *clue, struct cam_namer_module *m)
{
	if (m->kind == CAM_MODULE_FILE)
		identify_file(arg, clue, m);
	else if (m->kind == CAM_MODULE_KERNEL)
		identify_kernel(arg, clue, m);
	else if (m->kind == CAM_MODULE_VDSO)
		identify_vdso(clue, m);
}

/* One file that is read, and who is told where. */
struct place {
	int fd;
	struct cam_progress_bar *bar;
};

static ssize_t read_fd_at(void *arg, void *room, size_t n, uint64_t at)
{
	const struct place *p = arg;
	ssize_t got;
	do
		got = pread(p->fd, room, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	cam_progress_bar_at(p->bar, at);
	return got < 0 ? -errno : got;
}

static int read_fd(int fd, struct cam_progress_bar *bar, uint64_t bytes, struct cam_sink *sink,
		   const struct cam_import_options *o, struct cam_import_stats *st)
{
	struct place place = {fd, bar};
	const struct cam_perf_file file = {&place, read_fd_at, bytes};
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

static int read_spooled(const struct cam_opened *from, struct cam_sink *sink,
			const struct cam_import_options *o, struct cam_import_stats *st)
{
	struct cam_input *in = from->in;
	struct cam_file *file;
	uint64_t bytes;
	*st = (struct cam_import_stats){0};
	int err = cam_file_temporary(&file);
	if (err)
		return err;
	err = spool(in, file, &bytes);
	st->end = in->state;
	if (!err)
		err = read_fd(cam_file_fd(file), from->bar, bytes, sink, o, st);
	if (in->state != CAM_INPUT_WHOLE)
		st->end = in->state;
	file->ops->close(file);
	return err;
}

bool cam_perf_reading_is_directory(int fd)
{
	char magic[8] = "";
	int data = openat(fd, "data", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool is = data >= 0 && pread(data, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		  cam_detect((struct cam_text){magic, sizeof(magic)}) == CAM_FORMAT_PERF_DATA;
	if (data >= 0)
		close(data);
	return is;
}

/* data, data.0, data.1, …: the header's, and one a thread. */
static int read_directory(int dir, const struct cam_opened *from, struct cam_sink *sink,
			  const struct cam_import_options *o, struct cam_import_stats *st)
{
	struct cam_perf_file files[MAX_THREADS + 1];
	struct place places[MAX_THREADS + 1];
	size_t n = 0;
	char name[32] = "data";
	struct stat about;
	int fd = dup(from->fd);
	while (n <= MAX_THREADS && fd >= 0) {
		if (fstat(fd, &about) || !S_ISREG(about.st_mode)) {
			close(fd);
			break;
		}
		places[n] = (struct place){fd, from->bar};
		files[n] = (struct cam_perf_file){&places[n], read_fd_at, (uint64_t)about.st_size};
		snprintf(name, sizeof(name), "data.%zu", n++);
		fd = n <= MAX_THREADS
			     ? openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
			     : -1;
	}
	int err = n ? cam_perf_data_read_files(files, n, sink, o, st) : -EBADF;
	while (n)
		close(places[--n].fd);
	return err;
}

static int read_input(const struct cam_opened *from, struct cam_sink *sink,
		      const struct cam_import_options *o, struct cam_import_stats *st)
{
	struct stat about;
	bool regular = fstat(from->fd, &about) == 0 && S_ISREG(about.st_mode);
	int err = cam_perf_data_read(from->in, sink, o, st);
	if (err != -ESPIPE)
		return err;
	int dir CAM_AUTOCLOSE = open(from->path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (dir >= 0)
		return read_directory(dir, from, sink, o, st);
	if (regular && from->in->wrap == CAM_INPUT_PLAIN)
		return read_fd(from->fd, from->bar, (uint64_t)about.st_size, sink, o, st);
	return read_spooled(from, sink, o, st);
}

/* What is known of the time beside the file's own clock. */
static void set_times(const char *path, int fd, const struct cam_told *told,
		      struct cam_import_options *o)
{
	struct stat about;
	struct cam_perf_name name;
	int64_t ns;
	/* A file's time is whatever somebody set it to. */
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
	    !__builtin_mul_overflow(about.st_mtim.tv_sec, (int64_t)CAM_NS_PER_SEC, &ns) &&
	    !__builtin_add_overflow(ns, about.st_mtim.tv_nsec, &ns))
		o->written_ns = ns;
	if (told->began_ns) {
		o->began_ns = told->began_ns;
		o->began_uncertain_ns = CAM_NS_PER_SEC;
		return;
	}
	if (!cam_perf_name_read(path, &name) ||
	    !cam_perf_name_realtime(&name.local, told->zone, &ns))
		return;
	if (name.ended) {
		o->written_ns = ns;
		return;
	}
	/* The name is made before perf starts, which takes its time. */
	o->began_ns = ns;
	o->began_uncertain_ns = 2 * CAM_NS_PER_SEC;
}

int cam_perf_reading_import(const struct cam_opened *from, const struct cam_told *told,
			    struct cam_sink *sink, struct cam_import_options *o,
			    struct cam_import_stats *st)
{
	const struct cam_librarian_options where = {
		.symfs = told->symfs, .kallsyms = told->kallsyms, .vmlinux = told->vmlinux};
	struct cam_librarian *l;
	int err = cam_librarian_new(&where, &l);
	if (err)
		return err;
	set_times(from->path, from->fd, told, o);
	struct finder f = {.written_ns = o->written_ns};
	o->namer = cam_librarian_namer(l);
	o->inlines = told->inlines;
	o->identify = identify;
	o->identify_arg = &f;
	err = read_input(from, sink, o, st);
	cam_librarian_free(l);
	return err;
}
