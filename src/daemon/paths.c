// SPDX-License-Identifier: Apache-2.0
#include "daemon/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fitted(int n, size_t room_bytes)
{
	return n >= 0 && (size_t)n < room_bytes ? 0 : -ERANGE;
}

/* The specification of these variables: one that is not an absolute path does not count. */
static int below(const char *variable, const char *in_home, const char *name, char *room,
		 size_t room_bytes)
{
	const char *dir = getenv(variable), *home = getenv("HOME");
	if (dir && dir[0] == '/')
		return fitted(snprintf(room, room_bytes, "%s/%s", dir, name), room_bytes);
	if (in_home && home && home[0] == '/')
		return fitted(snprintf(room, room_bytes, "%s/%s/%s", home, in_home, name),
			      room_bytes);
	return -ENOENT;
}

/* A service's own directory; of several, separated by colons, the first. */
static int of_service(const char *variable, const char *name, char *room, size_t room_bytes)
{
	const char *dir = getenv(variable);
	if (!dir || dir[0] != '/')
		return -ENOENT;
	return fitted(snprintf(room, room_bytes, "%.*s%s", (int)strcspn(dir, ":"), dir, name),
		      room_bytes);
}

int cam_paths_store(char *room, size_t room_bytes)
{
	int err = of_service("STATE_DIRECTORY", "", room, room_bytes);
	if (err != -ENOENT)
		return err;
	if (geteuid() == 0)
		return fitted(snprintf(room, room_bytes, "/var/lib/perfcam"), room_bytes);
	return below("XDG_DATA_HOME", ".local/share", "perfcam", room, room_bytes);
}

void cam_paths_make_store_parents(void)
{
	char path[PATH_MAX];
	if (cam_paths_store(path, sizeof(path)))
		return;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)!mkdir(path, 0700);
		*slash = '/';
	}
}

int cam_paths_config(char *room, size_t room_bytes)
{
	int err = of_service("CONFIGURATION_DIRECTORY", "/perfcam.conf", room, room_bytes);
	if (err != -ENOENT)
		return err;
	if (geteuid() == 0)
		return fitted(snprintf(room, room_bytes, "/etc/perfcam/perfcam.conf"), room_bytes);
	return below("XDG_CONFIG_HOME", ".config", "perfcam/perfcam.conf", room, room_bytes);
}

int cam_paths_run(char *room, size_t room_bytes)
{
	int err = of_service("RUNTIME_DIRECTORY", "", room, room_bytes);
	if (err != -ENOENT)
		return err;
	if (geteuid() == 0)
		return fitted(snprintf(room, room_bytes, "/run/perfcam"), room_bytes);
	return below("XDG_RUNTIME_DIR", NULL, "perfcam", room, room_bytes);
}
