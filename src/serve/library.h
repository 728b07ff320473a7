// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd, loaded by the process that serves and by no other: with the nine libraries that it brings along (TLS,
 * which is not used) it is two thirds of what the start of a process takes, and every view in the terminal, every
 * sealer and every helper is a process.
 */
#pragma once
#include <microhttpd.h>

struct cam_http_library {
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_get_connection_info) connection_info;
	__typeof__(&MHD_get_connection_values) values;
	__typeof__(&MHD_get_connection_values_n) values_n;
	__typeof__(&MHD_lookup_connection_value) value;
	__typeof__(&MHD_set_connection_option) set_option;
	__typeof__(&MHD_create_response_from_buffer) response_from_buffer;
	__typeof__(&MHD_create_response_from_callback) response_from_callback;
	__typeof__(&MHD_add_response_header) add_header;
	__typeof__(&MHD_queue_response) queue;
	__typeof__(&MHD_destroy_response) destroy_response;
};

/* 0, or -ELIBACC: it is not here, or not all of it. It stays until the process ends. */
int cam_http_library_load(struct cam_http_library *l);
