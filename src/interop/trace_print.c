// SPDX-License-Identifier: Apache-2.0
/*
 * The arithmetic is that of libtraceevent, which perf prints with: unsigned, 64 bits, fields not extended by
 * their sign; a conversion of the format cuts the value to the size it names. So `%d` of a field that holds
 * 0xffffffff is -1, and `REC->ret < 0` is false.
 *
 * Behind %p: S, s, F, f are functions (S and F with the offset), I4, I6 and IS addresses of the network; all
 * others are printed as numbers.
 */
#include "interop/trace_print.h"

#include "interop/perf_data_bytes.h"

#include <arpa/inet.h>
#include <stdio.h>

#define MAX_ELEMENTS 4096u
#define MAX_WIDTH    4096

struct print {
	const struct cam_trace_format *f;
	const uint8_t *raw;
	size_t bytes;
	bool swap;
	unsigned depth;
	const struct cam_trace_symbols *symbols;
	struct cam_buf *out;
};

static uint64_t read_number(const struct print *x, uint64_t at, uint32_t size)
{
	if (at > x->bytes || size > x->bytes - at)
		return 0;
	const uint8_t *p = x->raw + at;
	switch (size) {
	case 1:
		return *p;
	case 2:
		return cam_perf_load_u16(p, x->swap);
	case 4:
		return cam_perf_load_u32(p, x->swap);
	case 8:
		return cam_perf_load_u64(p, x->swap);
	default:
		return 0;
	}
}

/* The bytes of a field, wherever they are. */
static struct cam_text field_bytes(const struct print *x, const struct cam_trace_field *f)
{
	uint64_t at = f->offset, n = f->size;
	if (f->dynamic) {
		uint32_t where = (uint32_t)read_number(x, f->offset, 4);
		at = (where & 0xffff) + (f->relative ? f->offset + f->size : 0);
		n = where >> 16;
	}
	if (at > x->bytes)
		return (struct cam_text){"", 0};
	n = n < x->bytes - at ? n : x->bytes - at;
	return (struct cam_text){(const char *)x->raw + at, (size_t)n};
}

static uint64_t evaluate(struct print *x, uint16_t node);

static uint64_t element(struct print *x, const struct cam_trace_node *n)
{
	const struct cam_trace_field *f = &x->f->fields[n->field];
	struct cam_text all = field_bytes(x, f);
	uint64_t i = evaluate(x, n->b);
	if (!all.n || i >= all.n / f->element)
		return 0;
	return read_number(x, (uint64_t)((const uint8_t *)all.p - x->raw) + i * f->element,
			   f->element);
}

static uint64_t binary(uint16_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case '+' << 8:
		return a + b;
	case '-' << 8:
		return a - b;
	case '*' << 8:
		return a * b;
	case '/' << 8:
		return b ? a / b : 0;
	case '%' << 8:
		return b ? a % b : 0;
	case '&' << 8:
		return a & b;
	case '|' << 8:
		return a | b;
	case '^' << 8:
		return a ^ b;
	case '<' << 8:
		return a < b;
	case '>' << 8:
		return a > b;
	case '<' << 8 | '<':
		return b < 64 ? a << b : 0;
	case '>' << 8 | '>':
		return b < 64 ? a >> b : 0;
	case '<' << 8 | '=':
		return a <= b;
	case '>' << 8 | '=':
		return a >= b;
	case '=' << 8 | '=':
		return a == b;
	case '!' << 8 | '=':
		return a != b;
	case '&' << 8 | '&':
		return a && b;
	default:
		return a || b;
	}
}

static uint64_t evaluate_node(struct print *x, const struct cam_trace_node *n)
{
	/* A format may have none: then no node is about one. */
	static const struct cam_trace_field none;
	const struct cam_trace_field *f =
		n->field < x->f->n_fields ? &x->f->fields[n->field] : &none;
	uint64_t v;
	switch (n->kind) {
	case CAM_TRACE_NUMBER:
		return n->value;
	case CAM_TRACE_FIELD:
		return f->array ? 0 : read_number(x, f->offset, f->size);
	case CAM_TRACE_INDEX:
		return element(x, n);
	case CAM_TRACE_UNARY:
		v = evaluate(x, n->a);
		return n->op == '-' ? -v : n->op == '~' ? ~v : !v;
	case CAM_TRACE_BINARY:
		v = evaluate(x, n->a);
		return binary(n->op, v, evaluate(x, n->b));
	case CAM_TRACE_CHOICE:
		return evaluate(x, evaluate(x, n->a) ? n->b : n->c);
	case CAM_TRACE_CAST:
		v = evaluate(x, n->a);
		return n->value >= 8 ? v : v & ((1ull << (8 * n->value)) - 1);
	case CAM_TRACE_LENGTH:
		return field_bytes(x, f).n;
	default:
		return 0;
	}
}

