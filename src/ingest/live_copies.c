// SPDX-License-Identifier: Apache-2.0
/*
 * Samples that come with a copy of their stack: walked by the symboliser while they wait.
 *
 * Who has a copy: the first samples of a process that whoever unwinds does not know yet, and with
 * --unwind dwarf all. The copy, the registers and the process's mappings go out as CAM_ERRAND_UNWIND;
 * the frames that come back replace the user half, and the sample goes its ordinary way. It waits
 * as long as any parked sample may, CAM_LIVE_PARK_NS in all; then it goes on with the frames it came
 * with, "pending". Copies are large (16 KiB and more), so they are kept apart from other parked
 * samples and within CAM_LIVE_COPY_BYTES; what does not fit goes on at once, counted. A copy is never written
 * anywhere, and gone when its sample goes on.
 *
 * The symboliser walks with the tables it has, and says which file's is missing. It works in the order
 * of arrival: so the table is asked for and the copy sent again right behind it, without a wait.
 *
 * Invariants
 *  1. A copy's sample is in `copies` or has gone on; its holds (process, image) go with it.
 *  2. An answer is taken only by the copy whose ticket it has.
 *  3. copy_bytes is what all of `copies` have allocated; at most CAM_LIVE_COPY_BYTES.
 *
 * Example: the first sample of a shell: not known: in `copies`, PROCESS sent. Its answer comes; at the
 * tick UNWIND goes out (ticket 5). Answer 5: pending, lacks file 9. TABLE 9 and UNWIND (6) go out.
 * Answer 6: 14 frames, complete: the sample is stored, 250 ms after it was taken.
 */
#include "ingest/live_parts.h"

#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_TRIES 5u

static void *packed_of(struct cam_live_copy *c)
{
	return c + 1;
}

_Static_assert(sizeof(struct cam_live_copy) % 8 == 0, "packed records are aligned to 8");

static struct cam_raw raw_of(struct cam_live_copy *c)
{
	struct cam_raw r;
	cam_raw_unpack(packed_of(c), c->bytes - sizeof(*c), &r);
	return r;
}

/* Out of the list; what it holds is the caller's. */
static void take_out(struct cam_live *l, struct cam_live_copy *c)
{
	cam_link_leave(&c->of_copies);
	l->copy_bytes -= c->bytes;
}

/* The sample goes on with these frames, or with those it came with. */
static void go_on(struct cam_live *l, struct cam_live_copy *c, const struct cam_unwind_tidings *t)
{
	struct cam_raw r = raw_of(c);
	take_out(l, c);
	r.sample.copy = (struct cam_raw_copy){0};
	r.sample.image = 0;
	if (t) {
		r.sample.user = t->frames;
		r.sample.n_user = t->n_frames;
		r.sample.end = t->end;
		r.sample.flags &= ~(uint32_t)(CAM_RAW_GUESSED | CAM_RAW_TRUNCATED);
		r.sample.flags |= t->guessed ? CAM_RAW_GUESSED : 0;
		l->stats.copies_unwound++;
	} else {
		r.sample.end = CAM_STACK_PENDING;
		l->stats.copies_late++;
	}
	cam_live_resume(l, &c->parked, &r);
	free(c);
}

static bool has_all_tables(const struct cam_image *image)
{
	for (uint32_t i = 0; i < image->n; i++) {
		const struct cam_files_row *f = image->maps[i].file;
		if (f && f->kind == CAM_MODULE_FILE && f->table.state != CAM_TABLE_THERE &&
		    f->table.state != CAM_TABLE_NO_CFI)
			return false;
	}
	return true;
}

/* false: it is not to be had, and there is nothing to wait for. */
static bool send(struct cam_live *l, struct cam_live_copy *c, const struct cam_image *image)
{
	struct cam_raw r = raw_of(c);
	if (l->copies_full)
		return true;
	struct cam_errand e = {
		.type = CAM_ERRAND_UNWIND,
		.ticket = cam_live_ticket(l),
		.pid = r.pid,
		.tid = r.tid,
		.copy = r.sample.copy,
		.maps = l->unwind_maps,
		.n_maps = (uint32_t)cam_live_unwind_maps(l, image),
	};
	/* Not through cam_live_send(): that the symboliser's socket is full of copies need not keep
	 * other questions from others. */
	int err = l->doors.errands->send(l->doors.errands, &e);
	l->copies_full = err == -EAGAIN;
	if (err && err != -EAGAIN) {
		l->stats.errands_failed++;
		return false;
	}
	if (!err) {
		l->stats.errands++;
		c->ticket = e.ticket;
		c->lacking = CAM_NONE;
		c->patient = !c->tries++ && has_all_tables(image);
	}
	return true;
}

