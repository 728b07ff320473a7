// SPDX-License-Identifier: Apache-2.0
/*
 * The selection grammar: keys, values, and whole selections in words.
 *
 * One table has every key. Options of the command line, words of a quoted selection and parameters of a
 * URL all end in cam_selection_set(), so that they cannot differ.
 *
 * Example: "--at 03:14:07 --around=2s comm='my server'" is three pairs: (at, 03:14:07), (around, 2s),
 * (comm, my server). "03:14:07" alone is (at, 03:14:07).
 */
#include "base/buf.h"
#include "query/select.h"

#include <errno.h>
#include <stdio.h>

enum kind {
	FILTER,
	WHEN,
	FLAG,
};

enum flag {
	USER_ONLY,
	KERNEL_ONLY,
	IDLE,
	NO_IDLE,
};

static const struct key {
	const char *name;
	enum kind kind;
	int which; /* enum cam_filter, cam_when_key or flag */
} keys[] = {
	{"at", WHEN, CAM_WHEN_AT},
	{"around", WHEN, CAM_WHEN_AROUND},
	{"from", WHEN, CAM_WHEN_FROM},
	{"to", WHEN, CAM_WHEN_TO},
	{"last", WHEN, CAM_WHEN_LAST},
	{"event", WHEN, CAM_WHEN_EVENT},
	{"window", WHEN, CAM_WHEN_WINDOW},
	{"time", WHEN, CAM_WHEN_TIME},
	{"pid", FILTER, CAM_FILTER_PID},
	{"tid", FILTER, CAM_FILTER_TID},
	{"uid", FILTER, CAM_FILTER_UID},
	{"user", FILTER, CAM_FILTER_UID},
	{"cpu", FILTER, CAM_FILTER_CPU},
	{"comm", FILTER, CAM_FILTER_COMM},
	{"exe", FILTER, CAM_FILTER_EXE},
	{"cgroup", FILTER, CAM_FILTER_CGROUP},
	{"container", FILTER, CAM_FILTER_CONTAINER},
	{"pod", FILTER, CAM_FILTER_POD},
	{"event-type", FILTER, CAM_FILTER_ETYPE},
	{"match", FILTER, CAM_FILTER_MATCH},
	{"exclude", FILTER, CAM_FILTER_EXCLUDE},
	{"user-only", FLAG, USER_ONLY},
	{"kernel-only", FLAG, KERNEL_ONLY},
	{"idle", FLAG, IDLE},
	{"no-idle", FLAG, NO_IDLE},
};

static const struct key *find_key(struct cam_text name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (cam_text_equal(name, cam_text_of(keys[i].name)))
			return &keys[i];
	}
	return NULL;
}

static int set_flag(struct cam_selection *s, enum flag flag, struct cam_text value, char *why,
		    size_t why_bytes)
{
	bool on = !cam_text_equal(value, CAM_TEXT("0"));
	if (value.n && on && !cam_text_equal(value, CAM_TEXT("1"))) {
		snprintf(why, why_bytes, "takes no value (or 1, 0)");
		return -EINVAL;
	}
	switch (flag) {
	case USER_ONLY:
		s->user_given = on;
		break;
	case KERNEL_ONLY:
		s->kernel_given = on;
		break;
	case IDLE:
		s->idle_given = on;
		break;
	case NO_IDLE:
		s->no_idle_given = on;
		break;
	}
	return 0;
}

/* A user's name becomes its number; a number stays. */
static int set_user(struct cam_selection *s, struct cam_text value, char *why, size_t why_bytes)
{
	char name[256], number[16];
	uint32_t uid;
	if (value.n && value.p[0] >= '0' && value.p[0] <= '9')
		return cam_selection_add(s, CAM_FILTER_UID, value, why, why_bytes);
	int n = snprintf(name, sizeof(name), "%.*s", (int)(value.n < 255 ? value.n : 255), value.p);
	if (n <= 0 || (size_t)n != value.n || !s->world.user ||
	    !s->world.user(s->world.arg, name, &uid)) {
		snprintf(why, why_bytes, "there is no such user here; its number will do");
		return -EINVAL;
	}
	n = snprintf(number, sizeof(number), "%u", uid);
	return cam_selection_add(s, CAM_FILTER_UID, (struct cam_text){number, (size_t)n}, why,
				 why_bytes);
}

