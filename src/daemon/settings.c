// SPDX-License-Identifier: Apache-2.0
/*
 * One table, from which everything about a setting follows: how its text is read, where the value
 * goes, which bytes a reload compares. So a new setting is one row (and its member).
 *
 * Invariants
 *  1. A member is written only by its row's parser, into bytes that were zero: two settings are
 *     equal exactly if their bytes are.
 *  2. texts[id] parses to the value of id, always.
 *  3. After cam_settings_load() every member has a value; "no limit" is 0.
 *
 * Example: perfcam.conf line 3 says `keep = 24h`, the command line says --keep 6h. load() parses
 * 12h (default), 24h (file:3), 6h (flag): keep_ns is 6 h, its origin is the flag. A reload after
 * the file changed to 48h finds 6 h again: nothing is applied.
 */
#include "daemon/settings.h"

#include "base/units.h"
#include "daemon/conf.h"
#include "daemon/paths.h"
#include "daemon/settings_parse.h"
#include "daemon/settings_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cam_setting_row *row_of(size_t id)
{
	return cam_setting_row((enum cam_setting_id)id);
}

const struct cam_setting *cam_setting_of(enum cam_setting_id id)
{
	return &row_of(id)->shown;
}

/* Whole, or not at all. */
static bool copied(const char *text, char *room, size_t room_bytes)
{
	size_t n = strlen(text) + 1;
	if (n > room_bytes)
		return false;
	memcpy(room, text, n);
	return true;
}

static int parse_path(struct cam_settings *s, const struct cam_setting_row *r, const char *v,
		      bool flag, struct cam_why why)
{
	if (!flag && v[0] != '/') {
		snprintf(why.room, why.bytes, "not an absolute path");
		return -EINVAL;
	}
	if (!copied(v, (char *)s + r->at, r->bytes)) {
		snprintf(why.room, why.bytes, "longer than a path may be");
		return -EINVAL;
	}
	return 0;
}

_Static_assert(sizeof(enum cam_capture_event) == sizeof(unsigned) &&
		       sizeof(enum cam_source_choice) == sizeof(unsigned) &&
		       sizeof(enum cam_unwind_mode) == sizeof(unsigned),
	       "an enum of another size");

static int parse_choice(const char *v, const char *words, void *member, struct cam_why why)
{
	int place;
	int err = cam_parse_choice(v, words, &place, why);
	if (!err)
		*(unsigned *)member = (unsigned)place;
	return err;
}

static int parse_value(struct cam_settings *s, const struct cam_setting_row *r, const char *v,
		       bool flag, struct cam_why why)
{
	void *member = (char *)s + r->at;
	switch (r->kind) {
	case CAM_KIND_PATH:
		return parse_path(s, r, v, flag, why);
	case CAM_KIND_DURATION:
		return cam_parse_duration(v, r->lo, r->hi, member, why);
	case CAM_KIND_COUNT:
		return cam_parse_count(v, (uint32_t)r->lo, (uint32_t)r->hi, member, why);
	case CAM_KIND_CHOICE:
		return parse_choice(v, r->shown.value_name, member, why);
	case CAM_KIND_BOOL:
		return cam_parse_bool(v, member, why);
	case CAM_KIND_PIDS:
		return cam_parse_pids(v, s->pids, CAM_SETTINGS_PIDS, &s->n_pids, why);
	case CAM_KIND_USER:
		return cam_parse_user(v, member, why);
	case CAM_KIND_CPUS:
		return cam_parse_cpus(v, s->cpus, CAM_SETTINGS_CPUS, &s->n_cpus, why);
	case CAM_KIND_CGROUP:
		return cam_parse_cgroup(v, member, r->bytes, why);
	case CAM_KIND_SIZE:
		return cam_parse_size(v, r->lo, member, why);
	case CAM_KIND_AMOUNT:
		return cam_parse_amount(v, r->lo, member, why);
	case CAM_KIND_PERCENT:
		return cam_parse_percent(v, member, why);
	case CAM_KIND_LISTEN:
		return cam_parse_listen(v, s->listen.address, sizeof(s->listen.address),
					&s->listen.port, why);
	case CAM_KIND_HOST:
		return cam_parse_host(v, member, r->bytes, why);
	case CAM_KIND_NAMES:
		return cam_parse_names(v, member, r->bytes, why);
	case CAM_KIND_JOURNAL:
		return cam_parse_journal(v, member, r->bytes, why);
	case CAM_KIND_LOGS:
		return cam_parse_logs(v, member, r->bytes, why);
	}
	return -EINVAL;
}

