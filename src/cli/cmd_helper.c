// SPDX-License-Identifier: Apache-2.0
/*
 * `perfcam helper ROLE`: what the recorder starts this binary as, with a socket as descriptor 3. Not
 * for people: it is not in the list of verbs.
 */
#include "cli/say.h"
#include "cli/verbs.h"
#include "daemon/fetcher.h"
#include "daemon/keeper.h"
#include "daemon/privilege.h"
#include "daemon/recorder.h"
#include "events/journal.h"
#include "helper/helper.h"
#include "proc/java.h"
#include "proc/opener.h"
#include "symbol/symboliser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SOCKET		3
#define NOBODY		65534
#define HOOK_CPU_S	30
#define HOOK_BYTES	(512u << 20)
#define HOOK_MASK	077
#define CAPSULE_CPU_S	60
#define CAPSULE_BYTES	(32u << 20)
#define LOWEST_PRIORITY 19

static int confine_symboliser(void)
{
	return cam_confine(CAM_CONFINE_SYMBOLISER);
}

static int run_symboliser(void)
{
	return cam_symboliser_run(SOCKET, CAM_SYMBOLISER_IDLE_MS, confine_symboliser) ? 1 : 0;
}

/* Beside the opener, before that is confined: who asks JVMs. Answers the opener's end. */
static int start_java(void)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		close(SOCKET);
		close(ends[0]);
		int err = cam_confine(CAM_CONFINE_JAVA);
		_exit((err && err != -EOPNOTSUPP) || cam_java_run(ends[1]) ? 1 : 0);
	}
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

static int run_opener(bool with_java)
{
	int java = with_java ? start_java() : -1;
	/* Without seccomp it runs as before it was confined, but for its capabilities. */
	int err = cam_confine(CAM_CONFINE_OPENER);
	return (err && err != -EOPNOTSUPP) || cam_opener_run(SOCKET, java) ? 1 : 0;
}

static int confine_fetcher(void)
{
	return cam_confine(CAM_CONFINE_FETCHER);
}

/* helper journal SETTING SINCE_US [kernel] */
static int run_journal(char **argv)
{
	struct cam_journal_wish w = {.n_units = 0};
	if (!argv[0] || !argv[1] || !argv[2] || cam_journal_wish_parse(&w, cam_text_of(argv[0])))
		return 1;
	w.since_us = strtoll(argv[1], NULL, 10);
	w.kernel = argv[2][0] != 0;
	return cam_journal_run(SOCKET, &w, cam_confine_journal) ? 1 : 0;
}

/* Where memory is short this one goes first. What cannot be written was not ours to say. */
static void volunteer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		cam_note("helper: /proc/self/oom_score_adj: %s", strerror(errno));
	close(fd);
}

/*
 * helper capsule STORE @TIME, for a rule (daemon/recorder_capsules.c): to descriptor 1. Confined as the server is, who writes
 * them, too.
 */
static int run_capsule(char **argv)
{
	static const struct cam_verb verb = {.name = "capsule", .synopsis = "", .summary = ""};
	char who[128];
	struct stat s;
	const struct rlimit cpu = {CAPSULE_CPU_S, CAPSULE_CPU_S},
			    bytes = {CAPSULE_BYTES, CAPSULE_BYTES};
	if (!argv[0] || !argv[1] || close_range(SOCKET, ~0u, 0) || stat(argv[0], &s) ||
	    setpriority(PRIO_PROCESS, 0, LOWEST_PRIORITY) || setrlimit(RLIMIT_CPU, &cpu) ||
	    setrlimit(RLIMIT_FSIZE, &bytes))
		return 1;
	volunteer();
	tzset(); /* later there is no /etc/localtime */
	int store = open(argv[0], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (store < 0 || cam_privilege_drop(s.st_gid, who, sizeof(who)))
		return 1;
	int err = cam_confine_server(&store, 1);
	if (err && err != -EOPNOTSUPP)
		return 1;
	char name[] = "capsule", from[] = "--store", to[] = "-o", here[] = "-";
	char *args[] = {name, argv[1], from, argv[0], to, here, NULL};
	return cam_cmd_capsule(&verb, 6, args);
}

/* A program that a rule names (daemon/recorder_rules.c): nobody's, with nothing that is ours. */
static int become_hook(char **argv)
{
	char who[128];
	const struct rlimit cpu = {HOOK_CPU_S, HOOK_CPU_S}, bytes = {HOOK_BYTES, HOOK_BYTES};
	/* The recorder may come before others, its host's programs may not. */
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
	/* Who is not root stays the recorder's user, whose files are the store's. */
	if (geteuid() != 0 && cam_confine_hook())
		return CAM_HOOK_REFUSED;
	if (!argv[0] || close_range(SOCKET, ~0u, 0) ||
	    cam_privilege_drop(NOBODY, who, sizeof(who)) || chdir("/") ||
	    setrlimit(RLIMIT_CPU, &cpu) || setrlimit(RLIMIT_AS, &bytes))
		return 1;
	umask(HOOK_MASK);
	execv(argv[0], argv);
	return 1;
}

int cam_cmd_helper(const struct cam_verb *verb, int argc, char **argv)
{
	(void)verb;
	const char *role = argc > 1 ? argv[1] : "";
	char name
		[16]; /* else the kernel's name for it is "exe", after the link it was started by */
	int status;
	for (enum cam_helper_role r = 0; r < CAM_HELPER_ROLES; r++) {
		if (!strcmp(role, cam_helper_role_name(r)))
			cam_helper_be_polite(r);
	}
	snprintf(name, sizeof(name), "perfcam-%s", role);
	prctl(PR_SET_NAME, name);
	if (!strcmp(role, cam_helper_role_name(CAM_HELPER_OPENER)))
		status = run_opener(argc > 2 && !strcmp(argv[2], "java"));
	else if (!strcmp(role, cam_helper_role_name(CAM_HELPER_SYMBOLISER)))
		status = run_symboliser();
	else if (!strcmp(role, cam_helper_role_name(CAM_HELPER_FETCHER)))
		status = cam_fetcher_run(SOCKET, confine_fetcher);
	else if (!strcmp(role, cam_helper_role_name(CAM_HELPER_SEALER)))
		status = cam_sealer_run(SOCKET);
	else if (!strcmp(role, cam_helper_role_name(CAM_HELPER_JOURNAL)))
		status = run_journal(argv + 2);
	else if (!strcmp(role, "capsule"))
		status = run_capsule(argv + 2);
	else if (!strcmp(role, "hook"))
		status = become_hook(argv + 2);
	else
		return cam_usage("helper: the recorder starts these itself");
	/* Confined: what libraries do at exit() may be forbidden. */
	_exit(status);
}
