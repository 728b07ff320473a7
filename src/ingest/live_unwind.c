// SPDX-License-Identifier: Apache-2.0
/*
 * Processes and their mappings, handed to whoever unwinds stacks in the kernel.
 *
 * A process is handed over once it is sampled and known: at the next tick, with the number of its
 * image. Mappings travel once an image; those that were forked share it, so a thousand children of one
 * server cost a word each. When a mapping comes (dlopen) the image is another one and the process is due
 * again, whether or not it is sampled: the new number goes first, then the old one is forgotten, so
 * that there is no moment without either. What ends, executes another program or is forgotten here
 * is forgotten there at once.
 *
 * Whoever unwinds has a budget and may drop what it was given. A sample of a process that was handed
 * over a while ago and comes without an image says so; it is given again.
 *
 * Why at a tick: each hand-over is a system call or more, and a storm of new processes must not keep
 * records waiting. What does not fit one tick is done in the next.
 *
 * Invariants
 *  1. A process is in `due` only while it is listed and lives.
 *  2. `given` is the number that was handed over last for this process; 0: whoever unwinds has nothing
 *     of it.
 *  3. An image number is forgotten exactly once, after the processes that are due were handed over.
 *
 * Example: 7 (image 3) is sampled at t=1.0: due. Tick 1.2: process(7, 3, maps), flush. At 1.3 it maps a
 * library: image 3 becomes another one, without a number; due. Tick 1.4: process(7, 4, maps),
 * image_forget(3), flush. A sample of 1.35 was unwound with 3: right, but where it touches what the
 * new mapping has replaced.
 */
#include "ingest/live_parts.h"

#include "base/units.h"

#include <errno.h>

#define PROCESSES_A_TICK 256u
#define IMAGES_A_TICK	 64u
#define FILES_A_TICK	 64u
/* After this a process that was handed over is in use. */
#define SETTLED_NS (500 * CAM_NS_PER_MS)
#define RETRY_NS   CAM_NS_PER_SEC

static void make_due(struct cam_live *l, struct cam_process *p)
{
	if (cam_link_is_alone(&p->of_due))
		cam_link_join(&l->due, &p->of_due);
}

void cam_live_unwind_sampled(struct cam_live *l, struct cam_process *p, const struct cam_raw *r)
{
	if (!l->doors.unwinder || !p->listed || p->ended_ns || p->pid == CAM_PID_NONE)
		return;
	const struct cam_raw_sample *s = &r->sample;
	if (s->end == CAM_STACK_NO_USER || s->end == CAM_STACK_WORKER)
		return;
	if (!p->image) {
		make_due(l, p);
		return;
	}
	/* It is not there any more. */
	if (p->given && s->end == CAM_STACK_PENDING && !s->image &&
	    r->time_ns > p->given_ns + SETTLED_NS)
		p->lost = true;
	bool rests = (p->lost || !p->given) && p->given_ns && l->now_ns < p->given_ns + RETRY_NS;
	if ((p->given != p->image->number || !p->given || p->lost || !p->image->tables_wanted) &&
	    !rests)
		make_due(l, p);
}

void cam_live_unwind_changed(struct cam_live *l, int32_t pid)
{
	struct cam_process *p = l->doors.unwinder ? cam_processes_find(l->processes, pid) : NULL;
	if (p && p->given && p->image && p->given != p->image->number)
		make_due(l, p);
}

void cam_live_unwind_left(void *arg, struct cam_process *p)
{
	struct cam_live *l = arg;
	if (l->doors.unwinder)
		l->doors.unwinder->process_forget(l->doors.unwinder, p->pid, p->given_start_ns);
}

void cam_live_unwind_forget_image(void *arg, uint32_t number)
{
	struct cam_live *l = arg;
	struct cam_unwinder *u = l->doors.unwinder;
	if (u && l->n_old_images < CAM_LIVE_OLD_IMAGES)
		l->old_images[l->n_old_images++] = number;
	else if (u)
		u->image_forget(u, number);
}

static bool has_file(const struct cam_image_map *m)
{
	return m->file && m->file->number != CAM_NONE;
}

/* Whether the mapping only goes on where the one before ended. */
static bool joins(const struct cam_unwind_mapping *last, const struct cam_unwind_mapping *m)
{
	return last->end == m->start && last->file == m->file &&
	       (m->file == CAM_NONE || last->offset + (last->end - last->start) == m->offset);
}

