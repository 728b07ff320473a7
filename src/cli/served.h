// SPDX-License-Identifier: Apache-2.0
/* One recording that is served: a directory of windows, whose list is read anew for each question,
 * as far as it has changed. */
#pragma once
#include "serve/server.h"

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>

#define CAM_SERVED_LABEL 256

struct cam_served {
	char id[16], label[CAM_SERVED_LABEL], path[PATH_MAX];
	enum cam_server_kind kind;
	unsigned number; /* as in struct cam_server_doors */
	void *owner;	 /* whose it is */
	struct cam_io *io;
	struct cam_store_known *known; /* of its files; NULL: nothing is kept */
	struct stat directory;	       /* when it was opened */
	unsigned readers;	       /* that read it now */
	pthread_mutex_t lock;	       /* of these */
	unsigned holds;		       /* of one that was opened over HTTP: opening.c's */
	bool dropped;
};

/* label: as people know it; of a longer one the end. -errno: the directory cannot be opened; *s is then closed. */
int cam_served_open(struct cam_served *s, const char *path, const char *label);
void cam_served_close(struct cam_served *s);
/* Whether a directory holds windows; with `whole`: one at least that can be opened, not only listed. */
bool cam_served_is_store(const char *path, bool whole);
/* Doors D of struct cam_server_doors; self is the cam_served. */
int cam_served_windows(void *self, struct cam_source **out);
void cam_served_release(void *self, struct cam_source *source);
uint64_t cam_served_stamp(void *self);
uint64_t cam_served_pulse(void *self);
/* All that any source has: windows and time; of what a recorder does nothing. */
struct cam_server_doors cam_served_doors(struct cam_served *s);