/* No value: what a setting is before anybody says anything. */
static void clear(struct cam_settings *s, enum cam_setting_id id)
{
	memset((char *)s + row_of(id)->at, 0, row_of(id)->bytes);
	s->texts[id][0] = '\0';
	if (row_of(id)->kind == CAM_KIND_USER)
		s->uid = CAM_UID_ANY;
}

static void describe(const struct cam_settings *s, enum cam_setting_id id, struct cam_origin origin,
		     const char *value, const char *what, char *why)
{
	if (origin.kind == CAM_FROM_FILE)
		snprintf(why, CAM_SETTINGS_WHY_BYTES, "%s:%u: %s = '%.128s': %s", s->file,
			 origin.line, row_of(id)->shown.name, value, what);
	else
		snprintf(why, CAM_SETTINGS_WHY_BYTES, "--%s '%.128s': %s", row_of(id)->shown.name,
			 value, what);
}

int cam_settings_set(struct cam_settings *s, enum cam_setting_id id, const char *value,
		     struct cam_origin origin, char why[CAM_SETTINGS_WHY_BYTES])
{
	const struct cam_setting_row *r = row_of(id);
	char what[256];
	if (!*value && r->shown.flag && origin.kind == CAM_FROM_FLAG)
		value = "yes"; /* --tree */
	if (!*value) {
		origin = (struct cam_origin){CAM_FROM_DEFAULT, 0};
		value = r->shown.fallback ? r->shown.fallback : "";
	}
	clear(s, id);
	s->origins[id] = origin;
	if (!*value)
		return 0;
	bool lifted = r->limit && (strcmp(value, "none") == 0 || strcmp(value, "0") == 0);
	int err = lifted ? 0
			 : parse_value(s, r, value, origin.kind == CAM_FROM_FLAG,
				       (struct cam_why){what, sizeof(what)});
	if (!err && r->kind != CAM_KIND_PATH &&
	    !copied(value, s->texts[id], sizeof(s->texts[id]))) {
		snprintf(what, sizeof(what), "longer than %zu bytes", sizeof(s->texts[id]) - 1);
		err = -EINVAL;
	}
	if (err) {
		describe(s, id, origin, value, what, why);
		clear(s, id);
		return err;
	}
	return 0;
}

/* Single-character changes that make one word of the other; only small answers matter. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[32];
	size_t n = strlen(b), m = strlen(a);
	if (n >= 31 || m >= 31)
		return 31;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; i <= m; i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			best = row[j] + 1 < best ? row[j] + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[n];
}

static int unknown_key(const struct cam_settings *s, unsigned line, const char *key, char *why)
{
	unsigned best = 3;
	const char *like = NULL;
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		unsigned d = distance(key, row_of(i)->shown.name);
		if (d < best) {
			best = d;
			like = row_of(i)->shown.name;
		}
	}
	if (like)
		snprintf(why, CAM_SETTINGS_WHY_BYTES, "%s:%u: unknown key '%.64s'; try %s", s->file,
			 line, key, like);
	else
		snprintf(why, CAM_SETTINGS_WHY_BYTES,
			 "%s:%u: unknown key '%.64s'; perfcam config lists the keys", s->file, line,
			 key);
	return -EINVAL;
}

struct filling {
	struct cam_settings *s;
	char *why;
	unsigned lines[CAM_SETTINGS]; /* where each was set; 0: not yet */
	unsigned first_run;	      /* the first rule that starts a program; 0: none */
	bool of_root;		      /* the file that was read, and nobody else can write it */
};

