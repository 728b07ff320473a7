// SPDX-License-Identifier: Apache-2.0
/*
 * The process that reads the files which the page is given: started by the server before that is confined, and spoken
 * to over a socket of packets.
 *
 * Sides: cli/opening.c, in the server, sends; this answers each CAM_IMPORTER_END once, with struct cam_importer_reply and
 * words. It owns a directory and keeps each file's store in it, DIRECTORY/NUMBER/store, until it is told to drop it, or
 * the socket is closed: then it removes everything and ends. It never looks into what it is sent: that is done by a
 * process for each file, which can read and write below DIRECTORY/NUMBER, has no network, and is ended when it
 * takes more than the limits below, or when less than a twentieth of the file system is free.
 */
#pragma once
#include <stdint.h>

#define CAM_IMPORTER_FILE_BYTES	 (512ull << 20) /* that may be sent */
#define CAM_IMPORTER_STORE_BYTES (1ull << 30)	/* that may become of it */
#define CAM_IMPORTER_SECONDS	 120
#define CAM_IMPORTER_NAME	 256
#define CAM_IMPORTER_WORDS	 4096
#define CAM_IMPORTER_PACKET	 (60u << 10)

enum cam_importer_what {
	CAM_IMPORTER_BEGIN, /* a file of this number follows; behind the head its name */
	CAM_IMPORTER_MORE,  /* bytes of it */
	CAM_IMPORTER_END,   /* that was all: read it */
	CAM_IMPORTER_DROP,  /* what there is of this number is not wanted any more */
};

struct cam_importer_head {
	uint32_t what, number;
	int64_t modified_s; /* BEGIN: when the file was written; 0: not said */
};

struct cam_importer_reply {
	int32_t status; /* 0: read; 1: read in part; else -errno: -EBADMSG: it cannot be read, -ETIMEDOUT, -EFBIG, … */
	uint32_t words; /* how many bytes follow: lines for people */
	uint64_t bytes; /* of its store */
};

/* Becomes it, in a process that was forked for it: `directory` is empty and its to remove. Does not return. */
_Noreturn void cam_importer_run(int socket, const char *directory);
