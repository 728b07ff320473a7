// SPDX-License-Identifier: Apache-2.0
/*
 * Three ways to a file, from the surest to the least sure.
 *
 * A. /proc/PID/map_files/START-END is the mapping's own file, whatever its name leads to today. If the
 *    range was split or merged since, the range of now that lies there is taken. What it is known by
 *    (device and inode) must be the mapping's: of what stat() says, or, since on overlayfs and btrfs
 *    stat() says another device than a mapping does, of what the process's maps say of that range.
 * B. The path, below /proc/PID/root: by device and inode of stat(). While the process still has the
 *    mapping, that inode cannot have become another file's. (Where stat() says another device this
 *    way ends in -ESTALE.)
 * C. The path, below our own root: when the process is gone, or when its path was written from our
 *    point of view. Inode numbers are used again, ext4 does so at once: without the mapping the
 *    generation must be equal too, and a file system that does not tell it (FS_IOC_GETVERSION) is
 *    believed only if it never uses a number twice: tmpfs.
 *
 * Invariants: 1. Nothing is opened before it is known to be a regular file: first O_PATH, which
 * touches no FIFO and wakes no driver, then the same file again by its descriptor. 2. A path is
 * walked within its root, and through no magic link. 3. Where the mapping has a generation and the
 * file system tells one, they are equal.
 *
 * Worked example: /srv/app is mapped as (fe:00, inode 77), the package manager renames a new file
 * over it (inode 91). A gives 77, nameless by now. If A is not allowed, B finds 91: -ESTALE.
 */
#include "proc/file.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

/* What is held, and what is known of it. */
struct held {
	int fd;
	struct stat stat;
	bool has_generation;
	uint64_t generation;
};

struct search {
	const struct cam_mapping *m;
	int process; /* of /proc/PID; -1: gone */
	atomic_int *stage;
};

static void ask(const struct search *s, enum cam_file_stage stage)
{
	if (s->stage)
		atomic_store(s->stage, stage);
}

static bool same_file(const struct cam_mapping *a, const struct cam_mapping *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode;
}

/* Is there a mapping of that file where ours was? */
struct looking {
	const struct cam_mapping *want;
	uint64_t start, end;
};

static int look(void *arg, const struct cam_mapping *m)
{
	struct looking *l = arg;
	if (m->start >= l->want->end)
		return -ENOENT;
	if (m->end <= l->want->start || !same_file(m, l->want))
		return 0;
	l->start = m->start;
	l->end = m->end;
	return 1;
}

static bool still_mapped(const struct search *s, uint64_t *start, uint64_t *end)
{
	struct looking l = {.want = s->m};
	ask(s, CAM_FILE_ASKS_PROCESS);
	if (s->process < 0 || cam_maps_read(s->process, look, &l) != 1)
		return false;
	*start = l.start;
	*end = l.end;
	return true;
}

/* Opens to read what `path_fd` (O_PATH) is, if that is a regular file. */
static int reopen(int path_fd, struct held *h)
{
	char name[40];
	if (fstat(path_fd, &h->stat))
		return -errno;
	if (!S_ISREG(h->stat.st_mode))
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	h->fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (h->fd < 0)
		return -errno;
	int generation = 0; /* the kernel writes an int, whatever the number of the ioctl says */
	h->has_generation = ioctl(h->fd, FS_IOC_GETVERSION, &generation) == 0;
	h->generation = (uint32_t)generation;
	return 0;
}

static bool same_inode(const struct held *h, const struct cam_mapping *m)
{
	return major(h->stat.st_dev) == m->major && minor(h->stat.st_dev) == m->minor &&
	       h->stat.st_ino == m->inode;
}

/* A mapping's generation 0 is one that is not known, or 0 indeed. */
static bool contradicts(const struct held *h, const struct cam_mapping *m)
{
	return m->generation && h->has_generation && h->generation != m->generation;
}

