// SPDX-License-Identifier: Apache-2.0
#include "cli/sorting.h"

#include "cli/say.h"

#include <errno.h>

/* perf's, and what kernels of today call the same. */
#define PARENT "^(__[a-z0-9]+_)?sys_|^(do|exc)_page_fault$|^asm_exc_page_fault$"

static int add_parent(const char *sort, struct cam_table_options *t)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		if (t->keys[i] == CAM_KEY_PARENT)
			return CAM_EXIT_OK;
	}
	if (t->n_keys == CAM_KEYS_MAX)
		return cam_usage("--sort %s: with parent that is one key too many", sort);
	t->keys[t->n_keys++] = CAM_KEY_PARENT;
	return CAM_EXIT_OK;
}

int cam_sorting_resolve(struct cam_sorting *s, const char *usual, struct cam_table_options *t)
{
	char why[400];
	const char *sort = s->sort ? s->sort : usual;
	if (cam_table_sort_parse(cam_text_of(sort), t, why, sizeof(why)))
		return cam_usage("--sort: %s", why);
	if (!t->n_keys && !s->parent)
		return cam_usage("--sort %s: what of? add comm, symbol, …", sort);
	int status = s->parent ? add_parent(sort, t) : CAM_EXIT_OK;
	if (status)
		return status;
	const char *parent = s->parent ? s->parent : PARENT;
	int err = cam_select_expression_add(&s->match, cam_text_of(parent), why, sizeof(why));
	if (err == -ENOMEM)
		return cam_failed("%s", cam_errno_words(err));
	if (err)
		return cam_usage("--parent '%s': %s", parent, why);
	t->parent = &s->match;
	return CAM_EXIT_OK;
}

bool cam_sorting_needs_lines(const enum cam_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (keys[i] == CAM_KEY_SRCLINE || keys[i] == CAM_KEY_SRCFILE)
			return true;
	}
	return false;
}

void cam_sorting_want_lines(const enum cam_key *keys, size_t n, struct cam_reading_options *from)
{
	from->want.addresses = cam_sorting_needs_lines(keys, n);
	from->told.inlines |= from->want.addresses;
}

void cam_sorting_free(struct cam_sorting *s)
{
	cam_select_expressions_free(&s->match);
}
