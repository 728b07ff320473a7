// SPDX-License-Identifier: Apache-2.0
/* A child process that has a file mapped, executable, and waits. */
#pragma once
#include "model/raw.h"

#include <sys/types.h>

struct mapped {
	pid_t pid;
	int go;		      /* one byte written here: it goes on, and ends */
	struct cam_mapping m; /* as an MMAP2 record tells it: from the child's own stat() */
	char path[CAM_RAW_MAX_TEXT];
};

/* In the child, before it maps: chroot, mount, …; not 0 fails the test. */
typedef int mapped_prepare_fn(void *arg);

/*
 * Maps two pages of `path`, from its second page. What the child is to do after it mapped, before
 * its parent goes on, is `after` (may be NULL).
 */
struct mapped mapped_start(const char *path, mapped_prepare_fn *prepare, mapped_prepare_fn *after,
			   void *arg);
void mapped_end(struct mapped *p);

/* Maps as above, in this process; not 0: it could not. */
int test_map(const char *path, struct cam_mapping *m);

/* A directory of its own below /tmp; removed by test_rmdir() with all that is in it. */
void test_mkdir(char path[32]);
void test_rmdir(const char *path);
/* Three pages that begin with `text`. */
void test_file(const char *path, const char *text);
/* The first bytes of an open file are `text`. */
bool test_begins(int fd, const char *text);
