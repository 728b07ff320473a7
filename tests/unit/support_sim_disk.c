// SPDX-License-Identifier: Apache-2.0
#include "support_sim_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_fail(const char *why)
{
	fprintf(stderr, "simulated disk: %s\n", why);
	abort();
}

static void *grow(void *rows, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return rows;
	size_t grown = *cap ? *cap : 8;
	while (grown < need)
		grown *= 2;
	rows = reallocarray(rows, grown, size);
	if (!rows)
		sim_fail("no memory");
	*cap = grown;
	return rows;
}

struct content *content_hold(struct content *c)
{
	if (c)
		c->refs++;
	return c;
}

void content_drop(struct content *c)
{
	if (c && --c->refs == 0) {
		free(c->data);
		free(c);
	}
}

size_t content_len(const struct content *c)
{
	return c ? c->len : 0;
}

struct content *content_own(struct content **where, size_t len)
{
	struct content *c = *where;
	if (!c || c->refs > 1) {
		struct content *own = calloc(1, sizeof(*own));
		if (!own)
			sim_fail("no memory");
		own->refs = 1;
		own->len = content_len(c);
		own->data = grow(NULL, &own->cap, own->len > len ? own->len : len, 1);
		if (own->len)
			memcpy(own->data, c->data, own->len);
		content_drop(c);
		*where = c = own;
	}
	if (len > c->len) {
		c->data = grow(c->data, &c->cap, len, 1);
		memset(c->data + c->len, 0, len - c->len);
		c->len = len;
	}
	return c;
}

void content_write(struct content **where, uint64_t at, const uint8_t *data, size_t n)
{
	if (n)
		memcpy(content_own(where, at + n)->data + at, data, n);
}

void bytes_drop(struct bytes *b)
{
	if (b && --b->refs == 0)
		free(b);
}

void ops_add(struct ops *o, const struct op *op)
{
	o->v = grow(o->v, &o->cap, o->n + 1, sizeof(*o->v));
	o->v[o->n++] = *op;
	if (op->bytes)
		op->bytes->refs++;
}

static void ops_clear(struct ops *o)
{
	for (size_t i = 0; i < o->n; i++)
		bytes_drop(o->v[i].bytes);
	o->n = 0;
}

void ops_free(struct ops *o)
{
	ops_clear(o);
	free(o->v);
}

struct entry *names_find(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->v[i].name, name) == 0)
			return &names->v[i];
	}
	return NULL;
}

void names_put(struct names *names, const char *name, size_t node)
{
	struct entry *e = names_find(names, name);
	if (!e) {
		names->v = grow(names->v, &names->cap, names->n + 1, sizeof(*names->v));
		e = &names->v[names->n++];
		memcpy(e->name, name, strlen(name) + 1);
	}
	e->node = node;
}

static void remove_name(struct names *names, const char *name)
{
	struct entry *e = names_find(names, name);
	if (e)
		*e = names->v[--names->n];
}

void names_apply(struct names *names, const struct op *op)
{
	const struct entry *e = names_find(names, op->name);
	if (op->kind == OP_CREATE) {
		names_put(names, op->name, op->node);
	} else if (e && e->node == op->node) {
		remove_name(names, op->name);
		if (op->kind == OP_RENAME)
			names_put(names, op->to, op->node);
	}
}

struct node *sim_node(struct sim_disk *d, size_t i)
{
	d->nodes = grow(d->nodes, &d->cap_nodes, i + 1, sizeof(*d->nodes));
	for (; d->n_nodes <= i; d->n_nodes++)
		d->nodes[d->n_nodes] = (struct node){0};
	return &d->nodes[i];
}

void sim_do(struct sim_disk *d, const struct op *op)
{
	struct op pending = *op;
	bool of_dir = op->kind == OP_SYNC_DIR || op->kind == OP_SYNC_DIR_FAILED;
	struct node *node = of_dir ? NULL : sim_node(d, op->node);
	pending.order = d->order++;
	switch (op->kind) {
	case OP_WRITE:
		content_write(&node->shown, op->at, op->bytes->data, op->n);
		ops_add(&node->pending, &pending);
		break;
	case OP_SYNC:
		for (size_t i = 0; i < node->pending.n; i++) {
			const struct op *w = &node->pending.v[i];
			content_write(&node->durable, w->at, w->bytes->data, w->n);
		}
		ops_clear(&node->pending);
		break;
	case OP_SYNC_FAILED:
		ops_clear(&node->pending);
		break;
	case OP_CREATE:
	case OP_RENAME:
	case OP_UNLINK:
		names_apply(&d->names[SHOWN], op);
		ops_add(&d->pending_names, &pending);
		break;
	case OP_SYNC_DIR:
		for (size_t i = 0; i < d->pending_names.n; i++)
			names_apply(&d->names[DURABLE], &d->pending_names.v[i]);
		ops_clear(&d->pending_names);
		break;
	case OP_SYNC_DIR_FAILED:
		ops_clear(&d->pending_names);
		break;
	}
}
