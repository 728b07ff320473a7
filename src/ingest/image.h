// SPDX-License-Identifier: Apache-2.0
/*
 * What a process runs: its program and its executable mappings. Shared between a process and those
 * it forks, until one of them changes something (copy on write): a storm of forks costs a count each.
 *
 * One thread. Images are counted; the last one to let go frees. A pool keeps account of all of them.
 *
 * An image may be numbered, for those who keep copies of it (unwinder.h). A change makes it another
 * image: it loses its number, the pool's `forget` hears of it, and the next number is a new one. So of
 * two numbers the larger is the later state of things, and a mapping knows which numbers are from
 * before it replaced another.
 */
#pragma once
#include "ingest/files.h"

#define CAM_IMAGE_MAX_MAPS 16384u

struct cam_image_map {
	uint64_t start, end;
	uint64_t offset;	    /* of start in the file */
	uint64_t since_ns;	    /* 0: since before anything we know */
	struct cam_files_row *file; /* NULL: not known */
	uint32_t over; /* images up to this number had something else there; 0: nobody had */
};

struct cam_image {
	uint32_t refs, n, cap;
	uint32_t number; /* 0: has none */
	uint32_t floor;	 /* images up to this number are of another program, or not to be trusted */
	bool handed_over;	    /* its mappings were, under this number */
	bool tables_wanted;	    /* those of its files are */
	struct cam_word *exe;	    /* NULL: not known (yet) */
	struct cam_image_map *maps; /* by start, without overlap */
};

struct cam_images {
	struct cam_words *words;
	struct cam_files *files;
	size_t bytes;	  /* of all images */
	uint64_t refused; /* mappings beyond CAM_IMAGE_MAX_MAPS */
	uint32_t last_number;
	void (*forget)(void *arg, uint32_t number); /* NULL: nobody cares */
	void *arg;
};

/* An empty one, held once; NULL: no memory. */
struct cam_image *cam_image_new(struct cam_images *pool);
static inline struct cam_image *cam_image_hold(struct cam_image *i)
{
	if (i)
		i->refs++;
	return i;
}
void cam_image_release(struct cam_images *pool, struct cam_image *i);

/*
 * A new mapping replaces what it overlaps. One that says nothing new (a page that became writable
 * and executable again) changes nothing, unless what is there is not to be trusted (`anew`).
 * *i is replaced by a copy if others hold it too. -EINVAL: no such range; -E2BIG; -ENOMEM: nothing
 * is changed then.
 */
int cam_image_map(struct cam_images *pool, struct cam_image **i, const struct cam_mapping *m,
		  uint64_t since_ns, bool anew);
/* The same of a row that another image has. */
int cam_image_map_row(struct cam_images *pool, struct cam_image **i,
		      const struct cam_image_map *row);
/* Takes the word over. */
int cam_image_set_exe(struct cam_images *pool, struct cam_image **i, struct cam_word *exe);

/* Where the mappings of one file that adjoin this one begin: of memory without a file the kernel makes them one. */
uint64_t cam_image_run(const struct cam_image *i, const struct cam_image_map *m);

/* A mapping of that file; NULL: none, or no image. */
const struct cam_image_map *cam_image_of_file(const struct cam_image *i,
					      const struct cam_files_row *f);

/* Its number, given if it has none; 0: there are no more. */
uint32_t cam_image_number(struct cam_images *pool, struct cam_image *i);
/* Whether what was found out with that image is not to be believed of this mapping of this one. */
static inline bool cam_image_is_stale(const struct cam_image *i, const struct cam_image_map *m,
				      uint32_t number)
{
	return number && (number <= i->floor || number <= m->over);
}

/* The mapping that holds the address and did at that time; NULL: none. */
const struct cam_image_map *cam_image_find(const struct cam_image *i, uint64_t address,
					   uint64_t time_ns);
