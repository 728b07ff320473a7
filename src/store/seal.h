// SPDX-License-Identifier: Apache-2.0
/*
 * Sealing as a function of two files: what a child of the recorder runs. seal.c says how and why.
 *
 * One thread; of the system it needs reading and writing at an offset, the size of a file, and
 * memory. The memory is bounded by the journal's tables (at most 1 GiB, what the recorder bounds far
 * lower) and about 40 bytes a sample; docs/window-format.md has it measured.
 */
#pragma once
#include "store/io.h"

/*
 * Reads the journal, writes its window into the empty file `window`, reads that again and compares.
 * A journal in which nothing ever was leaves it empty. Neither is closed or synced. 0, or why not:
 * -ENOSPC, -EIO and others of the disk, -ENOMEM, -EBADMSG (nothing of it can be read),
 * -EPROTONOSUPPORT, -E2BIG.
 */
int cam_seal_files(struct cam_file *journal, struct cam_file *window);
/*
 * The same for descriptors, which it takes over. A child passes the answer on as its exit status:
 * exit(-answer); every errno above fits.
 */
int cam_seal_fds(int journal_fd, int window_fd);
