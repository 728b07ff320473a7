// SPDX-License-Identifier: Apache-2.0
#include "daemon/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PROCESSES 65536u

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

static int32_t parent_of(const char *pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* The name may hold anything, also ')': the last one ends it. */
	const char *p = strrchr(text, ')');
	int parent;
	return p && sscanf(p, ") %*c %d", &parent) == 1 ? parent : -1;
}

struct family {
	int32_t (*rows)[2]; /* pid, parent */
	size_t n;
};

static void add_row(void *arg, const char *name)
{
	struct family *f = arg;
	if (f->n >= MAX_PROCESSES)
		return;
	f->rows[f->n][0] = atoi(name);
	f->rows[f->n][1] = parent_of(name);
	f->n++;
}

size_t cam_descendants_of(int32_t pid, int32_t *pids, size_t max)
{
	struct family f = {.rows = calloc(MAX_PROCESSES, sizeof(*f.rows))};
	if (!f.rows)
		return 0;
	each_number("/proc", add_row, &f);
	size_t n = 0;
	/* Level by level: the i-th found brings its own children; i = -1 is pid. */
	for (size_t done = 0; done <= n; done++) {
		int32_t parent = done ? pids[done - 1] : pid;
		for (size_t i = 0; i < f.n && n < max; i++) {
			if (f.rows[i][1] == parent)
				pids[n++] = f.rows[i][0];
		}
	}
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
		t->tids[t->n++] = atoi(name);
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
	if (cam_descendants_is_of(atoi(name), t->uid))
		t->n += cam_descendants_threads(atoi(name), t->tids + t->n, t->max - t->n);
}

size_t cam_descendants_threads_of_user(uid_t uid, int32_t *tids, size_t max)
{
	struct threads t = {.tids = tids, .max = max, .uid = uid};
	each_number("/proc", add_process, &t);
	return t.n;
}

int32_t cam_descendants_process(int32_t tid)
{
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* Before it there is only the name, in which a newline is written as two characters. */
	const char *p = strstr(text, "\nTgid:");
	int process;
	return p && sscanf(p, "\nTgid: %d", &process) == 1 ? process : -1;
}
