// SPDX-License-Identifier: Apache-2.0
#include "serve/asked.h"

#include "base/index.h"
#include "query/overview.h"
#include "query/tracks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WHY_BYTES  512
#define USUAL_BINS 1000u
#define MOST_BINS  4096u
_Static_assert(MOST_BINS <= CAM_OVERVIEW_MAX_BINS, "the timeline refuses more");
_Static_assert(MOST_BINS <= CAM_TRACKS_MAX_BINS, "the counters refuse more");

int cam_asked_windows(const struct cam_server_doors *doors, struct cam_answer *a,
		      struct cam_source **out)
{
	/* First: what changes in between must not pass for what is listed. */
	a->stamp = doors->stamp ? doors->stamp(doors->self) : 0;
	int err = doors->windows(doors->self, out);
	if (err)
		cam_asked_failed(a, err);
	return err;
}

static void refuse(struct cam_answer *a, const char *key, const char *why)
{
	char text[WHY_BYTES + 64];
	snprintf(text, sizeof(text), "%.60s: %s", key, why);
	cam_answer_error(a, 400, text);
}

bool cam_asked_moment(const struct cam_server_doors *doors, struct cam_source *source,
		      const struct cam_request *q, const char *key, struct cam_answer *a,
		      int64_t *ns)
{
	struct cam_when when = {.world = doors->world(doors->self).time};
	char why[WHY_BYTES] = "it is missing";
	int64_t from, to;
	const char *value = cam_request_value(q, key);
	int err = value ? cam_when_set(&when, CAM_WHEN_AT, cam_text_of(value), why, sizeof(why))
			: -EINVAL;
	if (!err)
		err = cam_when_set(&when, CAM_WHEN_AROUND, CAM_TEXT("1s"), why, sizeof(why));
	if (!err)
		err = cam_when_settle_wall(&when, source, &from, &to, why, sizeof(why));
	cam_when_free(&when);
	if (err)
		refuse(a, key, why);
	else
		*ns = from + (to - from) / 2;
	return !err;
}

bool cam_asked_bins(const struct cam_server_doors *doors, const struct cam_request *q,
		    struct cam_answer *a, struct cam_asked_bins *out)
{
	static const char *const own[] = {"from", "to", "bins", NULL};
	if (!cam_request_only(q, own, a))
		return false;
	if (!cam_request_number(q, "bins", 1, MOST_BINS, USUAL_BINS, &out->n)) {
		cam_answer_error(a, 400, "bins: a number from 1 to 4096");
		return false;
	}
	if (cam_asked_windows(doors, a, &out->source))
		return false;
	if (cam_asked_moment(doors, out->source, q, "from", a, &out->from_ns) &&
	    cam_asked_moment(doors, out->source, q, "to", a, &out->to_ns))
		return true;
	doors->release(doors->self, out->source);
	return false;
}

static bool is_own(const char *const *own, const char *key)
{
	for (; *own; own++)
		if (!strcmp(*own, key))
			return true;
	return cam_request_is_common(key);
}

bool cam_asked_selection(const struct cam_server_doors *doors, struct cam_source *source,
			 const struct cam_request *q, const char *const *own, struct cam_answer *a,
			 struct cam_selection *s)
{
	char why[WHY_BYTES] = "";
	const char *key = "selection";
	int err = 0;
	cam_selection_init(s);
	s->world = doors->world(doors->self);
	for (size_t i = 0; !err && i < q->n_params; i++) {
		if (is_own(own, q->params[i].key))
			continue;
		key = q->params[i].key;
		err = cam_selection_set(s, cam_text_of(key), cam_text_of(q->params[i].value), why,
					sizeof(why));
	}
	if (!err) {
		key = "selection";
		err = cam_selection_check(s, why, sizeof(why));
	}
	if (!err)
		err = cam_selection_settle(s, source, why, sizeof(why));
	if (!err)
		return true;
	cam_selection_free(s);
	refuse(a, key, why[0] ? why : err == -ENOENT ? "no such parameter" : strerror(-err));
	return false;
}

/* false: some of it may still change. */
static bool hash_windows(struct cam_source *source, const struct cam_selection *s, uint64_t *h)
{
	size_t n = source->ops->count(source);
	for (size_t i = 0; i < n; i++) {
		const struct cam_window_info *w, *next = NULL;
		if (source->ops->info(source, i, &w))
			return false;
		if (i + 1 < n && source->ops->info(source, i + 1, &next))
			next = NULL;
		if (!cam_selection_may_touch(s, w, next))
			continue;
		if (!w->sealed)
			return false;
		*h = cam_hash_u64(*h ^ cam_hash(w->name.p, w->name.n), w->file_bytes);
		*h = cam_hash_u64(*h ^ w->samples, w->pinned);
	}
	return true;
}

