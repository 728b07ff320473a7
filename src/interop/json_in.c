// SPDX-License-Identifier: Apache-2.0
#include "interop/json_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void cam_json_in_init(struct cam_json_in *j, struct cam_input *in)
{
	*j = (struct cam_json_in){.in = in, .first = true, .token = CAM_JSON_NULL};
	j->room = CAM_BUF(CAM_JSON_IN_TEXT + 16);
}

void cam_json_in_free(struct cam_json_in *j)
{
	cam_buf_free(&j->room);
}

/* The next byte without taking it; -1 at the end. */
static int peek(struct cam_json_in *j)
{
	if (j->in->p == j->in->end && !cam_input_more(j->in))
		return -1;
	return (unsigned char)*j->in->p;
}

static int take(struct cam_json_in *j)
{
	int c = peek(j);
	if (c >= 0)
		j->in->p++;
	return c;
}

static int skip_blanks(struct cam_json_in *j)
{
	int c = peek(j);
	while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
		j->in->p++;
		c = peek(j);
	}
	return c;
}

static enum cam_json_token end_with(struct cam_json_in *j, enum cam_json_token token)
{
	j->done = true;
	return j->token = token;
}

static enum cam_json_token bad(struct cam_json_in *j)
{
	return end_with(j, peek(j) < 0 ? CAM_JSON_END : CAM_JSON_BAD);
}

static void keep(struct cam_json_in *j, unsigned char c)
{
	if (j->room.len < CAM_JSON_IN_TEXT)
		cam_buf_put_u8(&j->room, c);
	else if (j->room.len == CAM_JSON_IN_TEXT)
		j->room.len++; /* remembers that it was cut */
}

static void keep_character(struct cam_json_in *j, uint32_t c)
{
	if (c < 0x80) {
		keep(j, (unsigned char)c);
		return;
	}
	if (c < 0x800) {
		keep(j, (unsigned char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			keep(j, (unsigned char)(0xe0 | c >> 12));
		} else {
			keep(j, (unsigned char)(0xf0 | c >> 18));
			keep(j, (unsigned char)(0x80 | (c >> 12 & 63)));
		}
		keep(j, (unsigned char)(0x80 | (c >> 6 & 63)));
	}
	keep(j, (unsigned char)(0x80 | (c & 63)));
}

static bool take_hex4(struct cam_json_in *j, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++) {
		int c = take(j);
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;
		if (digit < 0)
			return false;
		*out = *out << 4 | (uint32_t)digit;
	}
	return true;
}

static bool is_high(uint32_t c)
{
	return c >= 0xd800 && c < 0xdc00;
}

/* After \u: one character, or two halves of one. */
static bool take_unicode(struct cam_json_in *j)
{
	uint32_t c, low;
	if (!take_hex4(j, &c))
		return false;
	while (is_high(c)) {
		if (peek(j) != '\\') {
			keep_character(j, 0xfffd);
			return true;
		}
		j->in->p++;
		int next = take(j);
		if (next != 'u')
			return false; /* another escape behind half a character: nobody writes that */
		if (!take_hex4(j, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000) {
			keep_character(j, 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00)));
			return true;
		}
		keep_character(j, 0xfffd);
		c = low;
	}
	keep_character(j, c >= 0xdc00 && c < 0xe000 ? 0xfffd : c);
	return true;
}

static bool take_escape(struct cam_json_in *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = take(j);
	if (c == 'u')
		return take_unicode(j);
	const char *at = c > 0 ? strchr(from, c) : NULL;
	if (!at)
		return false;
	keep(j, (unsigned char)to[at - from]);
	return true;
}

/* Behind the first quote. Runs of plain bytes are copied at once. */
static bool take_string(struct cam_json_in *j)
{
	cam_buf_clear(&j->room);
	for (;;) {
		int c = peek(j);
		if (c < 0x20)
			return false;
		j->in->p++;
		if (c == '"')
			break;
		if (c != '\\')
			keep(j, (unsigned char)c);
		else if (!take_escape(j))
			return false;
	}
	if (j->room.len > CAM_JSON_IN_TEXT) {
		j->room.len = CAM_JSON_IN_TEXT;
		j->cut_texts++;
	}
	/* An empty one has no room yet; nobody wants a NULL. */
	j->text = (struct cam_text){j->room.len ? (char *)j->room.data : "", j->room.len};
	return !cam_buf_error(&j->room);
}

