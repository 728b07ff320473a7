// SPDX-License-Identifier: Apache-2.0
/*
 * How the disk is kept.
 *
 * Every change (write, sync, creation, rename, unlink) is a struct op; live calls make ops,
 * sim_do() carries them out, a recording keeps them and a replay does them again: a state reached by
 * replay is the state the live disk was in.
 *
 * Invariants
 *  1. node.shown = node.durable + node.pending in order + what failed syncs dropped.
 *  2. names[SHOWN] = names[DURABLE] + pending_names in order.
 *  3. A content with more than one reference is never written: it is copied first.
 *  4. Nodes live as long as their disk: an op names them by number, in a replay as in the run.
 *
 * Example: create a, write "xy", sync_dir. names: a → 0 on both sides; node 0: shown "xy", durable
 * "", pending [(0, "xy")]. A power cut gives a file a with "", "xy", "x", or two zeros.
 */
#pragma once
#include "support_sim_io.h"

#define SIM_NAME_BYTES 128u

struct content {
	unsigned refs;
	size_t len, cap;
	uint8_t *data;
};

/* Bytes of a write; shared by the recording, the pending lists and replays. */
struct bytes {
	unsigned refs;
	size_t n;
	uint8_t data[];
};

enum op_kind {
	OP_WRITE,
	OP_SYNC,
	OP_SYNC_FAILED,
	OP_CREATE,
	OP_RENAME,
	OP_UNLINK,
	OP_SYNC_DIR,
	OP_SYNC_DIR_FAILED,
};

struct op {
	enum op_kind kind;
	size_t node;
	uint64_t at;
	size_t n;
	struct bytes *bytes;
	char name[SIM_NAME_BYTES], to[SIM_NAME_BYTES];
	uint64_t order; /* among all pending ones of the disk */
};

struct ops {
	struct op *v;
	size_t n, cap;
};

struct node {
	struct content *shown, *durable;
	struct ops pending;
};

struct entry {
	char name[SIM_NAME_BYTES];
	size_t node;
};

struct names {
	struct entry *v;
	size_t n, cap;
};

enum { SHOWN, DURABLE };

struct sim_disk {
	struct cam_io io;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct names names[2];
	struct ops pending_names;
	uint64_t order;

	struct sim_plan plan;
	uint64_t calls;
	int failing; /* kind of call that fails from now on, + 1 */
	bool crashed, plan_done;
	uint64_t capacity;
	unsigned open_files, syncs;
	bool locked;

	struct sim_disk *origin; /* of a recording */
	struct ops recording;
	const struct ops *script; /* of a replay */
	size_t position;
};

void sim_fail(const char *why);
struct content *content_hold(struct content *c);
void content_drop(struct content *c);
size_t content_len(const struct content *c);
/* The same content, to be written by the holder of *where alone, at least `len` bytes long. */
struct content *content_own(struct content **where, size_t len);
void content_write(struct content **where, uint64_t at, const uint8_t *data, size_t n);
void bytes_drop(struct bytes *b);
void ops_add(struct ops *o, const struct op *op);
void ops_free(struct ops *o);
struct entry *names_find(const struct names *names, const char *name);
void names_put(struct names *names, const char *name, size_t node);
/* A change of names is seen only after those it builds on: else it has not happened. */
void names_apply(struct names *names, const struct op *op);
/* Nodes up to number i exist after this. */
struct node *sim_node(struct sim_disk *d, size_t i);
void sim_do(struct sim_disk *d, const struct op *op);