bool cam_asked_before(struct cam_source *source, const struct cam_request *q,
		      const struct cam_selection *const *selections, size_t n, struct cam_answer *a)
{
	/* Another version may give another answer, or in another form. */
	static const char version[] = PERFCAM_VERSION;
	uint64_t h = cam_hash_u64(cam_hash(q->path, strlen(q->path)) ^ a->stamp,
				  cam_hash(version, sizeof(version)));
	if (!a->stamp)
		return false;
	for (size_t i = 0; i < q->n_params; i++) {
		const struct cam_param *p = &q->params[i];
		if (strcmp(p->key, "token") != 0)
			h = cam_hash_u64(h ^ cam_hash(p->key, strlen(p->key)),
					 cam_hash(p->value, strlen(p->value)));
	}
	for (size_t i = 0; i < n; i++) {
		const struct cam_selection *s = selections[i];
		h = cam_hash_u64(h ^ (uint64_t)s->from_ns, (uint64_t)s->to_ns ^ s->clock);
		h = cam_hash_u64(h, cam_hash(&s->boot_id, sizeof(s->boot_id)));
		if (!hash_windows(source, s, &h))
			return false;
	}
	snprintf(a->tag, sizeof(a->tag), "\"%016llx\"", (unsigned long long)h);
	if (!cam_request_has(q, a->tag))
		return false;
	a->status = 304;
	return true;
}

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int look_at_clock(void *arg, uint64_t done, uint64_t all)
{
	const struct cam_asked_deadline *d = arg;
	(void)done;
	(void)all;
	bool stop = d->stop && atomic_load(d->stop);
	return stop || now_ns() > d->until_ns ? -ETIMEDOUT : 0;
}

void cam_asked_deadline_begin(struct cam_asked_deadline *d)
{
	d->until_ns = now_ns() + CAM_ASKED_SECONDS * 1000000000ll;
	d->stop = NULL;
	d->progress = (struct cam_progress){look_at_clock, d};
}

void cam_asked_deadline_bind(struct cam_asked_deadline *d, struct cam_selection *s)
{
	s->match.patience = &d->progress;
	s->exclude.patience = &d->progress;
}

void cam_asked_failed(struct cam_answer *a, int err)
{
	switch (err) {
	case -ETIMEDOUT:
		cam_answer_error(
			a, 503,
			"this takes too long; ask for less time or by a simpler expression, "
			"or use the command line");
		a->in_vain = true;
		break;
	case -ENODATA:
		cam_answer_error(a, 404, "nothing was recorded at that time");
		break;
	case -EDOM:
		cam_answer_error(a, 404, "what is there has no times");
		break;
	case -EINVAL:
		cam_answer_error(a, 400, "no such range of time");
		break;
	case -E2BIG:
		cam_answer_error(a, 413,
				 "that is more than fits here; ask for less time or fewer "
				 "processes, or use the command line");
		break;
	case -ENOMEM:
		cam_answer_error(a, 503,
				 "there is no memory left for this now; ask again, or for less "
				 "time");
		break;
	default:
		cam_answer_error(a, 503, strerror(-err));
	}
}

void cam_asked_finish(struct cam_columns *c, struct cam_answer *a)
{
	int err = cam_columns_finish(c, &a->body);
	a->type = "application/vnd.perfcam.columns";
	a->status = 200;
	if (err)
		cam_asked_failed(a, err);
}

void cam_asked_seen(struct cam_json *j, const struct cam_seen *s)
{
	cam_json_open(j, "seen", '{');
	cam_json_u64(j, "windows", s->windows);
	cam_json_u64(j, "samples", s->samples);
	cam_json_u64(j, "idle", s->idle);
	cam_json_u64(j, "idle_by_ledger", s->by_cause[CAM_CAUSE_IDLE]);
	cam_json_u64(j, "other_events", s->other_events);
	cam_json_u64(j, "lost", s->lost);
	uint64_t damaged = s->damaged + s->damaged_stacks;
	cam_json_u64(j, "damaged", damaged ? damaged : s->damaged_parts);
	cam_json_u64(j, "gap_ns", s->gap_ns);
	cam_json_u64(j, "dead_ns", s->dead_ns);
	cam_json_u64(j, "unplaced", s->unplaced);
	cam_json_u64(j, "unreadable", s->unreadable);
	cam_json_u64(j, "observed_ns", s->observed_ns);
	cam_json_close(j, '}');
}
