// SPDX-License-Identifier: Apache-2.0
/*
 * Writes JSON to a stream. The caller keeps the nesting right; commas are this writer's business.
 * Any bytes are legal in strings: what is not UTF-8 becomes U+FFFD, one per bad byte.
 */
#pragma once
#include "base/out.h"

#include <stdbool.h>
#include <stdint.h>

struct cam_json {
	struct cam_out *out;
	bool comma; /* the next value follows another one */
};

/* A key is a word of the program, and written as it is; NULL inside arrays. */
void cam_json_open(struct cam_json *j, const char *key, char bracket);
void cam_json_close(struct cam_json *j, char bracket);
void cam_json_text(struct cam_json *j, const char *key, struct cam_text value);
void cam_json_u64(struct cam_json *j, const char *key, uint64_t value);
/* For who writes some of it itself. The comma and the key of a value; a value alone; a number's digits, CAM_JSON_DIGITS at
 * most, of which it answers the end. */
#define CAM_JSON_DIGITS 20u
void cam_json_key(struct cam_json *j, const char *key);
void cam_json_string(struct cam_json *j, struct cam_text value);
char *cam_json_write_digits(char *p, uint64_t value);
void cam_json_i64(struct cam_json *j, const char *key, int64_t value);
/* whole.fraction, the fraction with this many digits (1 to 9): 3, 70, 3 is 3.070 */
void cam_json_number(struct cam_json *j, const char *key, uint64_t whole, uint32_t fraction,
		     int digits);
/* Nine digits; what is not finite is null. */
void cam_json_double(struct cam_json *j, const char *key, double value);
void cam_json_bool(struct cam_json *j, const char *key, bool value);
void cam_json_null(struct cam_json *j, const char *key);
