// SPDX-License-Identifier: Apache-2.0
/*
 * The formats of tracepoints, as perf keeps them in a recording: where the fields of an event lie in its
 * raw bytes, and how the kernel prints them ("print fmt": a C format string and C expressions).
 *
 * An expression is parsed once, to a tree of nodes; trace_print.h evaluates it for each sample. What is not
 * understood makes the whole event "failed", and its fields are printed one by one, as perf does then.
 *
 * Bounded: CAM_TRACE_MAX_FORMATS formats, each of 64 KiB of text, CAM_TRACE_MAX_NODES nodes and a depth of
 * CAM_TRACE_MAX_DEPTH; CAM_TRACE_MAX_ALL_NODES nodes of all. Only formats that are asked for are kept, of the first
 * CAM_TRACE_MAX_SEEN.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"

#define CAM_TRACE_MAX_FORMATS	4096u
#define CAM_TRACE_MAX_FIELDS	256u
#define CAM_TRACE_MAX_NODES	16384u
#define CAM_TRACE_MAX_ALL_NODES (1u << 20)
#define CAM_TRACE_MAX_SEEN	(1u << 16) /* a kernel has some 3,000 */
#define CAM_TRACE_MAX_DEPTH	128u
#define CAM_TRACE_NONE		UINT16_MAX

struct cam_trace_field {
	struct cam_text name;
	uint32_t offset, size;
	uint32_t element; /* bytes of one, of an array */
	bool is_signed, array, text, pointer, is_long;
	bool dynamic;  /* its bytes are elsewhere: __data_loc */
	bool relative; /* … counted from behind the field: __rel_loc */
	bool common;   /* of every event: not printed */
};

enum cam_trace_kind {
	CAM_TRACE_NUMBER,
	CAM_TRACE_TEXT,
	CAM_TRACE_FIELD,
	CAM_TRACE_INDEX,   /* field a at b */
	CAM_TRACE_UNARY,   /* op a */
	CAM_TRACE_BINARY,  /* a op b */
	CAM_TRACE_CHOICE,  /* a ? b : c */
	CAM_TRACE_CAST,	   /* a, of value bytes */
	CAM_TRACE_FLAGS,   /* __print_flags(a, text, list b) */
	CAM_TRACE_SYMBOL,  /* __print_symbolic(a, list b) */
	CAM_TRACE_PAIR,	   /* of those lists: value, text; c: the next */
	CAM_TRACE_STRING,  /* __get_str(field) */
	CAM_TRACE_DYNAMIC, /* __get_dynamic_array(field) */
	CAM_TRACE_LENGTH,  /* __get_dynamic_array_len(field) */
	CAM_TRACE_HEX,	   /* __print_hex(a, b); value 1: without blanks */
	CAM_TRACE_ARRAY,   /* __print_array(a, b, c) */
};

struct cam_trace_node {
	enum cam_trace_kind kind;
	uint16_t a, b, c; /* nodes; CAM_TRACE_NONE */
	uint16_t field;
	uint16_t op; /* '+', or two characters: '<' << 8 | '<' */
	uint64_t value;
	struct cam_text text;
};

struct cam_trace_format {
	uint64_t id;
	char *source; /* all texts point into it */
	struct cam_text system, name;
	struct cam_trace_field *fields;
	size_t n_fields, cap_fields;
	struct cam_text format; /* unescaped */
	struct cam_trace_node *nodes;
	size_t n_nodes, cap_nodes;
	uint16_t args[64];
	size_t n_args;
	bool failed;
};

struct cam_trace_formats {
	struct cam_trace_format *rows;
	size_t n, cap;
	size_t n_nodes;	 /* of all of them; at most CAM_TRACE_MAX_ALL_NODES */
	uint32_t n_seen; /* kept or not; at most CAM_TRACE_MAX_SEEN are looked at */
	bool swap;	 /* of the recorded machine's numbers */
};

/*
 * Reads what perf keeps of /sys/kernel/tracing, and from it the formats whose id `wanted` says.
 * -ENOMEM; what is malformed ends it quietly.
 */
int cam_trace_formats_read(struct cam_trace_formats *f, const void *p, size_t bytes,
			   bool (*wanted)(void *arg, uint64_t id), void *arg);
void cam_trace_formats_free(struct cam_trace_formats *f);
const struct cam_trace_format *cam_trace_formats_find(const struct cam_trace_formats *f,
						      uint64_t id);
/* One format, for tests: the text of a file `format`. -EBADMSG: it has no id or no name. */
int cam_trace_format_parse(struct cam_text system, struct cam_text text,
			   struct cam_trace_format *out);
void cam_trace_format_free(struct cam_trace_format *f);
