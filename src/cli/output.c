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

#define MOST_LINKS 40u /* as the kernel */

struct cam_output {
	struct cam_out file;
	struct cam_compress_out *compress;
	char followed[PATH_MAX];
	bool is_end;		  /* path is no link */
	const char *path;	  /* NULL: standard output */
	char temporary[PATH_MAX]; /* empty: written in place */
	bool nameless;		  /* there is no file of that name yet */
	int fd;
};

/* The directory that a path is in. */
static bool directory_of(const char *path, char room[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	if (n >= PATH_MAX)
		return false;
	snprintf(room, PATH_MAX, "%.*s", n ? (int)n : 1, slash ? path : ".");
	return true;
}

/*
 * The kernel's own rule (fs.protected_symlinks), which it does not know to apply where links are read: where anybody makes
 * names, as in /tmp, a link is followed if it is one's own or the directory's owner's.
 */
static bool is_to_be_followed(const char *link, uid_t owner)
{
	char directory[PATH_MAX];
	struct stat st;
	if (!directory_of(link, directory) || stat(directory, &st))
		return false;
	bool anybodys = st.st_mode & S_ISVTX && st.st_mode & S_IWOTH;
	return !anybodys || owner == geteuid() || owner == st.st_uid;
}

/* Where a link leads to; false: that has too long a name. */
static bool read_link(const char *link, char room[PATH_MAX])
{
	char directory[PATH_MAX], to[PATH_MAX];
	ssize_t n = readlink(link, to, sizeof(to) - 1);
	if (n <= 0 || !directory_of(link, directory))
		return false;
	/* Never cut: that would be another file. */
	size_t before = to[0] == '/' ? 0 : strlen(directory) + 1;
	if (before + (size_t)n >= PATH_MAX)
		return false;
	if (before) {
		memcpy(room, directory, before - 1);
		room[before - 1] = '/';
	}
	memcpy(room + before, to, (size_t)n);
	room[before + (size_t)n] = '\0';
	return true;
}

/*
 * A link is followed: what it points to is replaced, not the link. One that leads nowhere, or to what has no name (a pipe, by
 * /dev/stdout), is left to who opens it.
 */
static int follow(struct cam_output *o, const char *path)
{
	char at[PATH_MAX], next[PATH_MAX];
	struct stat st;
	o->path = path;
	if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
		return -ENAMETOOLONG;
	for (unsigned i = 0; i < MOST_LINKS; i++) {
		if (lstat(at, &st)) {
			o->is_end = i == 0;
			return 0;
		}
		if (!S_ISLNK(st.st_mode)) {
			o->is_end = true;
			memcpy(o->followed, at, sizeof(at));
			o->path = i ? o->followed : path;
			return 0;
		}
		if (!is_to_be_followed(at, st.st_uid))
			return -EACCES;
		if (!read_link(at, next))
			return -ENAMETOOLONG;
		memcpy(at, next, sizeof(at));
	}
	return -ELOOP;
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
	char directory[PATH_MAX];
	if (!directory_of(path, directory) || access("/proc/self/fd", X_OK) != 0)
		return -1;
	return open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
}

static int open_path(struct cam_output *o)
{
	if (!replaceable(o->path)) {
		o->fd = open(o->path,
			     O_WRONLY | O_CLOEXEC | O_NOCTTY | (o->is_end ? O_NOFOLLOW : 0));
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
	bool named = path && strcmp(path, "-") != 0;
	o->fd = named ? -1 : STDOUT_FILENO;
	int err = named ? follow(o, path) : 0;
	if (!err && named)
		err = open_path(o);
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
