// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of door H. A request: magic "PCQ" and version 1, verb u8, from_ns and to_ns (i64, little-endian),
 * text (varint length, bytes). A reply: magic "PCA" and version 1, errno u32 (0: done), text. One packet each,
 * no byte more. Pure functions: they read and write buffers.
 */
#pragma once
#include "daemon/control.h"

/* Texts of replies. */
#define CAM_CONTROL_REPLY_MAX (CAM_CONTROL_MAX_BYTES - 32)

void cam_control_put_request(struct cam_buf *b, enum cam_control_verb verb,
			     const struct cam_control_request *r);
/* Text is borrowed from bytes; peer and ticket are not touched. -EBADMSG, -EPROTONOSUPPORT. */
int cam_control_get_request(struct cam_text bytes, enum cam_control_verb *verb,
			    struct cam_control_request *r);
/* status: 0 or a negative errno. */
void cam_control_put_reply(struct cam_buf *b, int status, struct cam_text text);
int cam_control_get_reply(struct cam_text bytes, int *status, struct cam_text *text);
