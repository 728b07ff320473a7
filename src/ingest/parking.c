// SPDX-License-Identifier: Apache-2.0
#include "ingest/parking.h"

#include "base/vec.h"

#include <string.h>

_Static_assert(sizeof(struct cam_parked) % 8 == 0, "packed records are aligned to 8");

void cam_parking_free(struct cam_parking *q)
{
	free(q->bytes);
	*q = (struct cam_parking){0};
}

int cam_parking_put(struct cam_parking *q, const struct cam_parked *head, const struct cam_raw *r)
{
	size_t packed = cam_raw_packed_bytes(r), all = sizeof(*head) + packed;
	int err = cam_vec_reserve(&q->bytes, &q->cap, q->used + all, 1, q->max);
	if (err)
		return err;
	struct cam_parked *to = (struct cam_parked *)(void *)(q->bytes + q->used);
	*to = *head;
	to->bytes = (uint32_t)all;
	cam_raw_pack(r, to + 1);
	q->used += all;
	q->n++;
	return 0;
}

void cam_parking_visit(struct cam_parking *q, cam_parking_fn *fn, void *arg)
{
	size_t kept = 0;
	for (size_t at = 0; at < q->used;) {
		struct cam_parked *p = (struct cam_parked *)(void *)(q->bytes + at);
		struct cam_raw r;
		size_t bytes = p->bytes;
		cam_raw_unpack(p + 1, bytes - sizeof(*p), &r);
		if (fn(arg, p, &r)) {
			q->n--;
		} else {
			memmove(q->bytes + kept, p, bytes);
			kept += bytes;
		}
		at += bytes;
	}
	q->used = kept;
}
