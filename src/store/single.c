// SPDX-License-Identifier: Apache-2.0
#include "store/single.h"

#include "store/borrowed.h"
#include "store/journal.h"
#include "store/window.h"

#include <errno.h>
#include <stdlib.h>

struct single {
	struct cam_source source;
	struct cam_file *file;
	struct cam_window_info info;
	size_t max_table_bytes;
	bool sealed;
	char *name;
	char *host;
};

static size_t single_count(struct cam_source *s)
{
	(void)s;
	return 1;
}

static int open_as(struct single *s, bool sealed, struct cam_window **out)
{
	struct cam_file *file;
	int err = cam_file_borrow(s->file, &file);
	if (err)
		return err;
	return sealed ? cam_window_open(file, out)
		      : cam_journal_open(file, s->max_table_bytes, out);
}

static int single_open(struct cam_source *source, size_t i, struct cam_window **out)
{
	struct single *s = (struct single *)source;
	if (i != 0)
		return -EINVAL;
	int err = open_as(s, s->sealed, out);
	if (!err)
		(*out)->info.name = cam_text_of(s->name);
	return err;
}

static int single_info(struct cam_source *source, size_t i, const struct cam_window_info **out)
{
	*out = &((struct single *)source)->info;
	return i == 0 ? 0 : -EINVAL;
}

static void single_close(struct cam_source *source)
{
	struct single *s = (struct single *)source;
	s->file->ops->close(s->file);
	free(s->name);
	free(s->host);
	free(s);
}

static const struct cam_source_ops single_ops = {
	.count = single_count,
	.info = single_info,
	.open = single_open,
	.close = single_close,
};

int cam_single_open(struct cam_file *file, const char *name, size_t max_table_bytes,
		    struct cam_source **out)
{
	struct single *s = calloc(1, sizeof(*s));
	if (!s) {
		file->ops->close(file);
		return -ENOMEM;
	}
	s->source.ops = &single_ops;
	s->file = file;
	s->max_table_bytes = max_table_bytes;
	s->name = strdup(name);
	struct cam_window *w = NULL;
	int err = s->name ? open_as(s, true, &w) : -ENOMEM;
	s->sealed = !err;
	/* A newer window is refused as such, not tried as something else. */
	if (err == -EBADMSG)
		err = open_as(s, false, &w);
	if (!err) {
		s->info = w->info;
		s->host = strndup(w->info.host.p, w->info.host.n);
		s->info.host = cam_text_of(s->host ? s->host : "");
		s->info.name = cam_text_of(s->name);
		w->ops->close(w);
		*out = &s->source;
		return 0;
	}
	single_close(&s->source);
	return err;
}
