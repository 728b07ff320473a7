// SPDX-License-Identifier: Apache-2.0
/*
 * The store's I/O on a real directory.
 *
 * Everything goes through one directory descriptor, opened once: a directory renamed or replaced
 * under a running recorder changes nothing. What is opened must be a regular file: no symbolic
 * link is followed, no FIFO or device waited for. Names that begin with a dot are nobody's here
 * (".", "..", an editor's or the kernel's own): they are refused and not listed.
 *
 * Who may read is the directory's group: perfcam where there is such a group, else its maker's. What is
 * made in it gets its group and 0640, whatever the umask: readers run as another user.
 */
#include "base/cleanup.h"
#include "store/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

struct posix_io {
	struct cam_io base;
	int dir;
	gid_t group; /* of the directory */
};

struct posix_file {
	struct cam_file base;
	int fd;
	bool locked;
};

static const struct cam_io_ops posix_ops;

/* The result of a call that answers -1 and sets errno. */
static int result(int r)
{
	return r < 0 ? -errno : r;
}

static int dir_of(struct cam_io *io)
{
	return ((struct posix_io *)io)->dir;
}

static int fd_of(struct cam_file *f)
{
	return ((struct posix_file *)f)->fd;
}

static bool good_name(const char *name)
{
	size_t n = strlen(name);
	return n > 0 && n <= 255 && name[0] != '.' && !strchr(name, '/');
}

/* Takes fd over, also on error. */
static int wrap(int fd, struct cam_file **out)
{
	struct stat st;
	int err = result(fstat(fd, &st));
	if (!err && !S_ISREG(st.st_mode))
		err = -EINVAL;
	struct posix_file *f = err ? NULL : malloc(sizeof(*f));
	if (!f) {
		close(fd);
		return err ? err : -ENOMEM;
	}
	*f = (struct posix_file){.base = {&posix_ops}, .fd = fd};
	*out = &f->base;
	return 0;
}

/* A new file, which belongs to the directory's group. */
static int create(struct posix_io *io, const char *name, int flags)
{
	int fd = result(openat(io->dir, name, flags | O_CREAT | O_EXCL, 0600));
	/* Who may not give it to the group (a plain user whose group it is not) keeps it: 0640
	 * is then for its own. */
	if (fd >= 0 && fchown(fd, (uid_t)-1, io->group) != 0 && errno != EPERM) {
		int err = -errno;
		close(fd);
		unlinkat(io->dir, name, 0);
		return err;
	}
	if (fd >= 0)
		fchmod(fd, 0640);
	return fd;
}

static int posix_open(struct cam_io *io, const char *name, enum cam_io_mode mode,
		      struct cam_file **out)
{
	/* O_NONBLOCK: opening a FIFO must not wait. */
	int flags = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	int fd = -ENOENT;
	if (!good_name(name))
		return -EINVAL;
	flags |= mode == CAM_IO_READ ? O_RDONLY : O_RDWR;
	/* Again where it came, or went, between the two looks. */
	for (int attempt = 0; attempt < 10; attempt++) {
		if (mode != CAM_IO_CREATE)
			fd = result(openat(dir_of(io), name, flags));
		if (mode == CAM_IO_READ || fd != -ENOENT)
			break;
		fd = create((struct posix_io *)io, name, flags);
		if (mode == CAM_IO_CREATE || fd != -EEXIST)
			break;
	}
	return fd < 0 ? fd : wrap(fd, out);
}

