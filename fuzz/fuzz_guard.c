// SPDX-License-Identifier: Apache-2.0
/* Any headers, before any route: who has not the token gets nothing. The input's strings end with NUL. */
#include "serve/guard.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "correct-horse-battery"
#define N     9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_guard g;
	struct cam_guard_seen seen = {0};
	char *s[N] = {0}; /* each as memory of its own: reading past its end is seen */
	bool knows = memmem(data, size, TOKEN, strlen(TOKEN)) != NULL;
	for (unsigned i = 0; i < N && size; i++) {
		s[i] = strndup((const char *)data, size);
		size_t n = strlen(s[i]) + (strlen(s[i]) < size);
		data += n;
		size -= n;
	}
	cam_guard_init(&g, "127.0.0.1", 7117, TOKEN, size % 2 ? "proxy.example" : "");
	cam_guard_headers_agree(&seen, (const char *)data, size / 2, (const char *)data, size);
	const struct cam_guard_headers h = {
		s[0] ? s[0] : "GET", s[1] ? s[1] : "/", s[2], s[3], s[4], s[5], s[6], s[7], s[8],
		size % 3 == 1,	     size % 5 == 1};
	enum cam_guard_verdict v = cam_guard_look(&g, &h);
	if (!knows && (v == CAM_GUARD_PASS || v == CAM_GUARD_ENTER))
		abort();
	for (unsigned i = 0; i < N; i++)
		free(s[i]);
	return 0;
}
