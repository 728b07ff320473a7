// SPDX-License-Identifier: Apache-2.0
/*
 * A selection: a time range plus filters.
 *
 * Filters of one kind add up ("pid 1 or 2"), filters of different kinds narrow ("and"); match
 * narrows with every pattern, exclude with any. Patterns are POSIX extended regular expressions,
 * tried on the comm and on each frame's label by itself, unanchored. A comm or event type is
 * compared as a whole: equal, or by shell wildcards (* ? []). So is a program's path, or without a '/'
 * its last part; and a cgroup, which also means all below it.
 *
 * Without an event type the selection takes the first one of the first window (in others also
 * under other modifiers: cycles for cycles:u) and counts the rest: samples of different events have
 * no common unit. "*" takes all.
 */
#pragma once
#include "base/buf.h"
#include "model/cursor.h"
#include "query/progress.h"
#include "query/when.h"

#include <regex.h>

enum cam_filter {
	CAM_FILTER_PID,	 /* 1,2,3 */
	CAM_FILTER_TID,	 /* 1,2,3 */
	CAM_FILTER_UID,	 /* 0,1000 (names are the caller's to look up) */
	CAM_FILTER_CPU,	 /* 0-3,8 */
	CAM_FILTER_COMM, /* one name or wildcard */
	CAM_FILTER_ETYPE,
	CAM_FILTER_EXE,
	CAM_FILTER_CGROUP,
	CAM_FILTER_CONTAINER, /* the beginning of an id, or of a name (model/container.h) */
	CAM_FILTER_POD,	      /* the beginning of a uid */
	CAM_FILTER_MATCH,     /* one expression */
	CAM_FILTER_EXCLUDE,
	CAM_FILTER_MAX,
};

enum cam_select_clock {
	CAM_SELECT_ALWAYS, /* no time range */
	CAM_SELECT_CLOCK,  /* from, to on the windows' own clock */
	CAM_SELECT_WALL,   /* from, to in UTC nanoseconds since 1970 */
	CAM_SELECT_WHEN,   /* as written in `when`; cam_selection_settle() makes it one of these */
};

enum cam_select_mode {
	CAM_SELECT_ANY_MODE,
	CAM_SELECT_USER,   /* sampled while in user space */
	CAM_SELECT_KERNEL, /* sampled while in the kernel */
};

#define CAM_SELECT_MAX_VALUES	   1024u
#define CAM_SELECT_MAX_EXPRESSIONS 15u	 /* of match, and of exclude */
#define CAM_SELECT_MAX_PATTERN	   1024u /* bytes */
#define CAM_SELECT_MAX_CPU	   8191u

struct cam_select_values {
	uint32_t *v;
	size_t n, cap;
};
struct cam_select_patterns {
	char **v;
	size_t n, cap;
};
struct cam_select_expressions {
	regex_t *v;
	size_t n, cap;
	unsigned steps; /* of all: expression.h */
	/* Asked before each text that they are tried on: an expression and a name can be made to take seconds together.
	 * Of names only the first CAM_SELECT_PATIENT_TEXT bytes are then looked at. NULL: it takes what it takes. */
	const struct cam_progress *patience;
};
#define CAM_SELECT_PATIENT_TEXT 1024u
/* Whether one of them fits the text: 1, 0, -ENOMEM, or what patience answers; *which (may be NULL): a bit for each that does. */
int cam_select_expressions_try(const struct cam_select_expressions *e, struct cam_text name,
			       struct cam_buf *room, uint32_t *which);

/* What written selections may depend on: given, so that this room reads no clock and opens no file. */
struct cam_select_world {
	struct cam_time_world time;
	/* A user's number by name; false: there is no such user. NULL: names are not understood. */
	bool (*user)(void *arg, const char *name, uint32_t *uid);
	void *arg;
};

struct cam_selection {
	enum cam_select_clock clock;
	int64_t from_ns, to_ns; /* half-open */
	bool one_boot;		/* only windows of boot_id */
	struct cam_boot_id boot_id;
	enum cam_select_mode mode;
	bool with_idle;
	/* As far as they were written: cam_selection_set(). */
	struct cam_when when;
	struct cam_select_world world;
	bool idle_given, no_idle_given, user_given, kernel_given;
	/* Only through cam_selection_add(). */
	struct cam_select_values pids, tids, uids;
	struct cam_select_patterns comms, etypes, exes, cgroups, containers, pods;
	struct cam_select_expressions match, exclude;
	uint64_t *cpus; /* bits; NULL: all */
};

