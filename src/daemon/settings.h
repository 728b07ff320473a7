// SPDX-License-Identifier: Apache-2.0
/*
 * Everything that can be set about a perfcam that runs for ever: the options that `record`, `run`
 * and `serve` share with perfcam.conf, under the same names. One table describes them all; flags,
 * the file, `perfcam config` and a reload (SIGHUP) are four users of it. An option of a single
 * run (-d, -o, CMD) is not in here.
 *
 * Precedence: a flag, else the file, else the default. The defaults alone protect the host.
 * An empty value means the default; where a limit can be lifted, `none` (or 0) lifts it.
 *
 * Errors are said in words, in `why`: they name the flag or file:line, the key, and what would be
 * right. Nothing here prints.
 */
#pragma once
#include "base/text.h"
#include "capture/capture.h"
#include "events/rule.h"
#include "store/store.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAM_SETTINGS_PIDS      64
#define CAM_SETTINGS_CPUS      1024
#define CAM_SETTINGS_RULES     32
#define CAM_SETTINGS_LOGS      16
#define CAM_SETTINGS_WHY_BYTES (PATH_MAX + 512)
#define CAM_UID_ANY	       UINT32_MAX

enum cam_source_choice {
	CAM_SOURCE_AUTO, /* BPF where it is allowed, else perf */
	CAM_SOURCE_BPF,
	CAM_SOURCE_PERF,
};

/* Every setting, in the order in which they are shown. */
enum cam_setting_id {
	CAM_SET_STORE,
	CAM_SET_CONTROL,
	CAM_SET_WINDOW,
	CAM_SET_FREQUENCY,
	CAM_SET_EVENT,
	CAM_SET_SOURCE,
	CAM_SET_UNWIND,
	CAM_SET_ADDRESSES,
	CAM_SET_JAVA_MAPS,
	CAM_SET_PID,
	CAM_SET_TREE,
	CAM_SET_USER,
	CAM_SET_CPU,
	CAM_SET_CGROUP,
	CAM_SET_KEEP,
	CAM_SET_MAX_BYTES,
	CAM_SET_MIN_FREE,
	CAM_SET_MAX_PINNED,
	CAM_SET_MAX_CPU,
	CAM_SET_LOG,
	CAM_SET_JOURNAL,
	CAM_SET_WATCH,
	CAM_SET_ALLOW_RUN,
	CAM_SET_LISTEN,
	CAM_SET_TOKEN,
	CAM_SET_BEHIND_TLS,
	CAM_SETTINGS,
};

/* A size, or a part of the file system: only its owner knows how large that is. */
struct cam_amount {
	uint64_t bytes;
	uint32_t percent; /* 0: bytes counts */
};

/* A line `on …` of the file, which was found to be right. */
struct cam_settings_rule {
	unsigned line;
	char text[CAM_RULE_BYTES]; /* what follows `on` */
};

enum cam_origin_kind { CAM_FROM_DEFAULT, CAM_FROM_FILE, CAM_FROM_FLAG };
struct cam_origin {
	enum cam_origin_kind kind;
	unsigned line; /* of the file */
};

