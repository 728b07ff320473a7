// SPDX-License-Identifier: Apache-2.0
/*
 * The packed form: the struct itself with its pointers cleared, then what they pointed at.
 *
 * Invariants: 1. A packed record never refers to memory outside itself. 2. Its length is a multiple
 * of 8, so records can be laid one after the other and stay aligned. 3. unpack() trusts nothing but
 * the length it is given: counts are checked against it before any pointer is made.
 */
#include "model/raw.h"

#include <errno.h>
#include <string.h>

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

static struct cam_text cut_text(struct cam_text t)
{
	return (struct cam_text){t.p, t.n < CAM_RAW_MAX_TEXT ? t.n : CAM_RAW_MAX_TEXT};
}

/* The record's one text, if its type has one. */
static struct cam_text *text_of(struct cam_raw *r)
{
	switch (r->type) {
	case CAM_RAW_MMAP:
		return &r->mmap.path;
	case CAM_RAW_COMM:
		return &r->comm.comm;
	case CAM_RAW_KSYMBOL:
		return &r->ksymbol.name;
	default:
		return NULL;
	}
}

static size_t round_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t cam_raw_packed_bytes(const struct cam_raw *r)
{
	if (r->type == CAM_RAW_SAMPLE)
		return sizeof(*r) +
		       sizeof(uint64_t) * (at_most(r->sample.n_kernel, CAM_RAW_MAX_FRAMES) +
					   (size_t)at_most(r->sample.n_user, CAM_RAW_MAX_FRAMES)) +
		       round_up(at_most(r->sample.copy.stack_bytes, CAM_RAW_MAX_STACK));
	struct cam_raw copy = *r;
	const struct cam_text *text = text_of(&copy);
	return sizeof(*r) + (text ? round_up(cut_text(*text).n) : 0);
}

static void pack_sample(const struct cam_raw_sample *from, struct cam_raw_sample *s, char *tail)
{
	s->n_kernel = at_most(s->n_kernel, CAM_RAW_MAX_FRAMES);
	s->n_user = at_most(s->n_user, CAM_RAW_MAX_FRAMES);
	s->copy.stack_bytes = at_most(s->copy.stack_bytes, CAM_RAW_MAX_STACK);
	if (s->n_kernel != from->n_kernel || s->n_user != from->n_user)
		s->flags |= CAM_RAW_TRUNCATED;
	size_t kernel_bytes = s->n_kernel * sizeof(uint64_t);
	size_t user_bytes = s->n_user * sizeof(uint64_t);
	if (kernel_bytes)
		memcpy(tail, from->kernel, kernel_bytes);
	if (user_bytes)
		memcpy(tail + kernel_bytes, from->user, user_bytes);
	tail += kernel_bytes + user_bytes;
	size_t stack_bytes = s->copy.stack_bytes;
	if (stack_bytes)
		memcpy(tail, from->copy.stack, stack_bytes);
	memset(tail + stack_bytes, 0, round_up(stack_bytes) - stack_bytes);
	s->kernel = s->user = NULL;
	s->copy.stack = NULL;
}

void cam_raw_pack(const struct cam_raw *r, void *to)
{
	struct cam_raw *head = to;
	char *tail = (char *)to + sizeof(*head);
	*head = *r;
	if (r->type == CAM_RAW_SAMPLE) {
		pack_sample(&r->sample, &head->sample, tail);
		return;
	}
	struct cam_text *text = text_of(head);
	if (!text)
		return;
	*text = cut_text(*text);
	memset(tail, 0, round_up(text->n));
	if (text->n)
		memcpy(tail, text->p, text->n);
	text->p = NULL;
}

int cam_raw_unpack(const void *from, size_t bytes, struct cam_raw *out)
{
	if (bytes < sizeof(*out))
		return -EINVAL;
	memcpy(out, from, sizeof(*out));
	const char *tail = (const char *)from + sizeof(*out);
	if ((unsigned)out->type >= CAM_RAW_TYPES)
		return -EINVAL;
	if (out->type == CAM_RAW_SAMPLE) {
		struct cam_raw_sample *s = &out->sample;
		if (s->n_kernel > CAM_RAW_MAX_FRAMES || s->n_user > CAM_RAW_MAX_FRAMES ||
		    s->copy.stack_bytes > CAM_RAW_MAX_STACK || (unsigned)s->end >= CAM_STACK_ENDS)
			return -EINVAL;
		s->kernel = (const uint64_t *)tail;
		s->user = s->kernel + s->n_kernel;
		s->copy.stack = (const uint8_t *)(s->user + s->n_user);
		s->comm[CAM_COMM_BYTES - 1] = '\0';
		return cam_raw_packed_bytes(out) == bytes ? 0 : -EINVAL;
	}
	struct cam_text *text = text_of(out);
	if (text) {
		if (text->n > CAM_RAW_MAX_TEXT)
			return -EINVAL;
		text->p = tail;
	}
	return cam_raw_packed_bytes(out) == bytes ? 0 : -EINVAL;
}
