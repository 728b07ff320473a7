// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of cam_window_write(), in the order they run; each leaves its chunks with
 * cam_writer_add_chunk() and its facts in the directory. All answer 0 or a negative errno.
 */
#pragma once
#include "base/out.h"
#include "store/window_dir.h"
#include "store/window_rows.h"
#include "store/window_shape.h"
#include "store/window_tree.h"

struct cam_writer {
	uint32_t chunk_bytes; /* that chunks should keep to */
	struct cam_window *in;
	const struct cam_tables *t;
	struct cam_rows rows;
	struct cam_shape shape;
	struct cam_tree_writer tree;
	struct cam_dir dir;
	struct cam_buf chunks[CAM_CHUNK_KINDS]; /* each kind's, one behind the other */
	/* Strings of the file: the table's string → its number + 1, and back. */
	uint32_t *string_number, *strings;
	size_t n_strings, cap_strings;
	uint64_t text_bytes; /* of all strings a reader may intern */
	/* Per pair of the shape. */
	uint32_t *pair_rank, *pair_tree;
	uint32_t *func_id;	       /* per function key: its number in the file */
	uint32_t *functions;	       /* number in the file → function of the tables */
	uint8_t *startless;	       /* per function of the file: where it starts is not kept */
	uint32_t *task_process;	       /* per task of the file */
	const struct cells *cells;     /* while processes are written */
	const struct cam_notes *notes; /* while notes are written */
	const struct cam_counters *counters;
	const struct cam_line_row *lines; /* while they are written */
	const struct naming *naming;	  /* while seconds are written */
	const struct cam_slots *slots;	  /* while they are written */
	/* Leaf offsets: per sample its row in leaves, whose place among its function's is known. */
	struct cam_leaf {
		uint32_t func; /* key */
		uint32_t count, rank;
		uint64_t offset; /* + 1 */
	} * leaves;
	size_t n_leaves, cap_leaves;
	struct cam_leaf **leaf_order; /* by function of the file */
	uint32_t *leaf_start;	      /* per function of the file */
	uint32_t *row_leaf;
	uint32_t *leaf_sizes; /* per function key */
	/* Places: per place of the tables its number in the file, and among those of its stack. */
	uint32_t *place_number, *place_index;
	/* Per node of the shape: places there, and the chunk they are in. */
	uint32_t *node_places, *node_place_chunk;
	struct cam_places *places; /* while places are written */
};

/*
 * cam_window_write() with another size of chunks: small ones give tests many chunks of few rows.
 * At least 64.
 */
int cam_window_write_chunks(struct cam_window *in, struct cam_out *out, uint32_t chunk_bytes);

/*
 * A file of what is ready: header, directory, the chunks of each kind one behind the other as the directory
 * lists them, directory and trailer.
 */
int cam_writer_put_file(const struct cam_dir *dir,
			const struct cam_buf chunk_bytes[CAM_CHUNK_KINDS], struct cam_out *out);
int cam_writer_add_chunk(struct cam_writer *w, enum cam_chunk_kind kind,
			 const struct cam_buf *content, uint32_t rows);
/*
 * Writes n rows of a table as chunks that keep to their size: `put` appends rows [from, to) to out
 * and may be asked again for fewer.
 */
typedef int cam_put_rows(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out);
int cam_writer_cut(struct cam_writer *w, enum cam_chunk_kind kind, uint32_t n, cam_put_rows *put);
/* The string's number in the file, given in the order they are asked for. */
int cam_writer_string(struct cam_writer *w, struct cam_str_id id, uint32_t *out);

int cam_write_trees(struct cam_writer *w);     /* window_write_tree.c: pair_*, func_id, classes */
int cam_write_small(struct cam_writer *w);     /* window_write_small.c, after the trees */
int cam_write_leaves(struct cam_writer *w);    /* window_write_leaf.c: leaves, row_leaf */
int cam_write_places(struct cam_writer *w);    /* window_write_place.c: place_* */
int cam_write_modules(struct cam_writer *w);   /* window_write_names.c */
int cam_write_functions(struct cam_writer *w); /* the same */
int cam_write_groups(struct cam_writer *w);    /* the same: groups and event types */
int cam_write_strings(struct cam_writer *w);   /* the same, once all strings have been asked for */
int cam_write_tasks(struct cam_writer *w);     /* window_write_tasks.c: task_process */
int cam_write_processes(struct cam_writer *w); /* the same */
int cam_write_seconds(struct cam_writer *w);   /* window_write_seconds.c, after the tasks */
int cam_write_slots(struct cam_writer *w);     /* window_write_slots.c */
int cam_write_notes(struct cam_writer *w);     /* window_write_notes.c: anchors, events, … */
int cam_write_columns(struct cam_writer *w);   /* window_write_columns.c */
int cam_write_counters(struct cam_writer *w);  /* window_write_counters.c */
int cam_write_lines(struct cam_writer *w);     /* window_write_lines.c, after the leaves */