static uint64_t evaluate(struct print *x, uint16_t node)
{
	if (node >= x->f->n_nodes || ++x->depth > CAM_TRACE_MAX_DEPTH * 4)
		return 0;
	uint64_t v = evaluate_node(x, &x->f->nodes[node]);
	x->depth--;
	return v;
}

/* A conversion of the format, "%-16.8s". */
struct conversion {
	int width, precision; /* precision -1: none */
	bool left, zero, alternate, plus;
	char letter;
	char pointer[4]; /* what stands behind %p */
	unsigned bytes;	 /* of a number */
};

static void put_text(struct print *x, const struct conversion *c, struct cam_text s)
{
	size_t n = s.n;
	if (c->precision >= 0 && (size_t)c->precision < n)
		n = (size_t)c->precision;
	int pad = c->width > 0 && (size_t)c->width > n ? c->width - (int)n : 0;
	if (pad && !c->left)
		cam_buf_printf(x->out, "%*s", pad, "");
	if (n)
		cam_buf_put(x->out, s.p, n);
	if (pad && c->left)
		cam_buf_printf(x->out, "%*s", pad, "");
}

static struct cam_text until_zero(struct cam_text s)
{
	return (struct cam_text){s.p, s.n ? strnlen(s.p, s.n) : 0};
}

static void put_flags(struct print *x, const struct cam_trace_node *n, const struct conversion *c)
{
	uint64_t v = evaluate(x, n->a);
	bool any = false;
	for (uint16_t i = n->b; i < x->f->n_nodes; i = x->f->nodes[i].c) {
		const struct cam_trace_node *pair = &x->f->nodes[i];
		uint64_t flag = evaluate(x, pair->a);
		/* To perf an unknown one is below 0, and so the name of nothing. */
		if (!v && (!flag || flag == UINT64_MAX)) {
			if (!any)
				put_text(x, c, pair->text);
			break;
		}
		if (flag && (v & flag) == flag) {
			if (any)
				cam_buf_put(x->out, n->text.p, n->text.n);
			put_text(x, c, pair->text);
			any = true;
			v &= ~flag;
		}
	}
	if (v && any)
		cam_buf_put(x->out, n->text.p, n->text.n);
	if (v)
		cam_buf_printf(x->out, "0x%llx", (unsigned long long)v);
}

static void put_symbol(struct print *x, const struct cam_trace_node *n, const struct conversion *c)
{
	uint64_t v = evaluate(x, n->a);
	for (uint16_t i = n->b; i < x->f->n_nodes; i = x->f->nodes[i].c) {
		const struct cam_trace_node *pair = &x->f->nodes[i];
		if (evaluate(x, pair->a) == v) {
			put_text(x, c, pair->text);
			return;
		}
	}
	cam_buf_printf(x->out, "0x%llx", (unsigned long long)v);
}

/* What an argument's bytes are: of a field, or of a dynamic array. */
static struct cam_text bytes_of(const struct print *x, uint16_t node)
{
	if (node >= x->f->n_nodes)
		return (struct cam_text){"", 0};
	const struct cam_trace_node *n = &x->f->nodes[node];
	if (n->kind == CAM_TRACE_CAST)
		return n->a < node ? bytes_of(x, n->a) : (struct cam_text){"", 0};
	if (n->kind != CAM_TRACE_FIELD && n->kind != CAM_TRACE_DYNAMIC &&
	    n->kind != CAM_TRACE_STRING)
		return (struct cam_text){"", 0};
	return field_bytes(x, &x->f->fields[n->field]);
}

static void put_hex(struct print *x, const struct cam_trace_node *n)
{
	struct cam_text b = bytes_of(x, n->a);
	uint64_t count = evaluate(x, n->b);
	count = count < b.n ? count : b.n;
	for (uint64_t i = 0; i < count && i < MAX_ELEMENTS; i++)
		cam_buf_printf(x->out, "%s%02x", i && !n->value ? " " : "", (uint8_t)b.p[i]);
}

static void put_array(struct print *x, const struct cam_trace_node *n)
{
	struct cam_text b = bytes_of(x, n->a);
	uint64_t count = evaluate(x, n->b), size = evaluate(x, n->c);
	cam_buf_put_u8(x->out, '{');
	for (uint64_t i = 0; size && i < count && i < MAX_ELEMENTS && i < b.n / size; i++)
		cam_buf_printf(x->out, "%s0x%llx", i ? "," : "",
			       (unsigned long long)read_number(
				       x, (uint64_t)((const uint8_t *)b.p - x->raw) + i * size,
				       (uint32_t)size));
	cam_buf_put_u8(x->out, '}');
}

