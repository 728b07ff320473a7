// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.h"

#include <errno.h>

struct walk {
	const char *p, *end;
};

static void skip_spaces(struct walk *w)
{
	while (w->p < w->end && (*w->p == ' ' || *w->p == '\t' || *w->p == '\n' || *w->p == '\r'))
		w->p++;
}

static bool take(struct walk *w, char c)
{
	if (w->p == w->end || *w->p != c)
		return false;
	w->p++;
	return true;
}

static bool take_word(struct walk *w, struct cam_text word)
{
	if (!cam_text_starts((struct cam_text){w->p, (size_t)(w->end - w->p)}, word))
		return false;
	w->p += word.n;
	return true;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex4(struct walk *w, uint32_t *out)
{
	uint32_t v = 0;
	if (w->end - w->p < 4)
		return false;
	for (int i = 0; i < 4; i++, w->p++) {
		int digit = hex(*w->p);
		if (digit < 0)
			return false;
		v = v << 4 | (uint32_t)digit;
	}
	*out = v;
	return true;
}

/* One character of a string, as UTF-8; 0: none (the string ends, or it is wrong). */
static size_t take_char(struct walk *w, char out[4])
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	if (w->p == w->end || *w->p == '"' || (unsigned char)*w->p < ' ')
		return 0;
	if (*w->p != '\\') {
		out[0] = *w->p++;
		return 1;
	}
	if (++w->p == w->end)
		return 0;
	char c = *w->p++;
	const char *found = c ? strchr(from, c) : NULL;
	if (found) {
		out[0] = to[found - from];
		return 1;
	}
	uint32_t v, low;
	if (c != 'u' || !take_hex4(w, &v)) {
		w->p = w->end; /* so that no quote behind it ends the string */
		return 0;
	}
	/* Two halves of one character; a half alone is none, and becomes U+FFFD. */
	struct walk ahead = *w;
	if (v >= 0xd800 && v < 0xdc00 && take(&ahead, '\\') && take(&ahead, 'u') &&
	    take_hex4(&ahead, &low) && low >= 0xdc00 && low < 0xe000) {
		v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
		*w = ahead;
	} else if (v >= 0xd800 && v < 0xe000) {
		v = 0xfffd;
	}
	size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
	static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n - 1; i > 0; i--, v >>= 6)
		out[i] = (char)(0x80 | (v & 0x3f));
	out[0] = (char)(heads[n] | v);
	return n;
}

static bool skip_string(struct walk *w)
{
	char c[4];
	if (!take(w, '"'))
		return false;
	while (take_char(w, c))
		;
	return take(w, '"');
}

static bool skip_digits(struct walk *w)
{
	const char *from = w->p;
	while (w->p < w->end && *w->p >= '0' && *w->p <= '9')
		w->p++;
	return w->p > from;
}

static bool skip_number(struct walk *w)
{
	take(w, '-');
	if (!take(w, '0') && !skip_digits(w))
		return false;
	if (take(w, '.') && !skip_digits(w))
		return false;
	if (take(w, 'e') || take(w, 'E')) {
		if (!take(w, '+'))
			take(w, '-');
		return skip_digits(w);
	}
	return true;
}

static bool skip_value(struct walk *w, int depth);

/* The members or elements of what was opened; a key before each if `keyed`. */
static bool skip_members(struct walk *w, char close, bool keyed, int depth)
{
	skip_spaces(w);
	if (take(w, close))
		return true;
	do {
		skip_spaces(w);
		if (keyed) {
			if (!skip_string(w))
				return false;
			skip_spaces(w);
			if (!take(w, ':'))
				return false;
			skip_spaces(w);
		}
		if (!skip_value(w, depth + 1))
			return false;
		skip_spaces(w);
	} while (take(w, ','));
	return take(w, close);
}

