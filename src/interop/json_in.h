// SPDX-License-Identifier: Apache-2.0
/*
 * Reads JSON (RFC 8259) from an input of any length, token by token: nothing is kept but how values are
 * nested and the text of the token at hand.
 *
 * Bounds: nested at most CAM_JSON_IN_DEPTH deep (deeper is BAD), texts of CAM_JSON_IN_TEXT bytes (longer
 * ones are cut, and counted). Commas and colons are checked. After BAD or END every further call gives
 * the same. Bytes in strings are not checked to be UTF-8: names are bytes. A lone surrogate (\ud800)
 * becomes U+FFFD.
 */
#pragma once
#include "base/buf.h"
#include "interop/input.h"

#define CAM_JSON_IN_DEPTH 2048u
#define CAM_JSON_IN_TEXT  (64u << 10)

enum cam_json_token {
	CAM_JSON_END, /* of the input, in the right place or not: see depth */
	CAM_JSON_BAD, /* not JSON */
	CAM_JSON_OBJECT,
	CAM_JSON_OBJECT_END,
	CAM_JSON_ARRAY,
	CAM_JSON_ARRAY_END,
	CAM_JSON_KEY,	 /* of a member; its value is next */
	CAM_JSON_STRING, /* text */
	CAM_JSON_NUMBER, /* text as written */
	CAM_JSON_TRUE,
	CAM_JSON_FALSE,
	CAM_JSON_NULL,
};

struct cam_json_in {
	struct cam_input *in;
	enum cam_json_token token; /* the last one */
	struct cam_text text;	   /* of KEY, STRING, NUMBER; until the next call */
	uint64_t cut_texts;
	/* The reader's own. */
	struct cam_buf room;
	uint32_t depth;
	bool first, after_key, done;
	uint8_t objects[CAM_JSON_IN_DEPTH / 8]; /* a bit a level: it is an object */
};

void cam_json_in_init(struct cam_json_in *j, struct cam_input *in);
void cam_json_in_free(struct cam_json_in *j);
enum cam_json_token cam_json_in_next(struct cam_json_in *j);
/* Passes over the value whose first token is the last one. False: the input ended in it, or is bad. */
bool cam_json_in_skip(struct cam_json_in *j);

/*
 * For objects and arrays, after their first token:
 *	while (cam_json_in_member(&j, &key)) …   the value's first token is then j.token
 *	while (cam_json_in_element(&j)) …
 * Each value must be read to its end, or skipped, before the next call.
 */
bool cam_json_in_member(struct cam_json_in *j, char *key, size_t key_bytes);
bool cam_json_in_element(struct cam_json_in *j);

/* The number at hand, or (pids are sometimes texts) the text; false: neither, or out of range. */
bool cam_json_in_i64(const struct cam_json_in *j, int64_t *out);
/* A number with a fraction, in units of 1/scale, rounded: 1.5 at 1000 is 1500. */
bool cam_json_in_scaled(const struct cam_json_in *j, uint32_t scale, int64_t *out);
