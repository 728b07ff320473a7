// SPDX-License-Identifier: Apache-2.0
/* Copies of stacks on their way to the symboliser. Where programs are short nearly every sample has one, and all of a round
 * come at once: they travel together. */
#include "daemon/crew_parts.h"

#include <errno.h>

int cam_crew_send_copies(struct cam_crew *c)
{
	struct cam_bundle *b = &c->bundle;
	int err = b->bytes && c->symboliser.helper.pid
			  ? cam_packet_send(c->symboliser.helper.socket, b->room, b->bytes, -1)
			  : 0;
	/* Who waits for it hears of the death of the symboliser. */
	if (err != -EAGAIN)
		b->bytes = 0;
	return err;
}

int cam_crew_gather(struct cam_crew *c, const struct cam_errand *e)
{
	size_t left;
	void *place = cam_bundle_place(&c->bundle, &left);
	int n = cam_errand_pack(e, place, left);
	if (n == -E2BIG && c->bundle.bytes) {
		int err = cam_crew_send_copies(c);
		if (err)
			return err;
		place = cam_bundle_place(&c->bundle, &left);
		n = cam_errand_pack(e, place, left);
	}
	if (n >= 0)
		cam_bundle_add(&c->bundle, (size_t)n);
	return n < 0 ? n : 0;
}

void cam_crew_flush(struct cam_crew *c)
{
	int err = cam_crew_send_copies(c);
	/* It died a moment ago: its errands are answered by the tick. */
	if (err && err != -EAGAIN)
		c->look_now = true;
}
