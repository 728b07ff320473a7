// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program under a unit's system call rules where systemd itself does not run:
 *
 *	unit_jail CALLS COMMAND [ARGUMENT…]
 *
 * CALLS is a file with the names of the calls that are allowed, a line each; any other fails with
 * EPERM. On top of that, as the recorder's unit has it: no memory that can be written and executed
 * (MemoryDenyWriteExecute), no new namespaces (RestrictNamespaces), local sockets only
 * (RestrictAddressFamilies). User and capabilities are setpriv's business.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "unit_jail: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(125);
}

static void deny(scmp_filter_ctx ctx, int error, const char *name, struct scmp_arg_cmp when)
{
	check(seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((unsigned)error),
				     seccomp_syscall_resolve_name(name), 1, &when),
	      name);
}

/* A filter of its own: of several that answer, the kernel takes the strictest. */
static void restrict_arguments(void)
{
	static const unsigned namespaces[] = {CLONE_NEWNS,    CLONE_NEWUTS, CLONE_NEWIPC,
					      CLONE_NEWUSER,  CLONE_NEWPID, CLONE_NEWNET,
					      CLONE_NEWCGROUP};
	const unsigned both = PROT_WRITE | PROT_EXEC;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		check(ENOMEM, "seccomp_init");
	deny(ctx, EPERM, "mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, both, both));
	deny(ctx, EPERM, "mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		deny(ctx, EPERM, "clone",
		     SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
		deny(ctx, EPERM, "unshare",
		     SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
	}
	/* Its flags are behind a pointer: libc turns to clone(). */
	check(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0), "clone3");
	deny(ctx, EAFNOSUPPORT, "socket", SCMP_A0(SCMP_CMP_NE, AF_UNIX));
	check(seccomp_load(ctx), "seccomp_load");
	seccomp_release(ctx);
}

static void restrict_calls(const char *path)
{
	char name[64];
	unsigned known = 0;
	FILE *f = fopen(path, "re");
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!f || !ctx)
		check(f ? ENOMEM : errno, path);
	while (fgets(name, sizeof(name), f)) {
		name[strcspn(name, "\n")] = '\0';
		int call = seccomp_syscall_resolve_name(name);
		/* Of other architectures, or newer than the library. */
		if (call == __NR_SCMP_ERROR || call < 0)
			continue;
		check(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 0), name);
		known++;
	}
	fclose(f);
	if (known < 50)
		check(EINVAL, "too few calls to be a unit's list");
	check(seccomp_load(ctx), "seccomp_load");
	seccomp_release(ctx);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		check(EINVAL, "usage: unit_jail CALLS COMMAND…");
	restrict_arguments();
	restrict_calls(argv[1]);
	execvp(argv[2], argv + 2);
	check(errno, argv[2]);
	return 125;
}