/* Everything but idle. */
void cam_selection_init(struct cam_selection *s);
void cam_selection_free(struct cam_selection *s);
/*
 * Adds what a person wrote. -EINVAL: it is not of the form above, -ERANGE: a number or CPU out of
 * range, -E2BIG: too many or too long, -ENOMEM. `why` (at least 1 byte) then says what is wrong,
 * without the value itself.
 */
int cam_selection_add(struct cam_selection *s, enum cam_filter filter, struct cam_text value,
		      char *why, size_t why_bytes);

/*
 * One expression more, as of CAM_FILTER_MATCH; for what else is filtered by frames: reshape.h. -EINVAL, and why,
 * also for one that would cost too much (expression.h), or one of too many that do.
 */
int cam_select_expression_add(struct cam_select_expressions *e, struct cam_text value, char *why,
			      size_t why_bytes);
void cam_select_expressions_free(struct cam_select_expressions *e);

/*
 * The grammar: one key and its value, the same in options (--comm nginx), in a quoted selection and in a
 * URL (comm=nginx). Keys are those of enum cam_filter ("pid", "tid", "uid", "user", "cpu", "comm",
 * "event-type", "exe", "cgroup", "container", "pod", "match", "exclude"), of when.h ("at", …) and the flags "user-only",
 * "kernel-only", "idle", "no-idle", whose value is empty, 1 or 0. The world must be set before.
 *
 * -ENOENT: no such key; -EINVAL, -ERANGE, -E2BIG, -ENOMEM as above. `why` quotes the value and says
 * what would be right.
 */
int cam_selection_set(struct cam_selection *s, struct cam_text key, struct cam_text value,
		      char *why, size_t why_bytes);
/*
 * A whole selection in words: "--at 03:14:07 --around 5s --comm 'my server'", also without the dashes
 * and with = ("last=10m pid=12"). A word that is no key is a time, a window's name (X.pcw) or an event's
 * (ev-…). Quotes and backslashes as a shell has them. Errors as above; `why` begins with the key.
 */
int cam_selection_read(struct cam_selection *s, struct cam_text words, char *why, size_t why_bytes);
/*
 * The same pairs, one by one, for whoever keeps them elsewhere; key is empty for a word that is none, and both are
 * good until fn returns. An answer other than 0 ends it and is returned.
 */
typedef int cam_selection_word_fn(void *arg, struct cam_text key, struct cam_text value, char *why,
				  size_t why_bytes);
int cam_selection_words(struct cam_text words, cam_selection_word_fn *fn, void *arg, char *why,
			size_t why_bytes);
/* Which key a word without one is for: window, event or at. */
enum cam_when_key cam_selection_bare(struct cam_text word);
/* Whether what was set goes together; to be called when all is set. -EINVAL, and why. */
int cam_selection_check(struct cam_selection *s, char *why, size_t why_bytes);
/*
 * Makes written times definite, by the windows that will be looked at (cam_walk() does it by itself; who
 * has something to say about it does it before). Nothing is to be done twice. Errors as
 * cam_when_settle()'s.
 */
int cam_selection_settle(struct cam_selection *s, struct cam_source *source, char *why,
			 size_t why_bytes);

/* True: of its times and CPUs it takes everything (but idle, unless with_idle): no other filter is set. */
bool cam_selection_is_plain(const struct cam_selection *s);
/* By its filter of CPUs, where it has one. */
bool cam_selection_takes_cpu(const struct cam_selection *s, uint32_t cpu);
/*
 * Whether a window can hold anything of the selection's times, by its header alone. next: the header
 * of the window that follows, NULL: none.
 */
bool cam_selection_may_touch(const struct cam_selection *s, const struct cam_window_info *info,
			     const struct cam_window_info *next);
/*
 * The gap between two windows of one boot that follow each other, as far as the selection's times
 * touch it; false: there is none, or they do not. A view that touches one in which the recorder was
 * dead is incomplete, whether or not it has samples from both sides.
 */
bool cam_selection_gap(const struct cam_selection *s, const struct cam_window_info *earlier,
		       const struct cam_window_info *later, struct cam_ledger_row *gap);
