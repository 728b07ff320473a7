// SPDX-License-Identifier: Apache-2.0
/*
 * All the store's input and output: one directory, behind one small table of functions, so that
 * tests can stand in for the disk (crash at any call and byte, ENOSPC, EIO, bit rot).
 *
 * Names are plain file names inside the directory: no '/', no '.' at their start. Every function answers a negative
 * errno or a count. Nothing is ever mapped. A file belongs to the thread that opened it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cam_io;
struct cam_file;

enum cam_io_mode {
	CAM_IO_READ,   /* must exist, a regular file */
	CAM_IO_CREATE, /* must not exist; read and write */
	CAM_IO_WRITE,  /* may exist; read and write; created if not there */
};

/* Which file has a name: another one, or one that was written to since, has another stamp. */
struct cam_io_stamp {
	uint64_t device, inode, bytes;
	int64_t written_s, changed_s;
	uint32_t written_ns, changed_ns;
};

typedef int cam_io_list_fn(void *arg, const char *name);

struct cam_io_ops {
	int (*open)(struct cam_io *io, const char *name, enum cam_io_mode mode,
		    struct cam_file **out);
	/* Short only at the end of the file. */
	ssize_t (*pread)(struct cam_file *f, void *bytes, size_t n, uint64_t at);
	/* All n bytes, or an error (then any part of them may be in the file). */
	int (*pwrite)(struct cam_file *f, const void *bytes, size_t n, uint64_t at);
	int64_t (*size)(struct cam_file *f);
	/* After an error the file's unsynced content is unknown: abandon it, never retry. */
	int (*fdatasync)(struct cam_file *f);
	void (*close)(struct cam_file *f);
	/* replace = false: -EEXIST where `to` exists (RENAME_NOREPLACE). */
	int (*rename)(struct cam_io *io, const char *from, const char *to, bool replace);
	int (*unlink)(struct cam_io *io, const char *name);
	/* Makes creations, renames and unlinks so far durable. */
	int (*sync_dir)(struct cam_io *io);
	int (*list)(struct cam_io *io, cam_io_list_fn *fn, void *arg);
	/* Takes the lock file for as long as *out is open: -EWOULDBLOCK and the holder's pid in
	 * *holder (0: not known) when another process has it. */
	int (*lock)(struct cam_io *io, const char *name, struct cam_file **out, int *holder);
	int (*space)(struct cam_io *io, uint64_t *total_bytes, uint64_t *free_bytes);
	/* May be NULL: nothing is known of a file before it is opened. -EINVAL: not a plain file. */
	int (*stamp)(struct cam_io *io, const char *name, struct cam_io_stamp *out);
};

struct cam_io {
	const struct cam_io_ops *ops;
};

struct cam_file {
	const struct cam_io_ops *ops;
};

/*
 * The real thing: a directory, created if `create` and not there: 0750, of the group perfcam where
 * there is one, else of its maker's. Files get the directory's group, and 0640. -EPERM where the
 * directory is writable for group or world. *out is freed by cam_io_posix_close().
 */
int cam_io_posix_open(const char *directory, bool create, struct cam_io **out);
void cam_io_posix_close(struct cam_io *io);
/* One file outside any store, for reading (`-i FILE`): the descriptor is taken over. */
int cam_file_from_fd(int fd, struct cam_file **out);
/* The descriptor of a real file, still the file's; -EBADF of any other. */
int cam_file_fd(const struct cam_file *f);
/* A nameless temporary file in $TMPDIR or /tmp, gone when closed. */
int cam_file_temporary(struct cam_file **out);
