// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of an open sealed window. Each part is loaded when it is first asked for, and stays;
 * samples are decoded span by span and do not. Loads answer 0, or -ENOMEM and the like: damage is
 * no error, it is counted and what it took is filled with [damaged].
 */
#pragma once
#include "model/cursor.h"
#include "store/io.h"
#include "store/window_columns.h"
#include "store/window_dir.h"
#include "store/window_text.h"

enum cam_part {
	CAM_PART_STRINGS = 1 << 0, /* and event types */
	CAM_PART_NAMES = 1 << 1,   /* modules, functions */
	CAM_PART_TASKS = 1 << 2,
	CAM_PART_RANKS = 1 << 3, /* ranks → group and tree chunk, and the model of the column */
	CAM_PART_TREE = 1 << 4,
	CAM_PART_LEAVES = 1 << 5,
	CAM_PART_LOCATIONS = 1 << 6,
	CAM_PART_PLACES = 1 << 7,
	CAM_PART_CLASSES = 1 << 8, /* what the directory says of stacks */
};

/* A slot of the rank column's decoding table. */
struct cam_rank_slot {
	uint32_t base; /* rank of the token's first */
	uint16_t freq, bias;
	uint8_t bits;
};

struct cam_reader {
	struct cam_window w; /* first: ops find the rest from it */
	struct cam_file *file;
	uint64_t file_bytes;
	uint64_t directory_bytes;    /* of one copy, with its head */
	bool second_used, head_only; /* the first directory is bad; no more of it is wanted */
	int io_error;		     /* the last one of a read */
	struct cam_dir dir;
	struct cam_block_in dir_bytes; /* of it, until its classes are loaded */
	struct cam_tables t;
	unsigned parts;		       /* loaded */
	uint8_t *bad[CAM_CHUNK_KINDS]; /* per chunk: counted as damaged */
	uint8_t *span_lost;	       /* per span: its samples are counted as lost */
	uint32_t *strings;	       /* of the file → of the tables */
	uint32_t damaged_string, damaged_node, damaged_place; /* CAM_NONE: not needed so far */
	int32_t *process_pid;
	uint32_t tasks_from, tasks_to, task_loads; /* there, while not all are; so far */
	uint32_t *rank_group, *rank_tree, *rank_node;
	struct cam_rank_slot *rank_slots; /* CAM_RANS_SCALE */
	struct cam_rans_table *tables[CAM_COLUMN_TABLES];
	uint32_t next_node; /* behind those of the file; 0: no rows yet */
	uint32_t *small_of; /* per node: its [small] child, CAM_NONE */
	struct cam_total_row {
		uint32_t stack, group;
		uint64_t samples;
	} * small_rows; /* of the stored small tree */
	size_t n_small_rows;
	uint64_t *leaf_offsets; /* by function, in the order of use */
	uint32_t *leaf_start;
	uint8_t *place_lost; /* per chunk of places: it or its tree is bad */
	uint32_t *node_places, *node_first_place, *place_chunk_of; /* per node */
	struct cam_span_in *span;				   /* room for a span's columns */
	uint64_t preads, pread_bytes;				   /* for tests of laziness */
	uint8_t *ahead; /* small parts that lie side by side, read at once */
	uint64_t ahead_at, ahead_n;
};

/* Content of a chunk, with CAM_STREAM_SLACK zeros behind it. */
struct cam_chunk_in {
	uint8_t *data;
	size_t cap, n;
};

static inline struct cam_reader *cam_reader_of(struct cam_window *w)
{
	return (struct cam_reader *)w;
}

/* The chunks of a kind will be read, all of them: with one read, where they are small together. */
void cam_reader_ahead(struct cam_reader *r, enum cam_chunk_kind kind);
/* Reads and checks a chunk: 0, -EBADMSG (and counts it once), -ENOMEM. */
int cam_reader_chunk(struct cam_reader *r, enum cam_chunk_kind kind, size_t i,
		     struct cam_chunk_in *c);
/* Counts a chunk that turned out not to be decodable; answers -EBADMSG. */
int cam_reader_mark_bad(struct cam_reader *r, enum cam_chunk_kind kind, size_t i);
/* n bytes at an offset: 0, -EBADMSG at the end of the file or a read error. */
int cam_reader_pread(struct cam_reader *r, void *bytes, size_t n, uint64_t at);
/* Reads the trailer: where the second directory is, and its bytes. 0 or -EBADMSG. */
int cam_reader_trailer(struct cam_reader *r, uint64_t *at, uint32_t *bytes);
/* Counts the samples of a span as lost, once. */
void cam_reader_lose_span(struct cam_reader *r, size_t span);
/* What the ledger says about a span that is lost. */
void cam_reader_lost_row(const struct cam_reader *r, size_t span, struct cam_ledger_row *out);
/* Interns a string without moving those given out: -EBADMSG past what the directory announced. */
int cam_reader_intern(struct cam_reader *r, struct cam_text s, struct cam_str_id *out);
int cam_reader_damaged_string(struct cam_reader *r, uint32_t *out);
/* Marks: functions behind those of the file. Always there: whoever has the tables relies on the number of functions. */
static inline uint32_t cam_reader_damaged_func(const struct cam_reader *r)
{
	return r->dir.n_functions;
}
static inline uint32_t cam_reader_small_func(const struct cam_reader *r)
{
	return r->dir.n_functions + 1;
}
/* Trees get their rows with the tables, their content with the calls that deliver it; [damaged] and the small tree's are behind. */
int cam_reader_reserve_tree(struct cam_tree *tree, size_t n);
int cam_reader_reserve_nodes(struct cam_reader *r);
int cam_reader_add_node(struct cam_reader *r, uint32_t parent, uint32_t func, uint32_t *out);

