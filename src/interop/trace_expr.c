// SPDX-License-Identifier: Apache-2.0
/*
 * C expressions as the kernel's formats have them, by precedence climbing.
 *
 * Known: numbers, characters, texts (several in a row are one), REC->field and REC->field[i], all operators
 * of C but assignments, casts to integer types, parentheses, and the kernel's functions of
 * trace_format.h. Calls of others make the event failed: perf, too, gives up then.
 *
 * Invariants
 *  1. Nodes refer to nodes with smaller numbers, but for the lists of PAIRs: so a tree has no cycle.
 *  2. Recursion is no deeper than CAM_TRACE_MAX_DEPTH.
 */
#include "interop/trace_expr.h"

#define NAMED 1u /* op of a number whose value is not known */

struct parser {
	struct cam_trace_format *f;
	char *p, *end;
	unsigned depth;
	int error; /* -ENOMEM, or -EBADMSG: not understood */
};

static uint16_t fail(struct parser *x, int error)
{
	if (!x->error)
		x->error = error;
	return CAM_TRACE_NONE;
}

static uint16_t add(struct parser *x, struct cam_trace_node node)
{
	struct cam_trace_format *f = x->f;
	int err = cam_vec_reserve(&f->nodes, &f->cap_nodes, f->n_nodes + 1, sizeof(*f->nodes),
				  CAM_TRACE_MAX_NODES);
	if (err || x->error)
		return fail(x, err == -ENOMEM ? err : -EBADMSG);
	f->nodes[f->n_nodes] = node;
	return (uint16_t)f->n_nodes++;
}

static void skip_blanks(struct parser *x)
{
	while (x->p < x->end && (*x->p == ' ' || *x->p == '\t' || *x->p == '\n'))
		x->p++;
}

static char peek(struct parser *x)
{
	skip_blanks(x);
	return x->p < x->end ? *x->p : 0;
}

static bool accept(struct parser *x, char c)
{
	if (peek(x) != c)
		return false;
	x->p++;
	return true;
}

