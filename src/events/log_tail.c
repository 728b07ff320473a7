// SPDX-License-Identifier: Apache-2.0
/*
 * Invariants
 *  1. `at` is where the next byte is read; held[0 … n_held) are the bytes before it of a line without its end.
 *  2. A line is handed out once, whole or cut; after a cut the rest of it is passed over (skipping).
 *  3. A file that grows by more than MAX_BEHIND beyond what was read loses the middle: a reader that is late
 *     for ever would tell of yesterday. How much is counted.
 *
 *  4. before[0 … n_before) are the bytes of the file that end at `at`, as they were read. Where they are others now, the file was
 *     truncated and has grown beyond `at` since, or is as long as it was. Not where they are all zero: whoever writes to a truncated
 *     file without O_APPEND goes on where it was, and leaves a hole.
 *
 * Example: "a\nb" is there: "a" is handed out, "b" is held. The file is renamed, a new one has "c\n". "b" gets no
 * end any more: it is handed out as it is, then "c".
 */
#include "events/log_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define READ_BYTES 16384u
#define MAX_BEHIND (4 << 20)
#define BEFORE	   64u
#define GONE_LOOKS 60u /* that a deleted file is held for: whoever still writes to it may go on */

struct cam_log_tail {
	char *path;
	int fd; /* -1: not there */
	dev_t dev;
	ino_t ino;
	off_t at;
	bool skipping;
	unsigned gone_looks;
	struct timespec changed; /* when it was last looked at */
	size_t n_held, n_before;
	struct cam_log_counts counts;
	char before[BEFORE];
	char held[CAM_LOG_LINE_BYTES];
	char bytes[READ_BYTES];
};

