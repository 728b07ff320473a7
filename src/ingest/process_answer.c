// SPDX-License-Identifier: Apache-2.0
/*
 * What /proc says of a process, and what of it to believe.
 *
 * An answer is a look at another time, of a pid that may be another's by then. It says when the
 * mappings were read (maps_read_ns, before the reading) and when the process started (in ticks of
 * 10 ms). So:
 *  - another start by more than 2 ticks: another process. If we saw ours being forked the answer
 *    is discarded; else it is ours that is gone, and the answer is about its successor;
 *  - an exec later than maps_read_ns: the mappings may be those of the old program, and those of
 *    the new one are known from records: discarded, but for user and cgroup;
 *  - a process whose mappings are known keeps them: the answer runs ahead of the records, which are
 *    released late, so it may be about a program whose exec is still to come. Only of one that is
 *    unknown or suspect, or that was sampled outside of them, are the mappings taken (of the latter
 *    only if it is the same program);
 *  - records later than maps_read_ns are laid over the answer, earlier ones are in it.
 *
 * Since when a mapping is valid: samples are parked while the question is under way, and are older
 * than the answer. A mapping that a record told of is valid since then. One that only the answer
 * has came without a record: before the start, or while records were lost. So it is valid since
 * the end of the last loss.
 *
 * Example: 7 is unknown and sampled at t=5; a record maps b over [10, 20) at t=6; /proc is read at
 * t=7 and has a in [0, 10), b in [10, 20). The parked sample of t=5 finds its address 3 in a; 15 it
 * does not find, for b was not there yet.
 */
#include "ingest/process_parts.h"

#include <errno.h>

void cam_processes_asked(struct cam_process *p, uint32_t ticket, uint64_t now_ns)
{
	p->ticket = ticket;
	p->asked_ns = now_ns;
}

static void drop_draft(struct cam_processes *t, struct cam_process *p)
{
	cam_image_release(&t->images, p->draft);
	p->draft = NULL;
}

/* Adds a packet's mappings to the draft; what does not fit makes the answer useless. */
static int gather(struct cam_processes *t, struct cam_process *p,
		  const struct cam_process_tidings *a)
{
	if (!p->draft && !(p->draft = cam_image_new(&t->images)))
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_mappings; i++) {
		int err = cam_image_map(&t->images, &p->draft, &a->mappings[i], 0, false);
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

static void set_since(struct cam_image *draft, const struct cam_image *own, uint64_t lost_to_ns)
{
	for (uint32_t i = 0; i < draft->n; i++) {
		struct cam_image_map *d = &draft->maps[i];
		const struct cam_image_map *had =
			own ? cam_image_find(own, d->start, UINT64_MAX) : NULL;
		bool same = had && had->file == d->file && had->end >= d->end;
		d->since_ns = same ? had->since_ns : lost_to_ns;
	}
}

/* The draft becomes the image, with the records that came after it. */
static void adopt(struct cam_processes *t, struct cam_process *p,
		  const struct cam_process_tidings *a)
{
	struct cam_image *own = p->image;
	int err = 0;
	set_since(p->draft, own, t->lost_to_ns);
	for (uint32_t i = 0; own && i < own->n && !err; i++) {
		if (own->maps[i].since_ns > a->maps_read_ns)
			err = cam_image_map_row(&t->images, &p->draft, &own->maps[i]);
	}
	struct cam_word *exe = a->exe.n ? cam_words_take(t->options.words, a->exe)
					: cam_word_hold(own ? own->exe : NULL);
	if (exe && !err)
		err = cam_image_set_exe(&t->images, &p->draft, exe);
	else
		cam_words_release(t->options.words, exe);
	if (err == -ENOMEM) {
		drop_draft(t, p);
		return;
	}
	p->image = p->draft;
	p->draft = NULL;
	cam_image_release(&t->images, own);
	p->known = true;
	p->incomplete = false;
	p->exe_due = false;
	p->version++;
	if (a->maps_read_ns >= t->lost_to_ns)
		p->epoch = t->epoch;
}

static void take_identity(struct cam_processes *t, struct cam_process *p,
			  const struct cam_process_tidings *a)
{
	if (!p->start_ns)
		p->start_ns = a->start_ns;
	if (a->uid != CAM_UID_NONE)
		p->uid = a->uid;
	if (a->cgroup.n) {
		struct cam_word *cgroup = cam_words_take(t->options.words, a->cgroup);
		if (cgroup) {
			cam_words_release(t->options.words, p->cgroup);
			p->cgroup = cgroup;
		}
	}
	p->confirmed = true;
	p->version++;
}

/* A record's comm is surer than one of /proc, unless records were lost in between. */
static void take_comm(struct cam_processes *t, struct cam_process *p, int32_t tid,
		      struct cam_text comm, bool suspect)
{
	struct cam_thread *k = cam_processes_thread(t, p, tid);
	if (k)
		k->waiting = false;
	if (k && comm.n && (!k->known || (suspect && k->comm_ns <= t->lost_to_ns)))
		cam_thread_set_comm(k, comm, 0);
}

/* The answer is about another process than ours: which of the two lives? */
static struct cam_process *choose(struct cam_processes *t, struct cam_process *p, int32_t tid)
{
	t->stats.discarded++;
	if (p->born_ns)
		return NULL;
	struct cam_image *draft = p->draft;
	int32_t pid = p->pid;
	p->draft = NULL;
	cam_process_detach(t, p);
	p = cam_process_make(t, pid);
	if (!p) {
		cam_image_release(&t->images, draft);
		return NULL;
	}
	cam_process_thread(t, p, tid);
	p->draft = draft;
	return p;
}

static void answer_process(struct cam_processes *t, const struct cam_tidings *a)
{
	struct cam_process *p = cam_processes_find(t, a->pid);
	if (!p || !p->ticket || p->ticket != a->ticket)
		return;
	int err = a->error ? a->error : gather(t, p, &a->process);
	if (!err && a->process.more)
		return;
	p->ticket = 0;
	if (!err && cam_process_starts_differ(p, a->process.start_ns)) {
		struct cam_process *other = choose(t, p, a->tid);
		err = other ? 0 : -ESTALE;
		p = other ? other : cam_processes_find(t, a->pid);
		if (!p)
			return;
	}
	if (err) {
		if (p->failures < UINT8_MAX)
			p->failures++;
		drop_draft(t, p);
		return;
	}
	p->failures = 0;
	bool suspect = cam_processes_is_suspect(t, p);
	take_identity(t, p, &a->process);
	/* One that is about to end has no mappings any more; ours were right. */
	bool is_leaving = !p->draft->n && p->image && p->image->n;
	bool is_other = p->image && p->image->exe && a->process.exe.n &&
			!cam_text_equal(cam_word_text(p->image->exe), a->process.exe);
	bool is_known = p->known && !suspect && (!p->incomplete || is_other);
	if (is_known || p->exec_ns > a->process.maps_read_ns || (p->ended_ns && !p->parked) ||
	    is_leaving) {
		t->stats.discarded += !is_known;
		drop_draft(t, p);
	} else {
		adopt(t, p, &a->process);
		take_comm(t, p, a->tid, a->process.comm, suspect);
	}
	cam_processes_make_room(t, p);
}

void cam_processes_answer(struct cam_processes *t, const struct cam_tidings *a)
{
	if (a->type == CAM_ERRAND_PROCESS) {
		answer_process(t, a);
		return;
	}
	struct cam_process *p = cam_processes_find(t, a->pid);
	if (p)
		take_comm(t, p, a->tid, a->error ? (struct cam_text){"", 0} : a->comm, false);
}
