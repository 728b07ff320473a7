// SPDX-License-Identifier: Apache-2.0
#include "daemon/conf.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_LINE_BYTES 4608u /* a path, its key, and spaces */

struct reader {
	const char *name;
	cam_conf_fn *fn;
	void *arg;
	char *why;
	size_t why_bytes;
};

__attribute__((format(printf, 3, 4))) static int wrong(const struct reader *r, unsigned line,
						       const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->why, r->why_bytes, "%s:%u: ", r->name, line);
	if (n < 0 || (size_t)n >= r->why_bytes)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(r->why + n, r->why_bytes - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static char *trimmed(char *s)
{
	size_t n;
	while (is_space(*s))
		s++;
	for (n = strlen(s); n && is_space(s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

static int take_line(const struct reader *r, unsigned line, char *s)
{
	s = trimmed(s);
	if (!*s || *s == '#' || *s == ';')
		return 0;
	if (*s == '[') {
		if (strcmp(s, "[perfcam]") == 0)
			return 0;
		return wrong(r, line, "'%.64s': the only section is [perfcam]", s);
	}
	/* A rule may hold anything, a '=' among it. */
	if (!strncmp(s, "on", 2) && is_space(s[2]) && *trimmed(s + 2) != '=')
		return r->fn(r->arg, line, "on", trimmed(s + 2));
	char *equals = strchr(s, '=');
	if (!equals || equals == s)
		return wrong(r, line, "'%.64s' is not a setting; try: keep = 12h", s);
	*equals = '\0';
	return r->fn(r->arg, line, trimmed(s), trimmed(equals + 1));
}

int cam_conf_parse(struct cam_text bytes, const char *name, cam_conf_fn *fn, void *arg, char *why,
		   size_t why_bytes)
{
	const struct reader r = {name, fn, arg, why, why_bytes};
	char room[MAX_LINE_BYTES];
	unsigned line = 1;
	/* Editors of one system put this mark in front; it is not a key's. */
	if (cam_text_starts(bytes, CAM_TEXT("\xef\xbb\xbf"))) {
		bytes.p += 3;
		bytes.n -= 3;
	}
	for (size_t at = 0; at < bytes.n; line++) {
		const char *from = bytes.p + at;
		const char *end = memchr(from, '\n', bytes.n - at);
		size_t n = end ? (size_t)(end - from) : bytes.n - at;
		if (n >= sizeof(room))
			return wrong(&r, line, "a line of %zu bytes; at most %zu", n,
				     sizeof(room) - 1);
		if (memchr(from, '\0', n))
			return wrong(&r, line, "a NUL byte; this is not a text file");
		memcpy(room, from, n);
		room[n] = '\0';
		int err = take_line(&r, line, room);
		if (err)
			return err;
		at += n + 1;
	}
	return 0;
}

/* Whoever may write the file decides what a privileged process does. */
static int trusted(const struct stat *st, const struct reader *r)
{
	bool root = geteuid() == 0;
	if (st->st_uid != 0 && (root || st->st_uid != geteuid())) {
		snprintf(r->why, r->why_bytes,
			 "%s belongs to user %u, who could change what perfcam does; chown %s",
			 r->name, (unsigned)st->st_uid, root ? "it to root" : "it to yourself");
		return -EPERM;
	}
	if (st->st_mode & (S_IWOTH | (root ? S_IWGRP : 0))) {
		snprintf(r->why, r->why_bytes,
			 "%s is writable for others, who could change what perfcam does; chmod "
			 "go-w it",
			 r->name);
		return -EPERM;
	}
	return 0;
}

static int fail(const struct reader *r, int err)
{
	snprintf(r->why, r->why_bytes, "%s: %s", r->name, strerror(-err));
	return err;
}

int cam_conf_read(const char *path, cam_conf_fn *fn, void *arg, bool *of_root, char *why,
		  size_t why_bytes)
{
	const struct reader r = {path, fn, arg, why, why_bytes};
	struct stat st;
	*of_root = false;
	/* O_NONBLOCK: opening a FIFO must not wait. */
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return fail(&r, -errno);
	if (!S_ISREG(st.st_mode))
		return fail(&r, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL);
	int err = trusted(&st, &r);
	if (err)
		return err;
	CAM_AUTOFREE char *bytes = malloc(CAM_CONF_MAX_BYTES + 1);
	if (!bytes)
		return fail(&r, -ENOMEM);
	size_t n = 0;
	while (n <= CAM_CONF_MAX_BYTES) {
		ssize_t got = read(fd, bytes + n, CAM_CONF_MAX_BYTES + 1 - n);
		if (got < 0 && errno != EINTR)
			return fail(&r, -errno);
		if (got == 0)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	if (n > CAM_CONF_MAX_BYTES)
		return fail(&r, -EFBIG);
	err = cam_conf_parse((struct cam_text){bytes, n}, path, fn, arg, why, why_bytes);
	*of_root = !err && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
	return err;
}
