// SPDX-License-Identifier: Apache-2.0
#include "daemon/descendants.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void number_fn(void *arg, const char *name);

/* Calls fn for each entry of the directory that is a number. */
static void each_number(const char *path, number_fn *fn, void *arg)
{
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		if (isdigit((unsigned char)e->d_name[0]))
			fn(arg, e->d_name);
	}
	closedir(dir);
}

/* Of a file of a process or thread, as much as fits; false: it is gone. */
static bool read_of(int32_t pid, const char *file, char *text, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	CAM_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int32_t parent_of(int32_t pid)
{
	char text[512];
	if (!read_of(pid, "stat", text, sizeof(text)))
		return -1;
	/* The name may hold anything, also ')': the last one ends it. */
	const char *p = strrchr(text, ')');
	int parent;
	return p && sscanf(p, ") %*c %d", &parent) == 1 ? parent : -1;
}

struct row {
	int32_t pid, parent;
};

struct family {
	struct row *rows;
	size_t n, cap;
};

static void add_row(void *arg, const char *name)
{
	struct family *f = arg;
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 1024;
		struct row *rows = realloc(f->rows, cap * sizeof(*rows));
		if (!rows)
			return;
		f->rows = rows;
		f->cap = cap;
	}
	int32_t pid = atoi(name);
	f->rows[f->n++] = (struct row){pid, parent_of(pid)};
}

static int by_parent(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return (x->parent > y->parent) - (x->parent < y->parent);
}

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

/* Without those that are known already, who would be found again. */
static void drop_known(struct family *f, int32_t *known, size_t n)
{
	size_t kept = 0;
	qsort(known, n, sizeof(*known), by_number);
	for (size_t i = 0; i < f->n; i++)
		if (!bsearch(&f->rows[i].pid, known, n, sizeof(*known), by_number))
			f->rows[kept++] = f->rows[i];
	f->n = kept;
}

static size_t first_child(const struct family *f, int32_t parent)
{
	size_t from = 0, to = f->n;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (f->rows[middle].parent < parent)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

size_t cam_descendants_add(int32_t *pids, size_t n, size_t max)
{
	struct family f = {0};
	each_number("/proc", add_row, &f);
	/* Also those who do not fit bring their children: all are counted. */
	int32_t *all = calloc(n + f.n + 1, sizeof(*all));
	if (!all) {
		free(f.rows);
		return n;
	}
	memcpy(all, pids, n * sizeof(*all));
	drop_known(&f, all, n);
	if (f.n)
		qsort(f.rows, f.n, sizeof(*f.rows), by_parent);
	memcpy(all, pids, n * sizeof(*all));
	size_t had = n;
	for (size_t done = 0; done < n; done++) {
		for (size_t i = first_child(&f, all[done]);
		     i < f.n && f.rows[i].parent == all[done]; i++)
			all[n++] = f.rows[i].pid;
	}
	size_t fit = n < max ? n : max;
	if (fit > had)
		memcpy(pids + had, all + had, (fit - had) * sizeof(*pids));
	free(all);
	free(f.rows);
	return n;
}

struct threads {
	int32_t *tids;
	size_t n, max;
	uid_t uid;
};

static void add_thread(void *arg, const char *name)
{
	struct threads *t = arg;
	if (t->n < t->max)
		t->tids[t->n] = atoi(name);
	t->n++;
}

size_t cam_descendants_threads(int32_t pid, int32_t *tids, size_t max)
{
	struct threads t = {.tids = tids, .max = max};
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	each_number(path, add_thread, &t);
	return t.n;
}

bool cam_descendants_is_of(int32_t pid, uid_t uid)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &st) && st.st_uid == uid;
}

static void add_process(void *arg, const char *name)
{
	struct threads *t = arg;
	size_t at = t->n < t->max ? t->n : t->max;
	if (cam_descendants_is_of(atoi(name), t->uid))
		t->n += cam_descendants_threads(atoi(name), t->tids + at, t->max - at);
}

size_t cam_descendants_threads_of_user(uid_t uid, int32_t *tids, size_t max)
{
	struct threads t = {.tids = tids, .max = max, .uid = uid};
	each_number("/proc", add_process, &t);
	return t.n;
}

int32_t cam_descendants_process(int32_t tid)
{
	char text[1024];
	/* Before it there is only the name, in which a newline is written as two characters. */
	const char *p = read_of(tid, "status", text, sizeof(text)) ? strstr(text, "\nTgid:") : NULL;
	int process;
	return p && sscanf(p, "\nTgid: %d", &process) == 1 ? process : -1;
}
