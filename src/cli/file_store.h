// SPDX-License-Identifier: Apache-2.0
/* Files as a store that lasts as long as they are looked at: `serve FILE…`. */
#pragma once
#include <limits.h>

struct cam_file_store {
	char path[PATH_MAX];
};

/* A new directory, among temporary files. Exit status, after saying what is wrong. */
int cam_file_store_new(struct cam_file_store *s);
/*
 * What the files hold: windows as they are, all else imported. Exit status: INCOMPLETE: something was lost,
 * which was said.
 */
int cam_file_store_fill(struct cam_file_store *s, char **files, int n);
void cam_file_store_remove(struct cam_file_store *s);
