// SPDX-License-Identifier: Apache-2.0
/*
 * A line is
 *	7f8a1c000000-7f8a1c021000 r-xp 00003000 fe:00 248030      /usr/bin/a file
 * the kernel gives at most a page of them per read(). The path is the rest of the line, any bytes, a
 * newline in it written \012. A backslash is not escaped: whether "\012" is a newline or four
 * characters of the name is told by the link in map_files, where the path stands as it is.
 *
 * Invariant: lines longer than the buffer (a path of 4 KiB, all of it newlines, still fits) are
 * skipped whole.
 */
#include "proc/maps.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define BUFFER_BYTES (20 * 1024)

struct cursor {
	const char *p, *end;
	bool bad;
};

static uint64_t get_number(struct cursor *c, unsigned base, char after)
{
	uint64_t v = 0;
	const char *start = c->p;
	for (; c->p < c->end; c->p++) {
		unsigned digit;
		if (*c->p >= '0' && *c->p <= '9')
			digit = (unsigned)(*c->p - '0');
		else if (*c->p >= 'a' && *c->p <= 'f')
			digit = (unsigned)(*c->p - 'a') + 10;
		else
			break;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	if (c->p == start || c->p == c->end || *c->p != after)
		c->bad = true;
	else
		c->p++;
	return v;
}

/* false: not a line as above, or not executable. path.p points into the line. */
static bool parse_line(struct cursor c, struct cam_mapping *m)
{
	m->start = get_number(&c, 16, '-');
	m->end = get_number(&c, 16, ' ');
	if (c.bad || c.end - c.p < 5 || c.p[2] != 'x')
		return false;
	c.p += 5;
	m->file_offset = get_number(&c, 16, ' ');
	m->major = (uint32_t)get_number(&c, 16, ':');
	m->minor = (uint32_t)get_number(&c, 16, ' ');
	m->inode = get_number(&c, 10, ' ');
	m->generation = 0;
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	m->path = (struct cam_text){c.p, (size_t)(c.end - c.p)};
	return !c.bad && m->start < m->end;
}

static struct cam_text unescape(struct cam_text path, char *room)
{
	size_t n = 0;
	for (size_t i = 0; i < path.n && n < CAM_RAW_MAX_TEXT; n++) {
		if (path.n - i >= 4 && memcmp(path.p + i, "\\012", 4) == 0) {
			room[n] = '\n';
			i += 4;
		} else {
			room[n] = path.p[i++];
		}
	}
	return (struct cam_text){room, n};
}

/* `room` has CAM_RAW_MAX_TEXT bytes, used only where the line does not say it plainly. */
static struct cam_text true_path(int dir, const struct cam_mapping *m, char *room)
{
	if (m->path.n == 0)
		return CAM_TEXT("//anon");
	if (!memmem(m->path.p, m->path.n, "\\012", 4))
		return m->path;
	char name[64];
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	ssize_t n = readlinkat(dir, name, room, CAM_RAW_MAX_TEXT);
	return n > 0 ? (struct cam_text){room, (size_t)n} : unescape(m->path, room);
}

struct reading {
	int dir;
	cam_maps_fn *fn;
	void *arg;
	uint64_t end; /* of the mapping before */
};

static int take_line(struct reading *r, const char *line, size_t n)
{
	struct cam_mapping m;
	char room[CAM_RAW_MAX_TEXT];
	if (!parse_line((struct cursor){line, line + n, false}, &m) || m.start < r->end)
		return 0;
	r->end = m.end;
	m.path = true_path(r->dir, &m, room);
	return r->fn(r->arg, &m);
}

/* Hands over the whole lines of buffer[0..n) and answers how many bytes they were. */
static int take_lines(struct reading *r, const char *buffer, size_t n, size_t *used)
{
	*used = 0;
	for (const char *nl; (nl = memchr(buffer + *used, '\n', n - *used));) {
		size_t length = (size_t)(nl - buffer) - *used;
		int err = take_line(r, buffer + *used, length);
		*used += length + 1;
		if (err)
			return err;
	}
	return 0;
}

int cam_maps_read(int process_dir, cam_maps_fn *fn, void *arg)
{
	struct reading r = {process_dir, fn, arg, 0};
	CAM_AUTOCLOSE int fd = openat(process_dir, "maps", O_RDONLY | O_CLOEXEC);
	bool skipping = false;
	size_t have = 0;
	if (fd < 0)
		return -errno;
	char *buffer CAM_AUTOFREE = malloc(BUFFER_BYTES);
	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buffer + have, BUFFER_BYTES - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		have += (size_t)n;
		size_t used = 0;
		if (skipping) {
			const char *nl = memchr(buffer, '\n', have);
			used = nl ? (size_t)(nl - buffer) + 1 : have;
			skipping = !nl;
		}
		size_t lines;
		int err = take_lines(&r, buffer + used, have - used, &lines);
		if (err)
			return err;
		used += lines;
		have -= used;
		memmove(buffer, buffer + used, have);
		if (have == BUFFER_BYTES) {
			skipping = true;
			have = 0;
		}
	}
}
