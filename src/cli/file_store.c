// SPDX-License-Identifier: Apache-2.0
#include "cli/file_store.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/reading.h"
#include "cli/say.h"
#include "interop/detect.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_NS  (120 * CAM_NS_PER_SEC)
#define COPY_BYTES (1u << 20)
#define WRITTEN_NS (10 * CAM_NS_PER_SEC) /* how far off the time of a file may be, at least */

static void worse(int *status, int other)
{
	if (other == CAM_EXIT_FAILED || *status == CAM_EXIT_OK)
		*status = other;
}

static bool is_window(const char *path)
{
	char head[64];
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	return n > 0 && cam_detect((struct cam_text){head, (size_t)n}) == CAM_FORMAT_WINDOW;
}

static int copy_bytes(int from, int to)
{
	char *room = malloc(COPY_BYTES);
	int err = room ? 0 : -ENOMEM;
	ssize_t n;
	while (!err && (n = read(from, room, COPY_BYTES)) != 0) {
		if (n < 0)
			err = -errno;
		for (ssize_t done = 0, m; !err && done < n; done += m) {
			m = write(to, room + done, (size_t)(n - done));
			if (m < 0)
				err = -errno;
		}
	}
	free(room);
	return err;
}

/* A window is known by what is in it, a store's by its name: whatever people called it, it ends as those do. */
static int copy_window(const char *store, const char *path)
{
	const struct cam_text ending = CAM_TEXT(".pcw");
	char target[PATH_MAX + 256];
	const char *slash = strrchr(path, '/');
	struct cam_text name = cam_text_of(slash ? slash + 1 : path);
	if (cam_text_ends(name, ending))
		name.n -= ending.n;
	snprintf(target, sizeof(target), "%s/%.*s%s", store, (int)(name.n < 200 ? name.n : 200),
		 name.p, ending.p);
	CAM_AUTOCLOSE int from = open(path, O_RDONLY | O_CLOEXEC);
	CAM_AUTOCLOSE int to =
		from < 0 ? -1 : open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	int err = to < 0 ? -errno : copy_bytes(from, to);
	return err ? cam_failed("%s: %s", path, cam_errno_words(err)) : CAM_EXIT_OK;
}

static int import_file(struct cam_store *store, const char *path, const struct cam_told *told,
		       struct cam_imported *done)
{
	const struct cam_wanted all = {.details = true, .addresses = true};
	unsigned sealed = 0;
	*done = (struct cam_imported){0};
	int status =
		cam_reading_import(path, cam_store_journal(store, 0), WINDOW_NS, &all, told, done);
	int err = cam_store_seal_pending(store, &sealed);
	if (err && sealed < done->windows)
		worse(&status, cam_failed("%s: %s", path, cam_errno_words(err)));
	return status;
}

static int import_into(const char *path, const char *file, const struct cam_told *told,
		       struct cam_imported *done)
{
	struct cam_io *io;
	struct cam_store *store;
	int holder, status;
	int err = cam_io_posix_open(path, true, &io);
	if (err)
		return cam_failed("%s: %s", path, cam_errno_words(err));
	err = cam_store_open_write(io, &store, &holder);
	if (!err) {
		status = import_file(store, file, told, done);
		cam_store_close(store);
	} else {
		status = cam_failed("%s: %s", path, cam_errno_words(err));
	}
	cam_io_posix_close(io);
	return status;
}

/* The first that could not be removed: -errno. */
static int remove_files(const char *path)
{
	DIR *d = opendir(path);
	int err = d ? 0 : -errno;
	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    unlinkat(dirfd(d), e->d_name, 0) && !err)
			err = -errno;
	if (d)
		closedir(d);
	return err;
}

/* When what ended as the file was written began. false: nobody says when that was. */
static bool guess_start(const char *file, uint64_t length_ns, int64_t *ns)
{
	struct stat st;
	return !stat(file, &st) && S_ISREG(st.st_mode) && st.st_mtim.tv_sec > 0 &&
	       !__builtin_mul_overflow(st.st_mtim.tv_sec, (int64_t)CAM_NS_PER_SEC, ns) &&
	       !__builtin_sub_overflow(*ns, length_ns, ns) && *ns > 0;
}

/*
 * Views of a server are by the wall clock. A text of perf has another one, and mostly nothing that ties the two: how long it
 * lasts is known when all of it was read, so it is read once more.
 */
static int import_placed(const char *path, const char *file, const char *where_names_are)
{
	struct cam_told told = {.where_names_are = where_names_are};
	struct cam_imported done = {0};
	int status = import_into(path, file, &told, &done);
	if ((status != CAM_EXIT_OK && status != CAM_EXIT_INCOMPLETE) || !done.unplaced_ns ||
	    !guess_start(file, done.unplaced_ns, &told.began_ns))
		return status;
	told.began_uncertain_ns = WRITTEN_NS;
	told.again = true;
	/* What were left of the first time would be there twice. */
	int err = remove_files(path);
	if (err)
		return cam_failed("%s: %s", path, cam_errno_words(err));
	worse(&status, import_into(path, file, &told, &done));
	if (status == CAM_EXIT_OK || status == CAM_EXIT_INCOMPLETE)
		cam_note("%s: it does not say when it was recorded: shown as if it had ended when "
			 "the file was written",
			 file);
	return status;
}

int cam_file_store_make(const char *path, gid_t group, const char *file,
			const char *where_names_are)
{
	/* What is made in it is of its group, too. */
	if (mkdir(path, 0750) ||
	    (group != (gid_t)-1 && !chown(path, (uid_t)-1, group) && chmod(path, 02750)))
		return cam_failed("%s: %s", path, strerror(errno));
	return is_window(file) ? copy_window(path, file)
			       : import_placed(path, file, where_names_are);
}

int cam_file_stores_new(struct cam_file_stores *s)
{
	const char *folder = getenv("TMPDIR");
	int length = snprintf(s->path, sizeof(s->path), "%s/perfcam-files-XXXXXX",
			      folder && *folder == '/' ? folder : "/tmp");
	if (length < 0 || (size_t)length >= sizeof(s->path))
		return cam_failed("the directory for temporary files has too long a name");
	/* A directory around them: what the server may read is what lies beside a store. */
	if (!mkdtemp(s->path) || chmod(s->path, 0711))
		return cam_failed("%s: %s", s->path, strerror(errno));
	return CAM_EXIT_OK;
}

void cam_file_stores_place(const struct cam_file_stores *s, unsigned number, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%u", s->path, number);
}

void cam_file_store_remove(const char *path)
{
	remove_files(path);
	rmdir(path);
}

void cam_file_stores_remove(const struct cam_file_stores *s)
{
	DIR *d = opendir(s->path);
	for (struct dirent *e; d && (e = readdir(d));) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/%.32s", s->path, e->d_name);
		if (e->d_name[0] != '.')
			cam_file_store_remove(path);
	}
	if (d)
		closedir(d);
	rmdir(s->path);
}
