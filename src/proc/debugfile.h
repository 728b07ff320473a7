// SPDX-License-Identifier: Apache-2.0
/*
 * Taking hold of the file that has a program's debug information, where distributions and linkers put it.
 *
 * Looked for below the process's own root, then (if that is another one) below ours:
 *	/usr/lib/debug/.build-id/xx/yyyy.debug
 *	DIR/LINK, DIR/.debug/LINK, /usr/lib/debug/DIR/LINK	DIR: of the program; LINK: its .gnu_debuglink
 * A supplement, which debug files share (dwz -m), by its build-id as well, and by the path that they have of it:
 *	/usr/lib/debug/.dwz/REST	REST: what follows /.dwz/ in it
 *	DIR/NAME, …	its last part, as LINK above
 * A path is walked within its root and through no magic link, and only a regular file is opened, as in file.h. Whether it
 * is the program's is for others to say: by its owner (daemon), by its build-id or checksum (the symboliser). May
 * hang, as file.h says.
 */
#pragma once
#include "proc/file.h"

/* 0 and *fd (close-on-exec, read only): of those that are there the one after `skip` others. -ENOENT: there is no
 * such; -EINVAL: nothing to look for. */
int cam_debugfile_hold(const struct cam_errand *e, atomic_int *stage, int *fd);
