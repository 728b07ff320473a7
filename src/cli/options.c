// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include "cli/examples.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const struct cam_verb *verb, const struct cam_option *options)
{
	printf("perfcam %s %s\n%s\n", verb->name, verb->synopsis, verb->summary);
	if (options->name && options->kind != CAM_OPTION_HEADING)
		printf("\n");
	for (const struct cam_option *o = options; o->name; o++) {
		char left[64], value[32] = "";
		if (o->kind == CAM_OPTION_HEADING) {
			printf("\n%s\n", o->help);
			continue;
		}
		if (o->value_name)
			snprintf(value, sizeof(value),
				 o->kind == CAM_OPTION_OPTIONAL ? "[=%s]" : " %s", o->value_name);
		if (o->letter)
			snprintf(left, sizeof(left), "  -%c, --%s%s", o->letter, o->name, value);
		else
			snprintf(left, sizeof(left), "      --%s%s", o->name, value);
		printf("%-32s %s\n", left, o->help);
	}
	if (*cam_examples(verb->name))
		printf("\nExamples:\n%s", cam_examples(verb->name));
}

static const struct cam_option *find(const struct cam_option *options, const char *arg,
				     const char **value)
{
	*value = NULL;
	if (arg[1] != '-') {
		for (const struct cam_option *o = options; o->name; o++) {
			if (o->letter && o->letter == arg[1]) {
				*value = arg[2] ? arg + 2 : NULL;
				return o;
			}
		}
		return NULL;
	}
	const char *name = arg + 2;
	const char *equals = strchr(name, '=');
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	for (const struct cam_option *o = options; o->name; o++) {
		if (o->kind != CAM_OPTION_HEADING && strlen(o->name) == n &&
		    memcmp(o->name, name, n) == 0) {
			*value = equals ? equals + 1 : NULL;
			return o;
		}
	}
	return NULL;
}

static int store_count(const struct cam_option *o, const char *value)
{
	char *end;
	errno = 0;
	unsigned long v = strtoul(value, &end, 10);
	if (errno || *end || end == value || v > 1000000 || value[0] == '-')
		return cam_usage("--%s takes a whole number up to 1000000, not '%s'", o->name,
				 value);
	*(unsigned *)o->where = (unsigned)v;
	return 0;
}

static int store_number(const struct cam_option *o, const char *value)
{
	char *end;
	double v = strtod(value, &end);
	if (*end || end == value || !(v >= 0 && v <= 1e18) || strpbrk(value, "-xXpP"))
		return cam_usage("--%s takes a number, not '%s'", o->name, value);
	*(double *)o->where = v;
	return 0;
}

bool cam_options_is_near(const char *typed, const char *meant)
{
	size_t n = strlen(typed), m = strlen(meant), same = 0, tail = 0;
	while (same < n && same < m && typed[same] == meant[same])
		same++;
	while (tail < n - same && tail < m - same && typed[n - 1 - tail] == meant[m - 1 - tail])
		tail++;
	size_t left = n - same - tail, right = m - same - tail;
	bool swapped = left == 2 && right == 2 && typed[same] == meant[same + 1] &&
		       typed[same + 1] == meant[same];
	return m > 2 && ((left <= 1 && right <= 1) || swapped);
}

static int say_unknown(const struct cam_verb *verb, const struct cam_option *options,
		       const char *arg)
{
	char name[64];
	size_t n = arg[1] == '-' ? strcspn(arg + 2, "=") : sizeof(name);
	if (n < sizeof(name)) {
		memcpy(name, arg + 2, n);
		name[n] = 0;
		for (const struct cam_option *o = options; o->name; o++) {
			if (cam_options_is_near(name, o->name))
				return cam_usage(
					"unknown option '%s': is it --%s? see perfcam %s --help",
					arg, o->name, verb->name);
		}
		if (cam_options_is_near(name, "help"))
			return cam_usage("unknown option '%s': is it --help?", arg);
	}
	return cam_usage("unknown option '%s'; see perfcam %s --help", arg, verb->name);
}

static int store_value(const struct cam_option *o, const char *value)
{
	struct cam_option_list *list;
	switch (o->kind) {
	case CAM_OPTION_FLAG:
		if (value)
			return cam_usage("--%s takes no value", o->name);
		*(bool *)o->where = true;
		return 0;
	case CAM_OPTION_OPTIONAL:
		*(const char **)o->where = value ? value : "";
		return 0;
	case CAM_OPTION_TEXT:
		*(const char **)o->where = value;
		return 0;
	case CAM_OPTION_COUNT:
		return store_count(o, value);
	case CAM_OPTION_NUMBER:
		return store_number(o, value);
	case CAM_OPTION_HEADING:
		break;
	case CAM_OPTION_LIST:
		list = o->where;
		if (list->n == CAM_OPTION_LIST_MAX)
			return cam_usage("--%s is given more than %d times", o->name,
					 CAM_OPTION_LIST_MAX);
		list->values[list->n++] = value;
		return 0;
	}
	return cam_usage("--%s cannot be used here", o->name);
}

/* Whether a value is there already, of which only one is taken. */
static bool is_given(const struct cam_option *o)
{
	return o->kind == CAM_OPTION_TEXT && *(const char **)o->where;
}

int cam_options_set(const struct cam_option *options, const char *whole, const char *name,
		    const char *value)
{
	for (const struct cam_option *o = options; o->name; o++) {
		if (strcmp(o->name, name) != 0)
			continue;
		if (is_given(o))
			return cam_usage("'%s': %s is given twice", whole, name);
		if (o->kind != CAM_OPTION_FLAG)
			return store_value(o, value);
		if (*value && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
			return cam_usage("'%s': %s takes no value (or 1, 0)", whole, name);
		*(bool *)o->where = strcmp(value, "0") != 0;
		return 0;
	}
	return cam_usage("'%s': %s cannot be said here; see --help", whole, name);
}

static bool takes_value(const struct cam_option *o)
{
	return o->kind == CAM_OPTION_TEXT || o->kind == CAM_OPTION_COUNT ||
	       o->kind == CAM_OPTION_NUMBER || o->kind == CAM_OPTION_LIST;
}

/* "--at 03:14 --pid 7" in one argument is a quoted selection: no option's name has a space. */
static bool is_quoted(const char *arg)
{
	size_t name = strcspn(arg, "= ");
	return arg[name] == ' ' || strstr(arg, " --");
}

/* "-" alone is a file name: standard input or output. "-90s" is a time: 90 seconds ago. */
static bool is_option(const char *arg)
{
	if (arg[0] == '-' && arg[1] == '-' && is_quoted(arg))
		return false;
	return arg[0] == '-' && arg[1] && !(arg[1] >= '0' && arg[1] <= '9');
}

int cam_options_parse(const struct cam_verb *verb, const struct cam_option *options, int argc,
		      char **argv, int *n_rest, bool *done)
{
	bool only_rest = false;
	*n_rest = 0;
	*done = true;
	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];
		if (only_rest || !is_option(arg)) {
			argv[(*n_rest)++] = arg;
			continue;
		}
		if (strcmp(arg, "--") == 0) {
			only_rest = true;
			continue;
		}
		if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
			print_help(verb, options);
			return 0;
		}
		const char *value;
		const struct cam_option *o = find(options, arg, &value);
		if (!o)
			return say_unknown(verb, options, arg);
		if (takes_value(o) && !value) {
			if (i + 1 == argc)
				return cam_usage("--%s needs a value (%s)", o->name, o->value_name);
			value = argv[++i];
		}
		int status = store_value(o, value);
		if (status)
			return status;
	}
	*done = false;
	return 0;
}
