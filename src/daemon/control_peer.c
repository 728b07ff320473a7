// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_peer.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUPS_MAX 4096

gid_t cam_control_group(void)
{
	const struct group *g = getgrnam("perfcam");
	return g ? g->gr_gid : CAM_GID_NONE;
}

static int credentials(int fd, struct cam_control_peer *peer)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) || n != sizeof(cred))
		return -EACCES;
	*peer = (struct cam_control_peer){cred.pid, cred.uid, cred.gid};
	return 0;
}

_Static_assert(sizeof(gid_t) == 4, "not as the kernel hands groups over");

/* The groups it had when it connected; a list too long to be read does not count. */
static bool in_group(int fd, gid_t group)
{
	gid_t *groups = malloc(GROUPS_MAX * sizeof(*groups));
	socklen_t n = GROUPS_MAX * sizeof(*groups);
	bool found = false;
	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n) == 0) {
		for (size_t i = 0; i < n / sizeof(*groups); i++)
			found |= groups[i] == group;
	}
	free(groups);
	return found;
}

int cam_control_admit(int fd, gid_t group, struct cam_control_peer *peer)
{
	int err = credentials(fd, peer);
	if (err)
		return err;
	if (peer->uid == 0 || peer->uid == geteuid())
		return 0;
	if (group == CAM_GID_NONE)
		return -EACCES;
	return peer->gid == group || in_group(fd, group) ? 0 : -EACCES;
}

int cam_control_trust(int fd, uid_t owner)
{
	struct cam_control_peer peer;
	int err = credentials(fd, &peer);
	if (err)
		return err;
	return peer.uid == 0 || peer.uid == geteuid() || peer.uid == owner ? 0 : -EACCES;
}
