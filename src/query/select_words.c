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

/* A word that is no key: a window's name, or a time. */
static int set_bare(struct cam_selection *s, struct cam_text word, char *why, size_t why_bytes)
{
	bool window = cam_text_ends(word, CAM_TEXT(".pcw"));
	return cam_selection_set(s, window ? CAM_TEXT("window") : CAM_TEXT("at"), word, why,
				 why_bytes);
}

/* One word, and the one behind it where it needs a value. */
static int set_word(struct cam_selection *s, struct cam_text *rest, const struct cam_buf *word,
		    struct cam_buf *behind, char *why, size_t why_bytes)
{
	struct cam_text w = text_of(word), value = {"", 0};
	bool dashed = cam_text_starts(w, CAM_TEXT("--"));
	struct cam_text name = dashed ? (struct cam_text){w.p + 2, w.n - 2} : w;
	const char *equals = memchr(name.p, '=', name.n);
	if (equals) {
		value = (struct cam_text){equals + 1, name.n - (size_t)(equals + 1 - name.p)};
		name.n = (size_t)(equals - name.p);
	}
	const struct key *k = find_key(name);
	if (!k && !dashed)
		return set_bare(s, w, why, why_bytes);
	if (k && k->kind != FLAG && !equals) {
		int err = next_word(rest, behind);
		if (err <= 0) {
			snprintf(why, why_bytes, "%s needs a value", k->name);
			return -EINVAL;
		}
		value = text_of(behind);
	}
	char what[CAM_WHEN_WHY_BYTES];
	int err = cam_selection_set(s, name, value, what, sizeof(what));
	if (err)
		snprintf(why, why_bytes, "%.*s: %s", (int)(name.n < 32 ? name.n : 32), name.p,
			 what);
	return err;
}

int cam_selection_read(struct cam_selection *s, struct cam_text words, char *why, size_t why_bytes)
{
	struct cam_buf word = CAM_BUF(4096), behind = CAM_BUF(4096);
	int err = 0, more = 1;
	while (!err && (more = next_word(&words, &word)) > 0)
		err = set_word(s, &words, &word, &behind, why, why_bytes);
	if (more < 0) {
		snprintf(why, why_bytes,
			 more == -EINVAL ? "a quote is not closed" : "a word is too long");
		err = more;
	}
	cam_buf_free(&word);
	cam_buf_free(&behind);
	return err;
}
