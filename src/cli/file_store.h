// SPDX-License-Identifier: Apache-2.0
/* Files as a store that lasts as long as they are looked at: `serve FILE…`. */
#pragma once
#include <limits.h>

struct cam_file_store {
	char path[PATH_MAX];
};

/*
 * Makes a directory for temporary files and puts into it what the files hold: windows as they are, all
 * else imported. Exit status: INCOMPLETE: something was lost, which was said; other than that and OK: said, and
 * nothing is left.
 */
int cam_file_store_make(struct cam_file_store *s, char **files, int n);
void cam_file_store_remove(struct cam_file_store *s);
