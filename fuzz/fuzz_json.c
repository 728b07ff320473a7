// SPDX-License-Identifier: Apache-2.0
/* Any bytes as JSON; what is taken is walked wholly. */
#include "base/json_value.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct cam_json_value v, int depth)
{
	struct cam_json_value e;
	char room[16];
	uint64_t u;
	int64_t i;
	bool b;
	if (depth > CAM_JSON_DEPTH)
		abort();
	cam_json_value_u64(v, &u);
	cam_json_value_i64(v, &i);
	cam_json_value_bool(v, &b);
	cam_json_value_string(v, room, sizeof(room));
	if (cam_json_value_get(v, "a", &e))
		walk(e, depth + 1);
	for (size_t n = 0; n < 4 && cam_json_value_at(v, n, &e); n++)
		walk(e, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cam_json_value v;
	if (cam_json_value_parse((struct cam_text){(const char *)data, size}, &v) == 0)
		walk(v, 1);
	return 0;
}
