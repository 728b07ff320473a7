// SPDX-License-Identifier: Apache-2.0
/* A borrowed piece of text: not terminated, any bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct cam_text {
	const char *p;
	size_t n;
};

#define CAM_TEXT(literal) ((struct cam_text){(literal), sizeof(literal) - 1})

static inline struct cam_text cam_text_of(const char *s)
{
	return (struct cam_text){s, strlen(s)};
}

static inline bool cam_text_equal(struct cam_text a, struct cam_text b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool cam_text_starts(struct cam_text a, struct cam_text start)
{
	return a.n >= start.n && memcmp(a.p, start.p, start.n) == 0;
}

static inline bool cam_text_ends(struct cam_text a, struct cam_text end)
{
	return a.n >= end.n && memcmp(a.p + a.n - end.n, end.p, end.n) == 0;
}
