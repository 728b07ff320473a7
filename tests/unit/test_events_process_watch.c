// SPDX-License-Identifier: Apache-2.0
/* Against a plain list, with pids that fall on each other's places. */
#include "events/process_watch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct cam_process_watch w;

static void names_are_read(void **state)
{
	(void)state;
	char room[CAM_WATCH_NAME];
	assert_int_equal(cam_process_watch_set(&w, CAM_TEXT("nginx, redis*")), 0);
	assert_true(cam_process_watch_begin(&w, 7, CAM_TEXT("nginx")));
	assert_false(cam_process_watch_begin(&w, 7, CAM_TEXT("nginx")));
	assert_true(cam_process_watch_begin(&w, 8, CAM_TEXT("redis-server")));
	assert_false(cam_process_watch_begin(&w, 9, CAM_TEXT("nginx2")));
	assert_false(cam_process_watch_begin(&w, 0, CAM_TEXT("nginx")));
	assert_string_equal(cam_process_watch_name(&w, 8), "redis-server");
	assert_null(cam_process_watch_name(&w, 9));
	assert_true(cam_process_watch_end(&w, 8, room));
	assert_string_equal(room, "redis-server");
	assert_false(cam_process_watch_end(&w, 8, room));
	assert_false(cam_process_watch_end(&w, -8, room));
	assert_int_equal(cam_process_watch_set(&w, CAM_TEXT("a,,b")), -EINVAL);
	assert_int_equal(cam_process_watch_set(&w, CAM_TEXT("a-name-of-sixteen")), -EINVAL);
	assert_int_equal(cam_process_watch_set(&w, CAM_TEXT("1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g,h")),
			 -EINVAL);
}

static void many_come_and_go(void **state)
{
	(void)state;
	static bool there[8192];
	char room[CAM_WATCH_NAME];
	uint64_t random = 88172645463325252u;
	unsigned n = 0;
	assert_int_equal(cam_process_watch_set(&w, CAM_TEXT("x")), 0);
	for (unsigned i = 0; i < 200000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		int32_t pid = (int32_t)(random % 8190) + 1;
		if (random >> 60 < 9) {
			bool room_left = n < CAM_WATCH_PROCESSES - 1;
			assert_int_equal(cam_process_watch_begin(&w, pid, CAM_TEXT("x")),
					 !there[pid]);
			n += !there[pid] && room_left;
			there[pid] = there[pid] || room_left;
		} else {
			assert_int_equal(cam_process_watch_end(&w, pid, room), there[pid]);
			n -= there[pid];
			there[pid] = false;
		}
		assert_int_equal(w.n_processes, n);
	}
	assert_true(w.unfollowed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read),
		cmocka_unit_test(many_come_and_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
