// SPDX-License-Identifier: Apache-2.0
/*
 * Names of files. What a file's debug file could add is known to the symboliser alone, which cannot look for it:
 *
 *	names? (search)  →  wants_debug: build-id, link  →  the opener looks  →  names? with it, or without search
 *
 * and the same again for the supplement that the DWARF of either refers to (dwz -m). These are a file's aids. The state of
 * one goes UNKNOWN → ASKED → FOUND or NONE; from FOUND back to UNKNOWN where it was not the file's, at most
 * CAM_HOLDS_MAX_TRIES times.
 */
#include "daemon/crew_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sends, or sends again, with what is known of its aids by now. */
static int send_names(struct cam_crew *c, struct cam_crew_errand *e, const struct cam_hold *h,
		      const uint64_t *offsets, uint32_t n)
{
	const struct cam_aid *debug = &h->aids[CAM_AID_DEBUG],
			     *supplement = &h->aids[CAM_AID_SUPPLEMENT];
	struct cam_errand out = {
		.type = CAM_ERRAND_NAMES,
		.ticket = e->ticket,
		.pid = e->pid,
		.tid = e->tid,
		.file = e->file,
		.search = !cam_aid_is_settled(debug),
		.search_supplement = !cam_aid_is_settled(supplement),
		.supplement = supplement->fd >= 0,
		.symbols_only = h->symbols_only,
		.offsets = offsets,
		.n_offsets = n,
	};
	const int fds[CAM_PACKET_FDS] = {h->fd, debug->fd, supplement->fd};
	int err = cam_crew_send_copies(c);
	int bytes = err ? err : cam_errand_pack(&out, c->packet, sizeof(c->packet));
	err = bytes < 0 ? bytes
			: cam_packet_send_all(c->symboliser.helper.socket, c->packet, (size_t)bytes,
					      fds);
	e->sent = !err;
	for (int i = 0; i < CAM_AIDS; i++) {
		e->aids[i].went = h->aids[i].fd >= 0;
		e->aids[i].skipped = h->aids[i].skip;
	}
	return err;
}

int cam_crew_send_names(struct cam_crew *c, const struct cam_errand *in, const struct cam_hold *h)
{
	struct cam_crew_errand *e = cam_crew_note(c, in);
	int err = e ? 0 : -EAGAIN;
	if (!err && !cam_hold_is_settled(h)) {
		e->offsets = malloc(in->n_offsets * sizeof(*e->offsets) + 1);
		err = e->offsets ? 0 : -EAGAIN;
		e->n_offsets = in->n_offsets;
		if (!err && in->n_offsets)
			memcpy(e->offsets, in->offsets, in->n_offsets * sizeof(*e->offsets));
	}
	if (!err && !cam_hold_waits(h))
		err = send_names(c, e, h, in->offsets, in->n_offsets);
	if (err && e)
		cam_crew_forget(c, e);
	return err;
}

bool cam_crew_waits(const struct cam_crew_errand *e, uint32_t file)
{
	return e->used && !e->sent && e->type == CAM_ERRAND_NAMES && e->file == file;
}

void cam_crew_settle_aid(struct cam_crew *c, uint32_t file, enum cam_aid_kind kind, int fd)
{
	struct cam_hold *h = cam_holds_find(&c->holds, file);
	bool wanted = h && h->fd >= 0 && h->aids[kind].state == CAM_AID_ASKED;
	int kept;
	if (wanted && fd < 0) {
		h->aids[kind].state = CAM_AID_NONE;
	} else if (wanted && (kept = cam_holds_keep_aid(&c->holds, h, kind, fd)) != 0) {
		/* Somebody else's: the symboliser will ask for the next. */
		h->aids[kind].state = kept == -EMFILE ? CAM_AID_NONE : CAM_AID_UNKNOWN;
		h->aids[kind].skip++;
	} else if (!wanted && fd >= 0) {
		cam_closer_close(&c->closer, fd);
	}
	uint64_t limit = c->order;
	for (size_t i = 0; i < c->top; i++) {
		struct cam_crew_errand *e = &c->under_way[i];
		if (!cam_crew_waits(e, file) || e->order >= limit)
			continue;
		h = cam_holds_find(&c->holds, file);
		int err = h && h->fd >= 0 ? cam_crew_start(c, &c->symboliser) : -EBADF;
		if (!err)
			err = send_names(c, e, h, e->offsets, e->n_offsets);
		if (err)
			cam_crew_fail(c, e, err);
	}
}

