// SPDX-License-Identifier: Apache-2.0
#include "proc/debugfile.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define ROOT_DIR "/usr/lib/debug"

struct search {
	const struct cam_errand *e;
	atomic_int *stage;
	uint32_t skip; /* that are still to be passed over */
	char path[sizeof(ROOT_DIR) + CAM_RAW_MAX_TEXT + CAM_ERRAND_MAX_LINK + 16];
};

static void ask(const struct search *s, enum cam_file_stage stage)
{
	if (s->stage)
		atomic_store(s->stage, stage);
}

/* Whether both are one directory: then there is one place to look in. */
static bool is_same(int a, int b)
{
	struct stat x, y;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* s->path below the root; 0: there, but to be passed over. */
static int try_path(struct search *s, int root, int *fd)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct stat st;
	char name[40];
	ask(s, CAM_FILE_ASKS_DEVICE);
	CAM_AUTOCLOSE int path_fd = (int)syscall(SYS_openat2, root, s->path, &how, sizeof(how));
	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (s->skip) {
		s->skip--;
		return 0;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	*fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *fd < 0 ? -errno : 1;
}

static int by_build_id(struct search *s, int root, int *fd)
{
	const struct cam_text id = s->e->build_id;
	if (id.n < 2)
		return 0;
	int n = snprintf(s->path, sizeof(s->path), ROOT_DIR "/.build-id/%02x/",
			 (unsigned char)id.p[0]);
	for (size_t i = 1; i < id.n; i++)
		n += snprintf(s->path + n, sizeof(s->path) - (size_t)n, "%02x",
			      (unsigned char)id.p[i]);
	snprintf(s->path + n, sizeof(s->path) - (size_t)n, ".debug");
	return try_path(s, root, fd);
}

static bool is_plain(struct cam_text t)
{
	return t.n && !memchr(t.p, '\0', t.n);
}

static int by_link(struct search *s, int root, struct cam_text link, int *fd)
{
	static const char *const places[][2] = {{"", "/"}, {"", "/.debug/"}, {ROOT_DIR, "/"}};
	const struct cam_text file = s->e->mapping.path;
	if (!is_plain(link) || memchr(link.p, '/', link.n) || !is_plain(file) || file.p[0] != '/' ||
	    file.n > CAM_RAW_MAX_TEXT || link.n > CAM_ERRAND_MAX_LINK)
		return 0;
	const char *slash = memrchr(file.p, '/', file.n);
	struct cam_text own = {slash + 1, (size_t)(file.p + file.n - slash - 1)};
	for (size_t i = 0; i < 3; i++) {
		/* A link to the program itself. */
		if (i == 0 && cam_text_equal(own, link))
			continue;
		snprintf(s->path, sizeof(s->path), "%s%.*s%s%.*s", places[i][0],
			 (int)(slash - file.p), file.p, places[i][1], (int)link.n, link.p);
		int found = try_path(s, root, fd);
		if (found == 1)
			return 1;
	}
	return 0;
}

/* A path that does not lead upwards. */
static bool stays_below(struct cam_text path)
{
	return !memmem(path.p, path.n, "..", 2);
}

/*
 * Its path was written by whoever made the file, so it leads only to where debug files are: by its part below .dwz, or by
 * its name beside the program.
 */
static int by_altlink(struct search *s, int root, int *fd)
{
	static const char dwz[] = "/.dwz/";
	const struct cam_text path = s->e->link;
	if (!is_plain(path) || path.n > CAM_ERRAND_MAX_LINK)
		return 0;
	const char *tail = memmem(path.p, path.n, dwz, sizeof(dwz) - 1);
	struct cam_text below = {tail, tail ? (size_t)(path.p + path.n - tail) : 0};
	if (tail && stays_below(below)) {
		snprintf(s->path, sizeof(s->path), ROOT_DIR "%.*s", (int)below.n, below.p);
		if (try_path(s, root, fd) == 1)
			return 1;
	}
	const char *slash = memrchr(path.p, '/', path.n);
	struct cam_text name = path;
	if (slash)
		name = (struct cam_text){slash + 1, (size_t)(path.p + path.n - slash - 1)};
	return by_link(s, root, name, fd);
}

int cam_debugfile_hold(const struct cam_errand *e, atomic_int *stage, int *fd)
{
	struct search s = {.e = e, .stage = stage, .skip = e->skip};
	char name[32];
	*fd = -1;
	if (e->build_id.n < 2 && !e->link.n)
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/%d/root", e->pid);
	ask(&s, CAM_FILE_ASKS_PROCESS);
	CAM_AUTOCLOSE int theirs = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CAM_AUTOCLOSE int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int roots[] = {is_same(theirs, ours) ? -1 : theirs, ours};
	for (size_t i = 0; i < 2; i++) {
		if (roots[i] < 0)
			continue;
		if (by_build_id(&s, roots[i], fd) == 1 ||
		    (e->supplement ? by_altlink(&s, roots[i], fd)
				   : by_link(&s, roots[i], e->link, fd)) == 1)
			return 0;
	}
	return -ENOENT;
}
