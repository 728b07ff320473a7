// SPDX-License-Identifier: Apache-2.0
/* Loads strings, modules, functions and event types; window_write_names.c has their layout. */
#include "base/vec.h"
#include "store/known.h"
#include "store/window_reader.h"
#include "store/window_text.h"

#include <errno.h>
#include <string.h>

static int load_string_rows(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c)
{
	struct cam_block_in block;
	int err = cam_block_read(&block, rd, CAM_TEXT_RAW_MAX);
	struct cam_rd lines = cam_block_rd(&block);
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		struct cam_text text;
		struct cam_str_id id;
		err = cam_line_get(&lines, &text);
		if (!err)
			err = cam_reader_intern(r, text, &id);
		if (!err)
			r->strings[c->first + i] = id.v;
	}
	if (!err && cam_rd_left(&lines))
		err = -EBADMSG;
	cam_block_free(&block);
	return err;
}

static int damage_strings(struct cam_reader *r, const struct cam_dir_chunk *c)
{
	uint32_t id;
	int err = cam_reader_damaged_string(r, &id);
	for (uint32_t i = 0; i < c->rows; i++)
		r->strings[c->first + i] = id;
	return err;
}

static int make_etypes(struct cam_reader *r)
{
	const struct cam_dir *d = &r->dir;
	struct cam_tables *t = &r->t;
	int err = cam_vec_reserve(&t->etypes, &t->cap_etypes, d->n_etypes, sizeof(*t->etypes),
				  CAM_MAX_ROWS);
	if (err)
		return err;
	t->n_etypes = d->n_etypes;
	for (size_t i = 0; i < d->n_etypes; i++)
		t->etypes[i] = (struct cam_etype){.name = {r->strings[d->etypes[i].name]},
						  .period_ns = d->etypes[i].period_ns,
						  .has_weight = d->etypes[i].has_weight,
						  .flat = d->etypes[i].flat};
	return 0;
}

int cam_load_strings(struct cam_reader *r)
{
	if (!r->strings)
		r->strings = calloc((size_t)r->dir.n_strings + 1, sizeof(uint32_t));
	if (!r->strings)
		return -ENOMEM;
	int err = cam_reader_each_chunk(r, CAM_CHUNK_STRINGS, load_string_rows, damage_strings);
	return err ? err : make_etypes(r);
}

static int load_module_rows(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c)
{
	struct cam_stream_in s[CAM_MODULE_STREAMS];
	int64_t last[3] = {0};
	int err = cam_streams_open(s, rd, CAM_MODULE_STREAMS, NULL, cam_module_splits);
	if (err)
		return err;
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		struct cam_module *m = &r->t.modules[c->first + i];
		struct cam_str_id *const to[3] = {&m->path, &m->key, &m->build_id};
		for (unsigned k = 0; k < 3 && !err; k++) {
			last[k] += cam_unzigzag(cam_stream_get(&s[k], 0) & UINT32_MAX);
			if (last[k] < 0 || last[k] >= r->dir.n_strings)
				err = -EBADMSG;
			else
				to[k]->v = r->strings[last[k]];
		}
		uint64_t kind = cam_stream_get(&s[CAM_MODULE_STREAM_KIND], 0);
		if (kind >= CAM_MODULE_MAX)
			err = -EBADMSG;
		else
			m->kind = (enum cam_module_kind)kind;
	}
	int end = cam_streams_close(s, CAM_MODULE_STREAMS);
	return err ? err : end;
}

static int damage_modules(struct cam_reader *r, const struct cam_dir_chunk *c)
{
	uint32_t id;
	int err = cam_reader_damaged_string(r, &id);
	for (uint32_t i = 0; i < c->rows; i++)
		r->t.modules[c->first + i] = (struct cam_module){.path = {id}};
	return err;
}

