// SPDX-License-Identifier: Apache-2.0
/* Paths of cgroups as runtimes write them, and what they are not to be taken for. */
#include "model/container.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define A "7ed4d5fa1b9f4b1c8f3a6b0d2c9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e"
#define B "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define T "158d1c8083dd49d6b527399fd6414f5c"
#define U "8d3e2c1b-4a5f-4e6d-9c8b-7a6f5e4d3c2b"
#define S "8d3e2c1b_4a5f_4e6d_9c8b_7a6f5e4d3c2b"
#define K "/kubepods.slice/kubepods-"
#define H "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"

static const struct {
	const char *path, *id, *runtime, *pod;
} paths[] = {
	/* Docker: cgroupfs, systemd, rootless, in itself, with an init system inside. */
	{"/docker/" A, A, "docker", ""},
	{"/system.slice/docker-" A ".scope", A, "docker", ""},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" A ".scope", A, "docker",
	 ""},
	{"/docker/" A "/docker/" B, B, "docker", ""},
	{"/docker/" A "/init.scope", A, "docker", ""},
	{"/docker/" A "/system.slice/ssh.service", A, "docker", ""},
	{"/system.slice/docker.service", "", "", ""},
	{"/system.slice/docker.service/docker/" A, A, "docker", ""},
	/* Kubernetes by cgroupfs, three classes of service. */
	{"/kubepods/burstable/pod" U "/" A, A, "", U},
	{"/kubepods/besteffort/pod" U "/" A, A, "", U},
	{"/kubepods/pod" U "/" A, A, "", U},
	{"/kubelet/kubepods/burstable/pod" U "/" A, A, "", U},
	/* …by systemd. */
	{K "burstable.slice/kubepods-burstable-pod" S ".slice/cri-containerd-" A ".scope", A,
	 "cri-containerd", U},
	{K "besteffort.slice/kubepods-besteffort-pod" S ".slice/docker-" A ".scope", A, "docker",
	 U},
	{K "pod" S ".slice/crio-" A ".scope", A, "crio", U},
	{K "pod" S ".slice/crio-" A ".scope/container", A, "crio", U},
	{K "pod" S ".slice/crio-conmon-" A ".scope", "", "", U},
	{H "kubelet-kubepods-burstable-pod" S ".slice/cri-containerd-" A ".scope", A,
	 "cri-containerd", U},
	{"/docker/" B H "kubelet-kubepods-burstable-pod" S ".slice/cri-containerd-" A ".scope", A,
	 "cri-containerd", U},
	/* A static pod's uid is a hash; a runtime told the wrong driver writes colons. */
	{K "burstable.slice/kubepods-burstable-pod" T ".slice/cri-containerd-" A ".scope", A,
	 "cri-containerd", T},
	{"/system.slice/containerd.service/kubepods-burstable-pod" S ".slice:cri-containerd:" A, A,
	 "cri-containerd", U},
	/* The pod itself: its pause is a container, its own group is not. */
	{"/kubepods/burstable/pod" U, "", "", U},
	{"/kubepods/burstable", "", "", ""},
	/* Podman: as root, by a user, in a pod; its monitor. */
	{"/machine.slice/libpod-" A ".scope", A, "libpod", ""},
	{"/machine.slice/libpod-" A ".scope/container", A, "libpod", ""},
	{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope/container", A,
	 "libpod", ""},
	{"/machine.slice/machine-libpod_pod_" B ".slice/libpod-" A ".scope", A, "libpod", B},
	{"/machine.slice/libpod-conmon-" A ".scope", "", "", ""},
	{"/libpod_parent/libpod-" A, A, "libpod", ""},
	{"/libpod_parent/conmon", "", "", ""},
	/* Others. */
	{"/system.slice/nerdctl-" A ".scope", A, "nerdctl", ""},
	{"/k8s.io/" A, A, "", ""},
	{"/ecs/" T "/" A, A, "", ""},
	{"/ecs/cluster/" T "/" A, A, "", ""},
	{"/ecs/" T "/" T "-1234567890", T "-1234567890", "ecs", ""},
	{"/lxc/web1", "web1", "lxc", ""},
	{"/lxc.payload/web1/system.slice/nginx.service", "web1", "lxc", ""},
	{"/lxc.payload.web1/init.scope", "web1", "lxc", ""},
	{"/lxc.monitor.web1", "", "", ""},
	{"/machine.slice/machine-debian.scope/payload", "debian", "machine", ""},
	{"/machine.slice/systemd-nspawn@debian.service/payload", "debian", "nspawn", ""},
	/* A runtime nobody has heard of. */
	{"/box-" A ".scope", A, "box", ""},
	/* None. */
	{"", "", "", ""},
	{"/", "", "", ""},
	{"/user.slice/user-1000.slice/session-4.scope", "", "", ""},
	{"/system.slice/redis-server.service", "", "", ""},
	{"/system.slice/system-getty.slice/getty@tty1.service", "", "", ""},
	{"/tripod/x", "", "", ""},
	{"/" T, "", "", ""},
	{"/docker/7ED4D5FA1B9F4B1C8F3A6B0D2C9E8F7A6B5C4D3E2F1A0B9C8D7E6F5A4B3C2D1E", "", "", ""},
	{"/docker/" A "f", "", "", ""},
	{"//docker//" A "//", A, "docker", ""},
};

static void assert_text(struct cam_text a, const char *b, const char *path)
{
	if (!cam_text_equal(a, cam_text_of(b)))
		fail_msg("%s: '%.*s', not '%s'", path, (int)a.n, a.p, b);
}

static void paths_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct cam_container c = cam_container_of(cam_text_of(paths[i].path));
		assert_text(c.id, paths[i].id, paths[i].path);
		assert_text(c.runtime, paths[i].runtime, paths[i].path);
		assert_text(cam_text_of(c.pod), paths[i].pod, paths[i].path);
	}
}

/* Any bytes, also cut at every place: read inside them, and no pod longer than one is. */
static void any_bytes_are_a_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		size_t n = strlen(paths[i].path);
		for (size_t k = 0; k <= n; k++) {
			char *exact = malloc(k + 1);
			memcpy(exact, paths[i].path, k);
			struct cam_container c = cam_container_of((struct cam_text){exact, k});
			assert_true(strlen(c.pod) <= CAM_POD_BYTES);
			free(exact);
		}
	}
}

static void a_beginning_is_enough(void **state)
{
	(void)state;
	struct cam_container c =
		cam_container_of(cam_text_of(K "pod" S ".slice/cri-containerd-" A ".scope"));
	assert_true(cam_container_is(&c, CAM_TEXT("7ed4d5")));
	assert_true(cam_container_is(&c, CAM_TEXT(A)));
	assert_false(cam_container_is(&c, CAM_TEXT("ed4d5")));
	assert_false(cam_container_is(&c, CAM_TEXT("")));
	assert_false(cam_container_is(&c, CAM_TEXT(A "0")));
	assert_true(cam_container_is_in_pod(&c, CAM_TEXT("8d3e2c1b-4a5f")));
	assert_true(cam_container_is_in_pod(&c, CAM_TEXT(S)));
	assert_false(cam_container_is_in_pod(&c, CAM_TEXT("8d3e2c1b-4a50")));
	assert_false(cam_container_is_in_pod(&c, CAM_TEXT("")));
	c = cam_container_of(CAM_TEXT("/"));
	assert_false(cam_container_is(&c, CAM_TEXT("7")));
	assert_false(cam_container_is_in_pod(&c, CAM_TEXT("8")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_understood),
		cmocka_unit_test(any_bytes_are_a_path),
		cmocka_unit_test(a_beginning_is_enough),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
