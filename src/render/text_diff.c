// SPDX-License-Identifier: Apache-2.0
#include "render/text_diff.h"

#include "base/json.h"
#include "render/figure.h"
#include "render/json_table.h"
#include "render/label.h"

#include <math.h>
#include <stdio.h>

#define NUMBERS 86 /* columns before the name */

static void put_side(const struct cam_diff_table *t, int i, struct cam_out *out)
{
	const struct cam_diff *d = t->diff;
	const struct cam_diff_side *s = &d->sides[i];
	cam_out_printf(out, "%c  ", 'A' + i);
	cam_label_put(out, t->names[i], 60, CAM_LABEL_PLAIN);
	cam_out_printf(out, ": %s samples", cam_figure_count(s->samples).s);
	if (s->seen.observed_ns)
		cam_out_printf(out, " in %s", cam_figure_duration(s->seen.observed_ns).s);
	if (d->in_seconds)
		cam_out_printf(out, ", %.2f CPU-s", (double)s->samples * s->per_sample);
	if (s->event[0] && strcmp(s->event, "samples") != 0) {
		cam_out_str(out, ", ");
		cam_label_put(out, cam_text_of(s->event), 40, CAM_LABEL_PLAIN);
		if (s->hz > 0)
			cam_out_printf(out, " at %.0f Hz", s->hz);
	}
	if (i == 0 && fabs(d->factor - 1) > 1e-9)
		cam_out_printf(out, "; shown × %.4g%s", d->factor,
			       d->scale == CAM_DIFF_BY_TIME    ? ", as if it were as long as B"
			       : d->scale == CAM_DIFF_BY_TOTAL ? ", as if it had as much as B"
							       : "");
	cam_out_str(out, "\n");
}

/* Digits as the size needs: 123, 12.3, 1.23, 0.012. */
static int digits_of(double v)
{
	double size = fabs(v);
	return size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
}

static void put_change(const struct cam_diff_change *c, double unit, struct cam_out *out)
{
	double change = cam_diff_growth(c) * unit;
	int digits = digits_of(change);
	char interval[64] = "?";
	if (!isnan(c->low))
		snprintf(interval, sizeof(interval), "%+.*f … %+.*f", digits, c->low * unit, digits,
			 c->high * unit);
	cam_out_printf(out, "%+9.*f  %s%*s", digits, change, interval,
		       (int)(20 - (int)cam_label_columns(cam_text_of(interval))), "");
}

static void put_row(const struct cam_diff_table *t, const struct cam_diff_row *r, size_t room,
		    struct cam_out *out)
{
	const struct cam_diff_change *a = &r->amount, *s = &r->share;
	static const char *const kinds[CAM_FRAME_KIND_MAX] = {"",    "process", "kernel", "",
							      "JIT", "inlined", ""};
	cam_out_printf(out, "%9.*f%9.*f", digits_of(a->before), a->before, digits_of(a->after),
		       a->after);
	put_change(a, 1, out);
	cam_out_printf(out, "%7.2f%7.2f", s->before * 100, s->after * 100);
	put_change(s, 100, out);
	cam_out_str(out, r->significant ? " * " : "   ");
	if (r->kind == CAM_FRAME_ROOT)
		cam_out_str(out, "everything");
	else
		cam_label_put(out, cam_diff_name(t->diff, r), room, CAM_LABEL_PLAIN);
	if (kinds[r->kind][0])
		cam_out_printf(out, "  [%s]", kinds[r->kind]);
	cam_out_str(out, "\n");
}

static void put_foot(const struct cam_diff_table *t, struct cam_out *out)
{
	const struct cam_diff *d = t->diff;
	cam_out_printf(out, "%zu of %zu functions tested changed significantly (*)",
		       d->n_significant, d->n_tested);
	if (t->n_hidden)
		cam_out_printf(out, "; %zu that did not are left out: --all", t->n_hidden);
	cam_out_str(out, "\n");
	if (d->sides[0].stretches < 4 || d->sides[1].stretches < 4)
		cam_out_str(out, "no intervals: a side is shorter than 400 ms, or has no times\n");
}

/* Of the rows that are shown. */
static unsigned notes_of(const struct cam_diff_table *t)
{
	unsigned notes = 0;
	for (size_t i = 0; i < t->n_rows; i++)
		notes |= t->diff->rows[t->rows[i]].notes;
	return notes;
}

