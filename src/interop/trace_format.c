// SPDX-License-Identifier: Apache-2.0
/* The texts around an event's print fmt: perf's copy of tracefs, and the fields. */
#include "interop/trace_format.h"

#include "interop/perf_data_bytes.h"
#include "interop/trace_expr.h"

#define MAX_TEXT_BYTES 65536u
#define MAX_SYSTEMS    4096u

static uint64_t number_after(struct cam_text line, const char *key)
{
	const char *at = memmem(line.p, line.n, key, strlen(key));
	uint64_t v = 0;
	if (!at)
		return 0;
	for (at += strlen(key); at < line.p + line.n && *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	return v;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool holds(struct cam_text s, const char *what)
{
	return s.n && memmem(s.p, s.n, what, strlen(what));
}

static uint32_t element_bytes(struct cam_text type)
{
	static const struct {
		const char *name;
		uint32_t bytes;
	} types[] = {{"char", 1}, {"u8", 1},  {"s8", 1},  {"u16", 2}, {"s16", 2}, {"short", 2},
		     {"u32", 4},  {"s32", 4}, {"int", 4}, {"u64", 8}, {"s64", 8}, {"long", 8}};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (holds(type, types[i].name))
			return types[i].bytes;
	}
	return 0;
}

/* "char prev_comm[16]", "__data_loc char[] name", "unsigned long args[6]": type and name. */
static void parse_declaration(struct cam_text d, struct cam_trace_field *f)
{
	const char *bracket = memchr(d.p, '[', d.n);
	size_t end = d.n;
	f->dynamic = holds(d, "__data_loc") || holds(d, "__rel_loc");
	f->relative = holds(d, "__rel_loc");
	f->array = bracket;
	if (bracket && !f->dynamic)
		end = (size_t)(bracket - d.p);
	while (end && !is_word(d.p[end - 1]))
		end--;
	size_t from = end;
	while (from && is_word(d.p[from - 1]))
		from--;
	f->name = (struct cam_text){d.p + from, end - from};
	struct cam_text type = {d.p, from};
	f->pointer = memchr(type.p, '*', type.n);
	f->is_long = holds(type, "long");
	f->element = element_bytes(type);
	f->text = f->array && holds(type, "char") && !holds(type, "unsigned char");
	if (f->pointer)
		f->element = 8;
}

static int parse_field(struct cam_trace_format *f, struct cam_text line)
{
	const char *colon = memchr(line.p, ':', line.n);
	const char *end = colon ? memchr(colon, ';', line.n - (size_t)(colon - line.p)) : NULL;
	if (!end)
		return 0;
	int err = cam_vec_reserve(&f->fields, &f->cap_fields, f->n_fields + 1, sizeof(*f->fields),
				  CAM_TRACE_MAX_FIELDS);
	if (err)
		return err == -E2BIG ? 0 : err;
	struct cam_trace_field field = {
		.offset = (uint32_t)number_after(line, "offset:"),
		.size = (uint32_t)number_after(line, "size:"),
		.is_signed = number_after(line, "signed:"),
	};
	parse_declaration((struct cam_text){colon + 1, (size_t)(end - colon - 1)}, &field);
	field.common = cam_text_starts(field.name, CAM_TEXT("common_"));
	if (!field.element || field.element > field.size)
		field.element = field.size ? field.size : 1;
	if (field.name.n)
		f->fields[f->n_fields++] = field;
	return 0;
}

static int parse_line(struct cam_trace_format *f, struct cam_text line)
{
	if (cam_text_starts(line, CAM_TEXT("name: ")))
		f->name = (struct cam_text){line.p + 6, line.n - 6};
	else if (cam_text_starts(line, CAM_TEXT("ID: ")))
		f->id = number_after(line, "ID: ");
	else if (cam_text_starts(line, CAM_TEXT("\tfield:")))
		return parse_field(f, line);
	return 0;
}

int cam_trace_format_parse(struct cam_text system, struct cam_text text,
			   struct cam_trace_format *out)
{
	*out = (struct cam_trace_format){0};
	if (text.n > MAX_TEXT_BYTES || system.n > 256)
		return -EBADMSG;
	out->source = malloc(system.n + text.n + 1);
	if (!out->source)
		return -ENOMEM;
	memcpy(out->source, system.p, system.n);
	memcpy(out->source + system.n, text.p, text.n);
	out->source[system.n + text.n] = 0;
	out->system = (struct cam_text){out->source, system.n};
	char *p = out->source + system.n, *end = p + text.n, *print = NULL;
	int err = 0;
	while (p < end && !err && !print) {
		char *nl = memchr(p, '\n', (size_t)(end - p));
		struct cam_text line = {p, (size_t)((nl ? nl : end) - p)};
		if (cam_text_starts(line, CAM_TEXT("print fmt: ")))
			print = p + 11;
		else
			err = parse_line(out, line);
		p = nl ? nl + 1 : end;
	}
	if (!err && (!out->id || !out->name.n))
		err = -EBADMSG;
	/* What the print fmt is made of is the rest of the file; it may have lines. */
	if (!err)
		err = print ? cam_trace_expr_parse(out, print, end) : 0;
	out->failed |= !print;
	if (err)
		cam_trace_format_free(out);
	return err;
}

void cam_trace_format_free(struct cam_trace_format *f)
{
	free(f->source);
	free(f->fields);
	free(f->nodes);
	*f = (struct cam_trace_format){0};
}

void cam_trace_formats_free(struct cam_trace_formats *f)
{
	for (size_t i = 0; i < f->n; i++)
		cam_trace_format_free(&f->rows[i]);
	free(f->rows);
	*f = (struct cam_trace_formats){0};
}

const struct cam_trace_format *cam_trace_formats_find(const struct cam_trace_formats *f,
						      uint64_t id)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->rows[i].id == id)
			return &f->rows[i];
	}
	return NULL;
}

