// SPDX-License-Identifier: Apache-2.0
/*
 * One pass. At each place where a word begins, the forms of redact.h are tried; the first that fits is
 * replaced, and the pass goes on behind it.
 *
 * Invariants
 *  1. Every byte of the text is either copied once or lies in a value that was replaced.
 *  2. The work at a place is bounded by the length of the word there, and words do not overlap: linear.
 */
#include "events/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MARK	       "[redacted]"
#define MAX_NESTED     8u /* backslashes before a quote */
#define MIN_CREDENTIAL 6u /* of what follows "Bearer": shorter is a word of a sentence */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool ends_like(struct cam_text word, const char *end)
{
	size_t n = strlen(end);
	return word.n >= n && !strncasecmp(word.p + word.n - n, end, n);
}

static bool is_secret_key(struct cam_text word)
{
	/* Those of three and four letters end other words, too: bypass, monkey. */
	static const char *const ends[] = {"password",	    "passwd",	  "passphrase",
					   "secret",	    "token",	  "apikey",
					   "secretkey",	    "privatekey", "accesskey",
					   "signingkey",    "credential", "credentials",
					   "authorization", "cookie",	  "sessionid"};
	static const char *const whole[] = {"pass", "pwd", "key"};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends_like(word, ends[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		size_t n = strlen(whole[i]);
		if (ends_like(word, whole[i]) &&
		    (word.n == n || strchr("_-.", word.p[word.n - n - 1])))
			return true;
	}
	return false;
}

static struct cam_text word_at(struct cam_text s)
{
	size_t n = 0;
	while (n < s.n && in_word(s.p[n]))
		n++;
	return (struct cam_text){s.p, n};
}

static size_t blanks(struct cam_text s, size_t from)
{
	size_t i = from;
	while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
		i++;
	return i - from;
}

/* How long the value is that begins there; a quoted one up to its quote. The mark of one that was
 * replaced before belongs to it. */
static size_t value_bytes(struct cam_text s, size_t from)
{
	size_t i = from;
	if (s.n - from >= strlen(MARK) && !memcmp(s.p + from, MARK, strlen(MARK)))
		i += strlen(MARK);
	while (i < s.n && !strchr(" \t\r\n\"',;&)}]", s.p[i]))
		i++;
	return i - from;
}

static size_t quoted_bytes(struct cam_text s, size_t from, char quote)
{
	size_t i = from;
	while (i < s.n && s.p[i] != quote)
		i += 1 + (s.p[i] == '\\' && i + 1 < s.n);
	return i - from;
}

/* A scheme before the credential itself: "Bearer abc". */
static size_t scheme_bytes(struct cam_text s, size_t from)
{
	static const char *const schemes[] = {"bearer", "basic", "digest", "token"};
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t n = strlen(schemes[i]);
		if (s.n - from > n && !strncasecmp(s.p + from, schemes[i], n) &&
		    s.p[from + n] == ' ')
			return n + blanks(s, from + n);
	}
	return 0;
}

/* A quote that begins there, with the backslashes that it has inside of another text: \"; 0: there is none. */
static size_t quote_bytes(struct cam_text s, size_t from)
{
	size_t i = from;
	while (i < s.n && i - from < MAX_NESTED && s.p[i] == '\\')
		i++;
	return i < s.n && (s.p[i] == '"' || s.p[i] == '\'') ? i + 1 - from : 0;
}

/* Cookies, and what Digest needs, are several: all that is left of the line, or of what is quoted. */
static size_t header_bytes(struct cam_text s, size_t from, const char *ends)
{
	size_t i = from;
	while (i < s.n && !strchr(ends, s.p[i]))
		i++;
	return i - from;
}

static size_t plain_bytes(struct cam_text s, struct cam_text word, bool header, size_t from)
{
	size_t scheme = scheme_bytes(s, from);
	if (header && ends_like(word, "cookie"))
		return header_bytes(s, from, "\r\n\"'\\");
	if (header && scheme && !strncasecmp(s.p + from, "digest", 6))
		return header_bytes(s, from, "\r\n");
	return scheme + value_bytes(s, from + scheme);
}

