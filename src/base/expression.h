// SPDX-License-Identifier: Apache-2.0
/*
 * What is accepted as a regular expression, before libc compiles it. Expressions come from people, and over
 * HTTP from anybody who may ask; glibc takes whatever time, stack and memory one asks for. Measured with
 * glibc 2.36: 1,000 open parentheses need 600 KiB of stack; ((a?){250}){40}, 14 bytes, 800 MB and 2 MiB of
 * stack; (.*)(.*)\1\2x tries every split of the text.
 *
 * So: no back-references, parentheses at most CAM_EXPRESSION_DEPTH deep, and at most CAM_EXPRESSION_STEPS
 * steps once repetitions are written out, as glibc does: a{3,5} is five steps, (ab)+ four; a plus over a
 * star counts twice: (a*)+ is four (ten such plusses took regcomp() 0.4 s, thirty of them more than 6). What passes needs
 * up to 8 MB and 256 KiB of stack.
 */
#pragma once
#include "base/text.h"

#include <regex.h>

#define CAM_EXPRESSION_DEPTH 32u
#define CAM_EXPRESSION_STEPS 1100u /* so that any plain text of 1,024 bytes is one */

/*
 * 0, and how many steps it has; -EINVAL, and why (at least 1 byte of room). Whether it is a well-formed
 * expression is regcomp()'s to say.
 */
int cam_expression_check(struct cam_text text, unsigned *steps, char *why, size_t why_bytes);

#define CAM_EXPRESSION_TEXT 8192u /* of a text that is searched */
/* Whether it matches somewhere in a text of any bytes: of the first CAM_EXPRESSION_TEXT, and a zero byte as a blank. */
bool cam_expression_fits(const regex_t *expression, struct cam_text text);
