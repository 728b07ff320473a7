// SPDX-License-Identifier: Apache-2.0
/*
 * What a line of a log is about, where that is known out of the box: what the kernel says when
 * something went wrong. Pure, by the text alone, so that the recorder (which raises the severity), rules and
 * readers of old windows agree. Linear in the text's length, whatever it is: a text that begins like one of
 * these over and over is given up, which no line of a kernel does.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

struct cam_event_kind {
	const char *name;	    /* "oom-kill": for programs, and rules */
	const char *words;	    /* "out of memory": for people */
	enum cam_severity severity; /* at least, whatever the line's own level says */
};

/* NULL: nothing that is known. */
const struct cam_event_kind *cam_event_kind_of(struct cam_text text);
/* By its name; NULL: there is no such kind. */
const struct cam_event_kind *cam_event_kind_named(struct cam_text name);
