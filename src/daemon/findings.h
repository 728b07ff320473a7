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

/* Looks into a sealed window. Errors are nobody's: then nothing was found. */
void cam_findings_send(struct cam_file *window, int socket);
/* What was sent: how many, at most CAM_FINDINGS_MAX. What is malformed is left out. */
size_t cam_findings_receive(int socket, struct cam_finding out[CAM_FINDINGS_MAX]);
