// SPDX-License-Identifier: Apache-2.0
/*
 * Asking a JVM to write its perf map (--java-maps): what `jcmd PID Compiler.perfmap` does, by the same
 * protocol, but as the JVM's own user and in its own namespaces, and never for long.
 *
 * A process of its own beside the opener, which may do none of it. Each request is run by a child that
 * ends after CAM_JAVA_SECONDS, whatever happens; more than CAM_JAVA_AT_ONCE at a time are dropped.
 * Nothing is answered: whoever asked looks for the map later.
 */
#pragma once
#include <stdint.h>

#define CAM_JAVA_SECONDS 10u
#define CAM_JAVA_AT_ONCE 4u

struct cam_java_request {
	int32_t pid;
	uint64_t start_ns; /* boot clock; 0: any */
};

/* Serves requests until the other end of the socket (SOCK_SEQPACKET) closes. It returns in each child,
 * too, when that is done: the caller then ends the process, whichever it is. */
int cam_java_run(int socket);
/* One request, in this process, which becomes another user: call it in a child. -EOPNOTSUPP: no JVM that
 * can be asked; else what failed. */
int cam_java_ask(const struct cam_java_request *r);
