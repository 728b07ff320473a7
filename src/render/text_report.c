// SPDX-License-Identifier: Apache-2.0
/*
 * The layout, as people and scripts know it:
 *
 *	# Children      Self  Command  Shared Object  Symbol
 *	# ........  ........  .......  .............  ..........
 *	#
 *	    99.02%     0.00%  wl       wl             [.] main
 *	            |
 *	            ---main
 *	               |
 *	               |--49.75%--foo
 *	               |          leaf
 *	               |
 *	                --2.21%--bar
 *
 * An entry with one chain that holds all of it has that chain behind "---"; else each chain has its share.
 */
#include "render/text_report.h"

#include "render/label.h"

#include <inttypes.h>
#include <stdio.h>

#define MARGIN	  12
#define MAX_DEPTH 300
#define MAX_NAME  4096u

static const char *const heads[CAM_KEY_MAX] = {
	[CAM_KEY_COMM] = "Command",
	[CAM_KEY_PROCESS] = "    Pid:Command",
	[CAM_KEY_PID] = "Pid",
	[CAM_KEY_TID] = "Tid",
	[CAM_KEY_USER] = "Uid",
	[CAM_KEY_EXE] = "Program",
	[CAM_KEY_CGROUP] = "Cgroup",
	[CAM_KEY_CONTAINER] = "Container",
	[CAM_KEY_POD] = "Pod",
	[CAM_KEY_CPU] = "CPU",
	[CAM_KEY_SOCKET] = "Socket",
	[CAM_KEY_PARENT] = "Parent symbol",
	[CAM_KEY_SRCLINE] = "Source:Line",
	[CAM_KEY_SRCFILE] = "Source File",
	[CAM_KEY_EVENT] = "Event",
	[CAM_KEY_TIME] = "Time",
	[CAM_KEY_SYMBOL] = "Symbol",
	[CAM_KEY_DSO] = "Shared Object",
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100.0 / (double)whole : 0;
}

/* What stands before the text of a value: a number, or the mode of a symbol. */
static void prefix_of(enum cam_key key, const struct cam_value *v, char room[32])
{
	bool none = v->number == UINT32_MAX;
	room[0] = 0;
	if (key == CAM_KEY_SYMBOL)
		snprintf(room, 32, "[%c] ", v->kind == CAM_FRAME_KERNEL ? 'k' : '.');
	else if (key == CAM_KEY_PROCESS)
		snprintf(room, 32, "%7" PRId64 ":", v->number);
	else if (key == CAM_KEY_CPU || key == CAM_KEY_SOCKET)
		snprintf(room, 32, none ? "?" : "%03" PRId64, v->number);
	else if (key == CAM_KEY_PID || key == CAM_KEY_TID || key == CAM_KEY_USER)
		snprintf(room, 32, none ? "?" : "%" PRId64, v->number);
}

static struct cam_text text_of(enum cam_key key, const struct cam_value *v)
{
	return key == CAM_KEY_DSO ? cam_label_file(v->text) : v->text;
}

static size_t put_value(enum cam_key key, const struct cam_value *v, struct cam_out *out)
{
	char prefix[32];
	prefix_of(key, v, prefix);
	cam_out_str(out, prefix);
	return strlen(prefix) + cam_label_put(out, text_of(key, v), MAX_NAME, CAM_LABEL_PLAIN);
}

static size_t width_of(enum cam_key key, const struct cam_value *v)
{
	char prefix[32];
	prefix_of(key, v, prefix);
	return strlen(prefix) + cam_label_columns(text_of(key, v));
}

static void put_dots(struct cam_out *out, size_t n)
{
	while (n--)
		cam_out_str(out, ".");
}

static void put_heads(const struct cam_report *r, const struct cam_text_report_options *o,
		      const size_t *widths, struct cam_out *out)
{
	cam_out_str(out, r->children ? "# Children      Self" : "# Overhead");
	if (o->samples)
		cam_out_printf(out, "  %12s", "Samples");
	for (size_t k = 0; k < r->n_keys; k++)
		cam_out_printf(out, "  %-*s", (int)widths[k], heads[r->keys[k]]);
	cam_out_str(out, r->children ? "\n# ........  ........" : "\n# ........");
	if (o->samples)
		cam_out_str(out, "  ............");
	for (size_t k = 0; k < r->n_keys; k++) {
		cam_out_str(out, "  ");
		put_dots(out, widths[k]);
	}
	cam_out_str(out, "\n#\n");
}

static void put_count(struct cam_out *out, uint64_t n)
{
	static const char units[] = " KMGTP";
	size_t unit = 0;
	for (; n > 1000 && unit + 1 < sizeof(units) - 1; unit++)
		n /= 1000;
	cam_out_printf(out, "%" PRIu64 "%c", n, units[unit]);
}

static void put_facts(const struct cam_report *r, struct cam_out *out)
{
	cam_out_printf(out, "#\n# Total Lost Samples: %" PRIu64 "\n#\n# Samples: ", r->seen.lost);
	put_count(out, r->all.samples);
	cam_out_str(out, " of event '");
	cam_label_put(out, r->event, MAX_NAME, CAM_LABEL_PLAIN);
	cam_out_printf(out, "'\n# Event count (approx.): %" PRIu64 "\n#\n", r->all.weight);
}

