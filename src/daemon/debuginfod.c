// SPDX-License-Identifier: Apache-2.0
#include "daemon/debuginfod.h"

#include "base/cleanup.h"
#include "base/vec.h"
#include "daemon/fetcher.h"
#include "helper/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEX_BYTES	(2 * CAM_ERRAND_MAX_BUILD_ID + 1)
#define MAX_FAILURES	3u
#define MAX_CACHE_FILES 65536u
#define GRACE_S		5u

struct server {
	char url[CAM_FETCH_URL_BYTES / 2];
	uint32_t failures; /* one after the other */
};

struct cam_debuginfod {
	struct cam_librarian_fetch door;
	struct cam_debuginfod_options o;
	char *dir;
	struct server servers[CAM_DEBUGINFOD_MAX_URLS];
	size_t n_servers;
	struct cam_helper helper;
	struct cam_debuginfod_counts counts;
};

/* A file of the cache. */
struct kept {
	char name[HEX_BYTES + 16]; /* HEX/debuginfo */
	uint64_t bytes;
	struct timespec since;
};

static void put_hex(struct cam_text id, char out[HEX_BYTES])
{
	size_t n = 0;
	for (size_t i = 0; i < id.n && i < CAM_ERRAND_MAX_BUILD_ID; i++)
		n += (size_t)sprintf(out + n, "%02x", (unsigned)(uint8_t)id.p[i]);
	out[n] = 0;
}

static const char *kind_word(bool executable)
{
	return executable ? "executable" : "debuginfo";
}

static int start_helper(struct cam_debuginfod *d)
{
	if (d->helper.pid && !cam_helper_poll(&d->helper, NULL))
		return 0;
	cam_helper_stop(&d->helper, NULL);
	return cam_helper_start(&d->helper, CAM_HELPER_FETCHER, -1, NULL);
}

/* The helper keeps the time itself; this is for one that does not. */
static int await_answer(struct cam_debuginfod *d, struct cam_fetch_answer *a)
{
	struct pollfd p = {.fd = d->helper.socket, .events = POLLIN};
	int n, fd = -1;
	do
		n = poll(&p, 1, (int)(d->o.timeout_s + GRACE_S) * 1000);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	ssize_t got = cam_packet_receive(d->helper.socket, a, sizeof(*a), &fd);
	if (fd >= 0)
		close(fd);
	return got == (ssize_t)sizeof(*a) ? 0 : -EPIPE;
}

static int ask(struct cam_debuginfod *d, const char *url, int fd, struct cam_fetch_answer *a)
{
	char packet[sizeof(struct cam_fetch_question) + CAM_FETCH_URL_BYTES];
	struct cam_fetch_question q = {
		.max_bytes = d->o.max_file_bytes,
		.timeout_s = d->o.timeout_s,
		.url_bytes = (uint32_t)strlen(url),
	};
	memcpy(packet, &q, sizeof(q));
	memcpy(packet + sizeof(q), url, q.url_bytes);
	int err = start_helper(d);
	if (!err)
		err = cam_packet_send(d->helper.socket, packet, sizeof(q) + q.url_bytes, fd);
	if (!err)
		err = await_answer(d, a);
	if (err)
		cam_helper_stop(&d->helper, NULL);
	return err ? err : a->error;
}

static void note_failure(struct cam_debuginfod *d, struct server *s, int err)
{
	s->failures++;
	d->counts.failed++;
	d->counts.last_error = err;
	snprintf(d->counts.last_url, sizeof(d->counts.last_url), "%s", s->url);
}

/* 0: the file has it. -ENOENT: this server has not. */
static int ask_server(struct cam_debuginfod *d, struct server *s, const char *path, int fd)
{
	char url[CAM_FETCH_URL_BYTES + 1];
	struct cam_fetch_answer a = {.error = -EPROTO};
	snprintf(url, sizeof(url), "%s%s", s->url, path);
	if (ftruncate(fd, 0))
		return -errno;
	int err = ask(d, url, fd, &a);
	if (err && err != -ENOENT) {
		note_failure(d, s, err);
		return -ENOENT;
	}
	s->failures = 0;
	if (!err)
		d->counts.bytes += a.bytes;
	return err;
}