/* Does what can be done now; false: nothing more can be. */
static bool advance(struct cam_live *l, struct cam_live_copy *c)
{
	struct cam_raw r = raw_of(c);
	if (c->ticket)
		return true;
	struct cam_live_who who = cam_live_parked_who(l, &c->parked, &r);
	bool wait = cam_live_ask_who(l, &who, &r);
	if (!who.known || !who.image)
		return wait;
	if (c->lacking != CAM_NONE) {
		struct cam_files_row *f = cam_files_find(l->files, c->lacking);
		if (!f || c->tries >= MAX_TRIES)
			return false;
		if (!cam_live_table_lack(l, f))
			return f->table.state != CAM_TABLE_NO_CFI &&
			       (f->state == CAM_FILES_ASKED || f->state == CAM_FILES_HELD);
	}
	return send(l, c, who.image);
}

bool cam_live_copy_take(struct cam_live *l, const struct cam_live_who *w, const struct cam_raw *r)
{
	size_t bytes = sizeof(struct cam_live_copy) + cam_raw_packed_bytes(r);
	l->stats.copies++;
	bool wait = cam_live_ask_who(l, w, r);
	/* Not wanted, or never to be known. */
	if (!wait && (!cam_live_in_scope(l, w->process) || !w->known || !w->image))
		return false;
	struct cam_live_copy *c =
		l->copy_bytes + bytes <= CAM_LIVE_COPY_BYTES ? malloc(bytes) : NULL;
	if (!c) {
		l->stats.copies_refused++;
		return false;
	}
	*c = (struct cam_live_copy){.bytes = bytes, .lacking = CAM_NONE};
	c->parked = cam_live_parked(l, w, r->time_ns);
	cam_raw_pack(r, packed_of(c));
	cam_link_init(&c->of_copies);
	cam_link_join(&l->copies, &c->of_copies);
	l->copy_bytes += bytes;
	if (!advance(l, c))
		go_on(l, c, NULL);
	return true;
}

void cam_live_copy_answer(struct cam_live *l, const struct cam_tidings *t)
{
	struct cam_live_copy *c = NULL;
	l->copies_full = false;
	l->stats.errands_failed += t->error != 0;
	for (struct cam_link *k = l->copies.next; k != &l->copies && !c; k = k->next) {
		struct cam_live_copy *at = CAM_LINK_OWNER(k, struct cam_live_copy, of_copies);
		if (at->ticket && at->ticket == t->ticket)
			c = at;
	}
	if (!c)
		return;
	c->ticket = 0;
	const struct cam_unwind_tidings *u = &t->unwound;
	struct cam_files_row *f = !t->error && u->end == CAM_STACK_PENDING
					  ? cam_files_find(l->files, u->lacking)
					  : NULL;
	if (f) {
		c->lacking = u->lacking;
		struct cam_raw r = raw_of(c);
		struct cam_live_who who = cam_live_parked_who(l, &c->parked, &r);
		const struct cam_image_map *m = cam_image_of_file(who.image, f);
		if (m && f->kind == CAM_MODULE_FILE && f->state != CAM_FILES_HELD)
			cam_live_ask_file(l, c->parked.process, m);
		if (advance(l, c))
			return;
	}
	go_on(l, c, t->error || !u->n_frames ? NULL : u);
}

void cam_live_copies_retry(struct cam_live *l)
{
	struct cam_link *next;
	for (struct cam_link *k = l->copies.next; k != &l->copies; k = next) {
		struct cam_live_copy *c = CAM_LINK_OWNER(k, struct cam_live_copy, of_copies);
		next = k->next;
		if (!advance(l, c))
			go_on(l, c, NULL);
	}
}

bool cam_live_has_copies(const struct cam_live *l)
{
	return !cam_link_is_alone(&l->copies);
}

bool cam_live_copies_hurry(const struct cam_live *l)
{
	for (const struct cam_link *k = l->copies.next; k != &l->copies; k = k->next) {
		const struct cam_live_copy *c =
			CAM_LINK_OWNER(k, const struct cam_live_copy, of_copies);
		if (!c->ticket || !c->patient)
			return true;
	}
	return false;
}

void cam_live_copies_tick(struct cam_live *l, bool all)
{
	struct cam_link *next;
	l->copies_full = false;
	for (struct cam_link *k = l->copies.next; k != &l->copies; k = next) {
		struct cam_live_copy *c = CAM_LINK_OWNER(k, struct cam_live_copy, of_copies);
		next = k->next;
		if (all || cam_live_is_overdue(l, &c->parked, 0) || !advance(l, c))
			go_on(l, c, NULL);
	}
}

void cam_live_copies_before(struct cam_live *l, uint64_t time_ns)
{
	struct cam_link *next;
	for (struct cam_link *k = l->copies.next; k != &l->copies; k = next) {
		struct cam_live_copy *c = CAM_LINK_OWNER(k, struct cam_live_copy, of_copies);
		next = k->next;
		if (raw_of(c).time_ns < time_ns)
			go_on(l, c, NULL);
	}
}

void cam_live_copies_free(struct cam_live *l)
{
	while (!cam_link_is_alone(&l->copies)) {
		struct cam_live_copy *c =
			CAM_LINK_OWNER(l->copies.next, struct cam_live_copy, of_copies);
		/* Who is taken out is not found again. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		take_out(l, c);
		cam_image_release(cam_processes_images(l->processes), c->parked.image);
		cam_processes_unpark(l->processes, c->parked.process);
		free(c);
	}
}
