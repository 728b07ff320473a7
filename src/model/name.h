// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of one offset of a file: its function, and what was inlined there.
 *
 * The answer to CAM_ERRAND_NAMES (model/errand.h) is made of these, and the book of names keeps them. All texts
 * are borrowed, may be any bytes, and came from files that anyone may have made.
 *
 * Source lines: each function of the chain has one. Of the innermost it is the line of the code itself, of the
 * others the line from which the next one is called. file is a path as the compiler was given it (with
 * the directory it ran in, where it was relative); empty: not known, then line is 0.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

/* Functions inlined at one offset: of more the innermost are left out. */
#define CAM_NAME_MAX_INLINED 64u

/* A function that has no code of its own at this offset. */
struct cam_inlined {
	struct cam_text name; /* demangled, not empty */
	struct cam_text file;
	uint32_t line;
};

struct cam_name {
	uint64_t offset;	     /* as asked */
	uint64_t start;		     /* of the function, in the offsets' own terms; it may be
				      * known without a name; where it is not: the offset */
	enum cam_name_source source; /* CAM_NAME_NONE: has no name */
	struct cam_text name;	     /* demangled, at most CAM_RAW_MAX_TEXT */
	struct cam_text module;	     /* kernel: "[ext4]", "[bpf]"; empty: the file's own */
	struct cam_text file;
	uint32_t line;
	uint32_t n_inlined;		   /* only of what has a name */
	const struct cam_inlined *inlined; /* the outermost first */
	/* All of [start, end) has this name, or none, and nothing more is known of any of it; 0: of the offset alone. */
	uint64_t end;
};

/* The answer to CAM_ERRAND_NAMES. */
struct cam_names_tidings {
	const struct cam_name *names; /* those asked for that fit, in any order */
	uint32_t n_names;
	bool more;		  /* further packets of the same ticket follow */
	struct cam_text build_id; /* raw bytes */
	bool left_out;		  /* its DWARF was too large: without what it would have told */
	bool elsewhere;		  /* …or lies in files that were not given: dwz -m, .dwo */
	/* A debug file would tell more, and the errand says that it can be looked for: then there are no names, and
	 * the errand is to be sent again, with that file or without `search`. One that was sent along is not
	 * the file's if this is said again. */
	bool wants_debug;
	/* The same for the file that its DWARF refers to (dwz -m). build_id and link are that one's then. */
	bool wants_supplement;
	struct cam_text link; /* what .gnu_debuglink says: a file's name; may be empty */
	/* PERF_MAP, JITDUMP: */
	uint64_t turn; /* another one: names told in the one before may be wrong from now on */
	bool behind;   /* the file has more than was read by now: ask again soon */
};
