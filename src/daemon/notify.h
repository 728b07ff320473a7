// SPDX-License-Identifier: Apache-2.0
/*
 * Tells the service manager how it goes: datagrams of KEY=VALUE lines to $NOTIFY_SOCKET, as
 * sd_notify(3) documents them, without its library. Started by hand there is no such socket, and
 * every call does nothing. Nothing here waits: a datagram that does not fit is lost (-EAGAIN).
 */
#pragma once
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct cam_notify {
	int fd;		      /* -1: nobody listens */
	uint64_t watchdog_ns; /* a sign of life is due this often; 0: none is. Give two as often */
	struct sockaddr_un address;
	socklen_t address_bytes;
};

/*
 * From the environment, which it takes out of it: what is started later does not speak for us.
 * -EAFNOSUPPORT, -ENAMETOOLONG: there is an address, but not one that can be used; the recorder
 * runs as well without.
 */
int cam_notify_open(struct cam_notify *n);
void cam_notify_close(struct cam_notify *n);

/* `status`: one line for `systemctl status`; may be NULL. */
int cam_notify_ready(const struct cam_notify *n, const char *status);
/* A reload begins; cam_notify_ready() ends it. */
int cam_notify_reloading(const struct cam_notify *n);
int cam_notify_stopping(const struct cam_notify *n);
/* A sign of life. */
int cam_notify_alive(const struct cam_notify *n);
