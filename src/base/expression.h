// SPDX-License-Identifier: Apache-2.0
/*
 * What is accepted as a regular expression, before libc compiles it. Expressions come from people, and over
 * HTTP from anybody who may ask; glibc takes whatever time, stack and memory one asks for. Measured with
 * glibc 2.36: 1,000 open parentheses need 600 KiB of stack; ((a?){250}){40}, 14 bytes, 800 MB and 2 MiB of
 * stack; (.*)(.*)\1\2x tries every split of the text.
 *
 * a??{20,} takes a second to compile, and each one more twice as long: it can be empty in 2^20 ways, and all are
 * walked; so are ten plusses over a star.
 *
 * So: no back-references, parentheses at most CAM_EXPRESSION_DEPTH deep, at most CAM_EXPRESSION_STEPS steps
 * once repetitions are written out, as glibc does: a{3,5} is five steps, (ab)+ four; of what is repeated
 * CAM_EXPRESSION_REPEATED; all parts together can match nothing in at most CAM_EXPRESSION_EMPTY ways; and
 * endless repetitions (* + {2,}) stand at most CAM_EXPRESSION_NESTED in each other. To compile what
 * passes needs up to 8 MB and 256 KiB of stack.
 *
 * To try it may need more: glibc keeps each set of places that it has met, so .*x.{100}y takes 5 s and 120 MB for one
 * text of a kilobyte that was made for it. Who tries expressions on what others wrote bounds that (events/rule.c does).
 */
#pragma once
#include "base/text.h"

#include <regex.h>

#define CAM_EXPRESSION_DEPTH	32u
#define CAM_EXPRESSION_EMPTY	256u
#define CAM_EXPRESSION_NESTED	3u
#define CAM_EXPRESSION_REPEATED 300u
#define CAM_EXPRESSION_STEPS	1100u /* so that any plain text of 1,024 bytes is one */

/*
 * 0, and how many steps it has; -EINVAL, and why (at least 1 byte of room). Whether it is a well-formed
 * expression is regcomp()'s to say.
 */
int cam_expression_check(struct cam_text text, unsigned *steps, char *why, size_t why_bytes);

#define CAM_EXPRESSION_TEXT 8192u /* of a text that is searched */
/* Whether it matches somewhere in a text of any bytes: of the first CAM_EXPRESSION_TEXT, and a zero byte as a blank. */
bool cam_expression_fits(const regex_t *expression, struct cam_text text);
