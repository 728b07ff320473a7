// SPDX-License-Identifier: Apache-2.0
/* Who is at the other end of a control socket, and whether that one may ask. */
#pragma once
#include "daemon/control.h"

#define CAM_GID_NONE ((gid_t)-1)

/* The group whose members may ask; CAM_GID_NONE: there is none on this host. */
gid_t cam_control_group(void);
/* 0; -EACCES: neither root, nor this process's user, nor in the group. *peer is set if known. */
int cam_control_admit(int fd, gid_t group, struct cam_control_peer *peer);
/* For the asker: 0 if root, this user or `owner` (of the store) listens there; else -EACCES. */
int cam_control_trust(int fd, uid_t owner);
