// SPDX-License-Identifier: Apache-2.0
/*
 * What is found in a window while it is sealed (query/starve.h), as events: the sealer has all of it at hand, is another
 * process, niced, and nobody waits for it.
 *
 * Sides: the sealer sends, behind its work; the keeper receives once that has ended.
 * Handed over: packets, one a finding, its text ready to be stored.
 */
#pragma once
#include "model/nouns.h"
#include "store/io.h"

#include <stdbool.h>

#define CAM_FINDINGS_MAX   8u
#define CAM_FINDING_BYTES  512u
#define CAM_FINDING_SOURCE "finding"

struct cam_finding {
	struct cam_boot_id boot_id;
	uint64_t time_ns, length_ns;  /* the window's clock */
	char who[64];		      /* the process, or the function of the kernel */
	char text[CAM_FINDING_BYTES]; /* terminated */
};
typedef void cam_finding_fn(void *arg, const struct cam_finding *f);

/* What was found lately of one process: it is not told of again and again. */
struct cam_found {
	uint64_t boot, who; /* hashes; 0: nobody */
	uint64_t since_ns;
	unsigned times;
};
#define CAM_FOUND 64u

/*
 * Whether it is news; then it is counted. Of one process, or function of the kernel, three are in ten minutes: a job that
 * has a core to itself all night is no news each minute. By the times it is about, so that a start with many windows to
 * seal tells the same; each boot counts its own, since its clock begins anew.
 */
bool cam_finding_is_news(struct cam_found known[CAM_FOUND], const struct cam_finding *f);

/* Looks into a sealed window. Errors are nobody's: then nothing was found. */
void cam_findings_send(struct cam_file *window, int socket);
/* What was sent: how many, at most CAM_FINDINGS_MAX. What is malformed is left out. */
size_t cam_findings_receive(int socket, struct cam_finding out[CAM_FINDINGS_MAX]);
