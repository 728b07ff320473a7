// SPDX-License-Identifier: Apache-2.0
#include "store/temporary.h"

#include "base/vec.h"
#include "store/borrowed.h"
#include "store/journal.h"
#include "store/uncoded.h"

#define MAX_WINDOWS 100000u

struct held {
	struct cam_file *file; /* a journal */
	struct cam_window_info info;
	char *host; /* info.host points here: the window it came from is closed */
	bool known;
};

/*
 * The first window keeps its tables in memory and its samples uncoded; most files have no other.
 * Where the tables reach their bound a second one is begun, and from then on windows are journals:
 * at most two sets of tables are in memory at any time.
 */

struct cam_temporary {
	struct cam_journal journal;
	struct cam_source source;
	struct cam_uncoded *raw; /* the first window; NULL: there is none yet */
	bool in_raw;		 /* it is the one that is open */
	struct cam_journal_writer *writer;
	struct held *windows; /* all after the first */
	size_t n, cap;
	size_t max_table_bytes;
};

static int temporary_begin(struct cam_journal *j, const struct cam_tables *t,
			   const struct cam_window_head *head)
{
	struct cam_temporary *tmp = j->self;
	if (!tmp->raw) {
		tmp->in_raw = true;
		return cam_uncoded_new(head, &tmp->raw);
	}
	int err = cam_vec_reserve(&tmp->windows, &tmp->cap, tmp->n + 1, sizeof(*tmp->windows),
				  MAX_WINDOWS);
	if (err)
		return err;
	struct held *w = &tmp->windows[tmp->n];
	*w = (struct held){0};
	err = cam_file_temporary(&w->file);
	if (err)
		return err;
	err = cam_journal_writer_new(w->file, false, &tmp->writer);
	if (!err)
		err = cam_journal_writer_begin(tmp->writer, t, head);
	if (err) {
		cam_journal_writer_free(tmp->writer);
		tmp->writer = NULL;
		w->file->ops->close(w->file);
		return err;
	}
	tmp->n++;
	return 0;
}

static int temporary_append(struct cam_journal *j, const struct cam_tables *t,
			    const struct cam_block *block)
{
	struct cam_temporary *tmp = j->self;
	if (tmp->in_raw)
		return cam_uncoded_append(tmp->raw, block);
	return cam_journal_writer_append(tmp->writer, t, block);
}

static int temporary_end(struct cam_journal *j, uint64_t end_ns, bool keep_empty)
{
	struct cam_temporary *tmp = j->self;
	(void)keep_empty; /* ingest opens a window only for a sample */
	if (tmp->in_raw)
		return cam_uncoded_end(tmp->raw, end_ns);
	int err = cam_journal_writer_end(tmp->writer, end_ns);
	cam_journal_writer_free(tmp->writer);
	tmp->writer = NULL;
	return err;
}

static void temporary_keep(struct cam_journal *j, struct cam_tables *t)
{
	struct cam_temporary *tmp = j->self;
	if (tmp->in_raw)
		cam_uncoded_keep(tmp->raw, t);
	tmp->in_raw = false;
}

static struct cam_temporary *of_source(struct cam_source *s)
{
	return (struct cam_temporary *)((char *)s - offsetof(struct cam_temporary, source));
}

static size_t source_count(struct cam_source *s)
{
	struct cam_temporary *t = of_source(s);
	return t->n + (t->raw != NULL);
}

static int source_open(struct cam_source *s, size_t i, struct cam_window **out)
{
	struct cam_temporary *t = of_source(s);
	if (i == 0 && t->raw)
		return cam_uncoded_open(t->raw, out);
	if (i > t->n)
		return -EINVAL;
	struct cam_file *file;
	int err = cam_file_borrow(t->windows[i - 1].file, &file);
	return err ? err : cam_journal_open(file, t->max_table_bytes, out);
}

static int source_info(struct cam_source *s, size_t i, const struct cam_window_info **out)
{
	struct cam_temporary *t = of_source(s);
	if (i == 0 && t->raw) {
		*out = cam_uncoded_info(t->raw);
		return 0;
	}
	if (i > t->n)
		return -EINVAL;
	struct held *h = &t->windows[i - 1];
	if (!h->known) {
		struct cam_window *w;
		int err = source_open(s, i, &w);
		if (err)
			return err;
		h->info = w->info;
		h->info.name = CAM_TEXT("(file)");
		h->host = strndup(w->info.host.p, w->info.host.n);
		h->info.host = cam_text_of(h->host ? h->host : "");
		h->known = true;
		w->ops->close(w);
	}
	*out = &h->info;
	return 0;
}

static void source_close(struct cam_source *s)
{
	(void)s; /* it belongs to the temporary */
}

static const struct cam_source_ops source_ops = {
	.count = source_count,
	.info = source_info,
	.open = source_open,
	.close = source_close,
};

int cam_temporary_new(size_t max_table_bytes, struct cam_temporary **out)
{
	struct cam_temporary *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->max_table_bytes = max_table_bytes;
	t->journal = (struct cam_journal){
		.self = t,
		.begin = temporary_begin,
		.append = temporary_append,
		.end = temporary_end,
		.keep = temporary_keep,
	};
	t->source.ops = &source_ops;
	*out = t;
	return 0;
}

void cam_temporary_free(struct cam_temporary *t)
{
	if (!t)
		return;
	cam_uncoded_free(t->raw);
	cam_journal_writer_free(t->writer);
	for (size_t i = 0; i < t->n; i++) {
		t->windows[i].file->ops->close(t->windows[i].file);
		free(t->windows[i].host);
	}
	free(t->windows);
	free(t);
}

struct cam_journal *cam_temporary_journal(struct cam_temporary *t)
{
	return &t->journal;
}

struct cam_source *cam_temporary_source(struct cam_temporary *t)
{
	return &t->source;
}
