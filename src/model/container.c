// SPDX-License-Identifier: Apache-2.0
/*
 * A path is looked through part by part, from its root; what a later part says counts.
 *
 *	/docker/ID   /docker-ID.scope   /cri-containerd-ID.scope   X.slice:cri-containerd:ID
 *	/kubepods/burstable/podUID/ID   /kubepods-burstable-podU_I_D.slice/…
 *	/libpod-ID.scope/container   /machine-libpod_pod_ID.slice   /ecs/TASK/TASK-1234567890
 *	/lxc.payload.NAME   /lxc/NAME   /machine-NAME.scope   /systemd-nspawn@NAME.service
 *
 * ID: 64 hex digits in small letters. In slices a uid has '_' for '-', which means "below" there.
 */
#include "model/container.h"

#include <string.h>

#define ID_DIGITS   64u
#define TASK_DIGITS 32u

static bool is_hex(struct cam_text t)
{
	for (size_t i = 0; i < t.n; i++) {
		bool digit = t.p[i] >= '0' && t.p[i] <= '9';
		if (!digit && !(t.p[i] >= 'a' && t.p[i] <= 'f'))
			return false;
	}
	return t.n > 0;
}

static bool is_id(struct cam_text t)
{
	return t.n == ID_DIGITS && is_hex(t);
}

static struct cam_text skip(struct cam_text t, size_t n)
{
	return (struct cam_text){t.p + n, t.n - n};
}

/* Without an ending; as it is where it has another one. */
static struct cam_text cut(struct cam_text t, const char *ending)
{
	struct cam_text e = cam_text_of(ending);
	if (t.n > e.n && cam_text_ends(t, e))
		t.n -= e.n;
	return t;
}

/* Where `what` stands in it for the last time, or t.n. */
static size_t last_of(struct cam_text t, const char *what)
{
	size_t n = strlen(what);
	for (size_t i = t.n >= n ? t.n - n + 1 : 0; i > 0; i--) {
		if (!memcmp(t.p + i - 1, what, n))
			return i - 1;
	}
	return t.n;
}

static void set_pod(struct cam_container *c, struct cam_text uid)
{
	if (!uid.n || uid.n > CAM_POD_BYTES)
		return;
	for (size_t i = 0; i < uid.n; i++)
		c->pod[i] = uid.p[i] == '_' ? '-' : uid.p[i];
	c->pod[uid.n] = 0;
}

/* Hex digits in groups, as a uid has them; static pods have one group. */
static bool is_uid(struct cam_text t)
{
	size_t digits = 0;
	for (size_t i = 0; i < t.n; i++) {
		if (t.p[i] == '-' || t.p[i] == '_')
			continue;
		if (!is_hex((struct cam_text){t.p + i, 1}))
			return false;
		digits++;
	}
	return digits == TASK_DIGITS;
}

/* podUID, kubepods-burstable-podUID.slice, machine-libpod_pod_ID.slice. */
static void look_for_pod(struct cam_container *c, struct cam_text part)
{
	struct cam_text plain = cut(part, ".slice");
	size_t at = last_of(plain, "pod");
	if (at == plain.n)
		return;
	struct cam_text uid = skip(plain, at + 3);
	if (uid.n && uid.p[0] == '_' && is_id(skip(uid, 1)))
		set_pod(c, skip(uid, 1));
	else if ((at == 0 || plain.p[at - 1] == '-') && is_uid(uid))
		set_pod(c, uid);
}

/* PREFIX-ID.scope, PREFIX:ID, ID; `above` is the part before. */
static bool look_for_id(struct cam_container *c, struct cam_text part, struct cam_text above)
{
	struct cam_text plain = cut(part, ".scope");
	if (plain.n < ID_DIGITS)
		return false;
	struct cam_text id = skip(plain, plain.n - ID_DIGITS), runtime = {plain.p, 0};
	if (!is_id(id))
		return false;
	if (plain.n > ID_DIGITS) {
		char between = plain.p[plain.n - ID_DIGITS - 1];
		runtime.n = plain.n - ID_DIGITS - 1;
		/* …slice:cri-containerd:ID. The pod stands in front of it. */
		size_t colon = last_of(runtime, ":");
		if (colon < runtime.n) {
			look_for_pod(c, (struct cam_text){runtime.p, colon});
			runtime = skip(runtime, colon + 1);
		}
		bool monitor = last_of(runtime, "conmon") < runtime.n;
		if ((between != '-' && between != ':') || monitor)
			return false;
	} else if (cam_text_equal(above, CAM_TEXT("docker"))) {
		runtime = above;
	}
	c->id = id;
	c->runtime = runtime;
	return true;
}

/* Containers that have names. */
static bool look_for_name(struct cam_container *c, struct cam_text part, struct cam_text above)
{
	static const struct {
		const char *before, *after, *runtime;
	} known[] = {
		{"lxc.payload.", "", "lxc"},
		{"machine-", ".scope", "machine"}, /* whatever systemd-machined knows */
		{"systemd-nspawn@", ".service", "nspawn"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct cam_text name = cut(part, known[i].after);
		bool ended = !known[i].after[0] || name.n < part.n;
		if (!cam_text_starts(part, cam_text_of(known[i].before)) || !ended)
			continue;
		name = skip(name, strlen(known[i].before));
		c->id = name;
		c->runtime = cam_text_of(known[i].runtime);
		return name.n > 0;
	}
	if (!cam_text_equal(above, CAM_TEXT("lxc")) &&
	    !cam_text_equal(above, CAM_TEXT("lxc.payload")))
		return false;
	c->id = part;
	c->runtime = CAM_TEXT("lxc");
	return true;
}

/* TASK-1234567890 below /ecs/. */
static bool look_for_task(struct cam_container *c, struct cam_text part, bool ecs)
{
	if (!ecs || part.n < TASK_DIGITS + 2 || part.p[TASK_DIGITS] != '-' ||
	    !is_hex((struct cam_text){part.p, TASK_DIGITS}) || !is_hex(skip(part, TASK_DIGITS + 1)))
		return false;
	c->id = part;
	c->runtime = CAM_TEXT("ecs");
	return true;
}

struct cam_container cam_container_of(struct cam_text cgroup)
{
	struct cam_container c = {0};
	struct cam_text above = {"", 0};
	bool ecs = false;
	for (size_t at = 0; at < cgroup.n;) {
		const char *end = memchr(cgroup.p + at, '/', cgroup.n - at);
		size_t n = end ? (size_t)(end - cgroup.p) - at : cgroup.n - at;
		struct cam_text part = {cgroup.p + at, n};
		at += n + 1;
		if (!n)
			continue;
		look_for_pod(&c, part);
		if (!look_for_id(&c, part, above) && !look_for_task(&c, part, ecs))
			look_for_name(&c, part, above);
		ecs |= cam_text_equal(part, CAM_TEXT("ecs"));
		above = part;
	}
	if (!c.id.n)
		c.id = c.runtime = (struct cam_text){"", 0};
	return c;
}

bool cam_container_is(const struct cam_container *c, struct cam_text prefix)
{
	return prefix.n && cam_text_starts(c->id, prefix);
}

bool cam_container_is_in_pod(const struct cam_container *c, struct cam_text prefix)
{
	if (!prefix.n || strlen(c->pod) < prefix.n)
		return false;
	for (size_t i = 0; i < prefix.n; i++) {
		char x = prefix.p[i] == '_' ? '-' : prefix.p[i];
		if (x != c->pod[i])
			return false;
	}
	return true;
}
