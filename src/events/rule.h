// SPDX-License-Identifier: Apache-2.0
/*
 * A rule of perfcam.conf: what to do when something happens.
 *
 *	on kmsg /ena.*reset|Tx timeout/ pin 5m before 1m after
 *	on finding /kubelet/ pin 1m before 1m after, capsule
 *	on any /deploy/ severity warning, pin 10m after
 *	on kmsg /Killed process/ pin 2m before, run /usr/local/bin/page-somebody oom
 *
 * `on`, a source (kmsg, mark, log or log:NAME, journal, alert, finding, process, perfcam; any), an expression between slashes (POSIX extended; a slash in it
 * is \/), then actions, with commas between them. `run` is the last one: the rest of the line are the
 * words of its command, which is not given to a shell.
 *
 * Expressions are bounded as all are (base/expression.h), and tried on texts that are bounded. Still, one that has
 * many ways to go on (.*x.{20}y) takes seconds for a text that was made for it, and glibc keeps what it found out: 120 MB
 * after one kilobyte. So a rule may use CAM_RULE_CPU_NS of CPU time at once, and a fiftieth of the time after that;
 * what comes beyond that is not tried, and counted. No other clock than those two is read.
 */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

#include <regex.h>

#define CAM_RULE_BYTES	1024u				   /* of its text, and of an expression */
#define CAM_RULE_WORDS	16u				   /* of a command */
#define CAM_RULE_PIN_NS (24 * 3600 * UINT64_C(1000000000)) /* the most before, and after */
#define CAM_RULE_CPU_NS (200 * UINT64_C(1000000))
#define CAM_RULE_RUN_NS (60 * UINT64_C(1000000000)) /* between two runs of one rule */

struct cam_rule {
	char source[64]; /* "": any */
	regex_t expression;
	char text[CAM_RULE_BYTES];    /* of the expression */
	bool compiled;		      /* false: there was no memory for it, lately */
	uint64_t used_ns;	      /* CPU time since it was compiled */
	uint64_t spent_ns, earned_ns; /* what is not earned again yet; when that was looked at */
	uint64_t untried;	      /* events that it had no time for */
	bool pins, capsule;
	uint64_t before_ns, after_ns;
	enum cam_severity severity;	      /* CAM_SEVERITY_MAX: as it is */
	char words[CAM_RULE_BYTES];	      /* of the command, each ended by a zero byte */
	const char *argv[CAM_RULE_WORDS + 1]; /* into words; argv[0] NULL: none */
};

/*
 * What follows `on`. -EINVAL: `why` says what is wrong and what would be right. -ENOMEM. A rule is not to be copied:
 * argv points into it.
 */
int cam_rule_parse(struct cam_rule *r, struct cam_text text, char *why, size_t why_bytes);
void cam_rule_free(struct cam_rule *r);
/* Whether it is about this event. False, and counted, where it has used up its time. */
bool cam_rule_is_about(struct cam_rule *r, struct cam_text source, struct cam_text text);
