// SPDX-License-Identifier: Apache-2.0
#include "proc/process.h"

#include "base/cleanup.h"
#include "base/timens.h"
#include "base/units.h"
#include "base/vec.h"
#include "proc/cgroup.h"
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* Of a process that keeps executing programs while it is read. */
#define MAX_TRIES 4

ssize_t cam_process_file(int dir, const char *name, char *to, size_t room)
{
	CAM_AUTOCLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* One call: the kernel makes such a file as a whole, so that what it gives is all that fits. */
	do
		n = read(fd, to, room);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int cam_process_open(int32_t pid)
{
	char name[32];
	if (pid <= 0)
		return -ESRCH;
	snprintf(name, sizeof(name), "/proc/%d", pid);
	int dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir >= 0 ? dir : errno == ENOENT ? -ESRCH : -errno;
}

static int read_comm(int dir, int32_t tid, char comm[CAM_ERRAND_MAX_COMM])
{
	char name[32], all[CAM_ERRAND_MAX_COMM + 1];
	snprintf(name, sizeof(name), "task/%d/comm", tid);
	ssize_t n = cam_process_file(dir, name, all, sizeof(all));
	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	if (all[n - 1] == '\n') /* ours; others belong to the name */
		n--;
	if ((size_t)n > CAM_ERRAND_MAX_COMM)
		n = CAM_ERRAND_MAX_COMM;
	memcpy(comm, all, (size_t)n);
	return (int)n;
}

int cam_process_comm(int32_t pid, int32_t tid, char comm[CAM_ERRAND_MAX_COMM])
{
	CAM_AUTOCLOSE int dir = cam_process_open(pid);
	return dir < 0 ? dir : read_comm(dir, tid, comm);
}

/* What tells one process, and one of its programs, from another. */
struct self {
	uint64_t start_ticks;
	uint64_t stack; /* where it begins: every exec puts it elsewhere; 0: may not be known */
};

/* Fields 22 and 28 of stat. The name, field 2, stands in parentheses and may hold any byte, so that
 * only the last parenthesis is surely its end. */
static int read_self(int dir, struct self *out)
{
	char stat[2048];
	ssize_t n = cam_process_file(dir, "stat", stat, sizeof(stat) - 1);
	if (n < 0)
		return (int)n;
	stat[n] = '\0';
	char *p = memrchr(stat, ')', (size_t)n);
	for (int field = 2; p && field < 28; field++) {
		p = strchr(p + 1, ' ');
		if (p && field == 21)
			out->start_ticks = strtoull(p + 1, NULL, 10);
	}
	if (!p)
		return -ESRCH;
	out->stack = strtoull(p + 1, NULL, 10);
	return 0;
}

/* Ours is the same as long as we live: it is read once. */
static struct cam_timens ahead;

static void read_ahead(void)
{
	ahead = cam_timens_read(NULL);
}

/* The kernel's own boot clock: /proc speaks of that of our time namespace. */
static uint64_t ns_of_ticks(uint64_t ticks)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	long hz = sysconf(_SC_CLK_TCK);
	pthread_once(&once, read_ahead);
	return ticks * (CAM_NS_PER_SEC / (uint64_t)(hz > 0 ? hz : 100)) - (uint64_t)ahead.boot_ns;
}

int cam_process_start(int dir, uint64_t *ns)
{
	struct self self;
	int err = read_self(dir, &self);
	if (!err)
		*ns = ns_of_ticks(self.start_ticks);
	return err;
}

/* The real one. The name before it is escaped, so a line that starts so is the one. */
static uint32_t read_uid(int dir)
{
	char status[2048];
	ssize_t n = cam_process_file(dir, "status", status, sizeof(status) - 1);
	if (n < 0)
		return CAM_UID_NONE;
	status[n] = '\0';
	const char *line = strstr(status, "\nUid:\t");
	return line ? (uint32_t)strtoul(line + 6, NULL, 10) : CAM_UID_NONE;
}

/* As the process sees it; `root` is what its root directory is called here. */
static struct cam_text own_view(struct cam_text path, struct cam_text root)
{
	static const struct cam_text deleted = CAM_TEXT(" (deleted)");
	if (root.n > 1 && cam_text_starts(path, root) && path.n > root.n && path.p[root.n] == '/') {
		path.p += root.n;
		path.n -= root.n;
	}
	if (cam_text_ends(path, deleted) && !cam_text_starts(path, CAM_TEXT("/memfd:")))
		path.n -= deleted.n;
	return path;
}

static struct cam_text read_link(int dir, const char *name, char *room)
{
	ssize_t n = readlinkat(dir, name, room, CAM_RAW_MAX_TEXT);
	return (struct cam_text){room, n > 0 ? (size_t)n : 0};
}

