// SPDX-License-Identifier: Apache-2.0
/* A table as JSON: numbers as they are, texts as they are. */
#pragma once
#include "base/json.h"
#include "query/view_table.h"
#include "query/view_tracks.h"

/* The values of a row, as members of the object that is open. */
void cam_json_values(struct cam_json *j, const enum cam_key *keys, size_t n,
		     const struct cam_value *v);
/* An array of rows, under a key or NULL. */
void cam_json_table_rows(struct cam_json *j, const char *key, const struct cam_table *t);
/* What a view looked at, as members of the object that is open. */
void cam_json_seen(struct cam_json *j, const struct cam_seen *seen);
/* Who waited to run, the longest first: "waited". */
void cam_json_waiters(struct cam_json *j, const struct cam_tracks *t);
/* The notes of a view, as words. */
void cam_json_notes(struct cam_json *j, unsigned notes);
