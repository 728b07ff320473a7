// SPDX-License-Identifier: Apache-2.0
/* Files as stores that last as long as they are looked at: `serve FILE…`, and what the page is given. */
#pragma once
#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

/* A directory among temporary ones, with a store in it for each file, called by its number. */
struct cam_file_stores {
	char path[PATH_MAX - 64];
};

/* Exit status, after saying what is wrong. */
int cam_file_stores_new(struct cam_file_stores *s);
void cam_file_stores_remove(const struct cam_file_stores *s);
/* Where the store of a number is. */
void cam_file_stores_place(const struct cam_file_stores *s, unsigned number, char path[PATH_MAX]);

/*
 * Makes a store, for a group to read (-1: the maker's), of what a file holds: a window as it is, all else imported. Exit
 * status: INCOMPLETE: something was lost, which was said. where_names_are: see struct cam_told.
 */
int cam_file_store_make(const char *path, gid_t group, const char *file,
			const char *where_names_are);
/* Removes all files of a directory, and it. */
void cam_file_store_remove(const char *path);
