// SPDX-License-Identifier: Apache-2.0
/*
 * What the static libmicrohttpd of a distribution asks of GnuTLS, where nobody speaks TLS: the server listens on loopback or
 * behind a proxy that does (docs/operations.md). With the shared one GnuTLS and eight libraries of its own came along into every
 * verb, sealer and helper, and were most of what their start took.
 *
 * The library begins and ends TLS as a whole whenever it is loaded; all else belongs to connections with TLS, of which there
 * are none: it fails. Where the shared library is linked (meson.build) this file is not.
 */
#include <stdlib.h>

#define UNIMPLEMENTED (-1250) /* as GnuTLS has it */

int gnutls_global_init(void);
void gnutls_global_deinit(void);
int cam_no_tls(void);
const void *cam_no_tls_text(void);

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}

int cam_no_tls(void)
{
	return UNIMPLEMENTED;
}

const void *cam_no_tls_text(void)
{
	return "";
}

/* A variable there: the function that allocates. */
extern void *(*gnutls_malloc)(size_t bytes);
void *(*gnutls_malloc)(size_t bytes) = malloc;

#define ABSENT(name)    \
	int name(void); \
	int name(void) __attribute__((alias("cam_no_tls")))
#define ABSENT_TEXT(name)       \
	const void *name(void); \
	const void *name(void) __attribute__((alias("cam_no_tls_text")))
ABSENT(gnutls_alpn_set_protocols);
ABSENT(gnutls_bye);
ABSENT(gnutls_certificate_allocate_credentials);
ABSENT(gnutls_certificate_free_credentials);
ABSENT(gnutls_certificate_server_set_request);
ABSENT(gnutls_certificate_set_dh_params);
ABSENT(gnutls_certificate_set_retrieve_function2);
ABSENT(gnutls_certificate_set_retrieve_function3);
ABSENT(gnutls_certificate_set_x509_key_mem);
ABSENT(gnutls_certificate_set_x509_key_mem2);
ABSENT(gnutls_certificate_set_x509_trust_mem);
ABSENT(gnutls_cipher_get);
ABSENT(gnutls_credentials_set);
ABSENT(gnutls_deinit);
ABSENT(gnutls_dh_params_deinit);
ABSENT(gnutls_dh_params_import_pkcs3);
ABSENT(gnutls_dh_params_init);
ABSENT(gnutls_handshake);
ABSENT(gnutls_init);
ABSENT(gnutls_priority_deinit);
ABSENT(gnutls_priority_init);
ABSENT(gnutls_priority_set);
ABSENT(gnutls_protocol_get_version);
ABSENT(gnutls_psk_allocate_server_credentials);
ABSENT(gnutls_psk_free_server_credentials);
ABSENT(gnutls_psk_set_server_credentials_function);
ABSENT(gnutls_record_check_pending);
ABSENT(gnutls_record_get_direction);
ABSENT(gnutls_record_recv);
ABSENT(gnutls_record_send);
ABSENT_TEXT(gnutls_session_get_ptr);
ABSENT(gnutls_session_set_ptr);
ABSENT_TEXT(gnutls_strerror);
ABSENT(gnutls_transport_set_int2);
