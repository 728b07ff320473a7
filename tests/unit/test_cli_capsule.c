// SPDX-License-Identifier: Apache-2.0
/* Who asks for a capsule over HTTP does not wait for ever: also not for its pictures. */
#include "base/units.h"
#include "cli/capsule.h"
#include "support_window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NS   CAM_NS_PER_SEC
#define WALL (1776222847ll * 1000000000)

static struct cam_source *minute(void)
{
	struct fake_window *f = fake_window_new();
	struct cam_task_id task = fake_task(f, 7, 71, "kubelet");
	struct cam_place_id place = fake_place(f, "main;work");
	for (unsigned i = 0; i < 6000; i++)
		fake_sample(f, 100 * NS + i * 10 * CAM_NS_PER_MS, 0, task, place);
	f->w.info.start_ns = 100 * NS;
	f->w.info.end_ns = 160 * NS;
	f->w.info.realtime_ns = WALL;
	f->w.info.sealed = true;
	fake_add_anchor(f, &(struct cam_anchor){.time_ns = 100 * NS,
						.raw_ns = CAM_TIME_NONE,
						.boottime_ns = CAM_TIME_NONE,
						.sched_ns = CAM_TIME_NONE,
						.realtime_ns = WALL});
	fake_window_ready(f);
	return fake_source_new(&f, 1);
}

static int everything(const void *arg, struct cam_selection *s)
{
	(void)arg;
	cam_selection_init(s);
	return 0;
}

struct waiting {
	const struct cam_buf *page; /* NULL: with all the time there is */
	unsigned asked;
};

/* Until the first bytes of the page are there. */
static int wait_for_page(void *arg, uint64_t done, uint64_t all)
{
	struct waiting *w = arg;
	(void)done;
	(void)all;
	w->asked++;
	return w->page && w->page->len ? -ETIMEDOUT : 0;
}

static int send(const struct cam_buf *until, struct cam_buf *page)
{
	struct cam_source *source = minute();
	struct cam_selection s = {.clock = CAM_SELECT_WALL,
				  .from_ns = WALL + 30ll * (int64_t)NS,
				  .to_ns = WALL + 40ll * (int64_t)NS};
	struct waiting w = {.page = until};
	const struct cam_progress progress = {wait_for_page, &w};
	const struct cam_server_capsule asked = {.source = source,
						 .selection = &s,
						 .like = everything,
						 .scope = "all",
						 .progress = &progress};
	struct cam_out out;
	cam_out_to_buf(&out, page);
	int err = cam_capsule_send(NULL, &asked, &out);
	assert_int_equal(cam_out_finish(&out), 0);
	assert_true(w.asked > 0);
	source->ops->close(source);
	return err;
}

static void pictures_are_not_made_for_ever(void **state)
{
	struct cam_buf page = CAM_BUF(64u << 20);
	(void)state;
	assert_int_equal(send(NULL, &page), 0);
	assert_non_null(memmem(page.data, page.len, "</html>", 7));
	cam_buf_clear(&page);
	assert_int_equal(send(&page, &page), -ETIMEDOUT);
	cam_buf_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pictures_are_not_made_for_ever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
