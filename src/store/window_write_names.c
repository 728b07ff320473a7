// SPDX-License-Identifier: Apache-2.0
/*
 * Strings, modules, functions, groups and event types.
 *
 * Strings other than function names are numbered in the order the tables ask for them, so that
 * what is alike (paths, build-ids, comms) lies together. A chunk of strings is one block of lines. Functions are
 * streams, and a block of lines for the names that are not in the list of store/known.h. Example: rows "read"
 * (.dynsym, start 0x2010, sampled itself), "my_fn" (.symtab), an unnamed one at 0x2044 of one module are
 *	source  3 2 0
 *	start   1 + zigzag(0x201 - 0), 0, 1 + zigzag(0x204 - 0x201)
 *	low     0, 4
 *	name    2 + number of "read", 1, 0
 *	lines   "my_fn\n"
 */
#include "base/vec.h"
#include "store/known.h"
#include "store/window_layout.h"
#include "store/window_text.h"
#include "store/window_writer.h"

#include <errno.h>

#define LEVEL 9
/* Behind the known names: 9 gives no fewer bytes, 6 some 2 % more. */
#define NAMES_LEVEL 8

int cam_writer_string(struct cam_writer *w, struct cam_str_id id, uint32_t *out)
{
	if (id.v >= w->t->strings.n)
		return -EBADMSG;
	if (!w->string_number[id.v]) {
		int err = cam_vec_reserve(&w->strings, &w->cap_strings, w->n_strings + 1,
					  sizeof(*w->strings), CAM_WINDOW_ROWS_MAX);
		if (err)
			return err;
		w->strings[w->n_strings++] = id.v;
		w->string_number[id.v] = (uint32_t)w->n_strings;
		w->text_bytes += cam_string(w->t, id).n;
	}
	*out = w->string_number[id.v] - 1;
	return 0;
}

static int put_strings(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_buf lines = CAM_BUF(CAM_TEXT_RAW_MAX);
	for (uint32_t i = from; i < to; i++)
		cam_line_put(&lines, cam_string(w->t, (struct cam_str_id){w->strings[i]}));
	int err = lines.error ? lines.error : cam_block_write(out, lines.data, lines.len, LEVEL);
	cam_buf_free(&lines);
	return err;
}

int cam_write_strings(struct cam_writer *w)
{
	w->dir.n_strings = (uint32_t)w->n_strings;
	return cam_writer_cut(w, CAM_CHUNK_STRINGS, w->dir.n_strings, put_strings);
}

/* Streams: path, key, build-id as differences to the row before; kind. */
static int put_modules(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_stream_out streams[CAM_MODULE_STREAMS];
	uint32_t last[3] = {0};
	int err = 0;
	for (unsigned i = 0; i < CAM_MODULE_STREAMS; i++)
		cam_stream_out_init(&streams[i], cam_module_splits[i]);
	for (uint32_t i = from; i < to && !err; i++) {
		const struct cam_module *m = &w->t->modules[w->shape.modules[i]];
		const struct cam_str_id ids[3] = {m->path, m->key, m->build_id};
		for (unsigned k = 0; k < 3 && !err; k++) {
			uint32_t number = 0;
			err = cam_writer_string(w, ids[k], &number);
			cam_stream_put(&streams[k], 0, cam_zigzag((int64_t)number - last[k]));
			last[k] = number;
		}
		cam_stream_put(&streams[CAM_MODULE_STREAM_KIND], 0, m->kind);
	}
	for (unsigned i = 0; i < CAM_MODULE_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&streams[i], 1, out);
		cam_stream_out_free(&streams[i]);
	}
	return err;
}

int cam_write_modules(struct cam_writer *w)
{
	/* All paths first, then all build-ids: neighbours that are alike compress. */
	uint32_t unused;
	int err = cam_writer_string(w, (struct cam_str_id){0}, &unused);
	for (uint32_t i = 0; i < w->dir.n_modules && !err; i++)
		err = cam_writer_string(w, w->t->modules[w->shape.modules[i]].path, &unused);
	for (uint32_t i = 0; i < w->dir.n_modules && !err; i++)
		err = cam_writer_string(w, w->t->modules[w->shape.modules[i]].build_id, &unused);
	return err ? err : cam_writer_cut(w, CAM_CHUNK_MODULES, w->dir.n_modules, put_modules);
}