static void expect(struct parser *x, char c)
{
	if (!accept(x, c))
		fail(x, -EBADMSG);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct cam_text word(struct parser *x)
{
	skip_blanks(x);
	char *from = x->p;
	while (x->p < x->end && (is_letter(*x->p) || is_digit(*x->p)))
		x->p++;
	return (struct cam_text){from, (size_t)(x->p - from)};
}

static char unescape(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* Texts, one behind the other are one; unescaped where they stand: never longer than before. */
static struct cam_text text(struct parser *x)
{
	char *to = NULL, *from = NULL;
	while (!x->error && accept(x, '"')) {
		if (!to)
			from = to = x->p;
		while (x->p < x->end && *x->p != '"') {
			char c = *x->p++;
			if (c == '\\' && x->p < x->end)
				c = unescape(*x->p++);
			*to++ = c;
		}
		if (x->p == x->end)
			fail(x, -EBADMSG);
		else
			x->p++;
	}
	if (!to)
		fail(x, -EBADMSG);
	return (struct cam_text){from, to ? (size_t)(to - from) : 0};
}

static uint16_t expression(struct parser *x);
static uint16_t unary(struct parser *x);

static uint16_t number(struct parser *x)
{
	uint64_t v = 0;
	unsigned base = 10;
	if (x->end - x->p > 1 && x->p[0] == '0' && (x->p[1] | 32) == 'x') {
		base = 16;
		x->p += 2;
	} else if (x->p[0] == '0') {
		base = 8;
	}
	for (; x->p < x->end; x->p++) {
		char c = *x->p;
		unsigned digit = is_digit(c) ? (unsigned)(c - '0')
				 : (c | 32) >= 'a' && (c | 32) <= 'f'
					 ? (unsigned)((c | 32) - 'a' + 10)
					 : 99;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	while (x->p < x->end && ((*x->p | 32) == 'u' || (*x->p | 32) == 'l'))
		x->p++;
	return add(x, (struct cam_trace_node){.kind = CAM_TRACE_NUMBER, .value = v});
}

static uint16_t character(struct parser *x)
{
	uint64_t v = 0;
	expect(x, '\'');
	if (x->p < x->end)
		v = (uint8_t)*x->p++;
	if (v == '\\' && x->p < x->end)
		v = (uint8_t)(*x->p == '0' ? 0 : unescape(*x->p)), x->p++;
	expect(x, '\'');
	return add(x, (struct cam_trace_node){.kind = CAM_TRACE_NUMBER, .value = v});
}

static uint16_t find_field(struct parser *x, struct cam_text name)
{
	for (size_t i = 0; i < x->f->n_fields; i++) {
		if (cam_text_equal(x->f->fields[i].name, name))
			return (uint16_t)i;
	}
	return fail(x, -EBADMSG);
}

/* REC->field, REC->field[i]; behind the word REC. */
static uint16_t record_field(struct parser *x)
{
	expect(x, '-');
	expect(x, '>');
	struct cam_trace_node n = {.kind = CAM_TRACE_FIELD, .field = find_field(x, word(x))};
	if (x->error || !accept(x, '['))
		return add(x, n);
	n.kind = CAM_TRACE_INDEX;
	n.b = expression(x);
	expect(x, ']');
	return add(x, n);
}

/* { value, "text" }, …: the number of the first. */
static uint16_t pairs(struct parser *x)
{
	uint16_t first = CAM_TRACE_NONE, last = CAM_TRACE_NONE;
	do {
		expect(x, '{');
		struct cam_trace_node n = {.kind = CAM_TRACE_PAIR, .c = CAM_TRACE_NONE};
		n.a = expression(x);
		/* In these lists it is a value that nothing has. */
		if (!x->error && x->f->nodes[n.a].op == NAMED)
			x->f->nodes[n.a].value = UINT64_MAX;
		expect(x, ',');
		n.text = (struct cam_text){"", 0};
		if (peek(x) == '"')
			n.text = text(x);
		else
			expression(x); /* the last one may have ((void *)0) */
		expect(x, '}');
		uint16_t this = add(x, n);
		if (x->error)
			return CAM_TRACE_NONE;
		if (last == CAM_TRACE_NONE)
			first = this;
		else
			x->f->nodes[last].c = this;
		last = this;
	} while (accept(x, ','));
	return first;
}

static uint16_t flags(struct parser *x, bool symbol)
{
	struct cam_trace_node n = {.kind = symbol ? CAM_TRACE_SYMBOL : CAM_TRACE_FLAGS};
	n.a = expression(x);
	expect(x, ',');
	if (!symbol) {
		n.text = x->error ? (struct cam_text){"", 0} : text(x);
		expect(x, ',');
	}
	n.b = x->error ? CAM_TRACE_NONE : pairs(x);
	return add(x, n);
}

static uint16_t of_field(struct parser *x, enum cam_trace_kind kind)
{
	uint16_t field = find_field(x, word(x));
	return add(x, (struct cam_trace_node){.kind = kind, .field = field});
}

static uint16_t of_two(struct parser *x, enum cam_trace_kind kind, uint64_t value, bool three)
{
	struct cam_trace_node n = {.kind = kind, .value = value, .c = CAM_TRACE_NONE};
	n.a = expression(x);
	expect(x, ',');
	n.b = expression(x);
	if (three) {
		expect(x, ',');
		n.c = expression(x);
	}
	return add(x, n);
}

static uint16_t call(struct parser *x, struct cam_text name)
{
	static const struct {
		const char *name;
		enum cam_trace_kind kind;
	} known[] = {
		{"__print_flags", CAM_TRACE_FLAGS},
		{"__print_flags_u64", CAM_TRACE_FLAGS},
		{"__print_symbolic", CAM_TRACE_SYMBOL},
		{"__print_symbolic_u64", CAM_TRACE_SYMBOL},
		{"__get_str", CAM_TRACE_STRING},
		{"__get_rel_str", CAM_TRACE_STRING},
		{"__get_dynamic_array", CAM_TRACE_DYNAMIC},
		{"__get_rel_dynamic_array", CAM_TRACE_DYNAMIC},
		{"__get_dynamic_array_len", CAM_TRACE_LENGTH},
		{"__get_rel_dynamic_array_len", CAM_TRACE_LENGTH},
		{"__print_hex", CAM_TRACE_HEX},
		{"__print_hex_str", CAM_TRACE_HEX},
		{"__print_array", CAM_TRACE_ARRAY},
	};
	size_t i = 0, n = sizeof(known) / sizeof(known[0]);
	while (i < n && !cam_text_equal(name, cam_text_of(known[i].name)))
		i++;
	if (i == n)
		return fail(x, -EBADMSG);
	expect(x, '(');
	uint16_t made = CAM_TRACE_NONE;
	switch (known[i].kind) {
	case CAM_TRACE_FLAGS:
	case CAM_TRACE_SYMBOL:
		made = flags(x, known[i].kind == CAM_TRACE_SYMBOL);
		break;
	case CAM_TRACE_HEX:
		made = of_two(x, CAM_TRACE_HEX, cam_text_ends(name, CAM_TEXT("_str")), false);
		break;
	case CAM_TRACE_ARRAY:
		made = of_two(x, CAM_TRACE_ARRAY, 0, true);
		break;
	default:
		made = of_field(x, known[i].kind);
		break;
	}
	expect(x, ')');
	return made;
}

/* "(unsigned int)", "(u8 *)": the bytes of the type behind the parenthesis, 0: none stands there. */
static unsigned cast_bytes(struct parser *x)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} types[] = {
		{"char", 1},   {"u8", 1},    {"s8", 1},	      {"__u8", 1},   {"__s8", 1},
		{"bool", 1},   {"short", 2}, {"u16", 2},      {"s16", 2},    {"__u16", 2},
		{"__s16", 2},  {"int", 4},   {"u32", 4},      {"s32", 4},    {"__u32", 4},
		{"__s32", 4},  {"pid_t", 4}, {"dev_t", 4},    {"gfp_t", 4},  {"unsigned", 4},
		{"signed", 4}, {"long", 8},  {"u64", 8},      {"s64", 8},    {"__u64", 8},
		{"__s64", 8},  {"void", 8},  {"size_t", 8},   {"loff_t", 8}, {"const", 8},
		{"struct", 8}, {"ino_t", 8}, {"sector_t", 8}, {"enum", 4},
	};
	char *before = x->p;
	unsigned bytes = 0;
	bool named = false, tag = false;
	for (;;) {
		char *at = x->p;
		struct cam_text w = word(x);
		size_t i = 0, n = sizeof(types) / sizeof(types[0]);
		while (i < n && !cam_text_equal(w, cam_text_of(types[i].name)))
			i++;
		if (!w.n || (i == n && !tag)) {
			x->p = at;
			break;
		}
		tag = cam_text_equal(w, CAM_TEXT("struct")) || cam_text_equal(w, CAM_TEXT("enum"));
		/* The last word counts, but for "long int" and the name of a struct. */
		if (i < n && !(named && bytes == 8 && cam_text_equal(w, CAM_TEXT("int"))))
			bytes = types[i].bytes;
		named = true;
	}
	while (named && accept(x, '*'))
		bytes = 8;
	if (!named || !accept(x, ')')) {
		x->p = before;
		return 0;
	}
	return bytes;
}

static uint16_t primary(struct parser *x)
{
	char c = peek(x);
	if (is_digit(c))
		return number(x);
	if (c == '"')
		return add(x, (struct cam_trace_node){.kind = CAM_TRACE_TEXT, .text = text(x)});
	if (c == '\'')
		return character(x);
	if (accept(x, '(')) {
		unsigned bytes = cast_bytes(x);
		if (bytes) {
			struct cam_trace_node n = {.kind = CAM_TRACE_CAST, .value = bytes};
			n.a = unary(x);
			return add(x, n);
		}
		uint16_t inner = expression(x);
		expect(x, ')');
		return inner;
	}
	if (!is_letter(c))
		return fail(x, -EBADMSG);
	struct cam_text name = word(x);
	if (cam_text_equal(name, CAM_TEXT("REC")))
		return record_field(x);
	/* A name whose value the format does not tell is 0, as it is to perf. */
	if (peek(x) != '(')
		return add(x, (struct cam_trace_node){.kind = CAM_TRACE_NUMBER, .op = NAMED});
	return call(x, name);
}

static uint16_t unary(struct parser *x)
{
	char c = peek(x);
	if (x->error || ++x->depth > CAM_TRACE_MAX_DEPTH)
		return fail(x, -EBADMSG);
	uint16_t made;
	if (c == '-' || c == '~' || c == '!') {
		x->p++;
		struct cam_trace_node n = {.kind = CAM_TRACE_UNARY, .op = (uint8_t)c};
		n.a = unary(x);
		made = add(x, n);
	} else {
		made = primary(x);
	}
	x->depth--;
	return made;
}

/* The operator that comes, and how tightly it binds; 0: none. */
static unsigned operator_at(struct parser *x, uint16_t *op)
{
	static const struct {
		char text[3];
		unsigned level;
	} known[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
		     {"<<", 8}, {">>", 8}, {"|", 3},  {"^", 4},	 {"&", 5},  {"<", 7},
		     {">", 7},	{"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};
	skip_blanks(x);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].text);
		if ((size_t)(x->end - x->p) >= n && !memcmp(x->p, known[i].text, n)) {
			*op = (uint16_t)((uint8_t)known[i].text[0] << 8 |
					 (uint8_t)known[i].text[1]);
			return known[i].level;
		}
	}
	return 0;
}

