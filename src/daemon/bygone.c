// SPDX-License-Identifier: Apache-2.0
#include "daemon/bygone.h"

#include "base/escape.h"
#include "base/units.h"
#include "base/vec.h"
#include "events/intake.h"
#include "events/kmsg_record.h"
#include "model/anchor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ANCHORS (4u << 20)
#define MAX_KNOWN   (1u << 20)
/* The same line of the kernel's log, placed by other anchors. */
#define SAME_NS CAM_NS_PER_MS
/* dmesg knows that to a second, and the two clocks drift apart: 0.8 s were seen after an hour. */
#define BOOT_NS (2 * CAM_NS_PER_SEC)

struct window {
	struct cam_boot_id boot;
	uint64_t start_ns, end_ns;
	size_t from, to; /* of its anchors */
};

struct known {
	struct cam_boot_id boot;
	uint64_t time_ns, hash;
};

struct work {
	struct cam_store *store;
	struct cam_bygone_counts *counts;
	struct window *windows;
	size_t n_windows, cap_windows;
	struct cam_anchor *anchors;
	size_t n_anchors, cap_anchors;
	struct known *known;
	size_t n_known, cap_known;
	const struct cam_tables *tables; /* of the window that is looked at */
	const struct window *at;	 /* where the line that is taken in lies */
	int err;
};

static uint64_t hash_of(struct cam_text source, struct cam_text text)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < source.n; i++)
		h = (h ^ (uint8_t)source.p[i]) * 0x100000001b3u;
	h = (h ^ 0xff) * 0x100000001b3u;
	for (size_t i = 0; i < text.n; i++)
		h = (h ^ (uint8_t)text.p[i]) * 0x100000001b3u;
	return h;
}

static int keep_anchor(void *arg, const struct cam_anchor *a)
{
	struct work *k = arg;
	int err = cam_vec_reserve(&k->anchors, &k->cap_anchors, k->n_anchors + 1,
				  sizeof(*k->anchors), MAX_ANCHORS);
	if (!err)
		k->anchors[k->n_anchors++] = *a;
	return err;
}

static int keep_event(void *arg, const struct cam_event *e)
{
	struct work *k = arg;
	int err = cam_vec_reserve(&k->known, &k->cap_known, k->n_known + 1, sizeof(*k->known),
				  MAX_KNOWN);
	if (!err)
		k->known[k->n_known++] = (struct known){
			k->windows[k->n_windows].boot,
			e->time_ns,
			hash_of(cam_string(k->tables, e->source), cam_string(k->tables, e->text)),
		};
	return err;
}

static int look_at(struct work *k, struct cam_window *w)
{
	int err = cam_vec_reserve(&k->windows, &k->cap_windows, k->n_windows + 1,
				  sizeof(*k->windows), MAX_KNOWN);
	if (err)
		return err;
	struct window *v = &k->windows[k->n_windows];
	*v = (struct window){w->info.boot_id, w->info.start_ns, w->info.end_ns, k->n_anchors, 0};
	err = w->ops->tables(w, &k->tables);
	if (!err)
		err = w->ops->anchors(w, keep_anchor, k);
	if (!err && w->info.events)
		err = w->ops->events(w, keep_event, k);
	v->to = k->n_anchors;
	k->n_windows++;
	return err;
}

static int look_at_all(struct work *k, struct cam_io *io)
{
	struct cam_source *source;
	int err = cam_store_open_read(io, &source);
	if (err)
		return err;
	for (size_t i = 0; !err && i < source->ops->count(source); i++) {
		struct cam_window *w;
		if (source->ops->open(source, i, &w))
			continue;
		if (w->info.clock != CAM_CLOCK_ABSENT)
			err = look_at(k, w);
		w->ops->close(w);
		/* What cannot be read holds no line. */
		if (err == -EBADMSG || err == -EIO)
			err = 0;
	}
	source->ops->close(source);
	return err;
}

static bool begins(const struct cam_boot_id *boot, struct cam_text digits)
{
	size_t at = 0;
	for (size_t i = 0; i < digits.n; i++) {
		char want[3];
		if (digits.p[i] == '-')
			continue;
		if (at >= 2 * sizeof(boot->bytes))
			return false;
		snprintf(want, sizeof(want), "%02x", boot->bytes[at / 2]);
		if ((digits.p[i] | (digits.p[i] >= 'A' ? 0x20 : 0)) != want[at % 2])
			return false;
		at++;
	}
	return true;
}

/* The newest window of the boot that is meant. */
static const struct window *find_boot(const struct work *k, struct cam_text digits)
{
	for (size_t i = k->n_windows; i > 0; i--) {
		if (begins(&k->windows[i - 1].boot, digits))
			return &k->windows[i - 1];
	}
	return NULL;
}

static const struct window *place_sched(const struct work *k, const struct window *boot,
					uint64_t sched_ns, struct cam_placed *p)
{
	for (size_t i = 0; i < k->n_windows; i++) {
		const struct window *w = &k->windows[i];
		if (memcmp(&w->boot, &boot->boot, sizeof(w->boot)) == 0 &&
		    cam_anchor_place_sched(k->anchors + w->from, w->to - w->from, sched_ns, p) &&
		    p->time_ns >= w->start_ns && p->time_ns < w->end_ns)
			return w;
	}
	return NULL;
}

