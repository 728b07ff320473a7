// SPDX-License-Identifier: Apache-2.0
/*
 * `--call-graph dwarf`: samples that carry the user's registers and a piece of the stack, which are walked
 * by the namer (in a sandboxed process) with the unwind tables of the files that were mapped then.
 *
 * Frames are as perf prints them: where they were called from, that is the return address less 1; behind those
 * that the sample's chain has (the kernel's). Only x86-64.
 */
#include "base/vec.h"
#include "interop/perf_data_reader.h"

#define MAX_COPIES (1u << 20)
#define REG_BP	   6u
#define REG_SP	   7u
#define REG_IP	   8u
#define NEEDED	   (1u << REG_BP | 1u << REG_SP | 1u << REG_IP)
#define ABI_64	   2u

static uint64_t reg(const struct cam_perf_reader *r, const struct cam_perf_sample *s,
		    unsigned number)
{
	uint64_t before = s->regs_mask & ((1ull << number) - 1);
	return cam_perf_load_u64(s->regs + 8ul * (unsigned)__builtin_popcountll(before), r->swap);
}

int cam_perf_reader_keep_copy(struct cam_perf_reader *r, const struct cam_perf_sample *s)
{
	if (!r->options->namer || r->swap || r->meta.foreign_arch || s->regs_abi != ABI_64 ||
	    (s->regs_mask & NEEDED) != NEEDED)
		return 0;
	int err = cam_vec_reserve(&r->copies, &r->cap_copies, r->n_copies + 1, sizeof(*r->copies),
				  MAX_COPIES);
	if (err)
		return err;
	r->copies[r->n_copies] = (struct cam_perf_copy){
		.copy = {.ip = reg(r, s, REG_IP),
			 .sp = reg(r, s, REG_SP),
			 .bp = reg(r, s, REG_BP),
			 .stack = s->stack,
			 .stack_bytes = (uint32_t)s->stack_bytes},
		.space = cam_perf_spaces_hold(&r->spaces, s->pid),
		.pending = (uint32_t)r->n_pending,
	};
	r->n_copies++;
	return 0;
}

/* The mappings of a space with the namer's numbers; the caller frees. */
static int maps_of(struct cam_perf_reader *r, const struct cam_perf_space *space,
		   struct cam_unwind_mapping **out, size_t *n)
{
	*n = space ? space->n : 0;
	if (*n > CAM_UNWIND_MAX_MAPS)
		*n = CAM_UNWIND_MAX_MAPS;
	struct cam_unwind_mapping *maps = calloc(*n + 1, sizeof(*maps));
	int err = maps ? 0 : -ENOMEM;
	for (size_t i = 0; i < *n && !err; i++) {
		const struct cam_perf_map *m = &space->maps[i];
		maps[i] = (struct cam_unwind_mapping){m->start, m->end, m->offset, CAM_NONE};
		if (!r->spaces.objects[m->object].identity)
			err = cam_perf_stacks_file(&r->stacks, m->object, &maps[i].file);
	}
	if (err)
		free(maps);
	else
		*out = maps;
	return err;
}

struct walk {
	struct cam_perf_reader *r;
	const struct cam_perf_copy *copies;
};

static int take_frames(void *arg, size_t i, const struct cam_unwind_tidings *t)
{
	struct walk *w = arg;
	struct cam_perf_reader *r = w->r;
	const struct cam_perf_copy *c = &w->copies[i];
	const struct cam_perf_pending *pending = &r->pending[c->pending];
	struct cam_perf_chain *p = &r->chains.rows[pending->chain];
	size_t room = p->n_frames + (size_t)t->n_frames + 1, first = r->n_frames;
	int err = cam_vec_reserve(&r->frames, &r->cap_frames, r->n_frames + room,
				  sizeof(*r->frames), CAM_PERF_MAX_FRAMES);
	if (err)
		return err;
	memcpy(r->frames + first, r->frames + p->first, p->n_frames * sizeof(*r->frames));
	r->n_frames += p->n_frames;
	for (uint32_t k = 0; k < t->n_frames && !err; k++) {
		if (r->n_frames - first == CAM_MAX_STACK_FRAMES - 1) {
			p->truncated = true;
			break;
		}
		err = cam_perf_stacks_find(&r->stacks, c->space, false, t->frames[k] - (k > 0),
					   &r->frames[r->n_frames++]);
	}
	if (pending->more)
		r->more[pending->more - 1].ip = 0; /* no longer its only frame */
	p->first = (uint32_t)first;
	p->n_frames = (uint16_t)(r->n_frames - first);
	return err;
}

/* Those of one space, which stand one behind the other. */
static int walk(struct cam_perf_reader *r, const struct cam_perf_copy *copies, size_t n)
{
	struct cam_unwind_mapping *maps;
	size_t n_maps;
	struct cam_namer_stack *stacks = calloc(n, sizeof(*stacks));
	int err = stacks ? maps_of(r, copies[0].space, &maps, &n_maps) : -ENOMEM;
	if (err) {
		free(stacks);
		return err;
	}
	for (size_t i = 0; i < n; i++)
		stacks[i] = (struct cam_namer_stack){copies[i].copy, maps, n_maps};
	struct walk w = {r, copies};
	err = r->options->namer->unwind(r->options->namer, stacks, n, take_frames, &w);
	free(maps);
	free(stacks);
	return err;
}

int cam_perf_reader_unwind(struct cam_perf_reader *r)
{
	int err = 0;
	for (size_t from = 0, to; from < r->n_copies && !err; from = to) {
		for (to = from + 1;
		     to < r->n_copies && r->copies[to].space == r->copies[from].space; to++)
			;
		err = walk(r, r->copies + from, to - from);
	}
	for (size_t i = 0; i < r->n_copies; i++)
		cam_perf_spaces_let_go(&r->spaces, r->copies[i].space);
	r->n_copies = 0;
	return err;
}