static uint16_t binary(struct parser *x, unsigned least)
{
	uint16_t left = unary(x), op;
	unsigned level;
	if (++x->depth > CAM_TRACE_MAX_DEPTH)
		return fail(x, -EBADMSG);
	while (!x->error && (level = operator_at(x, &op)) >= least && level) {
		x->p += op & 0xff ? 2 : 1;
		struct cam_trace_node n = {.kind = CAM_TRACE_BINARY, .op = op, .a = left};
		n.b = binary(x, level + 1);
		left = add(x, n);
	}
	x->depth--;
	return left;
}

static uint16_t expression(struct parser *x)
{
	uint16_t first = binary(x, 1);
	if (x->error || !accept(x, '?'))
		return first;
	if (++x->depth > CAM_TRACE_MAX_DEPTH)
		return fail(x, -EBADMSG);
	struct cam_trace_node n = {.kind = CAM_TRACE_CHOICE, .a = first};
	n.b = expression(x);
	expect(x, ':');
	n.c = expression(x);
	x->depth--;
	return add(x, n);
}

int cam_trace_expr_parse(struct cam_trace_format *f, char *p, char *end)
{
	struct parser x = {.f = f, .p = p, .end = end};
	f->format = text(&x);
	while (!x.error && accept(&x, ',')) {
		uint16_t arg = expression(&x);
		if (f->n_args == sizeof(f->args) / sizeof(f->args[0]))
			fail(&x, -EBADMSG);
		else if (!x.error)
			f->args[f->n_args++] = arg;
	}
	if (!x.error && peek(&x))
		fail(&x, -EBADMSG);
	f->failed = x.error;
	return x.error == -ENOMEM ? x.error : 0;
}
