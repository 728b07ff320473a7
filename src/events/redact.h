// SPDX-License-Identifier: Apache-2.0
/*
 * Takes what looks like a secret out of a line of a log before it is kept: what a window holds, everybody
 * who may read the store can read, for as long as a pin says.
 *
 *	password=hunter2		password=[redacted]		(any key that ends like one of a secret)
 *	"api_key": "9f8e7d"		"api_key": "[redacted]"
 *	--token abc			--token [redacted]
 *	Authorization: Bearer abc.def	Authorization: [redacted]
 *	https://bob:pw@host/		https://bob:[redacted]@host/
 *	AKIA…, ghp_…, glpat-…, xoxb-…, eyJ….eyJ…, a PEM private key
 *
 * By pattern: it cannot know all secrets. Linear in the length of the text.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"

/* Appends the text to out, without its secrets; answers how many there were. */
unsigned cam_redact(struct cam_text text, struct cam_buf *out);
