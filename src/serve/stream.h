// SPDX-License-Identifier: Apache-2.0
/*
 * An answer that comes bit by bit. A route makes one (cam_answer.stream); the thread of the connection reads
 * it until its end and closes it, also when whoever asked has gone.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct cam_stream {
	/* Waits for bytes: how many, at most n. 0: that was all. Negative errno: it breaks off, and must be
	 * seen to. */
	ssize_t (*read)(struct cam_stream *s, char *room, size_t n);
	void (*close)(struct cam_stream *s);
};
