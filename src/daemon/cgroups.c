// SPDX-License-Identifier: Apache-2.0
#include "daemon/cgroups.h"

#include "base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Where --cgroup's argument may have begun. */
#define USUAL_PLACE "/sys/fs/cgroup"

struct hierarchy {
	char top[PATH_MAX];   /* the cgroup that is mounted */
	char place[PATH_MAX]; /* where */
};

/* The kernel writes space, tab, line end and backslash as \ooo. */
static void unescape(char *s)
{
	char *to = s;
	for (; *s; s++) {
		unsigned code;
		if (s[0] == '\\' && sscanf(s + 1, "%3o", &code) == 1) {
			*to++ = (char)code;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* The next line that is a hierarchy of cgroups. */
static bool next_hierarchy(FILE *f, struct hierarchy *h)
{
	CAM_AUTOFREE char *line = NULL;
	size_t cap = 0;
	_Static_assert(PATH_MAX == 4096, "of the format");
	while (getline(&line, &cap, f) > 0) {
		const char *type = strstr(line, " - ");
		if (type && strncmp(type, " - cgroup", 9) == 0 &&
		    sscanf(line, "%*s %*s %*s %4095s %4095s", h->top, h->place) == 2) {
			unescape(h->top);
			unescape(h->place);
			return true;
		}
	}
	return false;
}

/* What follows `top` in `path`: "" or "/…"; NULL: it is not below. */
static const char *below(const char *path, const char *top)
{
	size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
	return strncmp(path, top, n) == 0 && (!path[n] || path[n] == '/') ? path + n : NULL;
}

static bool has(const struct hierarchy *h, const char *root, const char *rest)
{
	char path[3 * PATH_MAX];
	struct stat st;
	snprintf(path, sizeof(path), "%.4095s%s%s", root, h->place, rest);
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int cam_cgroups_find(const char *mountinfo, const char *root, char *cgroup, size_t bytes)
{
	struct hierarchy h;
	char name[2 * PATH_MAX], full[2 * PATH_MAX];
	int result = -EOPNOTSUPP;
	FILE *f = fopen(mountinfo, "re");
	if (!f)
		return -EOPNOTSUPP;
	snprintf(full, sizeof(full), USUAL_PLACE "%.4095s", cgroup);
	while (result && next_hierarchy(f, &h)) {
		const char *rest = below(cgroup, h.top);
		if (rest)
			result = has(&h, root, rest) ? 0 : -ENOENT;
		rest = result ? below(full, h.place) : NULL;
		if (!rest || !has(&h, root, rest))
			continue;
		snprintf(name, sizeof(name), "%s%s", strcmp(h.top, "/") ? h.top : "", rest);
		if (strlen(name) < bytes) {
			snprintf(cgroup, bytes, "%s", *name ? name : "/");
			result = 0;
		}
	}
	fclose(f);
	return result;
}

void cam_cgroups_nearest(const char *mountinfo, const char *root, char *cgroup, size_t bytes)
{
	while (strcmp(cgroup, "/") != 0 && cam_cgroups_find(mountinfo, root, cgroup, bytes)) {
		char *slash = strrchr(cgroup, '/');
		slash[slash == cgroup] = '\0';
	}
}