static bool is_number_byte(int c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool take_digits(const char **p, const char *end)
{
	const char *from = *p;
	while (*p < end && **p >= '0' && **p <= '9')
		(*p)++;
	return *p > from;
}

static bool is_number(struct cam_text s)
{
	const char *p = s.p, *end = s.p + s.n;
	if (p < end && *p == '-')
		p++;
	if (p + 1 < end && p[0] == '0' && p[1] >= '0' && p[1] <= '9')
		return false;
	if (!take_digits(&p, end))
		return false;
	if (p < end && *p == '.') {
		p++;
		if (!take_digits(&p, end))
			return false;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		if (!take_digits(&p, end))
			return false;
	}
	return p == end;
}

static enum cam_json_token take_number(struct cam_json_in *j)
{
	cam_buf_clear(&j->room);
	while (is_number_byte(peek(j))) {
		if (j->room.len > 64)
			return bad(j);
		cam_buf_put_u8(&j->room, (uint8_t)take(j));
	}
	j->text = (struct cam_text){(char *)j->room.data, j->room.len};
	return !cam_buf_error(&j->room) && is_number(j->text) ? (j->token = CAM_JSON_NUMBER)
							      : bad(j);
}

static enum cam_json_token take_word(struct cam_json_in *j, const char *word,
				     enum cam_json_token token)
{
	for (; *word; word++) {
		if (take(j) != *word)
			return bad(j);
	}
	return j->token = token;
}

static bool in_object(const struct cam_json_in *j)
{
	uint32_t level = j->depth - 1;
	return j->depth && (j->objects[level / 8] >> (level % 8) & 1);
}

static enum cam_json_token open_level(struct cam_json_in *j, bool object)
{
	if (j->depth == CAM_JSON_IN_DEPTH)
		return end_with(j, CAM_JSON_BAD);
	j->in->p++;
	uint8_t bit = (uint8_t)(1u << (j->depth % 8));
	if (object)
		j->objects[j->depth / 8] |= bit;
	else
		j->objects[j->depth / 8] &= (uint8_t)~bit;
	j->depth++;
	j->first = true;
	return j->token = object ? CAM_JSON_OBJECT : CAM_JSON_ARRAY;
}

static enum cam_json_token take_value(struct cam_json_in *j, int c)
{
	switch (c) {
	case '{':
		return open_level(j, true);
	case '[':
		return open_level(j, false);
	case '"':
		j->in->p++;
		return take_string(j) ? (j->token = CAM_JSON_STRING) : bad(j);
	case 't':
		return take_word(j, "true", CAM_JSON_TRUE);
	case 'f':
		return take_word(j, "false", CAM_JSON_FALSE);
	case 'n':
		return take_word(j, "null", CAM_JSON_NULL);
	default:
		return is_number_byte(c) ? take_number(j) : bad(j);
	}
}

static enum cam_json_token take_key(struct cam_json_in *j, int c)
{
	if (c != '"')
		return bad(j);
	j->in->p++;
	if (!take_string(j) || skip_blanks(j) != ':')
		return bad(j);
	j->in->p++;
	j->after_key = true;
	return j->token = CAM_JSON_KEY;
}

enum cam_json_token cam_json_in_next(struct cam_json_in *j)
{
	if (j->done)
		return j->token;
	int c = skip_blanks(j);
	if (c < 0)
		return end_with(j, CAM_JSON_END);
	if (j->after_key) {
		j->after_key = false;
		j->first = false;
		return take_value(j, c);
	}
	if (!j->depth) {
		if (!j->first)
			return bad(j); /* something behind the one value */
		j->first = false;
		return take_value(j, c);
	}
	bool object = in_object(j);
	if (c == (object ? '}' : ']')) {
		j->in->p++;
		j->depth--;
		j->first = false;
		return j->token = object ? CAM_JSON_OBJECT_END : CAM_JSON_ARRAY_END;
	}
	if (!j->first) {
		if (c != ',')
			return bad(j);
		j->in->p++;
		c = skip_blanks(j);
	}
	j->first = false;
	return object ? take_key(j, c) : take_value(j, c);
}

bool cam_json_in_skip(struct cam_json_in *j)
{
	if (j->token != CAM_JSON_OBJECT && j->token != CAM_JSON_ARRAY)
		return j->token != CAM_JSON_END && j->token != CAM_JSON_BAD;
	uint32_t level = j->depth - 1;
	while (j->depth > level) {
		enum cam_json_token token = cam_json_in_next(j);
		if (token == CAM_JSON_END || token == CAM_JSON_BAD)
			return false;
	}
	return true;
}

bool cam_json_in_member(struct cam_json_in *j, char *key, size_t key_bytes)
{
	if (cam_json_in_next(j) != CAM_JSON_KEY)
		return false;
	size_t n = j->text.n < key_bytes - 1 ? j->text.n : key_bytes - 1;
	memcpy(key, j->text.p, n);
	key[n] = 0;
	enum cam_json_token token = cam_json_in_next(j);
	return token != CAM_JSON_END && token != CAM_JSON_BAD;
}

bool cam_json_in_element(struct cam_json_in *j)
{
	enum cam_json_token token = cam_json_in_next(j);
	return token != CAM_JSON_ARRAY_END && token != CAM_JSON_END && token != CAM_JSON_BAD;
}

static bool number_text(const struct cam_json_in *j, char room[72])
{
	bool has = j->token == CAM_JSON_NUMBER ||
		   (j->token == CAM_JSON_STRING && j->text.n && is_number(j->text));
	if (!has || j->text.n >= 72)
		return false;
	memcpy(room, j->text.p, j->text.n);
	room[j->text.n] = 0;
	return true;
}

bool cam_json_in_scaled(const struct cam_json_in *j, uint32_t scale, int64_t *out)
{
	char text[72];
	if (!number_text(j, text))
		return false;
	/* Exact where a double would round: whole numbers and plain fractions. */
	long double v = strtold(text, NULL) * (long double)scale;
	if (!(v > -9.2e18L && v < 9.2e18L))
		return false;
	*out = (int64_t)roundl(v);
	return true;
}

bool cam_json_in_i64(const struct cam_json_in *j, int64_t *out)
{
	return cam_json_in_scaled(j, 1, out);
}