/* An argument of %s. */
static void put_string(struct print *x, uint16_t node, const struct conversion *c)
{
	if (node >= x->f->n_nodes || ++x->depth > CAM_TRACE_MAX_DEPTH * 4)
		return;
	const struct cam_trace_node *n = &x->f->nodes[node];
	switch (n->kind) {
	case CAM_TRACE_TEXT:
		put_text(x, c, n->text);
		break;
	case CAM_TRACE_FIELD:
		if (x->f->fields[n->field].array)
			put_text(x, c, until_zero(bytes_of(x, node)));
		else
			cam_buf_printf(x->out, "%llx", (unsigned long long)evaluate(x, node));
		break;
	case CAM_TRACE_STRING:
	case CAM_TRACE_DYNAMIC:
		put_text(x, c, until_zero(bytes_of(x, node)));
		break;
	case CAM_TRACE_FLAGS:
		put_flags(x, n, c);
		break;
	case CAM_TRACE_SYMBOL:
		put_symbol(x, n, c);
		break;
	case CAM_TRACE_HEX:
		put_hex(x, n);
		break;
	case CAM_TRACE_ARRAY:
		put_array(x, n);
		break;
	case CAM_TRACE_CHOICE:
		put_string(x, evaluate(x, n->a) ? n->b : n->c, c);
		break;
	case CAM_TRACE_CAST:
		put_string(x, n->a, c);
		break;
	default:
		cam_buf_printf(x->out, "%llx", (unsigned long long)evaluate(x, node));
		break;
	}
	x->depth--;
}

/* A number by one of the C library's own conversions: its flags and sizes are checked, not passed on. */
static void put_number(struct print *x, const struct conversion *c, uint64_t v)
{
	char format[16], digits[96];
	size_t at = 0;
	bool is_signed = c->letter == 'd' || c->letter == 'i';
	unsigned bits = 8 * c->bytes;
	if (bits < 64)
		v &= (1ull << bits) - 1;
	if (is_signed && bits < 64 && v >> (bits - 1))
		v |= ~0ull << bits;
	format[at++] = '%';
	if (c->left)
		format[at++] = '-';
	if (c->zero)
		format[at++] = '0';
	if (c->alternate)
		format[at++] = '#';
	if (c->plus)
		format[at++] = '+';
	memcpy(format + at, c->precision >= 0 ? "*.*ll" : "*ll", c->precision >= 0 ? 5 : 3);
	at += c->precision >= 0 ? 5 : 3;
	format[at++] = is_signed ? 'd' : c->letter;
	format[at] = 0;
	int width = c->width < 64 ? c->width : 64,
	    precision = c->precision < 24 ? c->precision : 24;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = c->precision >= 0
			? snprintf(digits, sizeof(digits), format, width, precision,
				   (unsigned long long)v)
			: snprintf(digits, sizeof(digits), format, width, (unsigned long long)v);
#pragma GCC diagnostic pop
	if (n > 0)
		cam_buf_put(x->out, digits, (size_t)n < sizeof(digits) ? (size_t)n : 0);
}

static void put_address(struct print *x, bool six, const char *bytes)
{
	char room[INET6_ADDRSTRLEN];
	if (inet_ntop(six ? AF_INET6 : AF_INET, bytes, room, sizeof(room)))
		cam_buf_printf(x->out, "%s", room);
}

/* %pI4, %pI6c, and %pISpc: a whole socket address. False: something else, or not all there. */
static bool put_network(struct print *x, const struct conversion *c, uint16_t node)
{
	struct cam_text b = bytes_of(x, node);
	bool whole = c->pointer[1] == 'S', six = c->pointer[1] == '6';
	if ((c->pointer[0] | 32) != 'i' || b.n < (six ? 16u : 4u))
		return false;
	if (!whole) {
		put_address(x, six, b.p);
		return c->pointer[1] == '4' || six;
	}
	uint16_t family = cam_perf_load_u16(b.p, x->swap);
	six = family == AF_INET6;
	if ((!six && family != AF_INET) || b.n < (six ? 24u : 8u))
		return false;
	if (six)
		cam_buf_put_u8(x->out, '[');
	put_address(x, six, b.p + (six ? 8 : 4));
	cam_buf_printf(x->out, "%s:%u", six ? "]" : "",
		       (unsigned)((uint8_t)b.p[2] << 8 | (uint8_t)b.p[3]));
	return true;
}

static void put_pointer(struct print *x, const struct conversion *c, uint16_t node)
{
	char kind = c->pointer[0];
	uint64_t offset;
	struct cam_text name;
	if (kind == 'I' || kind == 'i') {
		if (put_network(x, c, node))
			return;
	}
	uint64_t v = evaluate(x, node);
	bool function = kind == 'S' || kind == 's' || kind == 'F' || kind == 'f';
	if (function && x->symbols && x->symbols->find &&
	    x->symbols->find(x->symbols->arg, v, &name, &offset)) {
		cam_buf_put(x->out, name.p, name.n);
		if (kind == 'S' || kind == 'F')
			cam_buf_printf(x->out, "+0x%llx", (unsigned long long)offset);
	} else if (v || function) {
		cam_buf_printf(x->out, "0x%llx", (unsigned long long)v);
	} else {
		cam_buf_printf(x->out, "(nil)");
	}
}

