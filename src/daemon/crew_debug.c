// SPDX-License-Identifier: Apache-2.0
/*
 * Names of files. What a file's debug file could add is known to the symboliser alone, which cannot look for it:
 *
 *	names? (search)  →  wants_debug: build-id, link  →  the opener looks  →  names? with it, or without search
 *
 * A file's state goes UNKNOWN → ASKED → FOUND or NONE; from FOUND back to UNKNOWN where it was not the file's, at most
 * CAM_HOLDS_MAX_TRIES times.
 */
#include "daemon/crew_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sends, or sends again, with what is known of its debug file by now. */
static int send_names(struct cam_crew *c, struct cam_crew_errand *e, const struct cam_hold *h,
		      const uint64_t *offsets, uint32_t n)
{
	struct cam_errand out = {
		.type = CAM_ERRAND_NAMES,
		.ticket = e->ticket,
		.pid = e->pid,
		.tid = e->tid,
		.file = e->file,
		.search = !cam_hold_is_settled(h),
		.symbols_only = h->symbols_only,
		.offsets = offsets,
		.n_offsets = n,
	};
	int bytes = cam_errand_pack(&out, c->packet, sizeof(c->packet));
	int err = bytes < 0 ? bytes
			    : cam_packet_send_two(c->symboliser.helper.socket, c->packet,
						  (size_t)bytes, h->fd, h->debug_fd);
	e->sent = !err;
	e->with_debug = h->debug_fd >= 0;
	e->skipped = h->skip;
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
	if (!err && h->debug != CAM_HOLD_ASKED)
		err = send_names(c, e, h, in->offsets, in->n_offsets);
	if (err && e)
		cam_crew_forget(c, e);
	return err;
}

bool cam_crew_waits(const struct cam_crew_errand *e, uint32_t file)
{
	return e->used && !e->sent && e->type == CAM_ERRAND_NAMES && e->file == file;
}

void cam_crew_settle_debug(struct cam_crew *c, uint32_t file, int fd)
{
	struct cam_hold *h = cam_holds_find(&c->holds, file);
	bool wanted = h && h->fd >= 0 && h->debug == CAM_HOLD_ASKED;
	if (wanted && fd < 0) {
		h->debug = CAM_HOLD_NONE;
	} else if (wanted && cam_hold_keep_debug(h, fd)) {
		/* Somebody else's: the symboliser will ask for the next. */
		h->debug = CAM_HOLD_UNKNOWN;
		h->skip++;
	} else if (!wanted && fd >= 0) {
		close(fd);
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

static int ask_debug(struct cam_crew *c, uint32_t file, const struct cam_hold *h,
		     const struct cam_names_tidings *t)
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
		.skip = h->skip,
	};
	int err = cam_crew_start(c, &c->opener);
	struct cam_crew_errand *e = err ? NULL : cam_crew_note(c, &ask);
	if (!e)
		return err ? err : -EAGAIN;
	err = cam_crew_pack(c, &c->opener, &ask, -1);
	if (err)
		cam_crew_forget(c, e);
	else
		e->sent = true;
	return err;
}

void cam_crew_want_debug(struct cam_crew *c, struct cam_crew_errand *e,
			 const struct cam_names_tidings *t)
{
	uint32_t file = e->file;
	struct cam_hold *h = cam_holds_find(&c->holds, file);
	e->sent = false;
	/* It may have been asked with one that has been dropped since. */
	if (h && e->with_debug && h->debug == CAM_HOLD_FOUND && e->skipped == h->skip) {
		cam_hold_drop_debug(h, CAM_HOLD_UNKNOWN);
		h->skip++;
	}
	if (h && h->debug == CAM_HOLD_ASKED)
		return;
	if (h && h->debug == CAM_HOLD_UNKNOWN) {
		h->debug = CAM_HOLD_ASKED;
		if (h->skip < CAM_HOLDS_MAX_TRIES && !ask_debug(c, file, h, t))
			return;
	}
	cam_crew_settle_debug(c, file, -1);
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
	if (e->with_debug && h->debug == CAM_HOLD_FOUND && !h->debug_sure) {
		h->debug_sure = true;
		c->stats.debug_files++;
	} else if (!e->with_debug && h->debug == CAM_HOLD_UNKNOWN) {
		h->debug = CAM_HOLD_NONE; /* it wants none */
	}
}
