// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program under a unit's system call rules where systemd itself does not run:
 *
 *	unit_jail CALLS COMMAND [ARGUMENT…]
 *
 * CALLS is a file with the names of the calls that are allowed, a line each, any other fails with
 * EPERM; and of address families (AF_UNIX, …), any other fails with EAFNOSUPPORT. On top of that, as
 * both units have it: no memory that can be written and executed (MemoryDenyWriteExecute), no new
 * namespaces (RestrictNamespaces). User and capabilities are setpriv's business.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
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
static void restrict_arguments(uint64_t families)
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
	for (unsigned family = 0; family < AF_MAX; family++) {
		if (!(families >> family & 1))
			deny(ctx, EAFNOSUPPORT, "socket", SCMP_A0(SCMP_CMP_EQ, family));
	}
	check(seccomp_load(ctx), "seccomp_load");
	seccomp_release(ctx);
}

static uint64_t family_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} families[] = {{"AF_UNIX", AF_UNIX}, {"AF_INET", AF_INET}, {"AF_INET6", AF_INET6}};
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (strcmp(name, families[i].name) == 0)
			return (uint64_t)1 << families[i].number;
	}
	return 0;
}

static void apply(const char *path)
{
	char name[64];
	unsigned known = 0;
	uint64_t families = 0;
	FILE *f = fopen(path, "re");
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!f || !ctx)
		check(f ? ENOMEM : errno, path);
	while (fgets(name, sizeof(name), f)) {
		name[strcspn(name, "\n")] = '\0';
		families |= family_of(name);
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
	restrict_arguments(families);
	check(seccomp_load(ctx), "seccomp_load");
	seccomp_release(ctx);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		check(EINVAL, "usage: unit_jail CALLS COMMAND…");
	apply(argv[1]);
	execvp(argv[2], argv + 2);
	check(errno, argv[2]);
	return 125;
}
