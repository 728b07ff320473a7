// SPDX-License-Identifier: Apache-2.0
/*
 * The directory of a sealed window: what its chunks are and everything that must survive the loss
 * of any of them. It is stored twice. window_dir.c has its layout.
 */
#pragma once
#include "model/cursor.h"
#include "store/format.h"
#include "store/stream.h"

struct cam_dir_chunk {
	uint64_t offset; /* of its crc in the file; not stored: the chunks follow each other */
	uint32_t bytes;	 /* with its crc; 0: the chunk is empty and has none */
	uint32_t rows;	 /* tables and DETAIL only */
	uint32_t first;	 /* row; not stored: the sum of the rows before */
	uint32_t places; /* PLACES only, whose rows are nodes */
	uint32_t first_place;
};

struct cam_dir_section {
	struct cam_dir_chunk *chunks;
	size_t n, cap;
};

/* Samples of some seconds, or of a part of one. */
struct cam_dir_span {
	uint64_t second;  /* the first */
	uint32_t seconds; /* 1 .. CAM_SPAN_SECONDS */
	uint32_t samples; /* 1 .. CAM_SPAN_SAMPLES */
	uint32_t first_task;
	uint32_t details; /* DETAIL chunks */
	bool timeless;	  /* its samples have no time */
	/* Not stored: */
	uint32_t first_detail;
	uint64_t first_sample;
};

struct cam_dir_etype {
	uint32_t name; /* string */
	uint64_t period_ns;
	bool has_weight;
	bool flat;
	bool varies;	 /* weights differ: they are a column */
	uint64_t weight; /* else of all its samples */
};

/* Samples of one event type and one comm. */
struct cam_dir_group {
	uint32_t etype;
	uint32_t comm;	    /* string */
	uint32_t sole_task; /* the only task of the group, CAM_NONE: there are several */
};

/*
 * A class: all pairs (stack, group) of one group with one count. Ranks are given by class, in
 * order (count descending, group ascending), and inside a class by tree chunk and place in it.
 */
struct cam_dir_class {
	uint32_t group, count;
	uint32_t first_rank, pairs;
};

enum cam_column_table {
	CAM_TABLE_COUNTS,
	CAM_TABLE_TIME,
	CAM_TABLE_TASK,
	CAM_TABLE_WEIGHT,
	CAM_TABLE_LEAF,
	CAM_TABLE_PLACE,
	CAM_COLUMN_TABLES,
};
extern const uint8_t cam_column_splits[CAM_COLUMN_TABLES];
extern const uint8_t cam_column_contexts[CAM_COLUMN_TABLES];
#define CAM_COLUMN_CTX_MAX 16u

struct cam_dir {
	uint32_t compat, ro_compat, incompat;
	struct cam_window_info info; /* name and flags of the store apart */
	char *host;
	uint64_t period;     /* nominal, in time units, at least 1 */
	uint64_t text_bytes; /* at most, of all strings once interned */
	uint32_t n_strings, n_modules, n_functions, n_tasks, n_processes, n_nodes, n_pairs;
	uint32_t n_locations, n_places;
	uint32_t small_divisor; /* the small tree keeps 1 / small_divisor of the samples */
	uint32_t *cpus;		/* ascending */
	struct cam_dir_etype *etypes;
	struct cam_dir_group *groups;
	uint32_t *module_start; /* n_modules + 1: first function of each */
	struct cam_dir_class *classes;
	uint32_t *class_pairs; /* [class * n_trees + tree chunk] */
	uint32_t *leaf_sizes;  /* per function: distinct leaf offsets; NULL: no leaf section */
	bool has_leaves;       /* it has one, leaf_sizes are read or not */
	size_t stacks_at;      /* where cam_dir_read_stacks() begins */
	struct cam_rans_freq (*tables)[CAM_COLUMN_CTX_MAX]; /* CAM_COLUMN_TABLES */
	struct cam_dir_span *spans;
	size_t n_cpus, n_etypes, n_groups, n_classes, n_trees, n_spans;
	size_t cap_spans, cap_classes, cap_class_pairs;
	uint64_t unknown_bytes; /* of kinds of chunks this reader does not know */
	struct cam_dir_section sections[CAM_CHUNK_KINDS];
};

void cam_dir_free(struct cam_dir *d);
int cam_dir_add_chunk(struct cam_dir *d, enum cam_chunk_kind kind, uint32_t bytes, uint32_t rows);
int cam_dir_add_span(struct cam_dir *d, const struct cam_dir_span *span);
/* A class, group by group and counts ascending; its n_trees numbers of pairs are zero. */
int cam_dir_add_class(struct cam_dir *d, uint32_t group, uint32_t count);
/* Fills in what is derived: ranks of classes, offsets (from `at` on), first rows. -EBADMSG where
 * sums pass their bounds. */
int cam_dir_derive_ranks(struct cam_dir *d);
int cam_dir_place_chunks(struct cam_dir *d, uint64_t at);

/* The bytes of a directory, uncompressed and without their head. */
int cam_dir_write(const struct cam_dir *d, struct cam_buf *out);
/*
 * Reads and checks them: every count against its bounds and against file_bytes, the real size of
 * the file. -EPROTONOSUPPORT: an unknown incompatible feature. Bytes as for streams. Free it in
 * any case.
 */
int cam_dir_read(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes);
/*
 * The same but for classes and leaf sizes, which take most of the time and which only stacks need; and these two, later, from
 * the same bytes.
 */
int cam_dir_read_plain(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes);
int cam_dir_read_stacks(struct cam_dir *d, const uint8_t *bytes, size_t n);
/* No further than info, counts of rows, CPUs, event types and groups. */
int cam_dir_read_head(struct cam_dir *d, const uint8_t *bytes, size_t n, uint64_t file_bytes);

/*
 * How many cells (of a second each) a section of them may hold: none is without a sample, and a token may take no
 * bit at all, so that beyond the first million the section's bytes say it (format.h).
 */
uint64_t cam_dir_most_cells(const struct cam_dir *d, enum cam_chunk_kind kind);

/*
 * Zeros between chunks and second directory: where it would begin in the page in which the first
 * one ends, so that no single bad page costs both; and where the file would be smaller than what
 * it holds allows.
 */
uint64_t cam_dir_padding(const struct cam_dir *d, uint64_t first_end, uint64_t second_start);
/* The least bytes of a file with these numbers of rows. */
uint64_t cam_dir_least_bytes(const struct cam_dir *d);

/* The checksum before a chunk: of what it is, then of its content. */
uint32_t cam_chunk_crc(enum cam_chunk_kind kind, uint32_t number, const void *content, size_t n);

/* Histogram of the rank column's tokens, from the classes: it is its model. */
#define CAM_RANK_SPLIT 7u
void cam_dir_rank_model(const struct cam_dir *d, struct cam_rans_freq *out);
