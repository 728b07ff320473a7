// SPDX-License-Identifier: Apache-2.0
/*
 * A process that has a file mapped from each of several FUSE mounts, each a device of its own, and
 * their server, which stops answering when it is told to. All of it in a mount namespace of its own:
 * nothing is left behind. (The raw protocol of /dev/fuse; no library.)
 */
#pragma once
#include "model/raw.h"

#include <sys/types.h>

enum { FUSE_MOUNTS = 13 };

struct fuse {
	pid_t pid;
	int control;
	struct cam_mapping m[FUSE_MOUNTS];
	char dir[32];
};

struct fuse fuse_start(void);
/* From now on requests to open are read, and not answered: who waits cannot even be killed. */
void fuse_hang(struct fuse *f);
/* All of them are, and those to come. */
void fuse_go_on(struct fuse *f);
/* With the server all requests end. */
void fuse_end(struct fuse *f);
/* What each of the files begins with. */
#define FUSE_TEXT "from fuse"
