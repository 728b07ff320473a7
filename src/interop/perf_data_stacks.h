// SPDX-License-Identifier: Apache-2.0
/*
 * From addresses to locations: which object lies there, and what its function is called.
 *
 * An address of a space is looked up once, and an offset of an object is named once. Names are asked
 * for in batches (model/namer.h), so first all addresses of many samples are made into numbers of
 * this table, then cam_perf_stacks_name() asks for the new ones, then the samples are delivered.
 *
 * The symbol is that of the address itself, for callers, too, as perf has it (their addresses are where
 * the call returns to).
 *
 * Bounded: when there are more than CAM_PERF_MAX_LOCATIONS between two batches all are forgotten, and made
 * anew as they come.
 */
#pragma once
#include "interop/import.h"
#include "interop/perf_data_space.h"
#include "model/namer.h"
#include "model/sink.h"

#define CAM_PERF_MAX_LOCATIONS (1u << 19)
#define CAM_PERF_SEEN_BITS     15u

struct cam_perf_location {
	uint64_t
		offset; /* in its object; of the kernel's, of code made at run time, and in none: the
			  * address itself. This is what perf prints */
	uint64_t func_offset;
	uint32_t object; /* CAM_NONE: nothing known lies there */
	struct cam_str_id name;
	enum cam_name_source source;
	bool kernel; /* sampled in the kernel's mode */
};

/* One function that was inlined at an address, and the one that it is inlined in. */
struct cam_perf_inlined {
	struct cam_str_id name;
	uint32_t outer; /* a row; 0: the function that has the code */
};

struct cam_perf_stacks {
	struct cam_perf_spaces *spaces;
	struct cam_sink *sink;
	const struct cam_import_options *options;
	char release[66]; /* of the recorded kernel */
	struct cam_perf_location *rows;
	size_t n, cap;
	size_t n_asked; /* rows before this one have been asked about */
	/* Of each row the sink's id + 1, 0: none yet; apart from the rows, which do not fit a cache. */
	uint32_t *sink_ids;
	size_t cap_sink_ids;
	uint32_t generation; /* of the sink, for which they are good */
	/* Rows by what they are. A slot has all of that: a row is not looked at, that would be one more cache miss. */
	struct cam_perf_row_slot {
		uint64_t offset;
		uint32_t what; /* object and mode */
		uint32_t row_plus_1;
	} * slots;
	size_t n_slots;		 /* a power of two, or 0 */
	struct cam_tables names; /* only its strings are used */
	/* By the number of its name which function of the sink's it was last, and which location, if its addresses are
	 * all one (0: not known, else plus 1); good for `generation`. */
	struct cam_perf_named {
		uint32_t object, func, module, location;
		uint8_t source, kernel;
		bool known;
	} * named;
	size_t cap_named;
	struct cam_perf_inlined *inlined; /* row 0 is nobody's */
	size_t n_inlined, cap_inlined;
	/* By the numbers of rows what debug information says; only with options->inlines. */
	struct cam_perf_line {
		struct cam_str_id file;
		uint32_t line;
		uint32_t inlined; /* the innermost row of inlined; 0: nothing is */
	} * lines;
	size_t cap_lines;
	struct cam_perf_seen {
		uint64_t address;
		uint32_t space, row_plus_1;
	} * seen;
	uint64_t *offsets; /* of one question */
	uint32_t *order;
	size_t cap_offsets, cap_order;
};

int cam_perf_stacks_init(struct cam_perf_stacks *k, struct cam_perf_spaces *spaces,
			 struct cam_sink *sink, const struct cam_import_options *o);
void cam_perf_stacks_free(struct cam_perf_stacks *k);

/* Between two batches. True: all numbers given before are dead. */
bool cam_perf_stacks_trim(struct cam_perf_stacks *k);
/* A change of the kernel's space adds names, and takes those of code that is gone. */
static inline uint32_t cam_perf_stacks_number(const struct cam_perf_space *space, bool kernel)
{
	return space ? space->number : UINT32_MAX - kernel;
}
static inline struct cam_perf_seen *cam_perf_stacks_seen(const struct cam_perf_stacks *k,
							 uint32_t number, uint64_t address)
{
	uint64_t mixed = (address ^ (uint64_t)number << 32) * 0x9e3779b97f4a7c15u;
	return &k->seen[mixed >> (64 - CAM_PERF_SEEN_BITS)];
}
/* The number of an address in a space (NULL: in none that is known). False: see find_slow(). */
static inline bool cam_perf_stacks_find_seen(struct cam_perf_stacks *k,
					     const struct cam_perf_space *space, bool kernel,
					     uint64_t address, uint32_t *out)
{
	uint32_t number = cam_perf_stacks_number(space, kernel);
	const struct cam_perf_seen *s = cam_perf_stacks_seen(k, number, address);
	*out = s->row_plus_1 - 1;
	return s->address == address && s->space == number && s->row_plus_1;
}
/* The same for one that was not seen of late, in two steps, so that several can wait for memory at once: what lies there …*/
struct cam_perf_missed {
	struct cam_perf_location location;
	uint64_t address;
	uint32_t number;
};
void cam_perf_stacks_look_up(struct cam_perf_stacks *k, const struct cam_perf_space *space,
			     bool kernel, uint64_t address, struct cam_perf_missed *out);
/* … and its number. -ENOMEM. */
int cam_perf_stacks_find_slow(struct cam_perf_stacks *k, const struct cam_perf_missed *m,
			      uint32_t *out);
static inline int cam_perf_stacks_find(struct cam_perf_stacks *k,
				       const struct cam_perf_space *space, bool kernel,
				       uint64_t address, uint32_t *out)
{
	struct cam_perf_missed m;
	if (cam_perf_stacks_find_seen(k, space, kernel, address, out))
		return 0;
	cam_perf_stacks_look_up(k, space, kernel, address, &m);
	return cam_perf_stacks_find_slow(k, &m, out);
}
/* The namer's number of an object's file; CAM_NONE: it is not here. Errors are the namer's. */
int cam_perf_stacks_file(struct cam_perf_stacks *k, uint32_t object, uint32_t *file);
/* Asks for the names of all that are new. Errors are the namer's, and of the caller's making. */
int cam_perf_stacks_name(struct cam_perf_stacks *k);
/* The name that it got; empty: none. */
struct cam_text cam_perf_stacks_text(const struct cam_perf_stacks *k, uint32_t row);
/* The sink's id of a location, of its current generation. Errors are the sink's. */
/* The same with another address: perf gives that of a sample without a chain as it was, not in its file. */
int cam_perf_stacks_define_at(struct cam_perf_stacks *k, uint32_t row, uint64_t address,
			      struct cam_loc_id *out);
int cam_perf_stacks_define_slow(struct cam_perf_stacks *k, uint32_t row, struct cam_loc_id *out);
static inline int cam_perf_stacks_define(struct cam_perf_stacks *k, uint32_t row,
					 struct cam_loc_id *out)
{
	out->v = k->sink_ids[row] - 1;
	if (k->sink_ids[row] && k->generation == k->sink->generation)
		return 0;
	return cam_perf_stacks_define_slow(k, row, out);
}
/* Of what was inlined there (only with options->inlines), the innermost first, at most `room`; *n: how many. */
int cam_perf_stacks_define_inlined(struct cam_perf_stacks *k, uint32_t row, struct cam_loc_id *out,
				   size_t room, size_t *n);