size_t cam_live_unwind_maps(struct cam_live *l, const struct cam_image *i)
{
	size_t n = 0, files = 0, anonymous;
	for (uint32_t k = 0; k < i->n; k++)
		files += has_file(&i->maps[k]);
	/* Of code that was made at run time only frame pointers are of use; files go first. */
	anonymous = files < CAM_UNWIND_MAX_MAPS ? CAM_UNWIND_MAX_MAPS - files : 0;
	for (uint32_t k = 0; k < i->n; k++) {
		const struct cam_image_map *m = &i->maps[k];
		bool is_file = has_file(m);
		struct cam_unwind_mapping to = {
			.start = m->start,
			.end = m->end,
			/* Names of the vdso are offsets into its image, too. */
			.offset = is_file && m->file->kind == CAM_MODULE_FILE ? m->offset : 0,
			.file = is_file ? m->file->number : CAM_NONE,
		};
		if (n && joins(&l->unwind_maps[n - 1], &to)) {
			l->unwind_maps[n - 1].end = to.end;
			continue;
		}
		if (n == CAM_UNWIND_MAX_MAPS || (!is_file && !anonymous))
			continue;
		anonymous -= !is_file;
		l->unwind_maps[n++] = to;
	}
	return n;
}

/* When it is known to have run this: records up to then were heard of. */
static uint64_t as_of(const struct cam_live *l, const struct cam_process *p)
{
	uint64_t t = l->released_ns > p->exec_ns ? l->released_ns : p->exec_ns;
	for (uint32_t k = 0; k < p->image->n; k++)
		t = p->image->maps[k].since_ns > t ? p->image->maps[k].since_ns : t;
	return t;
}

/* *images: how many may still go in this tick. */
static int hand_over(struct cam_live *l, struct cam_process *p, unsigned *images)
{
	struct cam_unwinder *u = l->doors.unwinder;
	const struct cam_unwind_process to = {
		.pid = p->pid,
		.start_ns = p->kernel_start_ns,
		.as_of_ns = as_of(l, p),
		.image = cam_image_number(cam_processes_images(l->processes), p->image),
	};
	if (!to.image)
		return -ENOSPC;
	int err = p->image->handed_over ? u->process(u, &to, NULL, 0) : -ENOENT;
	p->lost = false;
	if (err == -ENOENT) {
		if (!*images)
			return -EAGAIN;
		--*images;
		size_t n = cam_live_unwind_maps(l, p->image);
		err = u->process(u, &to, l->unwind_maps, n);
		p->image->handed_over = !err;
		l->stats.images_given += !err;
	}
	if (err == -EAGAIN)
		return err;
	/* What it has is of before. */
	if (err && p->given)
		u->process_forget(u, p->pid, p->given_start_ns);
	p->given = err ? 0 : to.image;
	p->given_ns = l->now_ns;
	p->given_start_ns = to.start_ns;
	l->stats.images_refused += err != 0;
	return err;
}

/* The tables of all its files; false: it is not done yet. */
static bool want_tables(struct cam_live *l, const struct cam_process *p, unsigned *files)
{
	for (uint32_t k = 0; k < p->image->n; k++) {
		const struct cam_image_map *m = &p->image->maps[k];
		if (!has_file(m))
			continue;
		if (m->file->kind == CAM_MODULE_FILE && cam_files_is_due(m->file, l->now_ns)) {
			if (!*files)
				return false;
			--*files;
			cam_live_ask_file(l, p, m);
			if (l->errands_full)
				return false;
		}
		cam_live_table_want(l, m->file, false);
	}
	return true;
}

static void hand_over_due(struct cam_live *l)
{
	unsigned left = PROCESSES_A_TICK, images = IMAGES_A_TICK, files = FILES_A_TICK;
	struct cam_link again;
	cam_link_init(&again);
	while (!cam_link_is_alone(&l->due) && left--) {
		struct cam_process *p = CAM_LINK_OWNER(l->due.next, struct cam_process, of_due);
		cam_link_leave(&p->of_due);
		if (!p->image || !cam_live_is_trusted(l, p)) {
			/* Nothing is under way: a later sample of it will tell. */
			if (p->ticket)
				cam_link_join(&again, &p->of_due);
			continue;
		}
		int err = 0;
		if (!p->given || p->lost || p->given != p->image->number)
			err = hand_over(l, p, &images);
		if (!err && !p->image->tables_wanted)
			p->image->tables_wanted = want_tables(l, p, &files);
		if (err == -EAGAIN || (!err && !p->image->tables_wanted))
			cam_link_join(&again, &p->of_due);
	}
	while (!cam_link_is_alone(&again)) {
		struct cam_link *p = again.next;
		cam_link_leave(p);
		cam_link_join(&l->due, p);
	}
}

void cam_live_unwind_tick(struct cam_live *l)
{
	struct cam_unwinder *u = l->doors.unwinder;
	if (!u)
		return;
	hand_over_due(l);
	for (size_t i = 0; i < l->n_old_images; i++)
		u->image_forget(u, l->old_images[i]);
	l->n_old_images = 0;
	u->flush(u, l->now_ns);
}
