// SPDX-License-Identifier: Apache-2.0
#include "cli/flame_show.h"

#include "base/json.h"
#include "cli/output.h"
#include "cli/say.h"
#include "query/top.h"
#include "render/json_flame.h"
#include "render/json_table.h"
#include "render/text_flame.h"
#include "render/text_top.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The end of a name, before that of a compressor. */
static bool is_named(const char *path, const char *end)
{
	static const char *const packed[] = {".gz", ".zst"};
	struct cam_text name = cam_text_of(path);
	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		if (cam_text_ends(name, cam_text_of(packed[i])))
			name.n -= strlen(packed[i]);
	}
	return cam_text_ends(name, cam_text_of(end));
}

enum cam_flame_form cam_flame_form_of(const char *path)
{
	return is_named(path, ".html") || is_named(path, ".htm") ? CAM_FLAME_HTML
	       : is_named(path, ".json")			 ? CAM_FLAME_JSON
	       : is_named(path, ".txt")				 ? CAM_FLAME_TEXT
								 : CAM_FLAME_SVG;
}

/* Everything of a program: the numbers, the heaviest functions, the tree. */
static void put_json(const struct cam_flame_show *s, struct cam_out *out, const struct cam_flame *f,
		     const struct cam_top *top)
{
	struct cam_json j = {out, false};
	cam_json_open(&j, NULL, '{');
	cam_json_text(&j, "unit", f->unit);
	cam_json_u64(&j, "total", f->nodes[0].total);
	cam_json_u64(&j, "samples", f->seen.samples);
	cam_json_u64(&j, "idle", f->seen.idle);
	cam_json_u64(&j, "lost", f->seen.lost);
	cam_json_u64(&j, "damaged", f->seen.damaged);
	cam_json_u64(&j, "windows", f->seen.windows);
	cam_json_bool(&j, "differential", f->differential);
	cam_json_open(&j, "functions", '[');
	for (size_t i = 0; i < top->n_rows; i++) {
		const struct cam_top_row *row = &top->rows[i];
		const struct cam_flame_frame *frame = &f->frames[row->frame];
		cam_json_open(&j, NULL, '{');
		cam_json_text(&j, "name",
			      (struct cam_text){f->text + frame->name_at, frame->name_n});
		cam_json_text(&j, "module", cam_flame_module_path(f, row->module));
		cam_json_u64(&j, "self", row->self);
		cam_json_u64(&j, "total", row->total);
		cam_json_close(&j, '}');
	}
	cam_json_close(&j, ']');
	cam_json_notes(&j, top->notes);
	cam_json_flame_put(&j, "root", f, s->svg.min_share);
	cam_json_close(&j, '}');
	cam_out_str(out, "\n");
}

static int put_top(const struct cam_flame_show *s, const struct cam_flame *f, struct cam_out *out,
		   bool json)
{
	struct cam_top top;
	int err = cam_top_build(f, s->top ? s->top : 10, &top);
	if (err)
		return err;
	if (json)
		put_json(s, out, f, &top);
	else
		err = cam_text_top_write(&top, s->terminal.columns < 40 ? 0 : s->terminal.columns,
					 out);
	cam_top_free(&top);
	return err ? err : out->error;
}

static int put_text(const struct cam_flame_show *s, const struct cam_flame *f, struct cam_out *out)
{
	char line[900];
	bool given = s->svg.title.n, both = s->svg.when.n && s->svg.scope.n;
	snprintf(line, sizeof(line), "%.*s%s%.*s", (int)s->svg.when.n, s->svg.when.p,
		 both ? " · " : "", (int)s->svg.scope.n, s->svg.scope.p);
	struct cam_text_flame_options o = {
		.title = given ? s->svg.title : cam_text_of(line),
		.count_name = s->svg.count_name,
		.factor = s->svg.factor,
		.columns = s->terminal.columns,
		.rows = s->terminal.is ? s->terminal.rows : 0,
		.colours = s->terminal.colours,
		.chart = s->svg.chart,
		.by_self = s->svg.by_self,
		.negate = s->svg.negate,
	};
	int err = cam_text_flame_write(f, &o, out);
	if (!err && s->top) {
		cam_out_str(out, "\n");
		err = put_top(s, f, out, false);
	}
	return err;
}

static int put_form(const struct cam_flame_show *s, const struct cam_flame *f, struct cam_out *out)
{
	struct cam_svg_flame_options o = s->svg;
	switch (s->form) {
	case CAM_FLAME_JSON:
		return put_top(s, f, out, true);
	case CAM_FLAME_TEXT:
		return put_text(s, f, out);
	case CAM_FLAME_SVG:
	case CAM_FLAME_HTML:
		break;
	}
	o.html = s->form == CAM_FLAME_HTML;
	return cam_svg_flame_write(f, &o, out);
}

/* The table, or JSON, beside a picture that is in a file. */
static int print_beside(const struct cam_flame_show *s, const struct cam_flame *f)
{
	struct cam_out out;
	if (s->form == CAM_FLAME_TEXT || s->form == CAM_FLAME_JSON || (!s->top && !s->json) ||
	    s->quiet)
		return CAM_EXIT_OK;
	cam_out_to_fd(&out, STDOUT_FILENO);
	int err = put_top(s, f, &out, s->json), end = cam_out_finish(&out);
	err = err ? err : end;
	return err ? cam_failed("standard output: %s", cam_errno_words(err)) : CAM_EXIT_OK;
}

int cam_flame_show(const struct cam_flame_show *s, const struct cam_flame *f)
{
	struct cam_output *output = cam_output_open(s->path);
	if (!output)
		return CAM_EXIT_FAILED;
	int err = put_form(s, f, cam_output_stream(output));
	if (err) {
		cam_output_abandon(output);
		return cam_failed("drawing: %s", cam_errno_words(err));
	}
	int status = cam_output_commit(output);
	if (!status && s->path && strcmp(s->path, "-") != 0 && !s->json && !s->quiet)
		printf("%s\n", s->path);
	fflush(stdout);
	return status ? status : print_beside(s, f);
}
