// SPDX-License-Identifier: Apache-2.0
#include "render/text_recurrence.h"

#include "base/units.h"
#include "render/figure.h"
#include "render/json_table.h"
#include "render/label.h"

#include <inttypes.h>
#include <stdio.h>

#define MAX_SENTENCE (64u << 10)

/* "the function f", "the kernel path f ← … ← g". */
static void put_function(const struct cam_recurrence_row *row, struct cam_out *out)
{
	cam_out_str(out, row->entry.n ? "the kernel path " : "the function ");
	cam_label_put(out, row->function, 80, CAM_LABEL_PLAIN);
	if (row->entry.n) {
		cam_out_str(out, " ← … ← ");
		cam_label_put(out, row->entry, 80, CAM_LABEL_PLAIN);
	}
}

void cam_text_recurrence_sentence(const struct cam_recurrence_row *row, struct cam_out *out)
{
	cam_out_printf(out, "Before %u of %u events ", row->before, row->of);
	if (row->kind == CAM_BEFORE_PROCESS)
		cam_label_put(out, row->process.n ? row->process : CAM_TEXT("[unknown]"), 64,
			      CAM_LABEL_PLAIN);
	else
		put_function(row, out);
	cam_out_printf(
		out,
		" was busier than it is in %.0f %% of its time: %.1f samples in the %u s before, "
		"usually %.1f; most of it ",
		100 * (1 - row->usually), row->mean, CAM_RECURRENCE_NEAR_S, row->expected);
	if (row->lag_s < 0)
		cam_out_printf(out, "%d s before", -row->lag_s);
	else if (row->lag_s > 0)
		cam_out_printf(out, "%d s after", row->lag_s);
	else
		cam_out_str(out, "in the same second");
	if (row->kind == CAM_BEFORE_PROCESS && row->function.n) {
		cam_out_str(out, "; so was ");
		put_function(row, out);
	}
	cam_out_printf(out, ". By chance: p = %.2g.", row->p);
}

/* Of the event that it was most busy before. */
static void put_command(const struct cam_recurrence_row *row, struct cam_text where,
			struct cam_out *out)
{
	cam_out_printf(out, "perfcam why ev-%012" PRIx64, row->event);
	if (where.n)
		cam_out_printf(out, " %.*s", (int)where.n, where.p);
}

int cam_text_recurrence_write(const struct cam_recurrence *r, struct cam_text where,
			      struct cam_out *out)
{
	cam_out_printf(out, "%" PRIu64 " events match", r->events);
	if (r->used < r->events)
		cam_out_printf(out,
			       ", %" PRIu64
			       " of them used: at least %u s apart, with observed time before them",
			       r->used, CAM_RECURRENCE_NEAR_S);
	cam_out_str(out, "\n");
	if (!r->n_rows)
		cam_out_str(out, "Nothing precedes them more often than chance has it.\n");
	for (size_t i = 0; i < r->n_rows; i++) {
		cam_out_printf(out, "\n%zu. ", i + 1);
		cam_text_recurrence_sentence(&r->rows[i], out);
		cam_out_str(out, "\n   most of all before:  ");
		put_command(&r->rows[i], where, out);
		cam_out_str(out, "\n");
	}
	cam_out_printf(out, "\n%" PRIu64 " processes by name were tried, over %s of history",
		       r->tried, cam_figure_duration(r->history_s * CAM_NS_PER_SEC).s);
	cam_out_printf(out, "; %" PRIu64 " functions and kernel paths, over %s.\n",
		       r->tried_functions, cam_figure_duration(r->functions_s * CAM_NS_PER_SEC).s);
	return out->error;
}

static void put_text(struct cam_json *j, const char *key, struct cam_text text)
{
	if (text.n)
		cam_json_text(j, key, text);
	else
		cam_json_null(j, key);
}

/* What is written as for a terminal, as a text. */
static void put_piece(struct cam_json *j, const char *key, struct cam_out *out, struct cam_buf *buf)
{
	int err = cam_out_finish(out);
	if (err && !j->out->error)
		j->out->error = err;
	cam_json_text(j, key, (struct cam_text){(const char *)buf->data, buf->len});
	cam_buf_free(buf);
}

static void put_row(struct cam_json *j, const struct cam_recurrence *r, size_t i,
		    struct cam_text where)
{
	static const struct cam_text kinds[] = {[CAM_BEFORE_PROCESS] = CAM_TEXT("process"),
						[CAM_BEFORE_FUNCTION] = CAM_TEXT("function"),
						[CAM_BEFORE_PATH] = CAM_TEXT("kernel path")};
	const struct cam_recurrence_row *row = &r->rows[i];
	struct cam_buf sentence = CAM_BUF(MAX_SENTENCE), command = CAM_BUF(MAX_SENTENCE);
	struct cam_out out;
	char id[32];
	cam_json_open(j, NULL, '{');
	cam_json_u64(j, "rank", i + 1);
	cam_json_text(j, "kind", kinds[row->kind]);
	put_text(j, "process", row->process);
	put_text(j, "function", row->function);
	put_text(j, "entry", row->entry);
	cam_json_u64(j, "before", row->before);
	cam_json_u64(j, "of", row->of);
	cam_json_double(j, "usually", row->usually);
	cam_json_double(j, "p", row->p);
	cam_json_double(j, "samples", row->mean);
	cam_json_double(j, "expected", row->expected);
	cam_json_i64(j, "lag_s", row->lag_s);
	snprintf(id, sizeof(id), "ev-%012" PRIx64, row->event);
	cam_json_text(j, "event", cam_text_of(id));
	cam_json_open(j, "profile", '[');
	for (size_t k = 0; k < CAM_RECURRENCE_LENGTH; k++)
		cam_json_double(j, NULL, row->profile[k]);
	cam_json_close(j, ']');
	cam_out_to_buf(&out, &sentence);
	cam_text_recurrence_sentence(row, &out);
	put_piece(j, "sentence", &out, &sentence);
	cam_out_to_buf(&out, &command);
	put_command(row, where, &out);
	put_piece(j, "command", &out, &command);
	cam_json_close(j, '}');
}

void cam_json_recurrence(struct cam_json *j, const struct cam_recurrence *r, struct cam_text where)
{
	cam_json_u64(j, "events", r->events);
	cam_json_u64(j, "used", r->used);
	cam_json_u64(j, "tried", r->tried);
	cam_json_u64(j, "tried_functions", r->tried_functions);
	cam_json_u64(j, "history_seconds", r->history_s);
	cam_json_u64(j, "function_seconds", r->functions_s);
	cam_json_i64(j, "profile_from_s", -(int64_t)CAM_RECURRENCE_BEFORE_S);
	cam_json_open(j, "precedes", '[');
	for (size_t i = 0; i < r->n_rows; i++)
		put_row(j, r, i, where);
	cam_json_close(j, ']');
	cam_json_open(j, "seen", '{');
	cam_json_seen(j, &r->seen);
	cam_json_close(j, '}');
}