static void put_argument(struct print *x, const struct conversion *c, uint16_t node)
{
	switch (c->letter) {
	case 's':
		put_string(x, node, c);
		return;
	case 'c':
		cam_buf_put_u8(x->out, (uint8_t)evaluate(x, node));
		return;
	case 'p':
		put_pointer(x, c, node);
		return;
	default:
		put_number(x, c, evaluate(x, node));
	}
}

static int take_int(const char **p, const char *end)
{
	int v = 0;
	for (; *p < end && **p >= '0' && **p <= '9'; (*p)++)
		v = v < MAX_WIDTH ? v * 10 + (**p - '0') : v;
	return v;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '4' || c == '6';
}

/* Behind the '%'. next: the argument that a '*' takes. */
static struct conversion take_conversion(struct print *x, const char **p, const char *end,
					 size_t *next)
{
	struct conversion c = {.precision = -1, .bytes = 4};
	for (; *p < end && strchr("-0#+ ", **p) && **p; (*p)++) {
		c.left |= **p == '-';
		c.zero |= **p == '0';
		c.alternate |= **p == '#';
		c.plus |= **p == '+';
	}
	for (int turn = 0; turn < 2; turn++) {
		if (turn == 1 && (*p == end || **p != '.'))
			break;
		*p += turn;
		int v;
		if (*p < end && **p == '*') {
			(*p)++;
			v = *next < x->f->n_args ? (int)(evaluate(x, x->f->args[(*next)++]) & 0xfff)
						 : 0;
		} else {
			v = take_int(p, end);
		}
		*(turn ? &c.precision : &c.width) = v;
	}
	for (; *p < end && strchr("hlLqzt", **p) && **p; (*p)++)
		c.bytes = **p != 'h' ? 8 : c.bytes / 2 ? c.bytes / 2 : 1;
	c.letter = *p < end ? *(*p)++ : 0;
	for (size_t n = 0; c.letter == 'p' && *p < end && is_letter(**p); (*p)++) {
		if (n + 1 < sizeof(c.pointer))
			c.pointer[n++] = **p;
	}
	return c;
}

static void put_formatted(struct print *x)
{
	const char *p = x->f->format.p, *end = p + x->f->format.n;
	size_t next = 0;
	while (p < end) {
		const char *percent = memchr(p, '%', (size_t)(end - p));
		cam_buf_put(x->out, p, (size_t)((percent ? percent : end) - p));
		if (!percent)
			return;
		p = percent + 1;
		if (p < end && *p == '%') {
			cam_buf_put_u8(x->out, '%');
			p++;
			continue;
		}
		struct conversion c = take_conversion(x, &p, end, &next);
		if (!c.letter || !strchr("sdiuxXocp", c.letter) || next >= x->f->n_args)
			return;
		put_argument(x, &c, x->f->args[next++]);
	}
}

static void put_raw_field(struct print *x, const struct cam_trace_field *f)
{
	struct cam_text b = field_bytes(x, f);
	cam_buf_printf(x->out, " %.*s=", (int)f->name.n, f->name.p);
	if (f->array && f->text) {
		put_text(x, &(struct conversion){.precision = -1}, until_zero(b));
		return;
	}
	if (f->array) {
		cam_buf_printf(x->out, "ARRAY[");
		for (size_t i = 0; i < b.n && i < MAX_ELEMENTS; i++)
			cam_buf_printf(x->out, "%s%02x", i ? ", " : "", (uint8_t)b.p[i]);
		cam_buf_put_u8(x->out, ']');
		return;
	}
	uint64_t v = read_number(x, f->offset, f->size);
	struct conversion c = {
		.precision = -1, .letter = f->is_signed ? 'd' : 'u', .bytes = f->size};
	if (f->pointer || (f->is_long && !f->is_signed))
		cam_buf_printf(x->out, "0x%llx", (unsigned long long)v);
	else if (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8)
		put_number(x, &c, v);
}

void cam_trace_print(const struct cam_trace_format *f, const uint8_t *raw, size_t bytes, bool swap,
		     const struct cam_trace_symbols *symbols, struct cam_buf *out)
{
	struct print x = {
		.f = f, .raw = raw, .bytes = bytes, .swap = swap, .symbols = symbols, .out = out};
	if (!f->failed) {
		put_formatted(&x);
		return;
	}
	cam_buf_printf(out, "[FAILED TO PARSE]");
	for (size_t i = 0; i < f->n_fields; i++) {
		if (!f->fields[i].common)
			put_raw_field(&x, &f->fields[i]);
	}
}
