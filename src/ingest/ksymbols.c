// SPDX-License-Identifier: Apache-2.0
#include "ingest/ksymbols.h"

#include "base/units.h"

#include <string.h>

/* The kernel says that a program goes before the last CPU has left it. */
#define GRACE_NS (10 * CAM_NS_PER_MS)

static void note_end(struct cam_ksymbols *k, const struct cam_raw_ksymbol *r, uint64_t time_ns)
{
	for (size_t i = 0; i < k->n; i++) {
		struct cam_ksymbol *s = &k->v[i];
		if (!s->gone_ns && s->start < r->address + r->bytes && r->address < s->end)
			s->gone_ns = time_ns;
	}
}

/* Room for one: a new place, or that of who went first; NULL: all are there. */
static struct cam_ksymbol *find_room(struct cam_ksymbols *k)
{
	struct cam_ksymbol *room = NULL;
	if (k->n < CAM_MAX_KSYMBOLS)
		return &k->v[k->n++];
	for (size_t i = 0; i < k->n; i++) {
		struct cam_ksymbol *s = &k->v[i];
		if (s->gone_ns && (!room || s->gone_ns < room->gone_ns))
			room = s;
	}
	return room;
}

void cam_ksymbols_note(struct cam_ksymbols *k, const struct cam_raw_ksymbol *r, uint64_t time_ns,
		       uint32_t turn)
{
	/* Whoever was there is gone, whether or not that was said. */
	note_end(k, r, time_ns);
	if (r->removed || !cam_text_starts(r->name, CAM_TEXT("bpf_prog_")) ||
	    r->name.n > CAM_KSYMBOL_NAME_BYTES)
		return;
	struct cam_ksymbol *s = find_room(k);
	if (!s)
		return;
	*s = (struct cam_ksymbol){
		.start = r->address,
		.end = r->address + r->bytes,
		.since_ns = time_ns,
		.turn = turn,
		.name_bytes = (uint32_t)r->name.n,
	};
	memcpy(s->name, r->name.p, r->name.n);
}

void cam_ksymbols_forget(struct cam_ksymbols *k)
{
	k->n = 0;
}

const struct cam_ksymbol *cam_ksymbols_find(const struct cam_ksymbols *k, uint64_t address,
					    uint64_t time_ns)
{
	const struct cam_ksymbol *found = NULL;
	for (size_t i = 0; i < k->n; i++) {
		const struct cam_ksymbol *s = &k->v[i];
		if (address < s->start || address >= s->end || time_ns < s->since_ns ||
		    (s->gone_ns && time_ns > s->gone_ns + GRACE_NS))
			continue;
		if (!found || s->since_ns >= found->since_ns)
			found = s;
	}
	return found;
}
