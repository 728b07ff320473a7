// SPDX-License-Identifier: Apache-2.0
#include "store/journal_decode.h"

#include "store/format.h"
#include "store/journal_define.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

void cam_journal_decode_init(struct cam_journal_decode *d, struct cam_tables *t,
			     struct ZSTD_DCtx_s *zstd)
{
	*d = (struct cam_journal_decode){
		.t = t,
		.plain = CAM_BUF(CAM_JOURNAL_MAX_BYTES),
		.zstd = zstd,
		.lost_string = CAM_NONE,
		.lost_place = CAM_NONE,
		.lost_task = CAM_NONE,
		.lost_etype = CAM_NONE,
	};
}

void cam_journal_decode_free(struct cam_journal_decode *d)
{
	cam_buf_free(&d->plain);
	for (size_t i = 0; i < CAM_JT_MAX; i++)
		free(d->maps[i].ids);
	free(d->depth);
	free(d->function_base);
	free(d->successors);
}

static int decompress(struct cam_journal_decode *d, const struct cam_journal_head *head,
		      const uint8_t **payload)
{
	if (!(head->flags & CAM_JOURNAL_ZSTD))
		return 0;
	cam_buf_clear(&d->plain);
	uint8_t *to = cam_buf_reserve(&d->plain, head->plain_bytes ? head->plain_bytes : 1);
	if (!to)
		return cam_buf_error(&d->plain);
	size_t got = ZSTD_decompressDCtx(d->zstd, to, head->plain_bytes, *payload, head->bytes);
	if (ZSTD_isError(got) || got != head->plain_bytes)
		return -EBADMSG;
	*payload = to;
	return 0;
}

static int parse_extensions(struct cam_journal_view *v, struct cam_rd *r)
{
	while (!r->error && cam_rd_left(r)) {
		uint64_t kind = cam_rd_varint(r), rows = cam_rd_varint(r);
		size_t n;
		const uint8_t *bytes = cam_rd_string(r, &n);
		if (r->error || (kind == CAM_JX_COUNTERS && v->counters.bytes.p) ||
		    (kind == CAM_JX_INLINED && v->inlined.p) ||
		    (kind == CAM_JX_LINES && v->lines.p))
			return -EBADMSG;
		if (kind == CAM_JX_LINES) {
			v->lines = cam_rd_make(bytes, n);
			v->n_lines = rows;
		}
		if (kind == CAM_JX_INLINED) {
			v->inlined = cam_rd_make(bytes, n);
			v->n_inlined = rows;
		}
		if (kind == CAM_JX_COUNTERS)
			v->counters = (struct cam_journal_counters){cam_rd_make(bytes, n), rows};
	}
	return r->error;
}

static int parse_view(struct cam_journal_view *v, const uint8_t *payload, size_t n)
{
	struct cam_rd r = cam_rd_make(payload, n);
	uint64_t lengths[CAM_JC_MAX];
	*v = (struct cam_journal_view){0};
	v->epoch = cam_rd_varint(&r);
	v->samples_before = cam_rd_varint(&r);
	v->flags = cam_rd_u8(&r);
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		v->base[i] = cam_rd_varint(&r);
		v->n[i] = cam_rd_varint(&r);
	}
	for (size_t i = 0; i < CAM_JN_MAX; i++)
		v->left[i] = cam_rd_varint(&r);
	for (size_t i = 0; i < CAM_JC_MAX; i++)
		lengths[i] = cam_rd_varint(&r);
	for (size_t i = 0; i < CAM_JC_MAX; i++) {
		const uint8_t *p =
			lengths[i] <= cam_rd_left(&r) ? cam_rd_bytes(&r, (size_t)lengths[i]) : NULL;
		if (!p)
			return -EBADMSG;
		v->columns[i] = cam_rd_make(p, (size_t)lengths[i]);
	}
	if (parse_extensions(v, &r))
		return -EBADMSG;
	v->chain_lengths = v->columns[CAM_JC_CHAIN_LENGTH];
	for (size_t i = 0; i < CAM_JT_MAX; i++) {
		if (v->base[i] == 0 || v->base[i] > UINT32_MAX || v->n[i] > UINT32_MAX)
			return -EBADMSG;
		v->next[i] = (uint32_t)v->base[i];
	}
	return r.error || v->epoch == 0 || v->flags & ~CAM_JF_ALL ? -EBADMSG : 0;
}

void cam_journal_decode_drop(struct cam_journal_decode *d)
{
	cam_journal_define_drop(d);
}

int cam_journal_decode_view(struct cam_journal_decode *d, const struct cam_journal_head *head,
			    const uint8_t *payload, struct cam_journal_view *v)
{
	int err = decompress(d, head, &payload);
	return err ? err : parse_view(v, payload, head->plain_bytes);
}