static int set_filter(struct cam_selection *s, enum cam_filter filter, struct cam_text value,
		      char *why, size_t why_bytes)
{
	char what[200] = "";
	int err = filter == CAM_FILTER_UID
			  ? set_user(s, value, what, sizeof(what))
			  : cam_selection_add(s, filter, value, what, sizeof(what));
	if (err)
		snprintf(why, why_bytes, "'%.*s': %s", (int)(value.n < 64 ? value.n : 64), value.p,
			 what);
	return err;
}

int cam_selection_set(struct cam_selection *s, struct cam_text key, struct cam_text value,
		      char *why, size_t why_bytes)
{
	const struct key *k = find_key(key);
	int err = -ENOENT;
	if (!k) {
		snprintf(why, why_bytes, "not a word of a selection; try at, last, pid, comm, …");
		return err;
	}
	switch (k->kind) {
	case FILTER:
		return set_filter(s, (enum cam_filter)k->which, value, why, why_bytes);
	case FLAG:
		return set_flag(s, (enum flag)k->which, value, why, why_bytes);
	case WHEN:
		s->when.world = s->world.time;
		err = cam_when_set(&s->when, (enum cam_when_key)k->which, value, why, why_bytes);
		if (!err)
			s->clock = CAM_SELECT_WHEN;
		break;
	}
	return err;
}

int cam_selection_check(struct cam_selection *s, char *why, size_t why_bytes)
{
	const char *wrong = s->user_given && s->kernel_given	? "--user-only and --kernel-only"
			    : s->idle_given && s->no_idle_given ? "--idle and --no-idle"
								: NULL;
	if (wrong) {
		snprintf(why, why_bytes, "%s exclude each other", wrong);
		return -EINVAL;
	}
	if (s->user_given || s->kernel_given)
		s->mode = s->user_given ? CAM_SELECT_USER : CAM_SELECT_KERNEL;
	if (s->idle_given || s->no_idle_given)
		s->with_idle = s->idle_given;
	return cam_when_check(&s->when, why, why_bytes);
}

int cam_selection_settle(struct cam_selection *s, struct cam_source *source, char *why,
			 size_t why_bytes)
{
	struct cam_when_range r;
	if (s->clock != CAM_SELECT_WHEN)
		return 0;
	int err = cam_when_settle(&s->when, source, &r, why, why_bytes);
	if (err)
		return err;
	s->clock = r.on_clock ? CAM_SELECT_CLOCK : CAM_SELECT_WALL;
	s->from_ns = r.from_ns;
	s->to_ns = r.to_ns;
	s->one_boot = r.on_clock;
	s->boot_id = r.boot_id;
	return 0;
}

/* One character of a word that may be quoted; false: the word ends here. */
static bool word_char(struct cam_text *s, char *quote, struct cam_buf *word)
{
	char c = *s->p;
	size_t used = 1;
	if (*quote && c == *quote) {
		*quote = 0;
	} else if (!*quote && (c == '\'' || c == '"')) {
		*quote = c;
	} else if (c == '\\' && *quote != '\'' && s->n > 1) {
		cam_buf_put_u8(word, (uint8_t)s->p[1]);
		used = 2;
	} else if (!*quote && (c == ' ' || c == '\t' || c == '\n')) {
		return false;
	} else {
		cam_buf_put_u8(word, (uint8_t)c);
	}
	*s = (struct cam_text){s->p + used, s->n - used};
	return true;
}

