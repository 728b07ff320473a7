// SPDX-License-Identifier: Apache-2.0
/* What librarian.c (which file is which module) and librarian_ask.c (what is asked of it) share. */
#pragma once
#include "base/index.h"
#include "daemon/inquiry.h"
#include "daemon/librarian.h"

#include <limits.h>

#define CAM_BOOK_COPIES 6u

/* What kind of file one is, as the symboliser says. */
struct cam_book_outline {
	uint8_t build_id[CAM_ERRAND_MAX_BUILD_ID];
	size_t id_bytes; /* 0: it has none */
	bool has_code, has_symbols;
	struct cam_file_segment segments[CAM_OUTLINE_MAX_SEGMENTS];
	size_t n_segments;
};

/* A file that was found to be the module. It is opened again for each call, and used if it still is that. */
struct cam_book_copy {
	char *path;
	struct cam_file_key key;
	enum cam_namer_origin origin;
	enum cam_file_format format;
	uint8_t deaths;	    /* of symbolisers, without an answer between them */
	char *supplement;   /* that its DWARF refers to (dwz -m); NULL: not known */
	bool no_supplement; /* it was looked for in vain */
};

struct cam_book {
	struct cam_namer_module module; /* its texts are the book's */
	int error;			/* why it has no copy */
	struct cam_book_copy copies[CAM_BOOK_COPIES];
	size_t n_copies, named_by;	   /* the copy that gave the last name */
	bool has_symbols;		   /* all of them, in some copy */
	struct cam_file_segment *segments; /* of the copy with code: a debug file knows addresses */
	size_t n_segments;
	uint64_t shift;	 /* KERNEL: add it to an address of our symbols to get the recorded one */
	bool no_modules; /* …what it says of the kernel's modules is of another boot, maybe */
	uint64_t table_batch; /* when its unwind table was last asked for */
};

struct cam_librarian {
	struct cam_namer namer;
	struct cam_librarian_options options; /* its texts are ours */
	struct cam_inquiry *inquiry;
	struct cam_book *books; /* file CAM_FILE_FIRST + i */
	size_t n_books, cap_books;
	struct cam_index index;
	/* Which kernel's symbols the symboliser has: a book + 1, and since which start. */
	size_t kernel_book;
	uint32_t kernel_start;
	uint64_t batch; /* of stacks */
	uint32_t batch_start;
};

/* Opens a copy; -ESTALE: it is not the file any more that was looked at. */
int cam_book_open(const struct cam_book_copy *c);

/*
 * The hunt for a supplement, while names are asked for: the symboliser wants it, then each file that may be it goes along
 * until it does not ask again.
 */
struct cam_librarian_hunt {
	bool wanted;  /* …in the last run */
	bool over;    /* there is none: without it, then */
	bool fetched; /* the one at hand has no place yet */
	int fd;	      /* the one at hand; -1 */
	unsigned nth; /* place that is tried next */
	size_t id_bytes, link_bytes;
	char id[CAM_ERRAND_MAX_BUILD_ID], link[CAM_ERRAND_MAX_LINK];
	char path[PATH_MAX]; /* of the one at hand */
};
void cam_librarian_hunt_start(struct cam_librarian_hunt *h, const struct cam_book_copy *c);
void cam_librarian_hunt_for(struct cam_librarian_hunt *h, const struct cam_names_tidings *t);
/* The one at hand was not it: another one, or it is over. `of`: the file that refers to it. */
void cam_librarian_hunt_next(struct cam_librarian *l, struct cam_librarian_hunt *h, const char *of);
/* What was found is remembered. */
void cam_librarian_hunt_end(struct cam_librarian *l, struct cam_librarian_hunt *h,
			    struct cam_book_copy *c);

int cam_librarian_names(struct cam_namer *n, uint32_t file, const uint64_t *offsets,
			size_t n_offsets, bool names_only, cam_namer_name_fn *fn, void *arg);
int cam_librarian_unwind(struct cam_namer *n, const struct cam_namer_stack *stacks, size_t n_stacks,
			 cam_namer_frames_fn *fn, void *arg);
/* 0, or why it has none: it is no ELF file (-EBADMSG), … */
int cam_librarian_outline(struct cam_librarian *l, uint32_t file, int fd,
			  struct cam_book_outline *out);