int cam_journal_decode_block(struct cam_journal_decode *d, const struct cam_journal_head *head,
			     const uint8_t *payload, bool after_gap, struct cam_journal_view *v)
{
	cam_journal_define_save(d);
	int err = cam_journal_decode_view(d, head, payload, v);
	/* Epochs only grow: an older one again would let ids of two be mixed. */
	if (!err && v->epoch < d->epoch)
		err = -EBADMSG;
	if (err)
		return err;
	if (v->epoch != d->epoch) {
		cam_journal_define_rewind(d);
		cam_journal_define_save(d);
		d->epoch = v->epoch;
	}
	d->generation += after_gap;
	return cam_journal_define_all(d, v);
}

static int begin_samples(struct cam_journal_view *v)
{
	struct cam_rd *times = &v->columns[CAM_JC_TIME];
	v->begun = true;
	v->unit = cam_rd_varint(times);
	v->step = cam_rd_varint(times);
	uint64_t first = cam_rd_varint(times);
	if (times->error || (v->unit != 1 && v->unit != 1000 && v->unit != 10000))
		return -EBADMSG;
	for (size_t i = 0; i < CAM_JOURNAL_SLOTS; i++)
		v->last_time[i] = first - v->step;
	v->one.weight = 1;
	return 0;
}

static int get_etype_id(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *r = &v->columns[CAM_JC_ETYPE];
	v->one.etype.v = cam_journal_define_ref(d, v, r, CAM_JT_ETYPE);
	if (r->error)
		return r->error;
	return v->one.etype.v == CAM_NONE ? cam_journal_define_lost_etype(d, &v->one.etype.v) : 0;
}

static int get_cpu(struct cam_journal_view *v)
{
	struct cam_rd *cpus = &v->columns[CAM_JC_CPU];
	uint64_t cpu = cam_rd_varint(cpus);
	v->one.cpu = (uint32_t)cpu - 1;
	return cpus->error || cpu > UINT32_MAX ? -EBADMSG : 0;
}

static int get_time(struct cam_journal_view *v)
{
	struct cam_rd *times = &v->columns[CAM_JC_TIME];
	uint64_t *before = &v->last_time[v->one.cpu % CAM_JOURNAL_SLOTS];
	*before = cam_journal_define_delta(times, *before + v->step);
	v->one.time_ns = *before * v->unit;
	return times->error ? -EBADMSG : 0;
}

/* The columns that may hold one value for all. */
static int get_shared(struct cam_journal_decode *d, struct cam_journal_view *v, bool first)
{
	struct cam_rd *weights = &v->columns[CAM_JC_WEIGHT];
	int err = 0;
	if (first || !(v->flags & CAM_JF_ONE_CPU))
		err = get_cpu(v);
	if (err)
		return err;
	if (first || !(v->flags & CAM_JF_ONE_WEIGHT)) {
		v->one.weight = cam_journal_define_delta(weights, v->one.weight);
		if (weights->error)
			return -EBADMSG;
	}
	if (first || !(v->flags & CAM_JF_ONE_ETYPE))
		err = get_etype_id(d, v);
	if (!err && (first || !(v->flags & CAM_JF_ONE_DETAIL)))
		err = cam_journal_define_string(d, v, &v->columns[CAM_JC_DETAIL], &v->one.detail);
	return err;
}

/* The next sample's place: of an earlier row, or the leaf of the next chain. */
static int get_sample_place(struct cam_journal_decode *d, struct cam_journal_view *v,
			    uint64_t *lost)
{
	struct cam_rd *r = &v->columns[CAM_JC_PLACE];
	uint64_t code = cam_rd_varint(r), local = code - 1;
	if (code == 0) {
		uint64_t n = cam_rd_varint(&v->chain_lengths);
		if (v->chain_lengths.error)
			return -EBADMSG;
		/* The sums were checked when the chains were decoded. */
		v->next[CAM_JT_PLACE] += (uint32_t)n;
		local = v->next[CAM_JT_PLACE] - 1;
	}
	if (r->error)
		return r->error;
	v->one.place.v = cam_journal_define_own(d, r, CAM_JT_PLACE, local);
	if (r->error || v->one.place.v != CAM_NONE)
		return r->error;
	++*lost;
	return cam_journal_define_lost_place(d, &v->one.place.v);
}

