// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_place.h"

#include "base/cleanup.h"
#include "daemon/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static int fitted(int n, size_t room_bytes)
{
	return n >= 0 && (size_t)n < room_bytes ? 0 : -ENAMETOOLONG;
}

/* The usual place for this store; -ENOENT: this user has none. */
static int usual(const char *store, char *dir, size_t dir_bytes, char *room, size_t room_bytes)
{
	char real[PATH_MAX], own[PATH_MAX], own_real[PATH_MAX];
	int err = cam_paths_run(dir, dir_bytes);
	if (err)
		return err;
	if (!realpath(store, real))
		return -errno;
	if (cam_paths_store(own, sizeof(own)) == 0 && realpath(own, own_real) &&
	    strcmp(own_real, real) == 0)
		return fitted(snprintf(room, room_bytes, "%s/control", dir), room_bytes);
	unsigned long long hash = XXH64(real, strlen(real), 0);
	return fitted(snprintf(room, room_bytes, "%s/control-%016llx", dir, hash), room_bytes);
}

static int in_store(const char *store, char *room, size_t room_bytes)
{
	return fitted(snprintf(room, room_bytes, "%s/" CAM_CONTROL_LINK, store), room_bytes);
}

static int absolute(const char *path, char *room, size_t room_bytes)
{
	char cwd[PATH_MAX];
	if (path[0] == '/')
		return fitted(snprintf(room, room_bytes, "%s", path), room_bytes);
	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	return fitted(snprintf(room, room_bytes, "%s/%s", cwd, path), room_bytes);
}

/* A link of that name was left by a recorder that had a better place. */
static int place_in_store(const char *store, char *room, size_t room_bytes)
{
	struct stat st;
	int err = in_store(store, room, room_bytes);
	if (!err && lstat(room, &st) == 0 && S_ISLNK(st.st_mode) && unlink(room))
		err = -errno;
	return err;
}

int cam_control_place_listen(const char *store, const char *given, char *room, size_t room_bytes)
{
	char dir[PATH_MAX];
	if (given && *given)
		return absolute(given, room, room_bytes);
	int err = usual(store, dir, sizeof(dir), room, room_bytes);
	if (err == -ENOENT)
		return place_in_store(store, room, room_bytes);
	/* The socket's own mode says who may ask; its directory only lets them find it. */
	if (!err && mkdir(dir, 0755) && errno != EEXIST)
		err = -errno;
	return err;
}

int cam_control_place_ask(const char *store, const char *given, char *room, size_t room_bytes)
{
	char link[PATH_MAX], dir[PATH_MAX];
	struct stat st;
	if (given && *given)
		return fitted(snprintf(room, room_bytes, "%s", given), room_bytes);
	int err = in_store(store, link, sizeof(link));
	if (err)
		return err;
	ssize_t n = readlink(link, room, room_bytes - 1);
	if (n > 0) {
		room[n] = '\0';
		return room[0] == '/' ? 0 : -EBADMSG;
	}
	if (lstat(link, &st) == 0 && S_ISSOCK(st.st_mode))
		return fitted(snprintf(room, room_bytes, "%s", link), room_bytes);
	if (errno == EACCES)
		return -EACCES;
	return usual(store, dir, sizeof(dir), room, room_bytes);
}

int cam_control_place_link(const char *store, const char *path)
{
	char link[PATH_MAX], fresh[PATH_MAX];
	int err = in_store(store, link, sizeof(link));
	if (err || strcmp(link, path) == 0)
		return err;
	err = fitted(snprintf(fresh, sizeof(fresh), "%s.new", link), sizeof(fresh));
	if (err)
		return err;
	/* Only who holds the store's lock comes here: what is left of that name is a crash's. */
	unlink(fresh);
	if (symlink(path, fresh) || rename(fresh, link))
		err = -errno;
	return err;
}

void cam_control_place_unlink(const char *store, const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];
	if (in_store(store, link, sizeof(link)))
		return;
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	if (strcmp(target, path) == 0)
		unlink(link);
}

int cam_control_place_address(const char *path, struct sockaddr_un *address, int *dir)
{
	char parent[PATH_MAX];
	size_t n = strlen(path);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	*dir = -1;
	if (n < sizeof(address->sun_path)) {
		memcpy(address->sun_path, path, n);
		return 0;
	}
	const char *slash = strrchr(path, '/');
	if (!slash || n >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, (size_t)(slash - path) + 1);
	parent[slash - path + 1] = '\0';
	CAM_AUTOCLOSE int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = fitted(snprintf(address->sun_path, sizeof(address->sun_path),
				  "/proc/self/fd/%d/%s", fd, slash + 1),
			 sizeof(address->sun_path));
	if (err)
		return err;
	*dir = fd;
	fd = -1;
	return 0;
}