/* key=value, key: value, "key": "value", --key value. How many bytes come before the value; *value: its. */
static bool find_pair(struct cam_text s, struct cam_text word, bool option, size_t *before,
		      size_t *value)
{
	size_t i = word.n;
	if (!is_secret_key(word))
		return false;
	i += quote_bytes(s, i);
	size_t gap = blanks(s, i);
	bool joined = i + gap < s.n && (s.p[i + gap] == '=' || s.p[i + gap] == ':');
	bool header = joined && s.p[i + gap] == ':';
	if (joined)
		i += gap + 1;
	else if (!option || !gap)
		return false;
	i += blanks(s, i);
	size_t quote = quote_bytes(s, i);
	*before = i + quote;
	/* One with a backslash ends with one. */
	if (quote)
		*value = quote > 1 ? header_bytes(s, i + quote, "\\\"")
				   : quoted_bytes(s, i + quote, s.p[i]);
	else
		*value = plain_bytes(s, word, header, i);
	return *value > 0;
}

static bool find_scheme(struct cam_text s, struct cam_text word, size_t *before, size_t *value)
{
	if (!(word.n == 6 && !strncasecmp(word.p, "bearer", 6)) || s.n <= word.n ||
	    s.p[word.n] != ' ')
		return false;
	*before = word.n + blanks(s, word.n);
	*value = value_bytes(s, *before);
	return *value >= MIN_CREDENTIAL;
}

/* Tokens that are known by their own form. */
static bool find_known(struct cam_text s, struct cam_text word, size_t *before, size_t *value)
{
	static const struct {
		const char *start;
		size_t least;
	} known[] = {
		{"AKIA", 16},  {"ASIA", 16},  {"ghp_", 20},	   {"gho_", 20},
		{"ghs_", 20},  {"ghu_", 20},  {"github_pat_", 20}, {"glpat-", 16},
		{"xoxb-", 16}, {"xoxp-", 16}, {"eyJ", 40},	   {"sk_live_", 16},
	};
	static const char pem[] = "-----BEGIN";
	*before = 0;
	if (cam_text_starts(s, CAM_TEXT(pem)) && memmem(s.p, s.n, "PRIVATE KEY", 11)) {
		*value = s.n;
		return true;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (word.n >= known[i].least &&
		    cam_text_starts(word, cam_text_of(known[i].start))) {
			*value = word.n;
			return true;
		}
	}
	return false;
}

/* ://user:password@ */
static bool find_login(struct cam_text s, size_t *before, size_t *value)
{
	size_t colon = 0, at = 0;
	if (!cam_text_starts(s, CAM_TEXT("://")))
		return false;
	for (size_t i = 3; i < s.n && !strchr("/ \t\r\n\"'?#", s.p[i]); i++) {
		if (s.p[i] == ':' && !colon)
			colon = i;
		/* The last one: a password may have it, a host has not. */
		if (s.p[i] == '@' && colon)
			at = i;
	}
	*before = colon + 1;
	*value = at ? at - colon - 1 : 0;
	return *value > 0;
}

unsigned cam_redact(struct cam_text s, struct cam_buf *out)
{
	unsigned found = 0;
	while (s.n) {
		size_t before, value;
		struct cam_text word = word_at(s);
		bool option = word.n > 2 && word.p[0] == '-';
		bool hit = word.n ? find_known(s, word, &before, &value) ||
					    find_pair(s, word, option, &before, &value) ||
					    find_scheme(s, word, &before, &value)
				  : find_login(s, &before, &value);
		size_t copied = hit ? before : word.n ? word.n : 1;
		cam_buf_put(out, s.p, copied);
		if (hit) {
			cam_buf_put(out, MARK, strlen(MARK));
			copied += value;
			found++;
		}
		s.p += copied;
		s.n -= copied;
	}
	return found;
}