static int get_sample_task(struct cam_journal_decode *d, struct cam_journal_view *v)
{
	struct cam_rd *r = &v->columns[CAM_JC_TASK];
	uint64_t distance = cam_rd_varint(r);
	uint32_t *next = &v->next[CAM_JT_TASK];
	if (r->error || distance > *next)
		return -EBADMSG;
	v->one.task.v =
		cam_journal_define_own(d, r, CAM_JT_TASK, distance ? *next - distance : (*next)++);
	if (r->error)
		return r->error;
	return v->one.task.v == CAM_NONE ? cam_journal_define_lost_task(d, &v->one.task.v) : 0;
}

ssize_t cam_journal_decode_samples(struct cam_journal_decode *d, struct cam_journal_view *v,
				   struct cam_sample *rows, size_t max, uint64_t *lost)
{
	size_t n = 0;
	for (; n < max && v->left[CAM_JN_SAMPLE]; n++, v->left[CAM_JN_SAMPLE]--) {
		bool first = !v->begun;
		int err = first ? begin_samples(v) : 0;
		if (!err)
			err = get_shared(d, v, first);
		if (!err)
			err = get_sample_task(d, v);
		if (!err)
			err = get_sample_place(d, v, lost);
		if (!err)
			err = get_time(v);
		if (err)
			return err;
		rows[n] = v->one;
	}
	return (ssize_t)n;
}

int cam_journal_decode_time(struct cam_journal_view *v, uint64_t *time_ns)
{
	bool first = !v->begun;
	if (!v->left[CAM_JN_SAMPLE])
		return 0;
	v->left[CAM_JN_SAMPLE]--;
	int err = first ? begin_samples(v) : 0;
	if (!err && (first || !(v->flags & CAM_JF_ONE_CPU)))
		err = get_cpu(v);
	if (!err)
		err = get_time(v);
	*time_ns = v->one.time_ns;
	return err ? err : 1;
}

int cam_journal_decode_anchor(struct cam_journal_view *v, struct cam_anchor *a)
{
	struct cam_rd *r = &v->columns[CAM_JC_ANCHOR];
	if (!v->left[CAM_JN_ANCHOR])
		return 0;
	v->left[CAM_JN_ANCHOR]--;
	a->time_ns = v->last_anchor = cam_journal_define_delta(r, v->last_anchor);
	a->raw_ns = cam_journal_define_delta(r, a->time_ns);
	a->boottime_ns = cam_journal_define_delta(r, a->time_ns);
	a->sched_ns = cam_journal_define_delta(r, a->time_ns);
	a->realtime_ns = cam_rd_zigzag(r);
	a->uncertainty_ns = cam_rd_varint(r);
	return r->error ? r->error : 1;
}

int cam_journal_decode_ledger(struct cam_journal_view *v, struct cam_ledger_row *row)
{
	struct cam_rd *r = &v->columns[CAM_JC_LEDGER];
	if (!v->left[CAM_JN_LEDGER])
		return 0;
	v->left[CAM_JN_LEDGER]--;
	uint64_t cause = cam_rd_varint(r), cpu = cam_rd_varint(r);
	row->cpu = (uint32_t)cpu - 1;
	row->from_ns = v->last_ledger = cam_journal_define_delta(r, v->last_ledger);
	row->to_ns = cam_journal_define_delta(r, row->from_ns);
	row->samples = cam_rd_varint(r);
	if (r->error || cpu > UINT32_MAX)
		return -EBADMSG;
	row->cause = cam_cause_stored(cause);
	return 1;
}

int cam_journal_decode_event(struct cam_journal_decode *d, struct cam_journal_view *v,
			     struct cam_event *e)
{
	struct cam_rd *r = &v->columns[CAM_JC_EVENT];
	if (!v->left[CAM_JN_EVENT])
		return 0;
	v->left[CAM_JN_EVENT]--;
	e->time_ns = v->last_event = cam_journal_define_delta(r, v->last_event);
	e->uncertainty_ns = cam_rd_varint(r);
	uint64_t severity = cam_rd_varint(r);
	int err = cam_journal_define_string(d, v, r, &e->source);
	if (!err)
		err = cam_journal_define_string(d, v, r, &e->text);
	if (!err && severity >= CAM_SEVERITY_MAX)
		err = -EBADMSG;
	e->severity = (enum cam_severity)(severity % CAM_SEVERITY_MAX);
	return err ? err : 1;
}

int cam_journal_decode_fact(struct cam_journal_decode *d, struct cam_journal_view *v,
			    struct cam_fact *f)
{
	struct cam_rd *r = &v->columns[CAM_JC_FACT];
	if (!v->left[CAM_JN_FACT])
		return 0;
	v->left[CAM_JN_FACT]--;
	int err = cam_journal_define_string(d, v, r, &f->key);
	if (!err)
		err = cam_journal_define_string(d, v, r, &f->value);
	return err ? err : 1;
}