/* The first form, of windows without CAM_FEATURE_KNOWN: all names are lines, starts are as they are. */
static int load_old_functions(struct cam_reader *r, struct cam_rd *rd,
			      const struct cam_dir_chunk *c)
{
	struct cam_stream_in s[CAM_FUNCTION_OLD_STREAMS];
	struct cam_block_in block;
	int err = cam_block_read(&block, rd, CAM_TEXT_RAW_MAX);
	struct cam_rd lines = cam_block_rd(&block);
	if (!err)
		err = cam_streams_open(s, rd, CAM_FUNCTION_OLD_STREAMS, cam_function_old_contexts,
				       cam_function_splits);
	if (err) {
		cam_block_free(&block);
		return err;
	}
	uint64_t kind = 0, source = 0;
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		struct cam_function *f = &r->t.functions[c->first + i];
		struct cam_text name;
		err = cam_line_get(&lines, &name);
		if (!err)
			err = cam_reader_intern(r, name, &f->name);
		kind = cam_stream_get(&s[CAM_FUNCTION_KIND], (unsigned)kind);
		source = cam_stream_get(&s[CAM_FUNCTION_SOURCE], (unsigned)source);
		if (!err && (kind >= CAM_FUNC_KIND_MAX || source >= CAM_NAME_MAX))
			err = -EBADMSG;
		if (err)
			break;
		f->kind = (enum cam_func_kind)kind;
		f->source = (enum cam_name_source)source;
		f->start = cam_stream_get(&s[CAM_FUNCTION_START], name.n > 0);
	}
	int end = cam_streams_close(s, CAM_FUNCTION_OLD_STREAMS);
	if (!err && cam_rd_left(&lines))
		err = -EBADMSG;
	cam_block_free(&block);
	return err ? err : end;
}

/* The value that the name stream has: spelled ones are filled in once the lines, which follow, can be read. */
static int read_name(struct cam_reader *r, struct cam_stream_in *s, struct cam_function *f,
		     uint8_t *spelled)
{
	uint64_t v = cam_stream_get(s, cam_name_ctx(f->kind, f->source));
	*spelled = v == CAM_NAME_SPELLED;
	if (v >= CAM_NAME_KNOWN + CAM_KNOWN_NAMES)
		return -EBADMSG;
	return cam_reader_intern(
		r, v < CAM_NAME_KNOWN ? CAM_TEXT("") : cam_known_name((uint32_t)v - CAM_NAME_KNOWN),
		&f->name);
}

static int read_start(struct cam_stream_in s[CAM_FUNCTION_STREAMS], struct cam_function *f,
		      uint64_t *last)
{
	uint64_t v = cam_stream_get(&s[CAM_FUNCTION_START], cam_start_ctx(f->source));
	f->start = 0;
	if (!v)
		return 0;
	/* Differences wrap: what is too far away shows as bits that a start has not. */
	uint64_t high = (*last >> CAM_START_LOW_BITS) + (uint64_t)cam_unzigzag(v - 1);
	uint64_t low = cam_stream_get(&s[CAM_FUNCTION_LOW], (*last & CAM_START_LOW_MASK) != 0);
	if (high > UINT64_MAX >> CAM_START_LOW_BITS || low > CAM_START_LOW_MASK)
		return -EBADMSG;
	*last = f->start = high << CAM_START_LOW_BITS | low;
	return 0;
}

static int read_functions(struct cam_reader *r, struct cam_stream_in s[CAM_FUNCTION_STREAMS],
			  const struct cam_dir_chunk *c, uint8_t *spelled)
{
	uint64_t kind = 0, source = 0, last = 0;
	int err = 0;
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		struct cam_function *f = &r->t.functions[c->first + i];
		if (i && f->module.v != f[-1].module.v)
			last = 0;
		kind = cam_stream_get(&s[CAM_FUNCTION_KIND], (unsigned)kind);
		source = cam_stream_get(&s[CAM_FUNCTION_SOURCE], (unsigned)source);
		if (kind >= CAM_FUNC_KIND_MAX || source >= CAM_NAME_MAX)
			return -EBADMSG;
		f->kind = (enum cam_func_kind)kind;
		f->source = (enum cam_name_source)source;
		err = read_start(s, f, &last);
		if (!err)
			err = read_name(r, &s[CAM_FUNCTION_NAME], f, &spelled[i]);
	}
	return err;
}

