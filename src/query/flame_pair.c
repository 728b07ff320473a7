// SPDX-License-Identifier: Apache-2.0
#include "query/flame_pair.h"

#include "query/merge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define DEFAULT_MAX_BYTES (1ull << 30)

/* The merged node of each node of a flame, parents first; of those with a 0 in `wanted` none. */
static int place_nodes(struct cam_merge *m, const struct cam_flame *f, const uint64_t *wanted,
		       uint32_t *nodes)
{
	uint32_t *frames = calloc(f->n_frames + 1, sizeof(*frames));
	uint32_t *modules = calloc(f->n_modules + 1, sizeof(*modules));
	int err = frames && modules ? 0 : -ENOMEM;
	for (size_t i = 0; i < f->n_frames && !err; i++) {
		const struct cam_flame_frame *frame = &f->frames[i];
		err = cam_merge_frame(m, (struct cam_text){f->text + frame->name_at, frame->name_n},
				      (enum cam_frame_kind)frame->kind, &frames[i]);
	}
	for (uint32_t i = 1; i < f->n_modules && !err; i++)
		err = cam_merge_module(m, cam_flame_module_path(f, i), &modules[i]);
	nodes[0] = 0;
	for (size_t i = 1; i < f->n_nodes && !err; i++) {
		const struct cam_flame_node *n = &f->nodes[i];
		if (wanted && !wanted[i])
			continue;
		err = cam_merge_node(m, nodes[n->parent], frames[n->frame], &nodes[i]);
		if (!err)
			cam_merge_note_module(m, nodes[i],
					      n->module == CAM_MODULE_SEVERAL ? n->module
									      : modules[n->module]);
	}
	free(frames);
	free(modules);
	return err;
}

static int copy_words(const struct cam_flame *from, struct cam_flame *out)
{
	const struct cam_seen *s = &from->seen;
	size_t bytes = s->first.n + s->last.n + s->host.n + 1;
	char *strings = out->strings = malloc(bytes),
	     *unit = out->unit_text = malloc(from->unit.n + 1);
	if (!strings || !unit)
		return -ENOMEM;
	out->seen = *s;
	struct cam_text *texts[] = {&out->seen.first, &out->seen.last, &out->seen.host};
	for (size_t i = 0; i < 3; i++) {
		memcpy(strings, texts[i]->p, texts[i]->n);
		texts[i]->p = strings;
		strings += texts[i]->n;
	}
	memcpy(unit, from->unit.p, from->unit.n);
	out->unit = (struct cam_text){unit, from->unit.n};
	out->unit_is_ns = from->unit_is_ns;
	out->notes = from->notes;
	return 0;
}

static uint64_t scaled(uint64_t v, double factor)
{
	double x = round((double)v * factor);
	return x >= 0x1p63 ? UINT64_MAX / 2 : (uint64_t)x;
}

static int pair_up(const struct cam_flame *before, const struct cam_flame *after, double factor,
		   struct cam_merge *m)
{
	uint32_t *old = calloc(before->n_nodes, sizeof(*old));
	uint32_t *new = calloc(after->n_nodes, sizeof(*new));
	int err = old && new ? 0 : -ENOMEM;
	if (!err)
		err = place_nodes(m, before, NULL, old);
	if (!err)
		err = place_nodes(m, after, NULL, new);
	for (size_t i = 0; i < before->n_nodes && !err; i++)
		m->before[old[i]] += scaled(before->nodes[i].self, factor);
	for (size_t i = 0; i < after->n_nodes && !err; i++)
		m->self[new[i]] += after->nodes[i].self;
	free(old);
	free(new);
	return err;
}

/* Of a pair: what was there before in nodes that have nothing any more, and the way to it. */
static int keep_gone(const struct cam_flame *pair, struct cam_merge *m)
{
	uint64_t *gone = calloc(pair->n_nodes, sizeof(*gone));
	uint32_t *nodes = calloc(pair->n_nodes, sizeof(*nodes));
	int err = gone && nodes ? 0 : -ENOMEM;
	/* Children come after their parents. */
	for (size_t i = pair->n_nodes; i > 0 && !err; i--) {
		const struct cam_flame_node *n = &pair->nodes[i - 1];
		gone[i - 1] += n->total ? 0 : n->before_self;
		if (i > 1)
			gone[n->parent] += gone[i - 1];
	}
	if (!err)
		err = place_nodes(m, pair, gone, nodes);
	for (size_t i = 0; i < pair->n_nodes && !err; i++) {
		const struct cam_flame_node *n = &pair->nodes[i];
		if (gone[i] && !n->total)
			m->self[nodes[i]] += n->before_self;
	}
	free(gone);
	free(nodes);
	return err;
}

static int finish(struct cam_merge *m, const struct cam_flame *words, int err,
		  struct cam_flame *out)
{
	*out = (struct cam_flame){0};
	if (!err)
		err = copy_words(words, out);
	if (!err)
		err = cam_merge_finish(m, out, NULL);
	cam_merge_free(m);
	if (err)
		cam_flame_free(out);
	return err;
}

int cam_flame_pair(const struct cam_flame *before, const struct cam_flame *after, double factor,
		   enum cam_pair_show show, size_t max_bytes, struct cam_flame *out)
{
	size_t bytes = max_bytes ? max_bytes : DEFAULT_MAX_BYTES;
	struct cam_merge m;
	struct cam_flame pair;
	*out = (struct cam_flame){0};
	int err = cam_merge_init(&m, bytes);
	if (!err)
		err = finish(&m, after, pair_up(before, after, factor, &m), &pair);
	if (!err)
		pair.differential = true;
	if (err || show == CAM_PAIR_DIFFERENTIAL) {
		*out = err ? *out : pair;
		return err;
	}
	err = cam_merge_init(&m, bytes);
	if (!err)
		err = finish(&m, before, keep_gone(&pair, &m), out);
	cam_flame_free(&pair);
	return err;
}
