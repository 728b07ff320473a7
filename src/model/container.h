// SPDX-License-Identifier: Apache-2.0
/*
 * Which container, and which pod, a cgroup's path speaks of. A pure function of the path: what runtimes
 * write there is convention, and an unknown one is no container.
 *
 * Known are Docker, containerd and CRI-O below Kubernetes (systemd's and cgroupfs' spelling, all classes of
 * service), Podman and its pods, nerdctl, Amazon ECS, LXC, systemd-nspawn; nested: the innermost. A
 * runtime's own monitor (conmon) beside a container is not in it.
 */
#pragma once
#include "base/text.h"

#define CAM_POD_BYTES 64u

struct cam_container {
	struct cam_text id;	 /* borrowed from the path: 64 hex digits, or a name; empty: none */
	struct cam_text runtime; /* "docker", "cri-containerd", …; empty: the path does not say */
	char pod[CAM_POD_BYTES + 1]; /* its uid with '-', as kubectl shows it; "": none */
};

struct cam_container cam_container_of(struct cam_text cgroup);
/* Whether one is meant by this beginning of its id (or name). */
bool cam_container_is(const struct cam_container *c, struct cam_text prefix);
/* Whether its pod is meant by this beginning of a uid, in either spelling ('-' or '_'). */
bool cam_container_is_in_pod(const struct cam_container *c, struct cam_text prefix);
