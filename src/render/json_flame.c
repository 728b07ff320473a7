// SPDX-License-Identifier: Apache-2.0
/*
 * There are many more nodes than frames, and what a node says of its frame (name, kind, module) is most of its bytes: it
 * is made once a frame and copied from then on. Where it cannot be kept it is made again; the bytes are the same.
 */
#include "render/json_flame.h"

#include <stdlib.h>

#define HEADS_BYTES (16u << 20)
/* What stands in a node around its head: a comma, keys, brackets and two numbers. */
#define AROUND_BYTES 96u
#define LONG_HEAD    (CAM_OUT_ROOM - AROUND_BYTES)

struct heads {
	const struct cam_flame *f;
	struct head {
		uint32_t module, at, n; /* n 0: none yet */
	} * of_frame;			/* NULL: none are kept */
	struct cam_buf text;
	struct cam_out writer; /* of text */
};

/* A node's beginning, up to its value. */
static void put_head(struct cam_out *out, const struct cam_flame *f, uint32_t i)
{
	static const struct cam_text kinds[CAM_FRAME_KIND_MAX] = {
		CAM_TEXT(",\"kind\":\"root\""),	  CAM_TEXT(",\"kind\":\"process\""),
		CAM_TEXT(",\"kind\":\"kernel\""), CAM_TEXT(",\"kind\":\"user\""),
		CAM_TEXT(",\"kind\":\"jit\""),	  CAM_TEXT(",\"kind\":\"inlined\""),
		CAM_TEXT(",\"kind\":\"mark\"")};
	struct cam_text module = cam_flame_module_path(f, f->nodes[i].module);
	struct cam_json j = {out, false};
	cam_out_bytes(out, "{\"name\":", 8);
	cam_json_string(&j, cam_flame_name(f, i));
	cam_out_text(out, kinds[cam_flame_frame_of(f, i)->kind]);
	if (module.n) {
		cam_out_bytes(out, ",\"module\":", 10);
		cam_json_string(&j, module);
	}
	cam_out_bytes(out, ",\"value\":", 9);
}

/* NULL: it is not kept. */
static const struct head *head_of(struct heads *h, uint32_t i)
{
	const struct cam_flame_node *n = &h->f->nodes[i];
	if (!h->of_frame)
		return NULL;
	struct head *head = &h->of_frame[n->frame];
	if (head->n && head->module == n->module)
		return head;
	size_t at = h->text.len;
	put_head(&h->writer, h->f, i);
	if (cam_out_finish(&h->writer) || h->text.len - at > LONG_HEAD)
		return NULL;
	*head = (struct head){n->module, (uint32_t)at, (uint32_t)(h->text.len - at)};
	return head;
}

static void open_node(struct cam_json *j, struct heads *h, uint32_t i)
{
	static const char self[] = ",\"self\":", children[] = ",\"children\":[";
	const struct cam_flame_node *n = &h->f->nodes[i];
	const struct head *head = head_of(h, i);
	struct cam_out *out = j->out;
	if (!head)
		put_head(out, h->f, i);
	char *start = cam_out_room(out, (head ? head->n : 0) + AROUND_BYTES), *p = start;
	if (head) {
		memcpy(p, h->text.data + head->at, head->n);
		p += head->n;
	}
	p = cam_json_write_digits(p, n->total);
	memcpy(p, self, sizeof(self) - 1);
	p = cam_json_write_digits(p + sizeof(self) - 1, n->self);
	if (h->f->differential) {
		out->len += (size_t)(p - start);
		j->comma = true;
		cam_json_u64(j, "before", n->before_total);
		cam_json_i64(j, "delta", (int64_t)(n->total - n->before_total));
		p = start = cam_out_room(out, sizeof(children));
	}
	memcpy(p, children, sizeof(children) - 1);
	out->len += (size_t)(p - start) + sizeof(children) - 1;
	j->comma = false;
}

static void put_nodes(struct cam_json *j, struct heads *h, double least)
{
	const struct cam_flame *f = h->f;
	uint32_t open = 0;
	for (uint32_t i = 0; i < f->n_nodes;) {
		const struct cam_flame_node *n = &f->nodes[i];
		uint64_t most = n->total > n->before_total ? n->total : n->before_total;
		if (i && (double)most < least) {
			i = n->end;
			continue;
		}
		/* Nodes come depth first, so what is open is the path to the last one. */
		bool follows = open > n->depth;
		for (; open > n->depth; open--)
			cam_out_bytes(j->out, "]}", 2);
		if (follows)
			cam_out_bytes(j->out, ",", 1);
		open_node(j, h, i);
		open = n->depth + 1;
		i++;
	}
	for (; open; open--)
		cam_out_bytes(j->out, "]}", 2);
	j->comma = true;
}

void cam_json_flame_put(struct cam_json *j, const char *key, const struct cam_flame *f,
			double min_share)
{
	struct heads h = {.f = f, .text = CAM_BUF(HEADS_BYTES)};
	h.of_frame = calloc(f->n_frames + 1, sizeof(*h.of_frame));
	cam_out_to_buf(&h.writer, &h.text);
	cam_json_key(j, key);
	put_nodes(j, &h, min_share * (double)f->nodes[0].total);
	free(h.of_frame);
	cam_buf_free(&h.text);
}