/* The module of a function of the file. */
static uint32_t module_at(const struct cam_dir *d, uint32_t function)
{
	uint32_t low = 0, high = d->n_modules;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (d->module_start[middle] <= function)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void put_name(struct cam_stream_out *s, unsigned ctx, struct cam_text name,
		     struct cam_buf *lines)
{
	uint32_t known = name.n ? cam_known_find(name) : CAM_KNOWN_NAMES;
	if (known < CAM_KNOWN_NAMES) {
		cam_stream_put(s, ctx, CAM_NAME_KNOWN + known);
	} else {
		cam_stream_put(s, ctx, name.n ? CAM_NAME_SPELLED : CAM_NAME_EMPTY);
		if (name.n)
			cam_line_put(lines, name);
	}
}

/* Each start by its distance from the last one of its module: what calls each other lies together. */
static void put_start(struct cam_stream_out s[CAM_FUNCTION_STREAMS], const struct cam_function *f,
		      uint64_t start, uint64_t *last)
{
	unsigned ctx = cam_start_ctx(f->source);
	if (!start) {
		cam_stream_put(&s[CAM_FUNCTION_START], ctx, 0);
		return;
	}
	int64_t step =
		(int64_t)(start >> CAM_START_LOW_BITS) - (int64_t)(*last >> CAM_START_LOW_BITS);
	cam_stream_put(&s[CAM_FUNCTION_START], ctx, 1 + cam_zigzag(step));
	cam_stream_put(&s[CAM_FUNCTION_LOW], (*last & CAM_START_LOW_MASK) != 0,
		       start & CAM_START_LOW_MASK);
	*last = start;
}

/* Streams: kind and source, each in the context of the row before; start, its low bits; name. Then lines. */
static int put_functions(struct cam_writer *w, uint32_t from, uint32_t to, struct cam_buf *out)
{
	struct cam_stream_out s[CAM_FUNCTION_STREAMS];
	struct cam_buf lines = CAM_BUF(CAM_TEXT_RAW_MAX);
	unsigned last_kind = 0, last_source = 0;
	uint32_t module = module_at(&w->dir, from);
	uint64_t last = 0;
	for (unsigned i = 0; i < CAM_FUNCTION_STREAMS; i++)
		cam_stream_out_init(&s[i], cam_function_splits[i]);
	for (uint32_t i = from; i < to; i++) {
		const struct cam_function *f = &w->t->functions[w->functions[i]];
		for (; i >= w->dir.module_start[module + 1]; module++)
			last = 0;
		cam_stream_put(&s[CAM_FUNCTION_KIND], last_kind, f->kind);
		cam_stream_put(&s[CAM_FUNCTION_SOURCE], last_source, f->source);
		put_start(s, f, w->startless[i] ? 0 : f->start, &last);
		put_name(&s[CAM_FUNCTION_NAME], cam_name_ctx(f->kind, f->source),
			 cam_string(w->t, f->name), &lines);
		last_kind = f->kind;
		last_source = f->source;
	}
	int err = lines.error;
	for (unsigned i = 0; i < CAM_FUNCTION_STREAMS; i++) {
		if (!err)
			err = cam_stream_write(&s[i], cam_function_contexts[i], out);
		cam_stream_out_free(&s[i]);
	}
	if (!err)
		err = cam_block_write_names(out, lines.data, lines.len, NAMES_LEVEL);
	cam_buf_free(&lines);
	return err;
}

/*
 * A name of .dynsym stays (docs/late-names.md): where its function starts serves the addresses of leaves alone, which
 * may still get their lines. Without leaves in it, it is not kept. Where callers have addresses, too, all is.
 */
static int find_startless(struct cam_writer *w)
{
	const struct cam_tree_shape *tree = &w->shape.tree;
	w->startless = calloc((size_t)w->dir.n_functions + 1, sizeof(*w->startless));
	if (!w->startless)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->dir.n_functions && !w->in->info.has_places; i++) {
		const struct cam_function *f = &w->t->functions[w->functions[i]];
		w->startless[i] = f->source == CAM_NAME_DYNSYM && f->kind == CAM_FUNC_USER;
	}
	for (uint32_t x = 1; x < tree->n_nodes; x++) {
		bool is_leaf = tree->pair_start[x] < tree->pair_start[x + 1];
		for (uint32_t at = x; is_leaf && at; at = tree->parent[at]) {
			uint32_t row = w->func_id[tree->func[at]];
			w->startless[row] = 0;
			/* What was inlined lies in who called it. */
			if (w->t->functions[w->functions[row]].kind != CAM_FUNC_INLINED)
				break;
		}
	}
	return 0;
}

int cam_write_functions(struct cam_writer *w)
{
	for (uint32_t i = 0; i < w->dir.n_functions; i++) {
		const struct cam_function *f = &w->t->functions[w->functions[i]];
		if (f->kind >= CAM_FUNC_KIND_MAX || f->source >= CAM_NAME_MAX)
			return -EBADMSG;
		w->text_bytes += cam_string(w->t, f->name).n;
	}
	int err = find_startless(w);
	return err ? err
		   : cam_writer_cut(w, CAM_CHUNK_FUNCTIONS, w->dir.n_functions, put_functions);
}

static int add_etypes(struct cam_writer *w)
{
	struct cam_dir *d = &w->dir;
	d->etypes = calloc(w->t->n_etypes + 1, sizeof(*d->etypes));
	if (!d->etypes)
		return -ENOMEM;
	for (size_t i = 0; i < w->t->n_etypes; i++) {
		const struct cam_etype *e = &w->t->etypes[i];
		struct cam_dir_etype *to = &d->etypes[d->n_etypes++];
		*to = (struct cam_dir_etype){.period_ns = e->period_ns,
					     .has_weight = e->has_weight,
					     .flat = e->flat,
					     .weight = 1};
		int err = cam_writer_string(w, e->name, &to->name);
		if (err)
			return err;
	}
	return 0;
}

int cam_write_groups(struct cam_writer *w)
{
	struct cam_dir *d = &w->dir;
	int err = add_etypes(w);
	d->groups = calloc(w->rows.n_groups + 1, sizeof(*d->groups));
	bool *seen = calloc(w->t->n_etypes + 1, sizeof(*seen));
	if (!err && (!d->groups || !seen))
		err = -ENOMEM;
	for (size_t i = 0; i < w->rows.n_groups && !err; i++) {
		const struct cam_row_group *g = &w->rows.groups[i];
		d->groups[i] = (struct cam_dir_group){.etype = g->etype, .sole_task = g->sole_task};
		err = cam_writer_string(w, (struct cam_str_id){g->comm}, &d->groups[i].comm);
		d->n_groups++;
	}
	/* One weight for all samples of an event type is a fact, not a column. */
	for (size_t i = 0; i < w->rows.n && w->rows.weight && !err; i++) {
		uint32_t e = w->rows.groups[w->rows.group[i]].etype;
		if (!seen[e])
			d->etypes[e].weight = w->rows.weight[i];
		else if (d->etypes[e].weight != w->rows.weight[i])
			d->etypes[e].varies = true;
		seen[e] = true;
	}
	free(seen);
	return err;
}
