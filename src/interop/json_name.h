// SPDX-License-Identifier: Apache-2.0
/* A name as a JSON string that comes back as it was: bytes that are not UTF-8 as \xNN, base/escape.h. */
#pragma once
#include "base/escape.h"
#include "base/json.h"

#define CAM_JSON_NAME_BYTES (4u << 20) /* of the longest name, escaped */

/* key NULL inside arrays; room is for the escaped name, and keeps an error. */
static inline void cam_json_name(struct cam_json *j, const char *key, struct cam_text name,
				 struct cam_buf *room)
{
	if (cam_buf_error(room))
		return;
	room->len = 0;
	cam_escape_put(room, name, CAM_ESCAPE_BYTES);
	cam_json_text(j, key, (struct cam_text){(const char *)room->data, room->len});
}
