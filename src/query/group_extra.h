// SPDX-License-Identifier: Apache-2.0
/*
 * What some keys need that is not in a sample's own columns: the parent of its stack, the socket of its CPU, the
 * source line of its leaf. For one window; groups.c asks. One thread.
 */
#pragma once
#include "model/source_lines.h"
#include "query/select.h"

/* The fact that tells sockets: base/runs.h, a number a CPU. */
#define CAM_FACT_SOCKETS "sockets"
#define CAM_FACT_NODES	 "nodes" /* of memory (NUMA), as sockets */

struct cam_group_extra {
	const struct cam_tables *t;
	struct cam_source_lines lines;
	char *sockets;
	size_t sockets_bytes;
	/* By stack: the parent's function, + 1; UNASKED until then. */
	uint32_t *parents;
	size_t n_parents;
	uint8_t *matches; /* by function: whether its name matches; 0: not asked yet */
	struct cam_buf name;
};

/* Zeroed is closed. sockets, lines: whether they will be asked for. -ENOMEM, and errors of the window. */
int cam_group_extra_open(struct cam_group_extra *e, struct cam_window *w,
			 const struct cam_tables *t, bool sockets, bool lines);
void cam_group_extra_close(struct cam_group_extra *e);

/*
 * To be asked when all stacks are there. The frame of a stack that matches: the outermost, or the innermost one. *out: its function + 1; 0: none does, perf's
 * "[other]". -ENOMEM, -EBADMSG: there is no such stack.
 */
int cam_group_extra_parent(struct cam_group_extra *e, const struct cam_select_expressions *match,
			   bool outermost, uint32_t stack, uint32_t *out);
/* CAM_RUNS_NONE: not known. */
int cam_group_extra_socket(const struct cam_group_extra *e, uint32_t cpu);
/* The row of lines for the innermost frame of a stack, + 1; 0: not known. */
uint32_t cam_group_extra_line(const struct cam_group_extra *e, uint32_t stack,
			      uint64_t leaf_offset);
/* Such a row as perf writes it: without directories; number: with ":123". */
struct cam_text cam_group_extra_text(const struct cam_group_extra *e, uint32_t row, bool number,
				     char *room, size_t bytes);