static struct cam_text read_cgroup(int dir, char room[CAM_RAW_MAX_TEXT])
{
	char all[16 * 1024];
	ssize_t n = cam_process_file(dir, "cgroup", all, sizeof(all));
	struct cam_text path = cam_cgroup_pick((struct cam_text){all, n > 0 ? (size_t)n : 0});
	if (path.n > CAM_RAW_MAX_TEXT)
		path.n = CAM_RAW_MAX_TEXT;
	memcpy(room, path.p, path.n);
	return (struct cam_text){room, path.n};
}

struct taking {
	struct cam_process *p;
	struct cam_text root;
	struct cam_text
		last; /* path of the mapping before, as the kernel gave it: often the same */
	char last_room[CAM_RAW_MAX_TEXT];
	size_t last_at;
	int error;
};

/* While the text grows it may move: until all is read path.p is an offset into it. */
static int take_mapping(void *arg, const struct cam_mapping *m)
{
	struct taking *t = arg;
	struct cam_process *p = t->p;
	size_t cap = p->max_mappings, n = p->tidings.n_mappings;
	struct cam_text path = own_view(m->path, t->root);
	int err = cam_vec_reserve(&p->mappings, &cap, n + 1, sizeof(*p->mappings),
				  CAM_PROCESS_MAX_MAPPINGS);
	p->max_mappings = (uint32_t)cap;
	if (!err && !(t->last.p && cam_text_equal(path, t->last))) {
		t->last_at = p->text.len;
		cam_buf_put(&p->text, path.p, path.n);
		err = cam_buf_error(&p->text);
		memcpy(t->last_room, path.p, path.n < CAM_RAW_MAX_TEXT ? path.n : 0);
		t->last = (struct cam_text){t->last_room, path.n < CAM_RAW_MAX_TEXT ? path.n : 0};
	}
	if (err) {
		t->last.p =
			NULL; /* its path is not in the text: the next mapping of the file has none there */
		p->left_out++;
		return 0;
	}
	p->mappings[n] = *m;
	p->mappings[n].path = (struct cam_text){(const char *)(uintptr_t)t->last_at, path.n};
	p->tidings.n_mappings++;
	return 0;
}

static void read_maps(struct cam_process *p, int dir, struct cam_text root)
{
	struct taking t = {.p = p, .root = root};
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	p->tidings.maps_read_ns = (uint64_t)now.tv_sec * CAM_NS_PER_SEC + (uint64_t)now.tv_nsec;
	cam_maps_read(dir, take_mapping, &t); /* what may not be read is empty */
	for (uint32_t i = 0; i < p->tidings.n_mappings; i++) {
		uintptr_t at = (uintptr_t)p->mappings[i].path.p;
		p->mappings[i].path.p = (const char *)p->text.data + at;
	}
	p->tidings.mappings = p->mappings;
}

/* -EAGAIN: it executed a program meanwhile, and this is of both. */
static int read_all(struct cam_process *p, int dir, int32_t tid)
{
	char root_room[CAM_RAW_MAX_TEXT];
	struct self before, after;
	struct cam_process_tidings *t = &p->tidings;
	*t = (struct cam_process_tidings){0};
	p->left_out = 0;
	cam_buf_clear(&p->text);
	int err = read_self(dir, &before);
	if (err)
		return err;
	struct cam_text root = read_link(dir, "root", root_room);
	int n = read_comm(dir, tid, p->comm);
	t->comm = (struct cam_text){p->comm, n > 0 ? (size_t)n : 0};
	t->uid = read_uid(dir);
	t->exe = own_view(read_link(dir, "exe", p->exe), root);
	t->cgroup = read_cgroup(dir, p->cgroup);
	read_maps(p, dir, root);
	err = read_self(dir, &after);
	if (err)
		return err;
	t->start_ns = ns_of_ticks(before.start_ticks);
	if (before.start_ticks != after.start_ticks)
		return -ESRCH;
	return before.stack == after.stack ? 0 : -EAGAIN;
}

int cam_process_read(struct cam_process *p, int32_t pid, int32_t tid)
{
	CAM_AUTOCLOSE int dir = cam_process_open(pid);
	p->text.max_bytes = CAM_PROCESS_MAX_TEXT_BYTES;
	int err = dir < 0 ? dir : -EAGAIN;
	for (int i = 0; i < MAX_TRIES && err == -EAGAIN; i++)
		err = read_all(p, dir, tid);
	return err;
}

void cam_process_free(struct cam_process *p)
{
	free(p->mappings);
	cam_buf_free(&p->text);
	*p = (struct cam_process){0};
}