static int open_plainly(const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	/* Kernels and filters that do not know it. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	return fd < 0 ? -errno : (int)fd;
}

static bool may_hang(int fd)
{
	struct statfs fs;
	if (fstatfs(fd, &fs))
		return true;
	switch ((unsigned long)fs.f_type) {
	case NFS_SUPER_MAGIC:
	case SMB_SUPER_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case CEPH_SUPER_MAGIC:
	case AFS_SUPER_MAGIC:
	case FUSE_SUPER_MAGIC:
	case V9FS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* A descriptor of a file that may be read, and what it is. */
static int open_checked(const char *path, struct stat *st)
{
	int fd = open_plainly(path);
	if (fd < 0)
		return fd;
	int err = fstat(fd, st)		  ? -errno
		  : !S_ISREG(st->st_mode) ? -EINVAL
		  : st->st_nlink > 1	  ? -EMLINK
		  : may_hang(fd)	  ? -EREMOTE
					  : 0;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* The bytes that end where the next is read. */
static void remember(struct cam_log_tail *t, const char *bytes, size_t n)
{
	size_t new = n < BEFORE ? n : BEFORE, kept = BEFORE - new;
	kept = kept < t->n_before ? kept : t->n_before;
	memmove(t->before, t->before + t->n_before - kept, kept);
	memcpy(t->before + kept, bytes + n - new, new);
	t->n_before = kept + new;
}

static void follow(struct cam_log_tail *t, int fd, const struct stat *st, off_t at)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = fd;
	t->dev = st->st_dev;
	t->ino = st->st_ino;
	t->at = at;
	t->skipping = false;
	t->gone_looks = 0;
	t->changed = st->st_mtim;
	t->n_before = 0;
	size_t wanted = at < (off_t)BEFORE ? (size_t)at : BEFORE;
	ssize_t n = wanted ? pread(fd, t->bytes, wanted, at - (off_t)wanted) : 0;
	if (n == (ssize_t)wanted)
		remember(t, t->bytes, wanted);
}

int cam_log_tail_open(const char *path, struct cam_log_tail **out)
{
	struct cam_log_tail *t = calloc(1, sizeof(*t));
	struct stat st;
	if (t)
		t->path = strdup(path);
	if (!t || !t->path) {
		free(t);
		return -ENOMEM;
	}
	t->fd = -1;
	int fd = open_checked(path, &st);
	if (fd < 0 && fd != -ENOENT) {
		cam_log_tail_close(t);
		return fd;
	}
	if (fd >= 0)
		follow(t, fd, &st, st.st_size);
	*out = t;
	return 0;
}

void cam_log_tail_close(struct cam_log_tail *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
	free(t);
}

static void hand_out(struct cam_log_tail *t, cam_log_tail_fn *fn, void *arg)
{
	struct cam_text line = {t->held, t->n_held};
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	t->n_held = 0;
	if (!line.n)
		return;
	t->counts.lines++;
	fn(arg, line);
}

static void take_bytes(struct cam_log_tail *t, struct cam_text s, cam_log_tail_fn *fn, void *arg)
{
	while (s.n) {
		const char *end = memchr(s.p, '\n', s.n);
		size_t n = end ? (size_t)(end - s.p) : s.n;
		size_t room = sizeof(t->held) - t->n_held;
		size_t kept = t->skipping ? 0 : n < room ? n : room;
		memcpy(t->held + t->n_held, s.p, kept);
		t->n_held += kept;
		if (!t->skipping && kept < n) {
			t->counts.cut++;
			hand_out(t, fn, arg);
			t->skipping = true;
		}
		if (end) {
			if (!t->skipping)
				hand_out(t, fn, arg);
			t->skipping = false;
		}
		n += end != NULL;
		s.p += n;
		s.n -= n;
	}
}

static int read_on(struct cam_log_tail *t, cam_log_tail_fn *fn, void *arg)
{
	for (size_t done = 0; done < CAM_LOG_TURN_BYTES;) {
		ssize_t n = pread(t->fd, t->bytes, sizeof(t->bytes), t->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		t->at += n;
		done += (size_t)n;
		remember(t, t->bytes, (size_t)n);
		take_bytes(t, (struct cam_text){t->bytes, (size_t)n}, fn, arg);
	}
	return 0;
}

/* Whether what was read is not there any more (invariant 4). */
static bool is_another_text(struct cam_log_tail *t, const struct stat *st)
{
	static const char hole[BEFORE];
	char now[BEFORE];
	bool same = st->st_size == t->at && st->st_mtim.tv_sec == t->changed.tv_sec &&
		    st->st_mtim.tv_nsec == t->changed.tv_nsec;
	t->changed = st->st_mtim;
	if (same || !t->n_before ||
	    pread(t->fd, now, t->n_before, t->at - (off_t)t->n_before) != (ssize_t)t->n_before)
		return false;
	return memcmp(now, t->before, t->n_before) != 0 && memcmp(now, hole, t->n_before) != 0;
}

/* What became of the file that is open. */
static int look_at_file(struct cam_log_tail *t)
{
	struct stat st;
	if (fstat(t->fd, &st))
		return -errno;
	if (st.st_size < t->at || is_another_text(t, &st)) {
		t->counts.truncations++;
		t->at = 0;
		t->n_held = 0;
		t->n_before = 0;
		t->skipping = false;
	}
	if (st.st_size - t->at > MAX_BEHIND) {
		t->counts.skipped_bytes += (uint64_t)(st.st_size - t->at - MAX_BEHIND);
		t->at = st.st_size - MAX_BEHIND;
		t->n_held = 0;
		t->n_before = 0;
		t->skipping = true; /* to the next line's beginning */
	}
	return 0;
}

/* A deleted file takes its room on the disk for as long as somebody has it open. */
static void let_go(struct cam_log_tail *t, cam_log_tail_fn *fn, void *arg)
{
	struct stat st;
	bool gone = t->fd >= 0 && fstat(t->fd, &st) == 0 && !st.st_nlink && st.st_size <= t->at;
	t->gone_looks = gone ? t->gone_looks + 1 : 0;
	if (t->gone_looks < GONE_LOOKS)
		return;
	hand_out(t, fn, arg);
	close(t->fd);
	t->fd = -1;
}

/* Whether another file has its name now. */
static int look_for_another(struct cam_log_tail *t, cam_log_tail_fn *fn, void *arg)
{
	struct stat st;
	/* Not through a link: what that leads to may keep a reader waiting. */
	if (lstat(t->path, &st)) {
		int err = -errno;
		let_go(t, fn, arg);
		return err == -ENOENT ? 0 : err;
	}
	if (t->fd >= 0 && st.st_dev == t->dev && st.st_ino == t->ino)
		return 0;
	/* The old one first, to its end. */
	struct stat old;
	if (t->fd >= 0 && fstat(t->fd, &old) == 0 && old.st_size > t->at)
		return 0;
	int fd = open_checked(t->path, &st);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (t->fd >= 0) {
		t->counts.rotations++;
		hand_out(t, fn, arg);
	}
	follow(t, fd, &st, 0);
	return read_on(t, fn, arg);
}

int cam_log_tail_read(struct cam_log_tail *t, bool look, cam_log_tail_fn *fn, void *arg)
{
	int err = t->fd >= 0 ? look_at_file(t) : 0;
	if (!err && t->fd >= 0)
		err = read_on(t, fn, arg);
	int other = look ? look_for_another(t, fn, arg) : 0;
	return err ? err : other;
}

struct cam_log_counts cam_log_tail_counts(const struct cam_log_tail *t)
{
	return t->counts;
}