static bool never_reuses_inodes(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static int by_map_files(const struct search *s, struct held *h)
{
	uint64_t start = s->m->start, end = s->m->end;
	char name[64], link[1];
	if (s->process < 0)
		return -ENOENT;
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	/* The link is read first: if that hangs it is the process, not the device. */
	ask(s, CAM_FILE_ASKS_PROCESS);
	if (readlinkat(s->process, name, link, sizeof(link)) < 0) {
		int err = -errno;
		if (err != -ENOENT || !still_mapped(s, &start, &end))
			return err;
		snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	}
	ask(s, CAM_FILE_ASKS_DEVICE);
	CAM_AUTOCLOSE int path_fd = openat(s->process, name, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	int err = reopen(path_fd, h);
	if (err)
		return err;
	if (contradicts(h, s->m))
		return -ESTALE;
	if (same_inode(h, s->m))
		return 0;
	/* Opened before it is looked up: if the range is still that file's now, it was then. */
	uint64_t start_now, end_now;
	return still_mapped(s, &start_now, &end_now) && start_now == start && end_now == end
		       ? 0
		       : -ESTALE;
}

/* The mapping's path below `root`. */
static int by_path(const struct search *s, int root, struct held *h)
{
	char path[CAM_RAW_MAX_TEXT + 1];
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct cam_text p = s->m->path;
	if (p.n == 0 || p.n > CAM_RAW_MAX_TEXT || p.p[0] != '/' || memchr(p.p, '\0', p.n))
		return -ENOENT;
	memcpy(path, p.p, p.n);
	path[p.n] = '\0';
	ask(s, CAM_FILE_ASKS_DEVICE);
	CAM_AUTOCLOSE int path_fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (path_fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -ENOENT : -errno;
	/* Looked at before it is opened: another file need not be. */
	if (fstat(path_fd, &h->stat))
		return -errno;
	if (!same_inode(h, s->m))
		return -ESTALE;
	int err = reopen(path_fd, h);
	if (err)
		return err;
	if (contradicts(h, s->m))
		return -ESTALE;
	if ((h->has_generation && h->generation == s->m->generation) ||
	    (!h->has_generation && never_reuses_inodes(h->fd)))
		return 0;
	uint64_t start, end;
	return still_mapped(s, &start, &end) ? 0 : -ESTALE;
}

static int by_root(const struct search *s, const char *name, struct held *h)
{
	ask(s, CAM_FILE_ASKS_PROCESS);
	CAM_AUTOCLOSE int root = openat(s->process, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	return by_path(s, root, h);
}

/* What failed before `err`, and whether that says more: another file, then a refusal. */
static int worse(int before, int err)
{
	static const int order[] = {-ESTALE, -EINVAL, -EACCES, -EPERM};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (before == order[i] || err == order[i])
			return order[i] == -EPERM ? -EACCES : order[i];
	}
	return err == -ESRCH ? -ENOENT : err;
}

static int find(const struct search *s, struct held *h)
{
	static const char *const roots[] = {"root", "/"};
	int err = by_map_files(s, h), all = err;
	for (size_t i = 0; err && i < 2; i++) {
		if (h->fd >= 0)
			close(h->fd);
		h->fd = -1;
		if (i == 0 && s->process < 0)
			continue;
		err = by_root(s, roots[i], h);
		all = err ? worse(all, err) : 0;
	}
	return all;
}

/* The time of the change would say it, too, where somebody set this one back (cp -p); but every new name and every mode is a
 * change, and would cost names. */
static uint64_t written_ns(const struct timespec *t)
{
	struct timespec boot, wall;
	clock_gettime(CLOCK_MONOTONIC, &boot);
	clock_gettime(CLOCK_REALTIME, &wall);
	/* In seconds first: times of files are anything. */
	int64_t ago_s;
	if (__builtin_sub_overflow((int64_t)wall.tv_sec, (int64_t)t->tv_sec, &ago_s) || ago_s < 0 ||
	    ago_s > boot.tv_sec)
		return 0;
	int64_t now = (int64_t)boot.tv_sec * (int64_t)CAM_NS_PER_SEC + boot.tv_nsec;
	int64_t ago = ago_s * (int64_t)CAM_NS_PER_SEC + wall.tv_nsec - t->tv_nsec;
	return ago >= 0 && ago < now ? (uint64_t)(now - ago) : 0;
}

int cam_file_hold(int32_t pid, const struct cam_mapping *m, atomic_int *stage,
		  struct cam_file_tidings *out, int *fd)
{
	struct search s = {.m = m, .process = -1, .stage = stage};
	struct held h = {.fd = -1};
	char name[32];
	*fd = -1;
	if (m->inode == 0 || pid <= 0)
		return -ENOENT;
	snprintf(name, sizeof(name), "/proc/%d", pid);
	CAM_AUTOCLOSE int process = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s.process = process;
	int err = find(&s, &h);
	if (err) {
		if (h.fd >= 0)
			close(h.fd);
		return err;
	}
	out->written_ns = written_ns(&h.stat.st_mtim);
	out->key = (struct cam_file_key){
		.major = major(h.stat.st_dev),
		.minor = minor(h.stat.st_dev),
		.inode = h.stat.st_ino,
		.generation = h.has_generation ? h.generation : 0,
		.ctime_ns = cam_file_time(h.stat.st_ctim.tv_sec, h.stat.st_ctim.tv_nsec),
		.bytes = (uint64_t)h.stat.st_size,
	};
	*fd = h.fd;
	return 0;
}

int cam_file_kallsyms(int *fd)
{
	*fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}
