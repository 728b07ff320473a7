// SPDX-License-Identifier: Apache-2.0
#include "serve/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#if MHD_VERSION >= 0x02000000
#error "another interface, and another name of the file"
#endif

int cam_http_library_load(struct cam_http_library *l)
{
	void *so = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
	const struct {
		void **at;
		const char *name;
	} all[] = {
		{(void **)&l->start_daemon, "MHD_start_daemon"},
		{(void **)&l->stop_daemon, "MHD_stop_daemon"},
		{(void **)&l->connection_info, "MHD_get_connection_info"},
		{(void **)&l->values, "MHD_get_connection_values"},
		{(void **)&l->values_n, "MHD_get_connection_values_n"},
		{(void **)&l->value, "MHD_lookup_connection_value"},
		{(void **)&l->set_option, "MHD_set_connection_option"},
		{(void **)&l->response_from_buffer, "MHD_create_response_from_buffer"},
		{(void **)&l->response_from_callback, "MHD_create_response_from_callback"},
		{(void **)&l->add_header, "MHD_add_response_header"},
		{(void **)&l->queue, "MHD_queue_response"},
		{(void **)&l->destroy_response, "MHD_destroy_response"},
	};
	for (size_t i = 0; so && i < sizeof(all) / sizeof(all[0]); i++) {
		*all[i].at = dlsym(so, all[i].name);
		if (!*all[i].at)
			return -ELIBACC;
	}
	return so ? 0 : -ELIBACC;
}
