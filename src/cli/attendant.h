// SPDX-License-Identifier: Apache-2.0
/*
 * Who keeps the server of `run` going: a process between the recorder and the server, which has the store and the socket
 * open as they were before privileges were given up, and waits. A server that dies is started again from there, on the same
 * port and with the same token; who connects meanwhile waits. It reads nothing, from nobody.
 */
#pragma once
#include "cli/serving.h"

#include <sys/types.h>

/*
 * Forks it, and waits until the server answers: a URL is for printing only then. *out_fd tells of each server that was
 * started: a packet, its pid, with the recorder's end of a socket to it (cam_record_request.servers_fd); closed once there
 * will be no other one. An exit status; what went wrong was said.
 */
int cam_attendant_start(struct cam_serving *s, pid_t *out, int *out_fd);
/* Ends it, and with it the server, within seconds: one that hangs is killed. */
void cam_attendant_stop(pid_t attendant);
