// SPDX-License-Identifier: Apache-2.0
/* Where the control socket of a store is, and how a path of any length becomes an address. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CAM_CONTROL_LINK ".control"

/* For the recorder: where to listen; makes the directory of the usual place. */
int cam_control_place_listen(const char *store, const char *given, char *room, size_t room_bytes);
/* For the asker: where the store's recorder listens, if one does. */
int cam_control_place_ask(const char *store, const char *given, char *room, size_t room_bytes);
/* Leaves the link in the store, replacing an older one. */
int cam_control_place_link(const char *store, const char *path);
/* Removes it, if it still leads there. */
void cam_control_place_unlink(const char *store, const char *path);

/*
 * An address holds 107 bytes of path; a longer one goes through a descriptor of its directory. *dir
 * is to be closed after use (-1: none).
 */
int cam_control_place_address(const char *path, struct sockaddr_un *address, int *dir);
