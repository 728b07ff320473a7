// SPDX-License-Identifier: Apache-2.0
#include "proc/perfmap.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define TICK_NS	    (10 * CAM_NS_PER_MS)
#define FORK_LAG_NS (500 * CAM_NS_PER_MS) /* a fork record comes when the child is done */

/* Who the process is, of its status: names before these lines are escaped. */
struct identity {
	uint32_t euid;
	int32_t pid; /* in its own pid namespace */
};

static int read_identity(int dir, struct identity *id)
{
	char status[4096], *line;
	ssize_t n = cam_process_file(dir, "status", status, sizeof(status) - 1);
	if (n < 0)
		return (int)n;
	status[n] = '\0';
	line = strstr(status, "\nUid:\t");
	char *effective = line ? strchr(line + 6, '\t') : NULL;
	if (!effective)
		return -ESRCH;
	id->euid = (uint32_t)strtoul(effective, NULL, 10);
	line = strstr(status, "\nNSpid:\t");
	char *end = line ? strchr(line + 1, '\n') : NULL;
	if (!end)
		return -ESRCH;
	/* The last number is the innermost namespace's. */
	while (end[-1] != '\t')
		end--;
	id->pid = (int32_t)strtol(end, NULL, 10);
	return id->pid > 0 ? 0 : -ESRCH;
}

int cam_perfmap_confirm(int dir, uint64_t start_ns)
{
	uint64_t now;
	int err = cam_process_start(dir, &now);
	if (err || !start_ns)
		return err;
	return now > start_ns + 2 * TICK_NS || now + 2 * TICK_NS + FORK_LAG_NS < start_ns ? -ESRCH
											  : 0;
}

/* A descriptor (O_PATH) of what is there, whatever it is. */
static int find(int dir, int32_t pid)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	char name[40];
	CAM_AUTOCLOSE int root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", pid);
	int fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
	return fd >= 0 ? fd : errno == ENOTDIR ? -ENOENT : -errno;
}

/* What it is, is looked at before it is opened: opening alone may wind a tape or wait for a writer. */
static int check(int fd, uint32_t owner, struct stat *s)
{
	if (fstat(fd, s))
		return -errno;
	if (S_ISLNK(s->st_mode))
		return -ELOOP;
	if (!S_ISREG(s->st_mode))
		return -EINVAL;
	return s->st_uid == owner && s->st_nlink <= 1 ? 0 : -EPERM;
}

static int reopen(int path_fd)
{
	char name[40];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void fill_key(const struct stat *s, struct cam_file_key *key)
{
	*key = (struct cam_file_key){
		.major = major(s->st_dev),
		.minor = minor(s->st_dev),
		.inode = s->st_ino,
		.ctime_ns = cam_file_time(s->st_ctim.tv_sec, s->st_ctim.tv_nsec),
		.bytes = (uint64_t)s->st_size,
	};
}

int cam_perfmap_hold(int32_t pid, uint64_t start_ns, struct cam_file_key *key, int *fd)
{
	CAM_AUTOCLOSE int dir = cam_process_open(pid);
	struct identity id;
	struct stat s;
	*fd = -1;
	int err = dir < 0 ? dir : cam_perfmap_confirm(dir, start_ns);
	if (!err)
		err = read_identity(dir, &id);
	if (err)
		return err;
	CAM_AUTOCLOSE int path_fd = find(dir, id.pid);
	err = path_fd < 0 ? path_fd : check(path_fd, id.euid, &s);
	if (err)
		return err;
	int held = reopen(path_fd);
	if (held < 0)
		return held;
	/* Its root and its user were its own only if it is still the same. */
	err = cam_perfmap_confirm(dir, start_ns);
	if (err) {
		close(held);
		return err;
	}
	fill_key(&s, key);
	*fd = held;
	return 0;
}