/* The next word: 1, 0: there is none, or -EINVAL: a quote stays open; -ENOMEM. */
static int next_word(struct cam_text *s, struct cam_buf *word)
{
	char quote = 0;
	cam_buf_clear(word);
	while (s->n && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n'))
		*s = (struct cam_text){s->p + 1, s->n - 1};
	if (!s->n)
		return 0;
	while (s->n && word_char(s, &quote, word))
		;
	if (cam_buf_error(word))
		return -ENOMEM;
	return quote ? -EINVAL : 1;
}

static struct cam_text text_of(const struct cam_buf *b)
{
	return b->len ? (struct cam_text){(const char *)b->data, b->len} : CAM_TEXT("");
}

static bool is_date(struct cam_text w)
{
	static const char form[] = "0000-00-00";
	for (size_t i = 0; i < w.n && i < sizeof(form) - 1; i++) {
		if (form[i] == '-' ? w.p[i] != '-' : w.p[i] < '0' || w.p[i] > '9')
			return false;
	}
	return w.n == sizeof(form) - 1;
}

/* A clock behind a date belongs to it: "2026-04-15 03:14:07" is one time. */
static int join_clock(struct cam_text *rest, struct cam_buf *date, struct cam_buf *room)
{
	struct cam_text behind = *rest;
	if (!is_date(text_of(date)) || next_word(&behind, room) <= 0)
		return 0;
	struct cam_text clock = text_of(room);
	if (!clock.n || clock.p[0] < '0' || clock.p[0] > '9' || !memchr(clock.p, ':', clock.n))
		return 0;
	cam_buf_put_u8(date, ' ');
	cam_buf_put(date, clock.p, clock.n);
	*rest = behind;
	return cam_buf_error(date);
}

/* The words of a selection as they are taken. */
struct reader {
	struct cam_text rest;
	struct cam_buf word, value, room;
};

/* The value of a key: what is behind its =, or the next word; of times a date may take two. */
static int take_value(struct reader *r, const struct key *k, struct cam_text given, bool equals,
		      char *why, size_t why_bytes)
{
	int more = equals ? 1 : next_word(&r->rest, &r->value);
	if (equals) {
		cam_buf_clear(&r->value);
		cam_buf_put(&r->value, given.p, given.n);
	}
	if (more <= 0) {
		snprintf(why, why_bytes, "%s needs a value", k->name);
		return -EINVAL;
	}
	int err = k->kind == WHEN ? join_clock(&r->rest, &r->value, &r->room) : 0;
	return err ? err : cam_buf_error(&r->value);
}

/* One word, and the one behind it where it needs a value. */
static int give_word(struct reader *r, cam_selection_word_fn *fn, void *arg, char *why,
		     size_t why_bytes)
{
	struct cam_text w = text_of(&r->word), value = {"", 0};
	bool dashed = cam_text_starts(w, CAM_TEXT("--"));
	struct cam_text name = dashed ? (struct cam_text){w.p + 2, w.n - 2} : w;
	const char *equals = memchr(name.p, '=', name.n);
	if (equals) {
		value = (struct cam_text){equals + 1, name.n - (size_t)(equals + 1 - name.p)};
		name.n = (size_t)(equals - name.p);
	}
	const struct key *k = find_key(name);
	int err = 0;
	if (!k && !dashed) {
		err = join_clock(&r->rest, &r->word, &r->room);
		name = (struct cam_text){"", 0};
		value = text_of(&r->word);
	} else if (k && k->kind != FLAG) {
		err = take_value(r, k, value, equals, why, why_bytes);
		value = text_of(&r->value);
	}
	return err ? err : fn(arg, name, value, why, why_bytes);
}

int cam_selection_words(struct cam_text words, cam_selection_word_fn *fn, void *arg, char *why,
			size_t why_bytes)
{
	struct reader r = {.rest = words,
			   .word = CAM_BUF(4096),
			   .value = CAM_BUF(4096),
			   .room = CAM_BUF(4096)};
	int err = 0, more = 1;
	snprintf(why, why_bytes, "a word is too long");
	while (!err && (more = next_word(&r.rest, &r.word)) > 0)
		err = give_word(&r, fn, arg, why, why_bytes);
	if (more == -EINVAL)
		snprintf(why, why_bytes, "a quote is not closed");
	cam_buf_free(&r.word);
	cam_buf_free(&r.value);
	cam_buf_free(&r.room);
	return more < 0 ? more : err;
}

/* A word that is no key: a window's name, an event's, or a time. */
enum cam_when_key cam_selection_bare(struct cam_text word)
{
	return cam_text_ends(word, CAM_TEXT(".pcw"))	? CAM_WHEN_WINDOW
	       : cam_text_starts(word, CAM_TEXT("ev-")) ? CAM_WHEN_EVENT
							: CAM_WHEN_AT;
}

static int set_word(void *arg, struct cam_text name, struct cam_text value, char *why,
		    size_t why_bytes)
{
	char what[CAM_WHEN_WHY_BYTES];
	if (!name.n)
		return cam_selection_set(arg, cam_text_of(cam_when_name(cam_selection_bare(value))),
					 value, why, why_bytes);
	int err = cam_selection_set(arg, name, value, what, sizeof(what));
	if (err)
		snprintf(why, why_bytes, "%.*s: %s", (int)(name.n < 32 ? name.n : 32), name.p,
			 what);
	return err;
}

int cam_selection_read(struct cam_selection *s, struct cam_text words, char *why, size_t why_bytes)
{
	return cam_selection_words(words, set_word, s, why, why_bytes);
}