struct chains {
	const struct cam_report *r;
	struct cam_out *out;
	unsigned margin;
	bool bars[MAX_DEPTH + 1]; /* by depth: whether more is to come there */
};

static void put_margin(const struct chains *c)
{
	cam_out_printf(c->out, "%*s", (int)c->margin, "");
}

static void put_frame(const struct chains *c, uint32_t at)
{
	cam_label_put(c->out, c->r->frames[at], MAX_NAME, CAM_LABEL_PLAIN);
	cam_out_str(c->out, "\n");
}

/* One line of a node: bars of all depths, and in the first one its share. */
static void put_line(const struct chains *c, const struct cam_report_node *n, unsigned depth,
		     uint32_t i)
{
	put_margin(c);
	for (unsigned d = 0; d < depth; d++) {
		cam_out_str(c->out, c->bars[d] ? "|" : " ");
		if (i == 0 && d == depth - 1)
			cam_out_printf(c->out, "--%.2f%%--", share(n->weight, c->r->all.weight));
		else
			cam_out_str(c->out, "          ");
	}
	put_frame(c, n->frames_at + i);
}

static void put_space(const struct chains *c, unsigned depth)
{
	put_margin(c);
	for (unsigned d = 0; d < depth; d++)
		cam_out_str(c->out, c->bars[d] ? "|          " : "           ");
	cam_out_str(c->out, "\n");
}

/* Nodes [from, to) that are siblings, with what is below them. */
static void put_nodes(struct chains *c, uint32_t from, uint32_t to, unsigned depth)
{
	const struct cam_report_node *nodes = c->r->nodes;
	if (depth > MAX_DEPTH)
		return;
	for (uint32_t i = from; i < to; i = nodes[i].end) {
		c->bars[depth - 1] = true;
		put_space(c, depth);
		c->bars[depth - 1] = nodes[i].end < to;
		for (uint32_t f = 0; f < nodes[i].n_frames; f++)
			put_line(c, &nodes[i], depth, f);
		c->bars[depth] = true;
		put_nodes(c, i + 1, nodes[i].end, depth + 1);
	}
}

static void put_chains(const struct cam_report *r, const struct cam_report_entry *e,
		       struct cam_out *out)
{
	struct chains c = {.r = r, .out = out, .margin = MARGIN};
	uint32_t from = e->nodes_at, to = from + e->n_nodes;
	uint64_t whole = r->children ? e->total.weight : e->self.weight;
	bool printed = false;
	if (from == to)
		return;
	const struct cam_report_node *first = &r->nodes[from];
	if (first->end == to && first->weight == whole) {
		/* By symbol the first one is the entry itself. */
		for (uint32_t i = r->keys[0] == CAM_KEY_SYMBOL; i < first->n_frames; i++) {
			put_margin(&c);
			if (!printed) {
				cam_out_str(out, "|\n");
				put_margin(&c);
				cam_out_str(out, "---");
				c.margin += 3;
			}
			printed = true;
			put_frame(&c, first->frames_at + i);
		}
		from++;
	}
	put_nodes(&c, from, to, 1);
	if (printed || from < to)
		cam_out_str(out, "\n");
}

static void put_entry(const struct cam_report *r, const struct cam_text_report_options *o,
		      const size_t *widths, const struct cam_report_entry *e, struct cam_out *out)
{
	if (r->children)
		cam_out_printf(out, "  %7.2f%%", share(e->total.weight, r->all.weight));
	cam_out_printf(out, "  %7.2f%%", share(e->self.weight, r->all.weight));
	if (o->samples)
		cam_out_printf(out, "  %12" PRIu64, e->self.samples);
	for (size_t k = 0; k < r->n_keys; k++) {
		cam_out_str(out, "  ");
		size_t n = put_value(r->keys[k], &e->values[k], out);
		if (k + 1 < r->n_keys)
			cam_out_printf(out, "%*s", (int)(n < widths[k] ? widths[k] - n : 0), "");
	}
	cam_out_str(out, "\n");
	put_chains(r, e, out);
}

int cam_text_report_write(const struct cam_report *r, const struct cam_text_report_options *o,
			  struct cam_out *out)
{
	size_t widths[CAM_KEYS_MAX] = {0};
	for (size_t k = 0; k < r->n_keys; k++) {
		widths[k] = strlen(heads[r->keys[k]]);
		for (size_t i = 0; i < r->n_entries; i++) {
			size_t n = width_of(r->keys[k], &r->entries[i].values[k]);
			widths[k] = n > widths[k] ? n : widths[k];
		}
	}
	put_facts(r, out);
	put_heads(r, o, widths, out);
	for (size_t i = 0; i < r->n_entries; i++)
		put_entry(r, o, widths, &r->entries[i], out);
	cam_label_notes(out, "#\n# ", r->notes);
	return out->error;
}
