// SPDX-License-Identifier: Apache-2.0
/*
 * A bundle is its packets, one behind the other, each as
 *	u8 'B', u32 bytes (little-endian), bytes
 * so that its first byte tells it from packets that begin otherwise (model/errand.c: 'E', 'T').
 */
#include "base/bundle.h"

enum { BUNDLE = 'B', HEAD_BYTES = 5 };

void *cam_bundle_place(struct cam_bundle *b, size_t *left)
{
	size_t at = b->bytes + HEAD_BYTES;
	*left = at < sizeof(b->room) ? sizeof(b->room) - at : 0;
	return b->room + (*left ? at : b->bytes);
}

void cam_bundle_add(struct cam_bundle *b, size_t packet_bytes)
{
	uint8_t *head = b->room + b->bytes;
	head[0] = BUNDLE;
	for (unsigned i = 0; i < 4; i++)
		head[1 + i] = (uint8_t)(packet_bytes >> (8 * i));
	b->bytes += HEAD_BYTES + packet_bytes;
}

bool cam_bundle_is(struct cam_text packet)
{
	return packet.n && packet.p[0] == BUNDLE;
}

bool cam_bundle_next(struct cam_text *rest, struct cam_text *packet)
{
	size_t bytes = 0;
	if (rest->n < HEAD_BYTES || !cam_bundle_is(*rest))
		return false;
	for (unsigned i = 0; i < 4; i++)
		bytes |= (size_t)(uint8_t)rest->p[1 + i] << (8 * i);
	if (bytes > rest->n - HEAD_BYTES)
		return false;
	*packet = (struct cam_text){rest->p + HEAD_BYTES, bytes};
	*rest = (struct cam_text){packet->p + bytes, rest->n - HEAD_BYTES - bytes};
	return true;
}
