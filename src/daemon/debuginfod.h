// SPDX-License-Identifier: Apache-2.0
/*
 * Files by build-id from debuginfod servers, only where somebody asked for it; kept in a cache.
 *
 * A server is a stranger: what it sends is written to a nameless file, bounded in size and time, by a process that
 * can do nothing else (fetcher.h). Only after the librarian has found the right build-id in it does
 * it get its place, DIR/HEX/debuginfo or DIR/HEX/executable, and the oldest of the cache make room.
 * A server that fails three times running is not asked again. One thread.
 */
#pragma once
#include "daemon/librarian.h"

#define CAM_DEBUGINFOD_FILE_BYTES  (512ull << 20)
#define CAM_DEBUGINFOD_CACHE_BYTES (2ull << 30)
#define CAM_DEBUGINFOD_TIMEOUT_S   90u
#define CAM_DEBUGINFOD_MAX_URLS	   16u

struct cam_debuginfod_options {
	const char *urls;      /* with blanks between them, as in $DEBUGINFOD_URLS */
	const char *cache_dir; /* made if need be */
	/* 0: as above. */
	uint64_t max_file_bytes, max_cache_bytes;
	uint32_t timeout_s;
};

struct cam_debuginfod_counts {
	uint32_t fetched;
	uint32_t missing;   /* files that no server has */
	uint32_t refused;   /* with another build-id, or no ELF file */
	uint32_t failed;    /* too large, too slow, sent elsewhere, not to be reached, … */
	uint64_t bytes;	    /* of all that was fetched */
	int last_error;	    /* of the failed: fetcher.h; 0: none */
	char last_url[256]; /* …where */
};

struct cam_debuginfod;

/* -EINVAL: no URL, too many, or one that is not http:// or https://; what making the directory said. */
int cam_debuginfod_new(const struct cam_debuginfod_options *o, struct cam_debuginfod **out);
void cam_debuginfod_free(struct cam_debuginfod *d);
/* For the librarian's options; lives as long as d. */
const struct cam_librarian_fetch *cam_debuginfod_fetch(struct cam_debuginfod *d);
struct cam_debuginfod_counts cam_debuginfod_counts(const struct cam_debuginfod *d);

/* perfcam/debuginfod in the user's cache directory. -ENOENT: this user has none; -ERANGE. */
int cam_debuginfod_cache_path(char *room, size_t room_bytes);