static struct cam_text copy_text(struct cam_text t, char *room, size_t max)
{
	if (t.n > max)
		t.n = 0;
	if (t.n)
		memcpy(room, t.p, t.n);
	return (struct cam_text){room, t.n};
}

static int ask_opener(struct cam_crew *c, uint32_t file, const struct cam_hold *h,
		      enum cam_aid_kind kind, const struct cam_names_tidings *t)
{
	/* What was received lies where the errand is packed. */
	char id[CAM_ERRAND_MAX_BUILD_ID], link[CAM_ERRAND_MAX_LINK];
	const struct cam_errand ask = {
		.type = CAM_ERRAND_DEBUG,
		.ticket = file,
		.pid = h->pid,
		.file = file,
		.mapping.path = h->path ? cam_text_of(h->path) : (struct cam_text){"", 0},
		.build_id = copy_text(t->build_id, id, sizeof(id)),
		.link = copy_text(t->link, link, sizeof(link)),
		.skip = h->aids[kind].skip,
		.supplement = kind == CAM_AID_SUPPLEMENT,
	};
	int err = cam_crew_start(c, &c->opener);
	struct cam_crew_errand *e = err ? NULL : cam_crew_note(c, &ask);
	if (!e)
		return err ? err : -EAGAIN;
	e->aid = kind;
	err = cam_crew_pack(c, &c->opener, &ask, -1);
	if (err)
		cam_crew_forget(c, e);
	else
		e->sent = true;
	return err;
}

/* The symboliser has used it, or wants none. */
static void settle_used(struct cam_crew *c, const struct cam_crew_errand *e, struct cam_hold *h,
			enum cam_aid_kind kind)
{
	struct cam_aid *aid = &h->aids[kind];
	if (e->aids[kind].went && aid->state == CAM_AID_FOUND && !aid->sure) {
		aid->sure = true;
		c->stats.debug_files += kind == CAM_AID_DEBUG;
	} else if (!e->aids[kind].went && aid->state == CAM_AID_UNKNOWN) {
		aid->state = CAM_AID_NONE;
	}
}

void cam_crew_want_aid(struct cam_crew *c, struct cam_crew_errand *e,
		       const struct cam_names_tidings *t)
{
	uint32_t file = e->file;
	struct cam_hold *h = cam_holds_find(&c->holds, file);
	enum cam_aid_kind kind = t->wants_supplement ? CAM_AID_SUPPLEMENT : CAM_AID_DEBUG;
	struct cam_aid *aid = h ? &h->aids[kind] : NULL;
	e->sent = false;
	/* Who knows of a supplement has the DWARF. */
	if (h && kind == CAM_AID_SUPPLEMENT)
		settle_used(c, e, h, CAM_AID_DEBUG);
	/* It may have been asked with one that has been dropped since. */
	if (aid && e->aids[kind].went && aid->state == CAM_AID_FOUND &&
	    e->aids[kind].skipped == aid->skip) {
		cam_holds_drop_aid(&c->holds, aid, CAM_AID_UNKNOWN);
		aid->skip++;
	}
	if (aid && aid->state == CAM_AID_ASKED)
		return;
	if (aid && aid->state == CAM_AID_UNKNOWN) {
		aid->state = CAM_AID_ASKED;
		if (aid->skip < CAM_HOLDS_MAX_TRIES && !ask_opener(c, file, h, kind, t))
			return;
	}
	cam_crew_settle_aid(c, file, kind, -1);
}

void cam_crew_note_names(struct cam_crew *c, const struct cam_crew_errand *e,
			 const struct cam_names_tidings *t)
{
	struct cam_hold *h = cam_holds_find(&c->holds, e->file);
	if (!h || h->fd < 0)
		return;
	if (t->left_out && !h->left_out) {
		h->left_out = true;
		c->stats.left_out_files++;
	}
	if (t->elsewhere && !h->elsewhere) {
		h->elsewhere = true;
		c->stats.elsewhere_files++;
	}
	for (int i = 0; i < CAM_AIDS; i++)
		settle_used(c, e, h, (enum cam_aid_kind)i);
}