static int spell(struct cam_reader *r, struct cam_rd *rd, const struct cam_dir_chunk *c,
		 const uint8_t *spelled)
{
	struct cam_block_in block;
	int err = cam_block_read(&block, rd, CAM_TEXT_RAW_MAX);
	struct cam_rd lines = cam_block_rd(&block);
	for (uint32_t i = 0; i < c->rows && !err; i++) {
		struct cam_text name;
		if (!spelled[i])
			continue;
		err = cam_line_get(&lines, &name);
		if (!err)
			err = cam_reader_intern(r, name, &r->t.functions[c->first + i].name);
	}
	if (!err && cam_rd_left(&lines))
		err = -EBADMSG;
	cam_block_free(&block);
	return err;
}

static int load_function_rows(struct cam_reader *r, struct cam_rd *rd,
			      const struct cam_dir_chunk *c)
{
	struct cam_stream_in s[CAM_FUNCTION_STREAMS];
	if (!(r->dir.incompat & CAM_FEATURE_KNOWN))
		return load_old_functions(r, rd, c);
	int err = cam_streams_open(s, rd, CAM_FUNCTION_STREAMS, cam_function_contexts,
				   cam_function_splits);
	if (err)
		return err;
	uint8_t *spelled = malloc((size_t)c->rows + 1);
	err = spelled ? read_functions(r, s, c, spelled) : -ENOMEM;
	int end = cam_streams_close(s, CAM_FUNCTION_STREAMS);
	err = err ? err : end;
	if (!err)
		err = spell(r, rd, c, spelled);
	free(spelled);
	return err;
}

static int damage_functions(struct cam_reader *r, const struct cam_dir_chunk *c)
{
	uint32_t id;
	int err = cam_reader_damaged_string(r, &id);
	for (uint32_t i = 0; i < c->rows; i++) {
		struct cam_function *f = &r->t.functions[c->first + i];
		*f = (struct cam_function){.name = {id},
					   .module = f->module,
					   .kind = CAM_FUNC_MARK,
					   .source = CAM_NAME_OWN};
	}
	return err;
}

static int make_rows(struct cam_reader *r)
{
	const struct cam_dir *d = &r->dir;
	struct cam_tables *t = &r->t;
	int err = cam_vec_reserve(&t->modules, &t->cap_modules, d->n_modules, sizeof(*t->modules),
				  CAM_MAX_ROWS);
	if (!err)
		err = cam_vec_reserve(&t->functions, &t->cap_functions, (size_t)d->n_functions + 2,
				      sizeof(*t->functions), CAM_MAX_ROWS + 2);
	if (err)
		return err;
	memset(t->modules, 0, d->n_modules * sizeof(*t->modules));
	memset(t->functions, 0, d->n_functions * sizeof(*t->functions));
	t->n_modules = d->n_modules;
	t->n_functions = (size_t)d->n_functions + 2;
	for (uint32_t m = 0; m < d->n_modules; m++)
		for (uint32_t f = d->module_start[m]; f < d->module_start[m + 1]; f++)
			t->functions[f].module.v = m;
	return 0;
}

static int add_marks(struct cam_reader *r)
{
	const struct cam_text names[2] = {CAM_TEXT("[damaged]"), CAM_TEXT("[small]")};
	for (uint32_t i = 0; i < 2; i++) {
		struct cam_function mark = {.kind = CAM_FUNC_MARK, .source = CAM_NAME_OWN};
		int err = cam_reader_intern(r, names[i], &mark.name);
		if (err)
			return err;
		r->t.functions[r->dir.n_functions + i] = mark;
	}
	return 0;
}

int cam_load_names(struct cam_reader *r)
{
	int err = cam_reader_load(r, CAM_PART_STRINGS);
	if (!err)
		err = make_rows(r);
	if (!err)
		err = cam_reader_each_chunk(r, CAM_CHUNK_MODULES, load_module_rows, damage_modules);
	/* Row 0 is "no module", whatever the file says. */
	r->t.modules[0] = (struct cam_module){0};
	if (!err)
		err = cam_reader_each_chunk(r, CAM_CHUNK_FUNCTIONS, load_function_rows,
					    damage_functions);
	return err ? err : add_marks(r);
}
