// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines: a table of what a verb takes, one parser for all verbs.
 *
 * `--name value`, `--name=value`, `-n value`, `-nvalue`; `--` ends the options. Options and other
 * arguments may be mixed; `-`, `-90s` (a time) and
 * '--at 03:14 --pid 7' (a quoted selection) are other arguments. Errors are said on stderr, in one line that names the argument.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum cam_option_kind {
	CAM_OPTION_FLAG,     /* bool */
	CAM_OPTION_TEXT,     /* const char * */
	CAM_OPTION_OPTIONAL, /* const char *: "" without =value */
	CAM_OPTION_COUNT,    /* unsigned */
	CAM_OPTION_NUMBER,   /* double, not negative */
	CAM_OPTION_LIST,     /* struct cam_option_list */
	CAM_OPTION_HEADING,  /* no option: `help` is a line of its own in the help, name is "" */
};

#define CAM_OPTION_LIST_MAX 64

struct cam_option_list {
	const char *values[CAM_OPTION_LIST_MAX];
	size_t n;
};

struct cam_option {
	const char *name; /* without the dashes; NULL ends the table */
	char letter;	  /* 0: none */
	enum cam_option_kind kind;
	void *where;
	const char *value_name; /* for the help: NULL for flags */
	const char *help;
};

/* Starts a part of the help. */
#define CAM_OPTION_TITLE(text)                                \
	{                                                     \
		"", 0, CAM_OPTION_HEADING, NULL, NULL, (text) \
	}

struct cam_verb {
	const char *name;
	const char *synopsis; /* after "perfcam VERB " */
	const char *summary;
	/* argv[0] is the verb. Answers the exit status. */
	int (*run)(const struct cam_verb *verb, int argc, char **argv);
};

/* Whether one is the other with a letter wrong, left out, added, or two swapped: what a tired hand types. */
bool cam_options_is_near(const char *typed, const char *meant);

/*
 * Moves what is not an option to argv[0..] and its number to *n_rest. 0; or the exit status, after
 * an error was said or (--help) the help was printed: then *done is true.
 */
int cam_options_parse(const struct cam_verb *verb, const struct cam_option *options, int argc,
		      char **argv, int *n_rest, bool *done);
/*
 * One option by its name, as a word of an argument says it; a flag's value is empty, 1 or 0. An exit status, after
 * an error was said that begins with the whole argument.
 */
int cam_options_set(const struct cam_option *options, const char *whole, const char *name,
		    const char *value);