static bool skip_value(struct walk *w, int depth)
{
	if (w->p == w->end || depth > CAM_JSON_DEPTH)
		return false;
	switch (*w->p) {
	case '{':
		w->p++;
		return skip_members(w, '}', true, depth);
	case '[':
		w->p++;
		return skip_members(w, ']', false, depth);
	case '"':
		return skip_string(w);
	case 't':
		return take_word(w, CAM_TEXT("true"));
	case 'f':
		return take_word(w, CAM_TEXT("false"));
	case 'n':
		return take_word(w, CAM_TEXT("null"));
	default:
		return skip_number(w);
	}
}

static struct walk walk_of(struct cam_text t)
{
	return (struct walk){t.p, t.n ? t.p + t.n : t.p};
}

int cam_json_value_parse(struct cam_text text, struct cam_json_value *out)
{
	struct walk w = walk_of(text);
	skip_spaces(&w);
	const char *from = w.p;
	if (!skip_value(&w, 1))
		return -EBADMSG;
	out->text = (struct cam_text){from, (size_t)(w.p - from)};
	skip_spaces(&w);
	return w.p == w.end ? 0 : -EBADMSG;
}

static bool key_is(struct walk *w, const char *key)
{
	char c[4];
	bool same = true;
	take(w, '"');
	for (size_t n; (n = take_char(w, c)) > 0;) {
		same = same && *key && strncmp(key, c, n) == 0;
		key += same ? n : 0;
	}
	take(w, '"');
	return same && !*key;
}

/* The member with this key, or without a key the i-th element. */
static bool find(struct cam_json_value v, const char *key, size_t i, struct cam_json_value *out)
{
	struct walk w = walk_of(v.text);
	if (!take(&w, key ? '{' : '['))
		return false;
	for (size_t at = 0; w.p < w.end; at++) {
		bool wanted = at == i;
		skip_spaces(&w);
		if (key) {
			wanted = key_is(&w, key);
			skip_spaces(&w);
			take(&w, ':');
			skip_spaces(&w);
		}
		const char *from = w.p;
		if (!skip_value(&w, 1))
			return false;
		if (wanted) {
			out->text = (struct cam_text){from, (size_t)(w.p - from)};
			return true;
		}
		skip_spaces(&w);
		if (!take(&w, ','))
			return false;
	}
	return false;
}

bool cam_json_value_get(struct cam_json_value v, const char *key, struct cam_json_value *out)
{
	return find(v, key, 0, out);
}

bool cam_json_value_at(struct cam_json_value v, size_t i, struct cam_json_value *out)
{
	return find(v, NULL, i, out);
}

size_t cam_json_value_count(struct cam_json_value v)
{
	struct walk w = walk_of(v.text);
	size_t n = 0;
	if (!take(&w, '['))
		return 0;
	do {
		skip_spaces(&w);
		if (!skip_value(&w, 1))
			return n;
		n++;
		skip_spaces(&w);
	} while (take(&w, ','));
	return n;
}

bool cam_json_value_u64(struct cam_json_value v, uint64_t *out)
{
	uint64_t n = 0;
	for (size_t i = 0; i < v.text.n; i++) {
		char c = v.text.p[i];
		if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(c - '0'), &n))
			return false;
	}
	*out = n;
	return v.text.n > 0;
}

bool cam_json_value_i64(struct cam_json_value v, int64_t *out)
{
	bool negative = v.text.n && v.text.p[0] == '-';
	uint64_t n;
	if (negative)
		v.text = (struct cam_text){v.text.p + 1, v.text.n - 1};
	if (!cam_json_value_u64(v, &n) || n > (uint64_t)INT64_MAX + negative)
		return false;
	*out = negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

bool cam_json_value_bool(struct cam_json_value v, bool *out)
{
	*out = cam_text_equal(v.text, CAM_TEXT("true"));
	return *out || cam_text_equal(v.text, CAM_TEXT("false"));
}

bool cam_json_value_string(struct cam_json_value v, char *room, size_t room_bytes)
{
	struct walk w = walk_of(v.text);
	char c[4];
	size_t at = 0;
	if (!room_bytes || !take(&w, '"'))
		return false;
	for (size_t n; (n = take_char(&w, c)) > 0 && at + n < room_bytes; at += n)
		memcpy(room + at, c, n);
	room[at] = '\0';
	return true;
}