/* Only whether it is one: who acts on rules makes them of the text again. */
static int take_rule(struct filling *f, unsigned line, const char *value)
{
	struct cam_settings *s = f->s;
	struct cam_rule *rule = malloc(sizeof(*rule));
	char what[256] = "";
	int err = rule ? cam_rule_parse(rule, cam_text_of(value), what, sizeof(what)) : -ENOMEM;
	bool runs = !err && rule->argv[0];
	if (!err)
		cam_rule_free(rule);
	free(rule);
	if (!err && s->n_rules == CAM_SETTINGS_RULES) {
		snprintf(what, sizeof(what), "more than %d rules", CAM_SETTINGS_RULES);
		err = -EINVAL;
	}
	if (err) {
		snprintf(f->why, CAM_SETTINGS_WHY_BYTES, "%s:%u: %s", s->file, line,
			 err == -ENOMEM ? strerror(ENOMEM) : what);
		return err;
	}
	if (runs && !f->first_run)
		f->first_run = line;
	s->rules[s->n_rules].line = line;
	copied(value, s->rules[s->n_rules].text, sizeof(s->rules[0].text));
	s->n_rules++;
	return 0;
}

static int take_key(void *arg, unsigned line, const char *key, const char *value)
{
	struct filling *f = arg;
	if (!strcmp(key, "on"))
		return take_rule(f, line, value);
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		if (strcmp(row_of(i)->shown.name, key) != 0)
			continue;
		if (f->lines[i]) {
			snprintf(f->why, CAM_SETTINGS_WHY_BYTES,
				 "%s:%u: %s is already set in line %u; remove one", f->s->file,
				 line, key, f->lines[i]);
			return -EINVAL;
		}
		f->lines[i] = line;
		return cam_settings_set(f->s, (enum cam_setting_id)i, value,
					(struct cam_origin){CAM_FROM_FILE, line}, f->why);
	}
	return unknown_key(f->s, line, key, f->why);
}

/* Starting programs is for whoever is root already. */
static int check_run(const struct filling *f)
{
	const struct cam_settings *s = f->s;
	if (f->first_run && !s->allow_run) {
		snprintf(f->why, CAM_SETTINGS_WHY_BYTES,
			 "%s:%u: a rule that runs a program needs allow-run = yes", s->file,
			 f->first_run);
		return -EINVAL;
	}
	if (!s->allow_run || f->of_root)
		return 0;
	snprintf(
		f->why, CAM_SETTINGS_WHY_BYTES,
		"%s:%u: allow-run counts only in a file that belongs to root and that nobody else can "
		"write",
		s->file, s->origins[CAM_SET_ALLOW_RUN].line);
	return -EPERM;
}

static int load_file(const char *given, struct cam_settings *s, char *why)
{
	struct filling f = {.s = s, .why = why};
	int err = 0;
	if (!given)
		err = cam_paths_config(s->file, sizeof(s->file));
	else if (!copied(given, s->file, sizeof(s->file)))
		err = -ENAMETOOLONG;
	/* Nobody asked for a file, and this user has no place for one. */
	if (err && !given) {
		s->file[0] = '\0';
		return 0;
	}
	if (!err)
		err = cam_conf_read(s->file, take_key, &f, &f.of_root, why, CAM_SETTINGS_WHY_BYTES);
	else
		snprintf(why, CAM_SETTINGS_WHY_BYTES, "--config: %s", strerror(-err));
	/* A home that cannot be entered (that of whoever one was before setuid) has none either. */
	if (!given && (err == -ENOENT || (err == -EACCES && access(s->file, F_OK)))) {
		s->file[0] = '\0';
		return 0;
	}
	return err ? err : check_run(&f);
}

