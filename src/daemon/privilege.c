// SPDX-License-Identifier: Apache-2.0
/*
 * What is given up, in an order in which each step is still allowed: the bounding set (needs
 * CAP_SETPCAP), the groups (CAP_SETGID), the user (CAP_SETUID; the kernel then clears the
 * effective and permitted sets of who was root), what is left of the sets, and last no_new_privs,
 * so that no set-uid program gives anything back.
 *
 * A step that may fail without harm is not checked where it is taken: verify() looks at what came
 * out of it, by the kernel's word, and tries to become root again.
 */
#include "daemon/privilege.h"

#include "base/cleanup.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOBODY 65534

struct user {
	uid_t uid;
	char name[32];
};

/* perfcam's own user, else nobody; from the file, so that no module of the resolver is loaded
 * into a process that is about to be confined. */
static struct user find_user(void)
{
	struct user u = {NOBODY, "nobody"};
	FILE *f = fopen("/etc/passwd", "re");
	if (!f)
		return u;
	for (const struct passwd *p = fgetpwent(f); p; p = fgetpwent(f)) {
		bool own = strcmp(p->pw_name, "perfcam") == 0;
		if (p->pw_uid == 0 || (!own && strcmp(p->pw_name, "nobody") != 0))
			continue;
		u.uid = p->pw_uid;
		snprintf(u.name, sizeof(u.name), "%s", p->pw_name);
		if (own)
			break;
	}
	fclose(f);
	return u;
}

static int become(uid_t uid, gid_t gid)
{
	if (setgroups(1, &gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

/* -EPERM: it has some. */
static int has_none(void)
{
	cap_t now = cap_get_proc(), none = cap_init();
	int err = !now || !none ? -ENOMEM : cap_compare(now, none) ? -EPERM : 0;
	cap_free(now);
	cap_free(none);
	return err;
}

static int clear_capabilities(void)
{
	cap_t none = cap_init();
	if (!none)
		return -ENOMEM;
	/* Who has none does not ask: its unit may have forbidden the call. */
	int err = has_none() && cap_set_proc(none) ? -errno : 0;
	cap_free(none);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && !err && errno != EINVAL)
		err = -errno;
	return err;
}

static void drop_bounding_set(void)
{
	for (cap_value_t cap = 0; cap_get_bound(cap) >= 0; cap++)
		cap_drop_bound(cap);
}

/* -EPERM: something is left, or can be had back. */
static int verify_capabilities(void)
{
	int err = has_none();
	for (cap_value_t cap = 0; !err && cap_get_bound(cap) >= 0; cap++) {
		if (cap_get_ambient(cap) > 0)
			err = -EPERM;
	}
	return err;
}

static int verify(uid_t uid, gid_t gid, bool was_root)
{
	uid_t u[3];
	gid_t g[3], group;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return -EPERM;
	int err = verify_capabilities();
	if (err || !was_root)
		return err;
	if (getresuid(&u[0], &u[1], &u[2]) || getresgid(&g[0], &g[1], &g[2]))
		return -errno;
	for (int i = 0; i < 3; i++) {
		if (u[i] != uid || g[i] != gid)
			return -EPERM;
	}
	if (getgroups(1, &group) != 1 || group != gid)
		return -EPERM;
	if (setresuid(0, 0, 0) == 0 || setuid(0) == 0 || seteuid(0) == 0 || setgroups(0, NULL) == 0)
		return -EPERM;
	return 0;
}

int cam_privilege_drop(gid_t keep, char *who, size_t who_bytes)
{
	bool root = geteuid() == 0 || getuid() == 0;
	struct user u = {geteuid(), "user"};
	if (root)
		u = find_user();
	drop_bounding_set();
	int err = root ? become(u.uid, keep) : 0;
	if (!err)
		err = clear_capabilities();
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = verify(u.uid, keep, root);
	snprintf(who, who_bytes, "%s (%u), group %u", u.name, (unsigned)u.uid,
		 (unsigned)(root ? keep : getegid()));
	return err;
}
