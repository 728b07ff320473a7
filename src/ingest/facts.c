// SPDX-License-Identifier: Apache-2.0
#include "ingest/facts.h"

#include "base/vec.h"

void cam_facts_free(struct cam_facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		cam_buf_free(&f->rows[i].key);
		cam_buf_free(&f->rows[i].value);
	}
	free(f->rows);
	*f = (struct cam_facts){0};
}

int cam_facts_add(struct cam_facts *f, struct cam_text key, struct cam_text value)
{
	int err = cam_vec_reserve(&f->rows, &f->cap, f->n + 1, sizeof(*f->rows), CAM_FACTS_MAX);
	if (err)
		return err;
	struct cam_facts_row row = {
		.key = CAM_BUF(CAM_FACTS_KEY_BYTES),
		.value = CAM_BUF(CAM_FACTS_VALUE_BYTES),
		.stamp = f->stamp + 1,
	};
	cam_buf_put(&row.key, key.p, key.n);
	cam_buf_put(&row.value, value.p, value.n);
	err = cam_buf_error(&row.key) ? cam_buf_error(&row.key) : cam_buf_error(&row.value);
	if (err) {
		cam_buf_free(&row.key);
		cam_buf_free(&row.value);
		return err;
	}
	f->stamp = row.stamp;
	f->rows[f->n++] = row;
	return 0;
}

static struct cam_facts_row *find(const struct cam_facts *f, struct cam_text key)
{
	for (size_t i = f->n; i-- > 0;) {
		if (cam_text_equal(cam_facts_text(&f->rows[i].key), key))
			return &f->rows[i];
	}
	return NULL;
}

int cam_facts_set(struct cam_facts *f, struct cam_text key, struct cam_text value)
{
	struct cam_facts_row *row = find(f, key);
	if (!row)
		return cam_facts_add(f, key, value);
	if (cam_text_equal(cam_facts_text(&row->value), value))
		return 0;
	struct cam_buf fresh = CAM_BUF(CAM_FACTS_VALUE_BYTES);
	cam_buf_put(&fresh, value.p, value.n);
	if (cam_buf_error(&fresh)) {
		int err = cam_buf_error(&fresh);
		cam_buf_free(&fresh);
		return err;
	}
	cam_buf_free(&row->value);
	row->value = fresh;
	row->stamp = ++f->stamp;
	return 0;
}

int cam_facts_intern(const struct cam_facts *f, uint64_t stamp, struct cam_tables *t,
		     struct cam_fact out[CAM_FACTS_MAX])
{
	int n = 0;
	if (stamp >= f->stamp)
		return 0;
	for (size_t i = 0; i < f->n; i++) {
		if (f->rows[i].stamp <= stamp)
			continue;
		int err = cam_string_intern(t, cam_facts_text(&f->rows[i].key), &out[n].key);
		if (!err)
			err = cam_string_intern(t, cam_facts_text(&f->rows[i].value),
						&out[n].value);
		if (err)
			return err;
		n++;
	}
	return n;
}