/* Opens n streams that follow each other (contexts NULL: one each); on error none is open. */
int cam_streams_open(struct cam_stream_in *s, struct cam_rd *rd, unsigned n,
		     const uint8_t *contexts, const uint8_t *splits);
/* Frees them; -EBADMSG unless each was read to its end. */
int cam_streams_close(struct cam_stream_in *s, unsigned n);

/* Reads each chunk of a kind; `load` must use up its bytes, `damage` fills the rows of a chunk that cannot be read,
 * also of one that fails half way. */
typedef int cam_load_rows(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c);
typedef int cam_damage_rows(struct cam_reader *r, const struct cam_dir_chunk *c);
int cam_reader_each_chunk(struct cam_reader *r, enum cam_chunk_kind kind, cam_load_rows *load,
			  cam_damage_rows *damage);

/* Loads all the parts asked for. */
int cam_reader_load(struct cam_reader *r, unsigned parts);
int cam_load_strings(struct cam_reader *r);
int cam_load_names(struct cam_reader *r);
int cam_load_tasks(struct cam_reader *r);
int cam_load_ranks(struct cam_reader *r);
int cam_load_tree(struct cam_reader *r);
int cam_load_leaves(struct cam_reader *r);
int cam_load_locations(struct cam_reader *r);
int cam_load_places(struct cam_reader *r);
/* Door D's answers, by file. */
int cam_read_comms(struct cam_window *w, cam_comm_fn *fn, void *arg);
int cam_read_task(struct cam_window *w, uint32_t task, struct cam_task *out);
int cam_read_samples(struct cam_window *w, struct cam_range range, unsigned columns,
		     cam_batch_fn *fn, void *arg);
int cam_read_totals(struct cam_window *w, cam_total_fn *fn, void *arg);
int cam_read_totals_in(struct cam_window *w, struct cam_range range, cam_total_fn *fn, void *arg);
int cam_read_small_totals(struct cam_window *w, cam_total_fn *fn, void *arg);
int cam_read_cells(struct cam_window *w, cam_cell_fn *fn, void *arg);
int cam_read_seconds(struct cam_window *w, cam_cell_fn *fn, void *arg);
int cam_read_process_cells(struct cam_window *w, cam_process_cell_fn *fn, void *arg);
int cam_read_name_cells(struct cam_window *w, cam_name_cell_fn *fn, void *arg);
int cam_read_slots(struct cam_window *w, cam_slots_fn *fn, void *arg);
int cam_read_events(struct cam_window *w, cam_event_fn *fn, void *arg);
int cam_read_ledger(struct cam_window *w, cam_ledger_fn *fn, void *arg);
int cam_read_anchors(struct cam_window *w, cam_anchor_fn *fn, void *arg);
int cam_read_facts(struct cam_window *w, cam_fact_fn *fn, void *arg);
int cam_read_counters(struct cam_window *w, cam_counter_fn *fn, void *arg);
int cam_read_lines(struct cam_window *w, cam_line_fn *fn, void *arg); /* window_read_lines.c */

/* A span's samples, column by column; see window_read_columns.c. */
struct cam_span_in {
	const struct cam_dir_span *span;
	size_t number;
	struct cam_chunk_in chunk;
	/* Runs of samples of one CPU in one second. */
	struct cam_run {
		uint32_t second, cpu, n; /* second: of the span, cpu: of the directory */
	} * runs;
	uint32_t n_runs;
	uint64_t *time_ns, *weight, *leaf;
	uint32_t *rank, *group, *cpu, *task, *stack, *place, *etype, *detail, *comm;
	struct cam_task_lists lists;
	struct cam_cpu_in {
		uint64_t last;
		uint32_t stamp, count;
		unsigned ctx;
	} * cpus;
	uint64_t *last_weight;
	uint32_t stamp;
	uint32_t *key;	  /* per sample: which of several chunks has it, CAM_NONE: none */
	uint32_t *order;  /* samples by key */
	uint32_t *starts; /* per key, where they begin in order */
	size_t cap_starts;
};
int cam_span_in_new(struct cam_reader *r);
void cam_span_in_free(struct cam_span_in *s);
/* Sorts the span's samples by key, those of one key in their order; keys below n_keys. */
int cam_span_sort(struct cam_reader *r, size_t n_keys);
/* Opens the stream that is all of a column's chunk; close answers err, or -EBADMSG unless all was read. Both mark a bad chunk. */
int cam_column_open(struct cam_reader *r, enum cam_chunk_kind kind, size_t i,
		    enum cam_column_table t, struct cam_stream_in *in);
int cam_column_close(struct cam_reader *r, enum cam_chunk_kind kind, size_t i,
		     struct cam_stream_in *in, int err);
/* Each decodes its chunk: 0, -EBADMSG: it is bad and counted. In this order, as needed. */
int cam_span_counts(struct cam_reader *r, size_t span);
void cam_span_cpu(struct cam_reader *r); /* of each sample, from the counts */
int cam_span_time(struct cam_reader *r);
int cam_span_rank(struct cam_reader *r);
int cam_span_task(struct cam_reader *r);
int cam_span_weight(struct cam_reader *r);
void cam_span_stack(struct cam_reader *r);
int cam_span_leaf(struct cam_reader *r);
int cam_span_place(struct cam_reader *r);
int cam_span_detail(struct cam_reader *r);
