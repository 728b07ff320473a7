// SPDX-License-Identifier: Apache-2.0
/* What a restart may find on the simulated disk; recording and replay. */
#include "support_sim_disk.h"

#include <string.h>

#define SECTOR 512u

/* splitmix64: a stream that depends on its seed alone, so a failing image can be made again. */
static uint64_t draw(uint64_t *seed)
{
	uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

struct maker {
	enum sim_image how;
	uint64_t seed;
	uint64_t until; /* SIM_PREFIX: pending ops of this order and later are lost */
};

static void write_zeros(struct content **c, uint64_t at, size_t n)
{
	memset(content_own(c, at + n)->data + at, 0, n);
}

/* Some sectors of a write, as the drive's cache happened to empty itself. */
static void write_sectors(struct content **c, const struct op *w, struct maker *m)
{
	for (uint64_t at = w->at; at < w->at + w->n;) {
		uint64_t next = (at / SECTOR + 1) * SECTOR;
		if (next > w->at + w->n)
			next = w->at + w->n;
		if (draw(&m->seed) & 1)
			content_write(c, at, w->bytes->data + (at - w->at), next - at);
		at = next;
	}
}

static void apply_write(struct content **c, const struct op *w, struct maker *m)
{
	size_t part = w->n;
	switch (m->how) {
	case SIM_NONE:
	case SIM_NAMES:
		return;
	case SIM_ZEROS:
		write_zeros(c, w->at, w->n);
		return;
	case SIM_PREFIX:
		if (w->order >= m->until)
			return;
		if (w->order + 1 == m->until)
			part = draw(&m->seed) % (w->n + 1);
		break;
	case SIM_SECTOR:
	case SIM_BYTE:
		switch (draw(&m->seed) % 5) {
		case 0:
			return;
		case 1:
			write_zeros(c, w->at, w->n);
			return;
		case 2:
			if (m->how == SIM_SECTOR) {
				write_sectors(c, w, m);
				return;
			}
			part = draw(&m->seed) % (w->n + 1);
			break;
		}
		break;
	default:
		break;
	}
	content_write(c, w->at, w->bytes->data, part);
}

static bool keeps_name(const struct op *op, struct maker *m)
{
	switch (m->how) {
	case SIM_NONE:
	case SIM_DATA:
		return false;
	case SIM_PREFIX:
		return op->order < m->until;
	case SIM_SECTOR:
	case SIM_BYTE:
		return draw(&m->seed) & 1;
	default:
		return true;
	}
}

static void image_node(const struct sim_disk *d, size_t i, size_t cut, struct sim_disk *out,
		       struct maker *m)
{
	const struct node *from = &d->nodes[i];
	struct node *to = sim_node(out, i);
	const struct op *next =
		d->script && d->position < d->script->n && cut ? &d->script->v[d->position] : NULL;
	to->durable = content_hold(m->how == SIM_DEATH ? from->shown : from->durable);
	for (size_t k = 0; k < from->pending.n && m->how != SIM_DEATH; k++)
		apply_write(&to->durable, &from->pending.v[k], m);
	if (next && next->kind == OP_WRITE && next->node == i) {
		struct op part = *next;
		part.n = cut;
		part.order = d->order;
		apply_write(&to->durable, &part, m);
	}
	to->shown = content_hold(to->durable);
}

struct sim_disk *sim_image(const struct sim_disk *d, size_t cut, enum sim_image how, uint64_t seed)
{
	struct sim_disk *out = sim_new();
	struct maker m = {.how = how, .seed = seed};
	if (cut > sim_replay_bytes(d))
		sim_fail("cut past the next change");
	if (how == SIM_PREFIX) {
		/* Orders run on over what is synced already: count from the oldest pending one. */
		uint64_t oldest = d->order;
		for (size_t i = 0; i < d->n_nodes; i++) {
			const struct ops *p = &d->nodes[i].pending;
			if (p->n && p->v[0].order < oldest)
				oldest = p->v[0].order;
		}
		if (d->pending_names.n && d->pending_names.v[0].order < oldest)
			oldest = d->pending_names.v[0].order;
		m.until = oldest + draw(&m.seed) % (d->order - oldest + 2);
	}
	struct names *names = &out->names[DURABLE];
	const struct names *from = &d->names[how == SIM_DEATH ? SHOWN : DURABLE];
	for (size_t i = 0; i < from->n; i++)
		names_put(names, from->v[i].name, from->v[i].node);
	for (size_t i = 0; i < d->pending_names.n && how != SIM_DEATH; i++) {
		if (keeps_name(&d->pending_names.v[i], &m))
			names_apply(names, &d->pending_names.v[i]);
	}
	for (size_t i = 0; i < names->n; i++) {
		image_node(d, names->v[i].node, cut, out, &m);
		names_put(&out->names[SHOWN], names->v[i].name, names->v[i].node);
	}
	out->capacity = d->capacity;
	return out;
}

void sim_record(struct sim_disk *d)
{
	if (d->origin || sim_pending(d))
		sim_fail("recording starts once, with nothing pending");
	d->origin = sim_image(d, 0, SIM_NONE, 0);
	/* Nodes keep their numbers also where they have lost their names. */
	if (d->n_nodes)
		sim_node(d->origin, d->n_nodes - 1);
}

size_t sim_recorded(const struct sim_disk *d)
{
	return d->recording.n;
}

struct sim_disk *sim_replay_new(const struct sim_disk *recorded)
{
	if (!recorded->origin)
		sim_fail("nothing recorded");
	struct sim_disk *r = sim_image(recorded->origin, 0, SIM_NONE, 0);
	r->script = &recorded->recording;
	return r;
}

size_t sim_replay_position(const struct sim_disk *replay)
{
	return replay->position;
}

size_t sim_replay_bytes(const struct sim_disk *replay)
{
	if (!replay->script || replay->position == replay->script->n)
		return 0;
	const struct op *op = &replay->script->v[replay->position];
	return op->kind == OP_WRITE ? op->n : 0;
}

bool sim_replay_step(struct sim_disk *replay)
{
	if (!replay->script || replay->position == replay->script->n)
		return false;
	sim_do(replay, &replay->script->v[replay->position++]);
	return true;
}
