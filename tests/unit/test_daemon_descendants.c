// SPDX-License-Identifier: Apache-2.0
/* Who is below a process, in /proc: counted whether there is room or not. */
#include "daemon/descendants.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILDREN 5

/* Children that have a child each, until the pipe is closed. */
struct tree {
	int go[2], told[2];
	int32_t pids[2 * CHILDREN];
};

static void tell(const struct tree *t, int i)
{
	const int32_t told[2] = {i, getpid()};
	if (write(t->told[1], told, sizeof(told)) != (ssize_t)sizeof(told))
		_exit(1);
}

static void be_child(struct tree *t, int i)
{
	char none;
	close(t->go[1]);
	if (fork() == 0)
		i += CHILDREN;
	tell(t, i);
	_exit(read(t->go[0], &none, 1) != 0);
}

static void grow(struct tree *t)
{
	assert_int_equal(pipe(t->go), 0);
	assert_int_equal(pipe(t->told), 0);
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0)
			be_child(t, i);
	}
	for (int i = 0; i < 2 * CHILDREN; i++) {
		int32_t told[2];
		assert_int_equal(read(t->told[0], told, sizeof(told)), sizeof(told));
		t->pids[told[0]] = told[1];
	}
}

static void fell(struct tree *t)
{
	close(t->go[0]);
	close(t->go[1]);
	close(t->told[0]);
	close(t->told[1]);
	while (wait(NULL) > 0)
		;
}

static bool has(const int32_t *pids, size_t n, int32_t pid)
{
	for (size_t i = 0; i < n; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

static void all_below_are_found_once(void **state)
{
	(void)state;
	struct tree t;
	int32_t found[64] = {getpid()};
	grow(&t);
	size_t n = cam_descendants_add(found, 1, 64);
	assert_int_equal(n, 1 + 2 * CHILDREN);
	for (size_t i = 0; i < 2 * CHILDREN; i++)
		assert_true(has(found, n, t.pids[i]));
	/* Nobody new. */
	assert_int_equal(cam_descendants_add(found, n, 64), n);
	/* From two of which one is below the other, which is met twice. */
	int32_t two[64] = {t.pids[CHILDREN], t.pids[0]};
	assert_int_equal(cam_descendants_add(two, 2, 64), 2);
	fell(&t);
	assert_int_equal(cam_descendants_add(found, 1, 64), 1);
}

static void who_does_not_fit_is_counted(void **state)
{
	(void)state;
	struct tree t;
	int32_t found[4] = {getpid(), 0, 0, -1};
	grow(&t);
	assert_int_equal(cam_descendants_add(found, 1, 3), 1 + 2 * CHILDREN);
	assert_true(has(t.pids, 2 * CHILDREN, found[1]));
	assert_true(has(t.pids, 2 * CHILDREN, found[2]));
	assert_int_equal(found[3], -1);
	fell(&t);
}

static void *wait_for_end(void *arg)
{
	char none;
	return read(*(int *)arg, &none, 1) == 0 ? NULL : arg;
}

static void threads_that_do_not_fit_are_counted(void **state)
{
	(void)state;
	pthread_t threads[3];
	int go[2];
	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_end, &go[0]), 0);
	int32_t tids[3] = {0, 0, -1};
	assert_int_equal(cam_descendants_threads(getpid(), tids, 2), 4);
	assert_int_equal(tids[2], -1);
	assert_int_equal(cam_descendants_process(tids[1]), getpid());
	/* Others of this user may come and go. */
	assert_true(cam_descendants_threads_of_user(getuid(), tids, 2) >= 4);
	assert_int_equal(tids[2], -1);
	close(go[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	close(go[0]);
	assert_int_equal(cam_descendants_process(-5), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_below_are_found_once),
		cmocka_unit_test(who_does_not_fit_is_counted),
		cmocka_unit_test(threads_that_do_not_fit_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
