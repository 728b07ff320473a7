// SPDX-License-Identifier: Apache-2.0
/*
 * One file as a source of one window, for `-i X.pcw`: a sealed window, or a journal that was found
 * lying about. Which of the two it is, its first bytes say.
 */
#pragma once
#include "model/cursor.h"
#include "store/io.h"

/* Takes the file over, also on error. Errors as of cam_window_open(). */
int cam_single_open(struct cam_file *file, const char *name, size_t max_table_bytes,
		    struct cam_source **out);