int cam_text_diff_write(const struct cam_diff_table *t, struct cam_out *out)
{
	size_t columns = t->columns ? t->columns : 140;
	size_t room = columns > NUMBERS + 40 ? columns - NUMBERS - 12 : 40;
	put_side(t, 0, out);
	put_side(t, 1, out);
	cam_out_printf(out, "%s%*s%s\n", t->diff->in_seconds ? "CPU-seconds" : "samples    ", 38,
		       "", "% of the total");
	cam_out_printf(out, "%9s%9s%9s  %-20s%7s%7s%9s  %-20s   %s\n", "A", "B", "change",
		       "95 % sure", "A", "B", "change", "95 % sure",
		       t->diff->self ? "self" : "with callees");
	put_row(t, &t->diff->all, room, out);
	for (size_t i = 0; i < t->n_rows; i++)
		put_row(t, &t->diff->rows[t->rows[i]], room, out);
	put_foot(t, out);
	cam_label_notes(out, "", notes_of(t));
	return out->error;
}

static void put_json_change(struct cam_json *j, const char *key, const struct cam_diff_change *c)
{
	cam_json_open(j, key, '{');
	cam_json_double(j, "before", c->before);
	cam_json_double(j, "after", c->after);
	cam_json_double(j, "change", cam_diff_growth(c));
	cam_json_double(j, "low", c->low);
	cam_json_double(j, "high", c->high);
	cam_json_close(j, '}');
}

static void put_json_row(struct cam_json *j, const struct cam_diff *d, const char *key,
			 const struct cam_diff_row *r)
{
	static const char *const kinds[CAM_FRAME_KIND_MAX] = {"all", "process", "kernel", "user",
							      "jit", "inlined", "mark"};
	cam_json_open(j, key, '{');
	if (r != &d->all)
		cam_json_text(j, "name", cam_diff_name(d, r));
	cam_json_text(j, "kind", cam_text_of(kinds[r->kind]));
	cam_json_u64(j, "samples_before", r->samples_before);
	cam_json_u64(j, "samples_after", r->samples_after);
	put_json_change(j, "amount", &r->amount);
	put_json_change(j, "share", &r->share);
	cam_json_double(j, "p", r->p);
	if (r != &d->all)
		cam_json_double(j, "q", r->q);
	cam_json_bool(j, "significant", r->significant);
	cam_json_close(j, '}');
}

static void put_json_side(struct cam_json *j, const struct cam_diff_table *t, int i)
{
	const struct cam_diff_side *s = &t->diff->sides[i];
	cam_json_open(j, i ? "b" : "a", '{');
	cam_json_text(j, "name", t->names[i]);
	cam_json_text(j, "event", cam_text_of(s->event));
	cam_json_double(j, "hz", s->hz > 0 ? s->hz : (double)NAN);
	cam_json_u64(j, "samples", s->samples);
	cam_json_u64(j, "observed_ns", s->seen.observed_ns);
	cam_json_u64(j, "lost", s->seen.lost);
	cam_json_u64(j, "stretches", s->stretches);
	cam_json_close(j, '}');
}

int cam_json_diff_write(const struct cam_diff_table *t, struct cam_out *out)
{
	static const char *const scales[] = {"time", "total", "none"};
	const struct cam_diff *d = t->diff;
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	put_json_side(&j, t, 0);
	put_json_side(&j, t, 1);
	cam_json_text(&j, "unit", d->in_seconds ? CAM_TEXT("CPU-seconds") : CAM_TEXT("samples"));
	cam_json_text(&j, "normalise", cam_text_of(scales[d->scale]));
	cam_json_double(&j, "factor", d->factor);
	cam_json_text(&j, "by", d->self ? CAM_TEXT("self") : CAM_TEXT("total"));
	cam_json_bool(&j, "other_event", d->other_event);
	cam_json_bool(&j, "other_rate", d->other_rate);
	cam_json_u64(&j, "tested", d->n_tested);
	cam_json_u64(&j, "significant", d->n_significant);
	put_json_row(&j, d, "all", &d->all);
	cam_json_open(&j, "functions", '[');
	for (size_t i = 0; i < t->n_rows; i++)
		put_json_row(&j, d, NULL, &d->rows[t->rows[i]]);
	cam_json_close(&j, ']');
	cam_json_notes(&j, notes_of(t));
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
	return out->error;
}
