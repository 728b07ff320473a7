// SPDX-License-Identifier: Apache-2.0
#include "capture/cpus.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* "0,2,4,…": the longest the kernel can make of 8192 CPUs stays below this. */
#define LIST_BYTES 32768u

uint32_t cam_cpus_count(const struct cam_cpus *s)
{
	uint32_t n = 0;
	for (size_t i = 0; i < CAM_CPUS_MAX / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->bits[i]);
	return n;
}

void cam_cpus_intersect(struct cam_cpus *s, const struct cam_cpus *other)
{
	for (size_t i = 0; i < CAM_CPUS_MAX / 64; i++)
		s->bits[i] &= other->bits[i];
}

static int parse_number(struct cam_text *t, uint32_t *out)
{
	size_t i = 0;
	uint32_t v = 0;

	for (; i < t->n && t->p[i] >= '0' && t->p[i] <= '9'; i++) {
		v = v * 10 + (uint32_t)(t->p[i] - '0');
		if (v >= CAM_CPUS_MAX)
			return -ERANGE;
	}
	if (!i)
		return -EINVAL;
	*t = (struct cam_text){t->p + i, t->n - i};
	*out = v;
	return 0;
}

static bool accept(struct cam_text *t, char c)
{
	if (!t->n || *t->p != c)
		return false;
	*t = (struct cam_text){t->p + 1, t->n - 1};
	return true;
}

int cam_cpus_parse(struct cam_text list, struct cam_cpus *out)
{
	struct cam_cpus set = {0};

	while (list.n && list.p[list.n - 1] == '\n')
		list.n--;
	do {
		uint32_t first = 0, last;
		int err = parse_number(&list, &first);
		last = first;
		if (!err && accept(&list, '-'))
			err = parse_number(&list, &last);
		if (err)
			return err;
		if (last < first)
			return -EINVAL;
		for (uint32_t cpu = first; cpu <= last; cpu++)
			cam_cpus_add(&set, cpu);
	} while (accept(&list, ','));
	if (list.n)
		return -EINVAL;
	*out = set;
	return 0;
}

uint32_t cam_cpus_next(const struct cam_cpus *s, uint32_t from)
{
	for (uint32_t i = from / 64; i < CAM_CPUS_MAX / 64; i++) {
		uint64_t left = s->bits[i] & (i == from / 64 ? ~0ull << (from % 64) : ~0ull);
		if (left)
			return i * 64 + (uint32_t)__builtin_ctzll(left);
	}
	return CAM_CPUS_MAX;
}

int cam_cpus_reread(int *fd, const char *sys_root, const char *name, struct cam_cpus *out)
{
	char path[512], list[LIST_BYTES];

	if (*fd < 0 && snprintf(path, sizeof(path), "%s/devices/system/cpu/%s", sys_root, name) >=
			       (int)sizeof(path))
		return -ENAMETOOLONG;
	if (*fd < 0)
		*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	ssize_t n = pread(*fd, list, sizeof(list), 0);
	if (n < 0)
		return -errno;
	return cam_cpus_parse((struct cam_text){list, (size_t)n}, out);
}

int cam_cpus_read(const char *sys_root, const char *name, struct cam_cpus *out)
{
	CAM_AUTOCLOSE int fd = -1;
	return cam_cpus_reread(&fd, sys_root, name, out);
}
