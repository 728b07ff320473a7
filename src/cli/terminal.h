// SPDX-License-Identifier: Apache-2.0
/* What standard output is: a terminal of some size and colours, or not one. */
#pragma once
#include "render/screen.h"

struct cam_terminal {
	bool is;		/* a terminal at all */
	unsigned columns, rows; /* 0: not known */
	enum cam_text_colours colours;
};

/*
 * colour is what --color says: NULL or "auto" (a terminal has colours, unless NO_COLOR is set or TERM is
 * "dumb"), "always", "never". How many it has: all where COLORTERM says so, else 256. COLUMNS and
 * LINES are believed where standard output is no terminal. An exit status, after saying what is wrong.
 */
int cam_terminal_ask(const char *colour, struct cam_terminal *t);