/* The newest that has it: a wall clock that was set back showed it twice. */
static const struct window *place_wall(const struct work *k, int64_t wall_ns, struct cam_placed *p)
{
	for (size_t i = k->n_windows; i > 0; i--) {
		const struct window *w = &k->windows[i - 1];
		struct cam_placed first;
		if (cam_anchor_place_wall(k->anchors + w->from, w->to - w->from, wall_ns, &first,
					  p) &&
		    p->time_ns >= w->start_ns && p->time_ns < w->end_ns)
			return w;
	}
	return NULL;
}

static void take_happening(void *arg, const struct cam_happening *h)
{
	struct work *k = arg;
	uint64_t hash = hash_of(h->source, h->text);
	/* dmesg -T: a line that the kernel's log has, by when dmesg thinks that the boot was. */
	uint64_t of_kernel = hash_of(CAM_TEXT("kmsg"), h->text);
	/* What the limits left out is told by the counts. */
	if (cam_text_equal(h->source, CAM_TEXT("perfcam")) || k->err)
		return;
	for (size_t i = 0; i < k->n_known; i++) {
		const struct known *e = &k->known[i];
		uint64_t apart =
			e->time_ns > h->time_ns ? e->time_ns - h->time_ns : h->time_ns - e->time_ns;
		bool same = (e->hash == hash && apart < SAME_NS) ||
			    (e->hash == of_kernel && apart <= h->uncertainty_ns + BOOT_NS);
		if (same && memcmp(&e->boot, &k->at->boot, sizeof(e->boot)) == 0) {
			k->counts->known++;
			return;
		}
	}
	k->err = cam_store_add_event(k->store, &k->at->boot, h->time_ns, h->uncertainty_ns,
				     h->severity, h->source, h->text);
	k->counts->added += !k->err;
}

struct sources {
	struct cam_intake *intake;
	int kernel, file;
};

static void take_line(struct work *k, const struct cam_bygone_request *q, const struct window *boot,
		      const struct sources *in, struct cam_text line)
{
	struct cam_log_stamp s;
	struct cam_placed p = {0};
	cam_log_stamp_read(line, CAM_LOG_AUTO, &q->world, &s);
	k->counts->lines++;
	k->at = NULL;
	bool kernel = s.format == CAM_LOG_DMESG;
	if (s.format == CAM_LOG_AUTO)
		k->counts->untimed++;
	else if (kernel && q->began_ns == INT64_MIN)
		k->at = boot ? place_sched(k, boot, (uint64_t)s.time_ns, &p) : NULL;
	else if (!__builtin_add_overflow(s.time_ns, kernel ? q->began_ns : 0, &s.time_ns))
		k->at = place_wall(k, s.time_ns, &p);
	if (!k->at) {
		k->counts->outside += s.format != CAM_LOG_AUTO;
		return;
	}
	/* As dmesg prints what is not printable. */
	char plain[CAM_KMSG_RECORD_BYTES];
	if (kernel && s.text.n <= sizeof(plain))
		s.text = (struct cam_text){
			plain,
			cam_escape_undo(s.text, CAM_ESCAPE_CONTROL | CAM_ESCAPE_BYTES, plain)};
	const struct cam_intake_line l = {
		.clock = CAM_INTAKE_OWN,
		.stamp_ns = (int64_t)p.time_ns,
		.doubt_ns = p.uncertainty_ns + s.doubt_ns,
		.severity = s.severity < CAM_SEVERITY_MAX ? s.severity : CAM_SEVERITY_INFO,
		.text = s.text,
	};
	cam_intake_take(in->intake, kernel ? in->kernel : in->file, &l, p.time_ns);
}

static void take_lines(struct work *k, const struct cam_bygone_request *q,
		       const struct window *boot, const struct sources *in)
{
	struct cam_text rest = q->text;
	while (rest.n && !k->err) {
		const char *end = memchr(rest.p, '\n', rest.n);
		struct cam_text line = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
		rest.n -= line.n + (end != NULL);
		rest.p += line.n + (end != NULL);
		if (line.n)
			take_line(k, q, boot, in, line);
	}
	k->counts->suppressed = cam_intake_counts(in->intake, in->kernel).suppressed +
				cam_intake_counts(in->intake, in->file).suppressed;
}

int cam_bygone_import(struct cam_io *io, struct cam_store *store,
		      const struct cam_bygone_request *q, struct cam_bygone_counts *counts)
{
	struct work k = {.store = store, .counts = counts};
	struct sources in = {0};
	char name[48];
	const struct window *boot = NULL;
	*counts = (struct cam_bygone_counts){0};
	int err = look_at_all(&k, io);
	if (!err) {
		boot = find_boot(&k, q->boot);
		err = boot || !q->boot.n ? cam_intake_new(take_happening, &k, &in.intake) : -ENOENT;
	}
	if (!err) {
		const char *slash = strrchr(q->name, '/');
		snprintf(name, sizeof(name), "log:%.43s", slash ? slash + 1 : q->name);
		in.kernel = cam_intake_source(in.intake, "kmsg");
		in.file = cam_intake_source(in.intake, name);
		cam_store_add_many(store);
		take_lines(&k, q, boot, &in);
		err = cam_store_added_many(store);
		err = k.err ? k.err : err;
	}
	cam_intake_free(in.intake);
	free(k.windows);
	free(k.anchors);
	free(k.known);
	return err;
}