/* The id alone, without parsing the rest. */
static uint64_t peek_id(struct cam_text text)
{
	return number_after(text, "\nID: ");
}

static int take_format(struct cam_trace_formats *f, struct cam_text system, struct cam_text text)
{
	/* Where the largest has no room left, none is taken. */
	if (f->n_nodes > CAM_TRACE_MAX_ALL_NODES - CAM_TRACE_MAX_NODES)
		return 0;
	int err = cam_vec_reserve(&f->rows, &f->cap, f->n + 1, sizeof(*f->rows),
				  CAM_TRACE_MAX_FORMATS);
	if (!err)
		err = cam_trace_format_parse(system, text, &f->rows[f->n]);
	if (!err)
		f->n_nodes += f->rows[f->n++].cap_nodes;
	return err == -ENOMEM ? err : 0;
}

/* A name and a size, then so many bytes that are of no use here. */
static void skip_named(struct cam_perf_bytes *b)
{
	cam_perf_bytes_text(b);
	cam_perf_bytes_take(b, cam_perf_bytes_u64(b));
}

static int take_system(struct cam_trace_formats *f, struct cam_perf_bytes *b,
		       bool (*wanted)(void *arg, uint64_t id), void *arg)
{
	struct cam_text system = cam_perf_bytes_text(b);
	uint32_t n = cam_perf_bytes_u32(b);
	int err = 0;
	for (uint32_t i = 0; i < n && !b->bad && !err; i++) {
		if (f->n_seen == CAM_TRACE_MAX_SEEN)
			return -E2BIG;
		f->n_seen++;
		uint64_t bytes = cam_perf_bytes_u64(b);
		const char *p = (const char *)cam_perf_bytes_take(b, bytes);
		struct cam_text text = {p, p ? (size_t)bytes : 0};
		if (p && wanted(arg, peek_id(text)))
			err = take_format(f, system, text);
	}
	return err;
}

int cam_trace_formats_read(struct cam_trace_formats *f, const void *p, size_t bytes,
			   bool (*wanted)(void *arg, uint64_t id), void *arg)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	struct cam_perf_bytes b = cam_perf_bytes_make(p, bytes, false);
	const uint8_t *start = cam_perf_bytes_take(&b, sizeof(magic));
	if (!start || memcmp(start, magic, sizeof(magic)) != 0)
		return 0;
	cam_perf_bytes_text(&b); /* version */
	const uint8_t *order = cam_perf_bytes_take(&b, 2);
	if (!order)
		return 0;
	const uint16_t one = 1;
	uint8_t low;
	memcpy(&low, &one, 1);
	f->swap = b.swap = order[0] == low; /* 1: big-endian; low is 1 on a little-endian machine */
	cam_perf_bytes_u32(&b);		    /* page size */
	skip_named(&b);
	skip_named(&b);
	for (uint32_t n = cam_perf_bytes_u32(&b); n && !b.bad; n--)
		cam_perf_bytes_take(&b, cam_perf_bytes_u64(&b));
	int err = 0;
	uint32_t n = cam_perf_bytes_u32(&b);
	for (uint32_t i = 0; i < n && i < MAX_SYSTEMS && !b.bad && !err; i++)
		err = take_system(f, &b, wanted, arg);
	return err == -E2BIG ? 0 : err;
}