static ssize_t posix_pread(struct cam_file *f, void *bytes, size_t n, uint64_t at)
{
	size_t done = 0;
	while (done < n) {
		ssize_t r = pread(fd_of(f), (char *)bytes + done, n - done, (off_t)(at + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

static int posix_pwrite(struct cam_file *f, const void *bytes, size_t n, uint64_t at)
{
	size_t done = 0;
	while (done < n) {
		ssize_t r =
			pwrite(fd_of(f), (const char *)bytes + done, n - done, (off_t)(at + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		/* No file system should, but a loop that never ends would be worse. */
		if (r == 0)
			return -EIO;
		done += (size_t)r;
	}
	return 0;
}

static int64_t posix_size(struct cam_file *f)
{
	struct stat st;
	int err = result(fstat(fd_of(f), &st));
	return err ? err : (int64_t)st.st_size;
}

static int posix_fdatasync(struct cam_file *f)
{
	return result(fdatasync(fd_of(f)));
}

static void posix_close(struct cam_file *f)
{
	struct posix_file *pf = (struct posix_file *)f;
	if (pf->locked) {
		/* Explicitly: a forked child that inherited the descriptor would keep the lock. The
		 * pid goes first, so that nobody is told a holder who has left. */
		struct flock unlock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
		posix_pwrite(f, "0\n", 2, 0);
		fcntl(pf->fd, F_OFD_SETLK, &unlock);
	}
	close(pf->fd);
	free(pf);
}

/*
 * Where the file system cannot rename without replacing: link() never replaces either. A crash
 * between the two leaves both names of the one complete file; the store expects that.
 */
static int rename_by_link(int dir, const char *from, const char *to)
{
	int err = result(linkat(dir, from, dir, to, 0));
	return err ? err : result(unlinkat(dir, from, 0));
}

static int posix_rename(struct cam_io *io, const char *from, const char *to, bool replace)
{
	if (!good_name(from) || !good_name(to))
		return -EINVAL;
	int dir = dir_of(io);
	int err = result(renameat2(dir, from, dir, to, replace ? 0 : RENAME_NOREPLACE));
	if (!replace && (err == -EINVAL || err == -ENOSYS))
		err = rename_by_link(dir, from, to);
	return err;
}

static int posix_unlink(struct cam_io *io, const char *name)
{
	return good_name(name) ? result(unlinkat(dir_of(io), name, 0)) : -EINVAL;
}

static int posix_sync_dir(struct cam_io *io)
{
	return result(fsync(dir_of(io)));
}

static int posix_list(struct cam_io *io, cam_io_list_fn *fn, void *arg)
{
	/* A descriptor of its own: the position of a directory stream belongs to the open file. */
	int fd = result(openat(dir_of(io), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return fd;
	DIR *d = fdopendir(fd);
	if (!d) {
		int err = -errno;
		close(fd);
		return err;
	}
	int err = 0;
	while (!err) {
		errno = 0;
		const struct dirent *e = readdir(d);
		if (!e) {
			err = -errno;
			break;
		}
		if (good_name(e->d_name))
			err = fn(arg, e->d_name);
	}
	closedir(d);
	return err;
}

/* The pid in the lock file; 0 where there is none (yet). */
static int read_holder(struct cam_file *f)
{
	char text[16];
	ssize_t n = posix_pread(f, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	long pid = strtol(text, NULL, 10);
	return pid > 0 && pid <= INT32_MAX ? (int)pid : 0;
}

static int write_holder(struct cam_file *f)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	int err = result(ftruncate(fd_of(f), 0));
	if (!err)
		err = posix_pwrite(f, text, (size_t)n, 0);
	/* Only a courtesy: a full disk must not keep a recorder from a lock it already has. */
	return err == -ENOSPC || err == -EDQUOT ? 0 : err;
}

/* Whether the name still leads to this file: a lock on a removed file guards nothing. */
static bool still_named(int dir, const char *name, int fd)
{
	struct stat held, named;
	return fstat(fd, &held) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

static int take_lock(struct cam_io *io, const char *name, struct cam_file *f)
{
	struct flock want = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct statfs fs;
	int err = result(fstatfs(fd_of(f), &fs));
	/* A lost connection drops the lock without a word: two recorders in one store. */
	if (!err && fs.f_type == NFS_SUPER_MAGIC)
		err = -EOPNOTSUPP;
	if (!err)
		err = result(fcntl(fd_of(f), F_OFD_SETLK, &want));
	if (err == -EACCES || err == -EAGAIN)
		return -EWOULDBLOCK;
	if (!err && !still_named(dir_of(io), name, fd_of(f)))
		err = -ESTALE;
	return err;
}

static int posix_lock(struct cam_io *io, const char *name, struct cam_file **out, int *holder)
{
	int err = -ESTALE;
	*holder = 0;
	for (int attempt = 0; err == -ESTALE && attempt < 10; attempt++) {
		struct cam_file *f = NULL;
		err = posix_open(io, name, CAM_IO_WRITE, &f);
		if (err)
			return err;
		err = take_lock(io, name, f);
		if (!err)
			err = write_holder(f);
		if (!err) {
			((struct posix_file *)f)->locked = true;
			*out = f;
			return 0;
		}
		if (err == -EWOULDBLOCK)
			*holder = read_holder(f);
		posix_close(f);
	}
	return err;
}

static int posix_space(struct cam_io *io, uint64_t *total_bytes, uint64_t *free_bytes)
{
	struct statvfs v;
	int err = result(fstatvfs(dir_of(io), &v));
	if (err)
		return err;
	*total_bytes = (uint64_t)v.f_blocks * v.f_frsize;
	*free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	return 0;
}

static int posix_stamp(struct cam_io *io, const char *name, struct cam_io_stamp *out)
{
	struct stat st;
	if (!good_name(name))
		return -EINVAL;
	int err = result(fstatat(dir_of(io), name, &st, AT_SYMLINK_NOFOLLOW));
	if (err || !S_ISREG(st.st_mode))
		return err ? err : -EINVAL;
	*out = (struct cam_io_stamp){
		.device = st.st_dev,
		.inode = st.st_ino,
		.bytes = (uint64_t)st.st_size,
		.written_s = st.st_mtim.tv_sec,
		.written_ns = (uint32_t)st.st_mtim.tv_nsec,
		.changed_s = st.st_ctim.tv_sec,
		.changed_ns = (uint32_t)st.st_ctim.tv_nsec,
	};
	return 0;
}

static const struct cam_io_ops posix_ops = {
	.open = posix_open,
	.pread = posix_pread,
	.pwrite = posix_pwrite,
	.size = posix_size,
	.fdatasync = posix_fdatasync,
	.close = posix_close,
	.rename = posix_rename,
	.unlink = posix_unlink,
	.sync_dir = posix_sync_dir,
	.list = posix_list,
	.lock = posix_lock,
	.space = posix_space,
	.stamp = posix_stamp,
};

/* A new directory is durable only once its parent is; one we may not read is not ours to sync. */
static int sync_parent(int dir)
{
	CAM_AUTOCLOSE int parent = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return parent < 0 ? 0 : result(fsync(parent));
}

/* A new store: its group's, whatever the umask. */
static int settle_new(int dir)
{
	struct group room, *found = NULL;
	char text[4096];
	if (getgrnam_r("perfcam", &room, text, sizeof(text), &found) == 0 && found &&
	    fchown(dir, (uid_t)-1, found->gr_gid) != 0 && errno != EPERM)
		return -errno;
	int err = result(fchmod(dir, 0750));
	return err ? err : sync_parent(dir);
}

/* Takes dir over, also on error. */
static int open_directory(int given, struct cam_io **out)
{
	CAM_AUTOCLOSE int dir = given;
	struct stat st;
	int err = result(fstat(dir, &st));
	if (err)
		return err;
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	struct posix_io *io = malloc(sizeof(*io));
	if (!io)
		return -ENOMEM;
	*io = (struct posix_io){.base = {&posix_ops}, .dir = dir, .group = st.st_gid};
	dir = -1;
	*out = &io->base;
	return 0;
}

int cam_io_posix_open(const char *directory, bool create, struct cam_io **out)
{
	int err = create ? result(mkdir(directory, 0700)) : -EEXIST;
	if (err && err != -EEXIST)
		return err;
	int dir = result(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (dir < 0)
		return dir;
	err = err == 0 ? settle_new(dir) : 0;
	if (err) {
		close(dir);
		return err;
	}
	return open_directory(dir, out);
}

void cam_io_posix_close(struct cam_io *io)
{
	if (!io)
		return;
	close(dir_of(io));
	free(io);
}

int cam_file_from_fd(int fd, struct cam_file **out)
{
	return wrap(fd, out);
}

int cam_file_fd(const struct cam_file *f)
{
	return f->ops == &posix_ops ? ((const struct posix_file *)f)->fd : -EBADF;
}

int cam_file_temporary(struct cam_file **out)
{
	const char *tmp = getenv("TMPDIR");
	if (!tmp || !tmp[0])
		tmp = "/tmp";
	int fd = result(open(tmp, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL) {
		char path[4096];
		int n = snprintf(path, sizeof(path), "%s/perfcam-XXXXXX", tmp);
		if (n < 0 || (size_t)n >= sizeof(path))
			return -ENAMETOOLONG;
		fd = result(mkostemp(path, O_CLOEXEC));
		if (fd >= 0)
			unlink(path);
	}
	return fd < 0 ? fd : wrap(fd, out);
}
