// SPDX-License-Identifier: Apache-2.0
/*
 * Chunks of the tree of stacks: a range of its nodes in preorder, with the (group, count) pairs
 * at each node. See window_tree.c for the coding.
 *
 * A chunk is decodable alone: it names the path from the root to its first node, and everything
 * learnt while coding is forgotten between chunks.
 */
#pragma once
#include "base/buf.h"
#include "model/tables.h"
#include "store/stream.h"

enum cam_tree_stream {
	CAM_TREE_KIDS,	  /* children of a node */
	CAM_TREE_PAIRS,	  /* pairs at a node */
	CAM_TREE_GROUP,	  /* a pair's group: place in the list of recent ones */
	CAM_TREE_COUNT,	  /* a pair's count - 1 */
	CAM_TREE_RANK,	  /* a child known below this function: 1 + entries skipped; 0: no more */
	CAM_TREE_OTHER,	  /* one not known there: 0 new, 1 of an earlier chunk, 2 + place in list */
	CAM_TREE_MODULE,  /* of a function new to the chunk: 0 as the parent's, 1 + place in list */
	CAM_TREE_EARLIER, /* a function of an earlier chunk: its number in the module */
	CAM_TREE_STREAMS,
};

/* What both sides learn while coding one chunk. Functions are any dense keys. */
struct cam_tree_state {
	struct cam_successors {
		uint32_t at, n, cap;
	} * successors; /* per function, the root last */
	struct cam_successor {
		uint32_t func, uses;
	} * entries;
	size_t n_entries, cap_entries;
	uint32_t *touched; /* functions whose successors must be forgotten */
	size_t n_touched, cap_touched;
	/* Functions met in this chunk, by how often they were new below another one. */
	uint32_t *met, *met_at, *met_uses;
	uint32_t n_met;
	uint32_t *recent_groups, *recent_modules;
	uint32_t n_functions, n_modules, n_groups;
};

/* The nodes that samples use, in a fixed preorder: what the writer codes. */
struct cam_tree_shape {
	uint32_t n_nodes, n_functions, n_modules, n_groups;
	uint32_t *parent, *end; /* end: one behind its subtree */
	uint32_t *func;		/* keys, 0 .. n_functions */
	uint32_t *func_module;
	uint32_t *pair_start; /* n_nodes + 1 */
	uint32_t *pair_group, *pair_count;
};

struct cam_tree_writer {
	const struct cam_tree_shape *shape;
	uint32_t chunk_bytes; /* that a chunk must not pass */
	struct cam_tree_state state;
	struct cam_stream_out streams[CAM_TREE_STREAMS];
	uint32_t *module_next; /* functions of the module numbered so far */
	uint32_t *func_number; /* in its module; CAM_NONE: not met */
	uint32_t *node_id;     /* by shape's number */
	uint32_t *pair_order;  /* pairs in the order they were coded */
	uint32_t n_pairs_coded;
	uint32_t *group_places, *module_places; /* where each stands in the state's recent lists */
	uint32_t *stamp, *kid_of, *stack, *kids, *numbered;
	uint32_t n_numbered;
};

int cam_tree_writer_init(struct cam_tree_writer *w, const struct cam_tree_shape *shape,
			 uint32_t chunk_bytes);
void cam_tree_writer_free(struct cam_tree_writer *w);
/*
 * Codes nodes [from, to) of the shape, all before `from` being coded. -E2BIG: too long for a
 * chunk and divisible; then nothing has changed.
 */
int cam_tree_write_chunk(struct cam_tree_writer *w, uint32_t from, uint32_t to,
			 struct cam_buf *out);

struct cam_tree_chunk {
	uint32_t first_node, n_nodes, n_pairs; /* as the directory says */
	/* Filled in: */
	uint32_t *parent, *func;		       /* n_nodes */
	uint32_t *pair_node, *pair_group, *pair_count; /* n_pairs */
	uint32_t path_node[CAM_MAX_STACK_FRAMES];      /* to the first node, root excluded */
	uint32_t path_func[CAM_MAX_STACK_FRAMES];
	uint32_t n_path;
};

int cam_tree_state_init(struct cam_tree_state *s, uint32_t n_functions, uint32_t n_modules,
			uint32_t n_groups);
void cam_tree_state_free(struct cam_tree_state *s);
/* module_start: n_modules + 1 function numbers. 0, -EBADMSG, -ENOMEM. Bytes as for streams. */
int cam_tree_read_chunk(struct cam_tree_state *s, const uint32_t *module_start,
			const uint8_t *bytes, size_t n, struct cam_tree_chunk *out);

/* Shared by both sides. */
void cam_tree_state_reset(struct cam_tree_state *s);
int cam_tree_append(struct cam_tree_state *s, uint32_t of, uint32_t func);
void cam_tree_use(struct cam_tree_state *s, struct cam_successors *list, uint32_t at);
void cam_tree_meet(struct cam_tree_state *s, uint32_t func);
void cam_tree_meet_again(struct cam_tree_state *s, uint32_t func);
void cam_recent_use(uint32_t *list, uint32_t at);
/* Splits and numbers of contexts of the streams. */
extern const uint8_t cam_tree_splits[CAM_TREE_STREAMS];
extern const uint8_t cam_tree_contexts[CAM_TREE_STREAMS];

static inline unsigned cam_bit_length(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}
static inline unsigned cam_tree_length_ctx(uint32_t n)
{
	unsigned b = cam_bit_length(n);
	return b < 7 ? b : 7;
}
#define CAM_TREE_ROOT_CTX      8u
#define CAM_TREE_LIST_MAX      4096u /* successors remembered, places an entry moves forward */
#define CAM_TREE_FORWARD_STEPS 64u
