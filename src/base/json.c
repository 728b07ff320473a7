// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define EACH_BYTE(v) (UINT64_C(0x0101010101010101) * (v))

/* A bit for each byte of a word that does not stand for itself; bits above the first may be wrong. */
static uint64_t odd_bytes(uint64_t word)
{
	uint64_t quote = word ^ EACH_BYTE('"'), escape = word ^ EACH_BYTE('\\');
	uint64_t found = word | (word - EACH_BYTE(0x20)) | (word + EACH_BYTE(1)) |
			 (quote - EACH_BYTE(1)) | (escape - EACH_BYTE(1));
	return found & EACH_BYTE(0x80);
}

static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many bytes stand for themselves: nearly all of nearly every name. */
static size_t plain_bytes(struct cam_text s)
{
	size_t n = 0;
	uint64_t word;
	for (; s.n - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, s.p + n, sizeof(word));
		if (odd_bytes(word))
			break;
	}
	while (n < s.n && is_plain(s.p[n]))
		n++;
	return n;
}

static void put_string(struct cam_out *out, struct cam_text s)
{
	size_t whole = plain_bytes(s);
	if (s.n && whole == s.n && s.n < CAM_OUT_ROOM - 2) {
		char *p = cam_out_room(out, s.n + 2);
		*p++ = '"';
		memcpy(p, s.p, s.n);
		p[s.n] = '"';
		out->len += s.n + 2;
		return;
	}
	cam_out_bytes(out, "\"", 1);
	while (s.n) {
		size_t plain = plain_bytes(s);
		cam_out_bytes(out, s.p, plain);
		s.p += plain;
		s.n -= plain;
		if (!s.n)
			break;
		size_t len = cam_utf8_length(s);
		unsigned char first = (unsigned char)s.p[0];
		if (len == 0) {
			cam_out_str(out, "\\ufffd");
			len = 1;
		} else if (first == '"' || first == '\\') {
			cam_out_printf(out, "\\%c", first);
		} else if (first < 0x20 || first == 0x7f) {
			cam_out_printf(out, "\\u%04x", first);
		} else {
			cam_out_bytes(out, s.p, len);
		}
		s.p += len;
		s.n -= len;
	}
	cam_out_bytes(out, "\"", 1);
}

char *cam_json_write_digits(char *p, uint64_t v)
{
	unsigned n = 1;
	for (uint64_t above = v; above >= 10; above /= 10)
		n++;
	for (unsigned at = n; at--; v /= 10)
		p[at] = (char)('0' + v % 10);
	return p + n;
}

static void put_u64(struct cam_out *out, uint64_t v)
{
	char *p = cam_out_room(out, CAM_JSON_DIGITS);
	out->len += (size_t)(cam_json_write_digits(p, v) - p);
}

/* Keys are words of the program: nothing in them is escaped. */
static void lead_in(struct cam_json *j, const char *key)
{
	size_t n = key ? strlen(key) : 0;
	char *p = cam_out_room(j->out, n + 4), *start = p;
	if (j->comma)
		*p++ = ',';
	j->comma = true;
	if (key) {
		*p++ = '"';
		while (*key)
			*p++ = *key++;
		*p++ = '"';
		*p++ = ':';
	}
	j->out->len += (size_t)(p - start);
}

void cam_json_open(struct cam_json *j, const char *key, char bracket)
{
	lead_in(j, key);
	cam_out_bytes(j->out, &bracket, 1);
	j->comma = false;
}

void cam_json_close(struct cam_json *j, char bracket)
{
	cam_out_bytes(j->out, &bracket, 1);
	j->comma = true;
}

void cam_json_key(struct cam_json *j, const char *key)
{
	lead_in(j, key);
}

void cam_json_string(struct cam_json *j, struct cam_text value)
{
	put_string(j->out, value);
	j->comma = true;
}

void cam_json_text(struct cam_json *j, const char *key, struct cam_text value)
{
	lead_in(j, key);
	put_string(j->out, value);
}

void cam_json_u64(struct cam_json *j, const char *key, uint64_t value)
{
	lead_in(j, key);
	put_u64(j->out, value);
}

void cam_json_i64(struct cam_json *j, const char *key, int64_t value)
{
	lead_in(j, key);
	cam_out_printf(j->out, "%" PRId64, value);
}

void cam_json_number(struct cam_json *j, const char *key, uint64_t whole, uint32_t fraction,
		     int digits)
{
	lead_in(j, key);
	cam_out_printf(j->out, "%" PRIu64 ".%0*" PRIu32, whole, digits, fraction);
}

void cam_json_double(struct cam_json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		cam_json_null(j, key);
		return;
	}
	lead_in(j, key);
	cam_out_printf(j->out, "%.9g", value);
}

void cam_json_bool(struct cam_json *j, const char *key, bool value)
{
	lead_in(j, key);
	cam_out_str(j->out, value ? "true" : "false");
}

void cam_json_null(struct cam_json *j, const char *key)
{
	lead_in(j, key);
	cam_out_str(j->out, "null");
}