struct cam_settings {
	char store[PATH_MAX];
	char control[PATH_MAX]; /* "": found from the store, see control.h */
	uint64_t window_ns;
	uint32_t hz;
	enum cam_capture_event event;
	enum cam_source_choice source;
	enum cam_unwind_mode unwind;
	bool addresses;
	bool java_maps;
	/* The scope; all that are set must hold. */
	int32_t pids[CAM_SETTINGS_PIDS];
	size_t n_pids;
	bool tree;			  /* with the children that pids already have */
	uint32_t uid;			  /* CAM_UID_ANY */
	uint32_t cpus[CAM_SETTINGS_CPUS]; /* ascending, each once */
	size_t n_cpus;			  /* 0: all */
	char cgroup[PATH_MAX]; /* begins with '/', no '/' at its end but for the root; "": any */
	/* Limits; 0: none. */
	uint64_t keep_ns;
	uint64_t max_bytes;
	struct cam_amount min_free;
	uint64_t max_pinned_bytes;
	uint32_t max_cpu_ppm; /* all processes of perfcam; of the time of all CPUs together */
	char logs[1024];      /* PATH[:FORMAT], with commas between them */
	char journal[1024];   /* "": not read; else as events/journal_entry.h has it */
	char watch[320];      /* names of processes, with commas between them */
	bool allow_run;	      /* rules may start programs: only from a file of root's */
	/* Rules: from the file alone, in its order; a reload takes them over. */
	struct cam_settings_rule rules[CAM_SETTINGS_RULES];
	size_t n_rules;
	struct {
		char address[64]; /* numeric, IPv6 without brackets */
		uint16_t port;	  /* 0: any free one */
	} listen;
	char token[PATH_MAX]; /* a file; "": a new token at each start, where one is needed */
	char behind_tls[256]; /* the name under which a proxy is asked; "": there is none */

	char file[PATH_MAX]; /* the configuration that was read; "": none */
	struct cam_origin origins[CAM_SETTINGS];
	/* As they were given, or the default's text: what `config` shows. */
	char texts[CAM_SETTINGS][1024];
};

/* Which verb takes it. */
enum {
	CAM_FOR_RECORD = 1,
	CAM_FOR_SERVE = 2,
};

struct cam_setting {
	const char *name; /* the key, and --name */
	char letter;	  /* -F; 0: none */
	bool flag;	  /* yes or no: --name, --name=no */
	bool live;	  /* a reload applies it at once; else it takes a restart */
	unsigned verbs;
	const char *value_name; /* for the help */
	const char *fallback;	/* the default as text; NULL: depends on the user or on others */
	const char *help;
};

const struct cam_setting *cam_setting_of(enum cam_setting_id id);

/* What the user gave: borrowed, and needed again for each reload. */
struct cam_settings_given {
	const char *config;		 /* --config FILE; NULL: the usual place, if it is there */
	const char *flags[CAM_SETTINGS]; /* NULL: not given */
};

/*
 * Default, file, flags, in this order, and what follows from them. 0; -EINVAL (a value or key),
 * -EPERM (the file might have been written by someone else), or why the file cannot be read;
 * then `why` is one line for people and *out is not changed. Large: keep it off small stacks.
 */
int cam_settings_load(const struct cam_settings_given *given, struct cam_settings *out,
		      char why[CAM_SETTINGS_WHY_BYTES]);

/* Sets one from its text, as flag or file would. -EINVAL and why ("97x is not …; try 97"). */
int cam_settings_set(struct cam_settings *s, enum cam_setting_id id, const char *value,
		     struct cam_origin origin, char why[CAM_SETTINGS_WHY_BYTES]);

/*
 * A reload: takes over from `fresh` what can change while recording, and answers both sets (bit =
 * 1 << cam_setting_id): *applied has changed now; *held differs in fresh but needs a restart, and
 * keeps its old value. Values count, not how they were written or where.
 */
void cam_settings_apply(struct cam_settings *running, const struct cam_settings *fresh,
			uint64_t *applied, uint64_t *held);
/* "keep, max-bytes" */
void cam_settings_names(uint64_t set, char *room, size_t room_bytes);

/* The limits in the store's terms, for a file system of this size. */
struct cam_retention cam_settings_retention(const struct cam_settings *s, uint64_t total_bytes);

/* "97", "12h", "auto": so that --name TEXT would give this value again. */
const char *cam_settings_text(const struct cam_settings *s, enum cam_setting_id id);
/* "default", "/etc/perfcam/perfcam.conf:12", "flag" */
void cam_settings_origin(const struct cam_settings *s, enum cam_setting_id id, char *room,
			 size_t room_bytes);
