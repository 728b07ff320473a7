// SPDX-License-Identifier: Apache-2.0
#include "render/frame_attributes.h"

#include "base/vec.h"

#define MAX_LINES 100000u

static struct cam_text cut(struct cam_text *s, char at)
{
	const char *p = s->n ? memchr(s->p, at, s->n) : NULL;
	struct cam_text head = {s->p, p ? (size_t)(p - s->p) : s->n};
	*s = p ? (struct cam_text){p + 1, s->n - head.n - 1} : (struct cam_text){s->p + s->n, 0};
	return head;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_words(struct cam_text s, bool several)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!is_letter(c) && !(c >= '0' && c <= '9') && !strchr("_-.:", c) &&
		    !(several && c == ' '))
			return false;
	}
	return s.n > 0;
}

/* Relative, or of a scheme that leads to a page and not into a program. */
static bool is_link(struct cam_text s)
{
	static const char *const schemes[] = {"http:", "https:", "mailto:", "file:"};
	size_t i = 0;
	while (i < s.n && (unsigned char)s.p[i] > ' ' && !strchr(":/?#", s.p[i]))
		i++;
	if (i < s.n && (unsigned char)s.p[i] <= ' ')
		return false;
	if (i == s.n || s.p[i] != ':')
		return s.n > 0;
	for (size_t k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
		if (i + 1 == strlen(schemes[k]) && strncasecmp(s.p, schemes[k], i + 1) == 0)
			return true;
	}
	return false;
}

/* False: it is not taken. */
static bool set(struct cam_frame_attribute *a, struct cam_text key, struct cam_text value)
{
	const struct {
		struct cam_text key;
		struct cam_text *to;
		bool fine;
	} keys[] = {
		{CAM_TEXT("title"), &a->title, true},
		{CAM_TEXT("href"), &a->href, is_link(value)},
		{CAM_TEXT("target"), &a->target, is_words(value, false)},
		{CAM_TEXT("id"), &a->id, is_words(value, false)},
		{CAM_TEXT("class"), &a->cls, is_words(value, true)},
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].fine && cam_text_equal(keys[i].key, key)) {
			*keys[i].to = value;
			return true;
		}
	}
	return false;
}

static int compare(struct cam_text a, struct cam_text b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
	return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* By name; of one name, the later line first. */
static int by_name(const void *a, const void *b)
{
	const struct cam_frame_attribute *x = a, *y = b;
	int order = compare(x->name, y->name);
	return order ? order : (x->name.p < y->name.p) - (x->name.p > y->name.p);
}

static void keep_last_of_each(struct cam_frame_attributes *a)
{
	size_t n = 0;
	if (a->n > 1)
		qsort(a->v, a->n, sizeof(*a->v), by_name);
	for (size_t i = 0; i < a->n; i++) {
		if (!n || !cam_text_equal(a->v[n - 1].name, a->v[i].name))
			a->v[n++] = a->v[i];
	}
	a->n = n;
}

int cam_frame_attributes_read(struct cam_text file, struct cam_frame_attributes *out)
{
	size_t cap = 0, line_number = 0;
	*out = (struct cam_frame_attributes){0};
	while (file.n) {
		struct cam_text line = cut(&file, '\n');
		line_number++;
		struct cam_frame_attribute a = {.name = cut(&line, '\t')};
		/* Also the cut's end says whether there was a tab at all. */
		if (line.p == a.name.p + a.name.n) {
			out->first_bad = line_number;
			free(out->v);
			out->v = NULL;
			out->n = 0;
			return -EINVAL;
		}
		while (line.n) {
			struct cam_text value = cut(&line, '\t'), key = cut(&value, '=');
			out->refused += !set(&a, key, value);
		}
		int err = cam_vec_reserve(&out->v, &cap, out->n + 1, sizeof(*out->v), MAX_LINES);
		if (err) {
			cam_frame_attributes_free(out);
			return err;
		}
		out->v[out->n++] = a;
	}
	keep_last_of_each(out);
	return 0;
}

void cam_frame_attributes_free(struct cam_frame_attributes *a)
{
	free(a->v);
	*a = (struct cam_frame_attributes){0};
}

const struct cam_frame_attribute *cam_frame_attributes_find(const struct cam_frame_attributes *a,
							    struct cam_text name)
{
	size_t low = 0, high = a->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(name, a->v[middle].name);
		if (!order)
			return &a->v[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
