// SPDX-License-Identifier: Apache-2.0
#include "render/json_flame.h"

static void open_node(struct cam_json *j, const char *key, const struct cam_flame *f, size_t i)
{
	static const struct cam_text kinds[CAM_FRAME_KIND_MAX] = {
		CAM_TEXT(",\"kind\":\"root\""),	  CAM_TEXT(",\"kind\":\"process\""),
		CAM_TEXT(",\"kind\":\"kernel\""), CAM_TEXT(",\"kind\":\"user\""),
		CAM_TEXT(",\"kind\":\"jit\""),	  CAM_TEXT(",\"kind\":\"inlined\""),
		CAM_TEXT(",\"kind\":\"mark\"")};
	const struct cam_flame_node *n = &f->nodes[i];
	struct cam_text module = cam_flame_module_path(f, n->module);
	cam_json_open(j, key, '{');
	/* Keys with all that is around them: there are as many as nodes. */
	cam_out_bytes(j->out, "\"name\":", 7);
	cam_json_string(j, cam_flame_name(f, i));
	cam_out_text(j->out, kinds[cam_flame_frame_of(f, i)->kind]);
	if (module.n) {
		cam_out_bytes(j->out, ",\"module\":", 10);
		cam_json_string(j, module);
	}
	cam_out_bytes(j->out, ",\"value\":", 9);
	cam_json_digits(j, n->total);
	cam_out_bytes(j->out, ",\"self\":", 8);
	cam_json_digits(j, n->self);
	if (f->differential) {
		cam_json_u64(j, "before", n->before_total);
		cam_json_i64(j, "delta", (int64_t)(n->total - n->before_total));
	}
	cam_json_open(j, "children", '[');
}

static void close_node(struct cam_json *j)
{
	cam_json_close(j, ']');
	cam_json_close(j, '}');
}

/* Nodes come depth first, so what is open is the path to the last one. */
void cam_json_flame_put(struct cam_json *j, const char *key, const struct cam_flame *f,
			double min_share)
{
	double least = min_share * (double)f->nodes[0].total;
	uint32_t open = 0;
	for (uint32_t i = 0; i < f->n_nodes;) {
		const struct cam_flame_node *n = &f->nodes[i];
		uint64_t most = n->total > n->before_total ? n->total : n->before_total;
		if (i && (double)most < least) {
			i = n->end;
			continue;
		}
		for (; open > n->depth; open--)
			close_node(j);
		open_node(j, i ? NULL : key, f, i);
		open = n->depth + 1;
		i++;
	}
	for (; open; open--)
		close_node(j);
}
