// SPDX-License-Identifier: Apache-2.0
/*
 * A sink (door B) that writes down what it gets, for tests of importers: every sample with its
 * ids resolved to text at the time it came, so that an id kept over a change of generation shows.
 *
 * It checks what the door asks for: begin() before the definitions of a sample, ids in range, at
 * most CAM_MAX_STACK_FRAMES frames. A breach is a bug of the importer and counted in `breaches`.
 */
#pragma once
#include "model/sink.h"
#include "model/tables.h"

struct sink_frame {
	uint64_t address, offset;
	struct cam_text name, module;
	enum cam_func_kind kind;
	enum cam_name_source source;
	enum cam_module_kind module_kind;
};

struct sink_sample {
	uint64_t time_ns, weight, period_ns;
	uint32_t cpu;
	int32_t pid, tid;
	bool has_weight;
	struct cam_text comm, event, detail;
	const struct sink_frame *frames; /* leaf first */
	size_t n_frames;
};

struct record_sink {
	struct cam_sink sink;
	struct sink_sample *samples;
	struct cam_ledger_row *ledger;
	struct cam_anchor *anchors;
	struct cam_text *facts; /* key, value, key, … */
	size_t n_samples, n_ledger, n_anchors, n_facts;
	unsigned breaches;
	uint64_t begins;

	/* What the test wants. */
	uint64_t new_window_every; /* begins; 0: one window */
	uint64_t refuse_begin;	   /* the how-manieth begin() answers refusal (from 1) */
	uint64_t refuse_location;  /* and which location() */
	int refusal;
	bool count_only; /* samples are counted, not kept */

	struct cam_tables window;
	struct cam_buf *kept; /* blocks of memory for the texts */
	size_t n_kept, cap_samples, cap_ledger, cap_anchors, cap_facts, cap_kept;
	uint64_t locations;
	bool begun;
};

struct record_sink *record_sink_new(void);
void record_sink_free(struct record_sink *r);
