// SPDX-License-Identifier: Apache-2.0
/* What was different, in sentences: for people, and inside the JSON of the same. */
#pragma once
#include "query/view_why.h"
#include "render/text_table.h"

struct cam_text_why_options {
	struct cam_text_table_options table; /* its zone; columns: to break lines at */
	struct cam_text
		where; /* what a command needs to find the same data: "--store DIR"; may be empty */
};

/* One finding in one sentence or two, without an end of line. */
void cam_text_why_sentence(const struct cam_why *w, const struct cam_why_finding *f,
			   const struct cam_text_why_options *o, struct cam_out *out);
/* The command that shows it: "perfcam flame --from … --pid 4711". Nothing where no time is known. */
void cam_text_why_command(const struct cam_why_finding *f, const struct cam_text_why_options *o,
			  struct cam_out *out);
/* What the answer is against, and how sure it is. */
void cam_text_why_evidence(const struct cam_why *w, struct cam_out *out);
/* Behind that: of findings that score less, what they are held against instead. Of one moment, not of many. */
void cam_text_why_scales(const struct cam_why *w, struct cam_out *out);
/* A core that one process had to itself. */
void cam_text_why_core(const struct cam_why_core *c, const struct cam_text_why_options *o,
		       struct cam_out *out);
/* All of it. The stream's error, or 0. */
int cam_text_why_write(const struct cam_why *w, const struct cam_text_why_options *o,
		       struct cam_out *out);
/* Moments, one a line, and what they are against. The same. */
int cam_text_moments_write(const struct cam_why *w, const struct cam_text_why_options *o,
			   struct cam_out *out);
/* "process", "cgroup", "function", "stopped". */
const char *cam_why_kind_key(enum cam_why_kind kind);
