// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include "cli/say.h"
#include "interop/compress_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cam_output {
	struct cam_out file;
	struct cam_compress_out *compress;
	char followed[PATH_MAX];
	const char *path;	  /* NULL: standard output */
	char temporary[PATH_MAX]; /* empty: written in place */
	bool nameless;		  /* there is no file of that name yet */
	int fd;
};

/* A link is followed: what it points to is replaced, not the link. */
static const char *follow(const char *path, char room[PATH_MAX])
{
	struct stat st;
	bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
	return link && realpath(path, room) ? room : path;
}

/* A device or a pipe is written to as it is; only a regular file can be put in place whole. */
static bool replaceable(const char *path)
{
	struct stat st;
	return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

/* A file without a name in the directory of path: whoever interrupts us leaves nothing behind. */
static int open_nameless(const char *path)
{
	char directory[PATH_MAX] = ".";
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	if (n >= sizeof(directory) || access("/proc/self/fd", X_OK) != 0)
		return -1;
	if (slash)
		snprintf(directory, sizeof(directory), "%.*s", n ? (int)n : 1, path);
	return open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

static int open_path(struct cam_output *o)
{
	if (!replaceable(o->path)) {
		o->fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return o->fd < 0 ? -errno : 0;
	}
	int n = snprintf(o->temporary, sizeof(o->temporary), "%s.perfcam-XXXXXX", o->path);
	if (n < 0 || (size_t)n >= sizeof(o->temporary))
		return -ENAMETOOLONG;
	o->fd = open_nameless(o->path);
	o->nameless = o->fd >= 0;
	if (o->nameless)
		return 0;
	o->fd = mkostemp(o->temporary, O_CLOEXEC);
	if (o->fd < 0) {
		o->temporary[0] = 0;
		return -errno;
	}
	/* mkostemp() made it private; a picture is a file like any other. */
	mode_t mask = umask(0);
	umask(mask);
	fchmod(o->fd, 0666 & ~mask);
	return 0;
}

static struct cam_output *open_output(const char *path, bool gzip)
{
	struct cam_output *o = calloc(1, sizeof(*o));
	if (!o) {
		cam_failed("out of memory");
		return NULL;
	}
	o->fd = STDOUT_FILENO;
	o->path = path && strcmp(path, "-") != 0 ? follow(path, o->followed) : NULL;
	int err = o->path ? open_path(o) : 0;
	if (!err) {
		cam_out_to_fd(&o->file, o->fd);
		enum cam_compress by_name =
			o->path ? cam_compress_of_name(cam_text_of(o->path)) : CAM_COMPRESS_NONE;
		err = cam_compress_out_new(&o->compress, gzip ? CAM_COMPRESS_GZIP : by_name,
					   &o->file);
	}
	if (err) {
		cam_failed("%s: %s", path ? path : "standard output", cam_errno_words(err));
		cam_output_abandon(o);
		return NULL;
	}
	return o;
}

struct cam_output *cam_output_open(const char *path)
{
	return open_output(path, false);
}

struct cam_output *cam_output_open_gzip(const char *path)
{
	return open_output(path, true);
}

struct cam_out *cam_output_stream(struct cam_output *o)
{
	return cam_compress_out_stream(o->compress);
}

/* Gives a file without a name the temporary one, so that it can be renamed over another. */
static int give_name(struct cam_output *o)
{
	char from[64];
	snprintf(from, sizeof(from), "/proc/self/fd/%d", o->fd);
	snprintf(o->temporary, sizeof(o->temporary), "%s.perfcam-%d", o->path, (int)getpid());
	unlink(o->temporary);
	if (linkat(AT_FDCWD, from, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) != 0)
		return -errno;
	o->nameless = false;
	return 0;
}

int cam_output_commit(struct cam_output *o)
{
	int err = cam_compress_out_finish(o->compress);
	if (!err && o->nameless)
		err = give_name(o);
	if (!err && o->path && close(o->fd) != 0)
		err = -errno;
	if (o->path && !err)
		o->fd = -1;
	if (!err && o->temporary[0] && rename(o->temporary, o->path) != 0)
		err = -errno;
	if (!err)
		o->temporary[0] = 0;
	int status = err ? cam_failed("%s: %s", o->path ? o->path : "standard output",
				      cam_errno_words(err))
			 : CAM_EXIT_OK;
	cam_output_abandon(o);
	return status;
}

void cam_output_abandon(struct cam_output *o)
{
	if (o->path && o->fd >= 0)
		close(o->fd);
	if (o->temporary[0] && !o->nameless)
		unlink(o->temporary);
	cam_compress_out_free(o->compress);
	free(o);
}

bool cam_output_is_foreign(const char *path)
{
	static const char *const endings[] = {".pdf", ".jpg", ".jpeg", ".gif", ".webp",
					      ".ps",  ".eps", ".bmp",  ".csv", ".xlsx"};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(path), e = strlen(endings[i]);
		if (n >= e && !strcasecmp(path + n - e, endings[i]))
			return true;
	}
	return false;
}
