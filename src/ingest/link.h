// SPDX-License-Identifier: Apache-2.0
/* A member of a ring with a sentinel: lists whose members know how to leave. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct cam_link {
	struct cam_link *prev, *next;
};

#define CAM_LINK_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void cam_link_init(struct cam_link *l)
{
	l->prev = l->next = l;
}

static inline bool cam_link_is_alone(const struct cam_link *l)
{
	return l->next == l;
}

static inline void cam_link_leave(struct cam_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	cam_link_init(l);
}

/* Last in the ring of `list`. */
static inline void cam_link_join(struct cam_link *list, struct cam_link *l)
{
	l->prev = list->prev;
	l->next = list;
	list->prev->next = l;
	list->prev = l;
}