/* "1536M", as large a unit as is exact. */
static void show_size(uint64_t bytes, char *room, size_t room_bytes)
{
	static const char units[] = " KMGT";
	unsigned unit = 0;
	for (; unit < 4 && bytes && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(room, room_bytes, unit ? "%llu%c" : "%llu", (unsigned long long)bytes,
		 units[unit]);
}

/* What depends on the user, or on other settings. */
static int settle(struct cam_settings *s, char *why)
{
	if (!s->store[0] && cam_paths_store(s->store, sizeof(s->store))) {
		snprintf(why, CAM_SETTINGS_WHY_BYTES,
			 "no store: this user has no home directory; say --store DIR");
		return -EINVAL;
	}
	if (s->origins[CAM_SET_MAX_PINNED].kind == CAM_FROM_DEFAULT) {
		s->max_pinned_bytes = s->max_bytes / 2;
		if (s->max_pinned_bytes)
			show_size(s->max_pinned_bytes, s->texts[CAM_SET_MAX_PINNED],
				  sizeof(s->texts[0]));
		else
			copied("none", s->texts[CAM_SET_MAX_PINNED], sizeof(s->texts[0]));
	}
	if (s->tree && !s->n_pids) {
		describe(s, CAM_SET_TREE, s->origins[CAM_SET_TREE], s->texts[CAM_SET_TREE],
			 "without pid there is no tree to follow", why);
		return -EINVAL;
	}
	return 0;
}

static int load(const struct cam_settings_given *given, struct cam_settings *s, char *why)
{
	int err = 0;
	for (size_t i = 0; i < CAM_SETTINGS && !err; i++)
		err = cam_settings_set(s, (enum cam_setting_id)i, "",
				       (struct cam_origin){CAM_FROM_DEFAULT, 0}, why);
	if (!err)
		err = load_file(given->config, s, why);
	for (size_t i = 0; i < CAM_SETTINGS && !err; i++) {
		if (given->flags[i])
			err = cam_settings_set(s, (enum cam_setting_id)i, given->flags[i],
					       (struct cam_origin){CAM_FROM_FLAG, 0}, why);
	}
	return err ? err : settle(s, why);
}

int cam_settings_load(const struct cam_settings_given *given, struct cam_settings *out,
		      char why[CAM_SETTINGS_WHY_BYTES])
{
	struct cam_settings *s = calloc(1, sizeof(*s));
	if (!s) {
		snprintf(why, CAM_SETTINGS_WHY_BYTES, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	int err = load(given, s, why);
	if (!err)
		*out = *s;
	free(s);
	return err;
}

void cam_settings_apply(struct cam_settings *running, const struct cam_settings *fresh,
			uint64_t *applied, uint64_t *held)
{
	*applied = *held = 0;
	for (size_t i = 0; i < CAM_SETTINGS; i++) {
		const struct cam_setting_row *r = row_of(i);
		char *old = (char *)running + r->at;
		const char *new = (const char *)fresh + r->at;
		bool same = memcmp(old, new, r->bytes) == 0;
		if (!same && !r->shown.live) {
			*held |= (uint64_t)1 << i;
			continue;
		}
		if (!same) {
			*applied |= (uint64_t)1 << i;
			memcpy(old, new, r->bytes);
		}
		running->origins[i] = fresh->origins[i];
		memcpy(running->texts[i], fresh->texts[i], sizeof(running->texts[i]));
	}
	memcpy(running->file, fresh->file, sizeof(running->file));
	memcpy(running->rules, fresh->rules, sizeof(running->rules));
	running->n_rules = fresh->n_rules;
}

void cam_settings_names(uint64_t set, char *room, size_t room_bytes)
{
	size_t n = 0;
	room[0] = '\0';
	for (size_t i = 0; i < CAM_SETTINGS && n < room_bytes; i++) {
		if (!(set >> i & 1))
			continue;
		int more = snprintf(room + n, room_bytes - n, "%s%s", n ? ", " : "",
				    row_of(i)->shown.name);
		n += more > 0 ? (size_t)more : 0;
	}
}

struct cam_retention cam_settings_retention(const struct cam_settings *s, uint64_t total_bytes)
{
	return (struct cam_retention){
		.keep_ns = s->keep_ns,
		.max_bytes = s->max_bytes,
		.min_free_bytes = s->min_free.percent ? total_bytes / 100 * s->min_free.percent
						      : s->min_free.bytes,
		.max_pinned_bytes = s->max_pinned_bytes,
	};
}

const char *cam_settings_text(const struct cam_settings *s, enum cam_setting_id id)
{
	return row_of(id)->kind == CAM_KIND_PATH ? (const char *)s + row_of(id)->at : s->texts[id];
}

void cam_settings_origin(const struct cam_settings *s, enum cam_setting_id id, char *room,
			 size_t room_bytes)
{
	if (s->origins[id].kind == CAM_FROM_FILE)
		snprintf(room, room_bytes, "%s:%u", s->file, s->origins[id].line);
	else
		snprintf(room, room_bytes, "%s",
			 s->origins[id].kind == CAM_FROM_FLAG ? "flag" : "default");
}