static int fetch(void *self, struct cam_text build_id, bool executable)
{
	struct cam_debuginfod *d = self;
	char hex[HEX_BYTES], path[HEX_BYTES + 32];
	put_hex(build_id, hex);
	snprintf(path, sizeof(path), "/buildid/%s/%s", hex, kind_word(executable));
	int fd = open(d->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = -ENOENT;
	uint32_t failed = d->counts.failed, skipped = 0;
	for (size_t i = 0; i < d->n_servers && err == -ENOENT; i++) {
		if (d->servers[i].failures < MAX_FAILURES)
			err = ask_server(d, &d->servers[i], path, fd);
		else
			skipped++;
	}
	if (!err)
		return fd;
	d->counts.missing += err == -ENOENT && d->counts.failed == failed && !skipped;
	close(fd);
	return err;
}

static int add_kept(struct kept **list, size_t *n, size_t *cap, const char *hex, int dir,
		    const char *what)
{
	struct stat s;
	struct kept k = {.bytes = 0};
	int len = snprintf(k.name, sizeof(k.name), "%s/%s", hex, what);
	if (len < 0 || (size_t)len >= sizeof(k.name) || fstatat(dir, k.name, &s, 0) ||
	    !S_ISREG(s.st_mode))
		return 0;
	int err = cam_vec_reserve(list, cap, *n + 1, sizeof(**list), MAX_CACHE_FILES);
	if (err)
		return err;
	k.bytes = (uint64_t)s.st_size;
	k.since = s.st_mtim;
	(*list)[(*n)++] = k;
	return 0;
}

static int oldest_first(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	if (x->since.tv_sec != y->since.tv_sec)
		return x->since.tv_sec < y->since.tv_sec ? -1 : 1;
	return x->since.tv_nsec < y->since.tv_nsec ? -1 : x->since.tv_nsec > y->since.tv_nsec;
}

/* Removes the oldest until `need` more bytes fit. */
static int make_room(const struct cam_debuginfod *d, int dir, uint64_t need)
{
	struct kept *list = NULL;
	size_t n = 0, cap = 0;
	uint64_t sum = need;
	int err = 0, again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = again < 0 ? NULL : fdopendir(again);
	if (!names) {
		if (again >= 0)
			close(again);
		return -errno;
	}
	for (struct dirent *e; !err && (e = readdir(names));) {
		if (e->d_name[0] == '.')
			continue;
		err = add_kept(&list, &n, &cap, e->d_name, dir, kind_word(false));
		if (!err)
			err = add_kept(&list, &n, &cap, e->d_name, dir, kind_word(true));
	}
	closedir(names);
	for (size_t i = 0; i < n; i++)
		sum += list[i].bytes;
	if (n)
		qsort(list, n, sizeof(*list), oldest_first);
	for (size_t i = 0; i < n && sum > d->o.max_cache_bytes; i++) {
		unlinkat(dir, list[i].name, 0);
		*strchr(list[i].name, '/') = 0;
		unlinkat(dir, list[i].name, AT_REMOVEDIR); /* if it is empty */
		sum -= list[i].bytes;
	}
	free(list);
	return err ? err : sum > d->o.max_cache_bytes ? -ENOSPC : 0;
}

static int keep(void *self, struct cam_text build_id, bool executable, int fd)
{
	struct cam_debuginfod *d = self;
	char hex[HEX_BYTES], name[HEX_BYTES + 32], from[64];
	struct stat s;
	put_hex(build_id, hex);
	int dir CAM_AUTOCLOSE = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstat(fd, &s))
		return -errno;
	int err = make_room(d, dir, (uint64_t)s.st_size);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/%s", hex, kind_word(executable));
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (mkdirat(dir, hex, 0700) && errno != EEXIST)
		return -errno;
	/* Another one may have been quicker: then that is the same file. */
	if (linkat(AT_FDCWD, from, dir, name, AT_SYMLINK_FOLLOW) && errno != EEXIST)
		return -errno;
	d->counts.fetched++;
	return 0;
}

static void refuse(void *self)
{
	((struct cam_debuginfod *)self)->counts.refused++;
}

/* http://host or https://host/path; a slash at its end is cut off. */
static int add_server(struct cam_debuginfod *d, const char *from, size_t n)
{
	struct server *s = &d->servers[d->n_servers];
	while (n && from[n - 1] == '/')
		n--;
	if (d->n_servers == CAM_DEBUGINFOD_MAX_URLS || n + 160 > sizeof(s->url))
		return -EINVAL;
	memcpy(s->url, from, n);
	s->url[n] = 0;
	if (strncmp(s->url, "http://", 7) && strncmp(s->url, "https://", 8))
		return -EINVAL;
	d->n_servers++;
	return 0;
}

static int read_urls(struct cam_debuginfod *d, const char *urls)
{
	int err = 0;
	for (const char *p = urls ? urls : ""; *p && !err;) {
		size_t n = strcspn(p, " \t\n");
		if (n)
			err = add_server(d, p, n);
		p += n;
		p += strspn(p, " \t\n");
	}
	return err ? err : d->n_servers ? 0 : -EINVAL;
}

/* Each part that is missing, for this user alone. */
static int make_directory(const char *path)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0700) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int cam_debuginfod_new(const struct cam_debuginfod_options *o, struct cam_debuginfod **out)
{
	struct cam_debuginfod *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->door = (struct cam_librarian_fetch){d, fetch, keep, refuse};
	d->o = *o;
	d->helper = CAM_HELPER_NONE;
	if (!d->o.max_file_bytes || d->o.max_file_bytes > CAM_FETCH_MAX_BYTES)
		d->o.max_file_bytes = CAM_DEBUGINFOD_FILE_BYTES;
	if (!d->o.max_cache_bytes)
		d->o.max_cache_bytes = CAM_DEBUGINFOD_CACHE_BYTES;
	if (!d->o.timeout_s)
		d->o.timeout_s = CAM_DEBUGINFOD_TIMEOUT_S;
	d->dir = strdup(o->cache_dir);
	int err = d->dir ? read_urls(d, o->urls) : -ENOMEM;
	if (!err)
		err = make_directory(d->dir);
	if (err) {
		cam_debuginfod_free(d);
		return err;
	}
	*out = d;
	return 0;
}

void cam_debuginfod_free(struct cam_debuginfod *d)
{
	if (!d)
		return;
	cam_helper_stop(&d->helper, NULL);
	free(d->dir);
	free(d);
}

const struct cam_librarian_fetch *cam_debuginfod_fetch(struct cam_debuginfod *d)
{
	return &d->door;
}

struct cam_debuginfod_counts cam_debuginfod_counts(const struct cam_debuginfod *d)
{
	return d->counts;
}

int cam_debuginfod_cache_path(char *room, size_t room_bytes)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool own = cache && cache[0] == '/';
	if (!own && !(home && home[0] == '/'))
		return -ENOENT;
	int n = snprintf(room, room_bytes, "%s%s/perfcam/debuginfod", own ? cache : home,
			 own ? "" : "/.cache");
	return n >= 0 && (size_t)n < room_bytes ? 0 : -ERANGE;
}
