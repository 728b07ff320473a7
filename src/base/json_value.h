// SPDX-License-Identifier: Apache-2.0
/*
 * Reads JSON in place: a value is the piece of text that it is, members are found by walking it. No
 * allocation, no copy but of strings that are asked for. Made for replies of a few KiB.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

struct cam_json_value {
	struct cam_text text; /* without spaces around it */
};

#define CAM_JSON_DEPTH 32

/* The whole text is one value (RFC 8259), nested at most CAM_JSON_DEPTH deep; else -EBADMSG. The
 * text must outlive the value. */
int cam_json_value_parse(struct cam_text text, struct cam_json_value *out);

/* The member of an object, the element of an array. False: not there, or not such a value. */
bool cam_json_value_get(struct cam_json_value v, const char *key, struct cam_json_value *out);
bool cam_json_value_at(struct cam_json_value v, size_t i, struct cam_json_value *out);
/* How many elements an array has; 0: it is none, too. */
size_t cam_json_value_count(struct cam_json_value v);

/* False: of another type, or out of range. */
bool cam_json_value_u64(struct cam_json_value v, uint64_t *out);
bool cam_json_value_i64(struct cam_json_value v, int64_t *out);
bool cam_json_value_bool(struct cam_json_value v, bool *out);
/* Unescaped and terminated; cut where it does not fit. */
bool cam_json_value_string(struct cam_json_value v, char *room, size_t room_bytes);
