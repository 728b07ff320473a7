// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include "cli/say.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MOST 2000 /* columns, rows: more is a mistake */

static unsigned number_of(const char *name)
{
	const char *value = getenv(name);
	unsigned long n = value ? strtoul(value, NULL, 10) : 0;
	return n < MOST ? (unsigned)n : MOST;
}

static enum cam_text_colours colours_of(bool wanted)
{
	const char *how = getenv("COLORTERM"), *term = getenv("TERM");
	if (!wanted)
		return CAM_COLOURS_NONE;
	if (how && (!strcmp(how, "truecolor") || !strcmp(how, "24bit")))
		return CAM_COLOURS_TRUE;
	return term && strstr(term, "direct") ? CAM_COLOURS_TRUE : CAM_COLOURS_256;
}

int cam_terminal_ask(const char *colour, struct cam_terminal *t)
{
	struct winsize size;
	const char *term = getenv("TERM"), *without = getenv("NO_COLOR");
	*t = (struct cam_terminal){.is = isatty(STDOUT_FILENO)};
	if (t->is && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
		t->columns = size.ws_col < MOST ? size.ws_col : MOST;
		t->rows = size.ws_row < MOST ? size.ws_row : MOST;
	}
	if (!t->columns)
		t->columns = number_of("COLUMNS");
	if (!t->rows)
		t->rows = number_of("LINES");
	bool wanted = t->is && !(without && *without) && term && *term && strcmp(term, "dumb") != 0;
	if (colour && !strcmp(colour, "always"))
		wanted = true;
	else if (colour && !strcmp(colour, "never"))
		wanted = false;
	else if (colour && strcmp(colour, "auto") != 0)
		return cam_usage("--color takes auto, always or never, not '%s'", colour);
	t->colours = colours_of(wanted);
	return CAM_EXIT_OK;
}
