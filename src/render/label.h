// SPDX-License-Identifier: Apache-2.0
/*
 * Names on their way to a screen. A name is any bytes: what would steer a terminal, end a line,
 * turn the direction of the text around or is no UTF-8 at all is written as \xNN or \uNNNN, for
 * XML also & < > " ' as entities. So a name can neither be anything but text, nor look empty, nor
 * pass for two lines.
 */
#pragma once
#include "base/out.h"

enum cam_label_form {
	CAM_LABEL_PLAIN,
	CAM_LABEL_XML,
};

/* How many columns the name takes: wide characters are two, an escape as long as it is. */
size_t cam_label_columns(struct cam_text name);
/* At most max_columns of it, the last one "…" where it was cut; answers the columns written. */
size_t cam_label_put(struct cam_out *out, struct cam_text name, size_t max_columns,
		     enum cam_label_form form);
/*
 * What of a long name to show where it does not fit: without namespaces, packages and return type,
 * as few of them as needed. "void java.util.Sort.run" → "Sort.run". The name itself if it fits or
 * has none of them.
 */
struct cam_text cam_label_tail(struct cam_text name, size_t columns);
/* The last part of a path: what tells files apart. The path itself where it ends in '/'. */
struct cam_text cam_label_file(struct cam_text path);
/* What a reader must know of a view (enum cam_view_note): a line each, after the prefix. */
void cam_label_notes(struct cam_out *out, const char *prefix, unsigned notes);
/* A word of ours at the right end of so many columns. */
void cam_label_put_right(struct cam_out *out, const char *word, size_t columns);
