// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"
#include "render/heat_axis.h"
#include "render/heat_colour.h"
#include "render/png_heatmap.h"
#include "render/raster.h"
#include "render/svg_heatmap.h"
#include "render/text_heatmap.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEC CAM_NS_PER_SEC
#define DAY 86400

/* Two CPUs, four columns of 1 s: samples 1, 2, 3, 100; the third column of CPU 1 was not observed. */
static struct cam_heat_cell cells[8];
static uint32_t cpus[2] = {0, 7}, causes[4];

static struct cam_heatmap small_map(void)
{
	static const uint32_t counts[4] = {1, 2, 3, 100};
	for (unsigned i = 0; i < 8; i++) {
		cells[i] = (struct cam_heat_cell){.seen = CAM_HEAT_ALL_SEEN};
		if (i < 4)
			cells[i].samples = cells[i].peak = counts[i];
	}
	cells[6].seen = 0;
	memset(causes, 0, sizeof(causes));
	causes[2] = 1u << CAM_CAUSE_LOST_RING;
	return (struct cam_heatmap){
		.mode = CAM_HEAT_CORES,
		.cells = cells,
		.n_columns = 4,
		.n_rows = 2,
		.column_ns = SEC,
		.fine_ns = SEC,
		.cpus = cpus,
		.causes = causes,
		.from_ns = 20000 * DAY * (int64_t)SEC + 3 * 3600 * (int64_t)SEC,
		.wall = true,
		.realtime_from_ns = 20000 * DAY * (int64_t)SEC + 3 * 3600 * (int64_t)SEC,
		.max_samples = 100,
		.max_peak = 100,
		.seen = {.samples = 106,
			 .first = CAM_TEXT(""),
			 .last = CAM_TEXT(""),
			 .host = CAM_TEXT("")},
	};
}

/* A scale goes up, from 0 for nothing to the last step for the most; and legends agree with it. */
static void test_scales(void **state)
{
	(void)state;
	for (unsigned scale = CAM_SCALE_LINEAR; scale <= CAM_SCALE_SPARSE; scale++) {
		for (uint32_t max = 1; max < 3000; max = max * 3 + 1) {
			unsigned before = 0;
			assert_int_equal(cam_heat_strength((enum cam_heat_scale)scale, 0, max), 0);
			for (uint32_t v = 1; v <= max; v++) {
				unsigned s = cam_heat_strength((enum cam_heat_scale)scale, v, max);
				assert_in_range(s, before ? before : 1, CAM_HEAT_STEPS);
				if (s > before)
					assert_int_equal(cam_heat_least((enum cam_heat_scale)scale,
									s, max),
							 v);
				before = s;
			}
			assert_int_equal(before, CAM_HEAT_STEPS);
		}
	}
	/* One sample among many: a trace, a little, a third. */
	assert_int_equal(cam_heat_strength(CAM_SCALE_LINEAR, 1, 1000), 1);
	assert_in_range(cam_heat_strength(CAM_SCALE_LOG, 1, 1000), 2, 3);
	assert_in_range(cam_heat_strength(CAM_SCALE_SPARSE, 1, 1000), 4, 5);
}

static unsigned brightness(struct cam_rgb c)
{
	return c.r * 3u + c.g * 6u + c.b;
}

/* More is darker on light, lighter on dark, in each hue; unseen is no step of any. */
static void test_colours(void **state)
{
	(void)state;
	for (unsigned dark = 0; dark < 2; dark++) {
		for (unsigned hue = 0; hue < CAM_HEAT_HUES; hue++) {
			for (unsigned s = 1; s <= CAM_HEAT_STEPS; s++) {
				struct cam_heat_step step = {(uint8_t)s, (uint8_t)hue};
				struct cam_heat_step less = {(uint8_t)(s - 1), (uint8_t)hue};
				unsigned now = brightness(cam_heat_colour(step, true, dark));
				unsigned was = brightness(cam_heat_colour(less, true, dark));
				assert_true(dark ? now > was : now < was);
			}
		}
		struct cam_rgb u = cam_heat_unseen(dark);
		for (unsigned s = 0; s <= CAM_HEAT_STEPS; s++) {
			struct cam_rgb c =
				cam_heat_colour((struct cam_heat_step){(uint8_t)s, 0}, false, dark);
			assert_memory_not_equal(&c, &u, sizeof(c));
		}
	}
}

static int32_t two_east(void *arg, int64_t sec)
{
	(void)arg;
	(void)sec;
	return 7200;
}

static void test_axis(void **state)
{
	(void)state;
	struct cam_heatmap h = small_map();
	const struct cam_heat_zone utc = {0}, east = {two_east, NULL};
	uint64_t at;
	assert_string_equal(cam_heat_time(&h, &utc, 1500 * CAM_NS_PER_MS, true).s, "03:00:01.500");
	assert_string_equal(cam_heat_time(&h, &east, 0, false).s, "05:00:00");
	assert_string_equal(cam_heat_offset(&h, &east, 0).s, "+02:00");
	assert_string_equal(cam_heat_date(&h, &utc, 0).s, "2024-10-04");
	assert_string_equal(cam_heat_row(&h, 1).s, "CPU 7");
	assert_string_equal(cam_heat_when(&h, &utc, 2, 0).s, "03:00:02.000 – 03:00:03.000");
	/* Ticks stand on round times, wherever the axis begins. */
	h.realtime_from_ns += 700 * CAM_NS_PER_MS;
	assert_int_equal(cam_heat_next_tick(&h, &utc, 2 * SEC, 0, &at), 1);
	assert_int_equal(at, 1300 * CAM_NS_PER_MS);
	assert_int_equal(cam_heat_next_tick(&h, &utc, 2 * SEC, 2, &at), 3);
	assert_int_equal(cam_heat_next_tick(&h, &utc, 60 * SEC, 0, &at), h.n_columns);
	/* In sub-second rows; and without a wall clock. */
	h.mode = CAM_HEAT_SUBSECOND;
	h.n_rows = 50;
	assert_string_equal(cam_heat_row(&h, 12).s, "240 ms");
	h.realtime_from_ns = INT64_MIN;
	h.from_ns = 12345 * (int64_t)SEC;
	assert_string_equal(cam_heat_time(&h, &utc, 0, false).s, "12345 s");
	assert_string_equal(cam_heat_offset(&h, &utc, 0).s, "");
	assert_string_equal(cam_heat_when(&h, &utc, 0, 49).s, "12345.980 s – 12346.000 s");
}

static char *text_with(const struct cam_heatmap *h, const struct cam_tracks *tracks,
		       enum cam_text_colours colours)
{
	struct cam_buf buf = CAM_BUF(1 << 20);
	struct cam_out out;
	struct cam_heat_options o = {
		.title = CAM_TEXT("t"), .width = 60, .scale = CAM_SCALE_LINEAR, .tracks = tracks};
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_text_heatmap_write(h, &o, colours, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&buf, 0);
	assert_int_equal(buf.error, 0);
	return (char *)buf.data;
}

static char *text_of(const struct cam_heatmap *h, enum cam_text_colours colours)
{
	return text_with(h, NULL, colours);
}

/* Host counters of the small map: nothing is known of its first second, none was ever stolen. */
static struct cam_tracks small_tracks(void)
{
	static float user[] = {NAN, 0.5f, 0, 1}, system[] = {NAN, 0.25f, 0, 0},
		     idle[] = {NAN, 0.25f, 1, 0}, queue[] = {NAN, 2, 4, 8}, io[] = {0, 0, 0, 0.5f},
		     groups[] = {61, 61, 61, 61};
	static uint32_t who[4];
	struct cam_tracks t = {
		.from_ns = 20000 * DAY * (int64_t)SEC + 3 * 3600 * (int64_t)SEC,
		.step_ns = SEC,
		.n = 4,
		.waiters = {{812, CAM_TEXT("<j>"), 3200 * CAM_NS_PER_MS}},
		.n_waiters = 1,
	};
	t.by_kind[CAM_COUNTER_USER] = (struct cam_track){user, user, who};
	t.by_kind[CAM_COUNTER_SYSTEM] = (struct cam_track){system, system, who};
	t.by_kind[CAM_COUNTER_IDLE] = (struct cam_track){idle, idle, who};
	t.by_kind[CAM_COUNTER_RUNNABLE] = (struct cam_track){queue, queue, who};
	t.by_kind[CAM_COUNTER_PSI_IO] = (struct cam_track){io, io, who};
	t.by_kind[CAM_COUNTER_MEMORY_CGROUPS] = (struct cam_track){groups, groups, who};
	return t;
}

static void test_tracks_in_the_terminal(void **state)
{
	(void)state;
	struct cam_heatmap h = small_map();
	struct cam_tracks t = small_tracks();
	char *text = text_with(&h, &t, CAM_COLOURS_NONE);
	assert_non_null(strstr(text, "   user ????▄▄▄▄    ████\n"));
	assert_non_null(strstr(text, " system ????▂▂▂▂        \n"));
	assert_non_null(strstr(text, "  queue ????▂▂▂▂▄▄▄▄████\n"));
	assert_non_null(strstr(text, "psi i/o             ▄▄▄▄\n"));
	assert_non_null(strstr(text, "host: █ 100 %, queue 8.0\n"));
	assert_non_null(strstr(text, "waited to run: <j> (812) 3.20 s\n"));
	/* Neither there, nor worth a line. */
	assert_null(strstr(text, "stolen"));
	assert_null(strstr(text, "psi mem"));
	free(text);
	text = text_of(&h, CAM_COLOURS_NONE);
	assert_null(strstr(text, "host:"));
	free(text);
}

static void test_tracks_in_pictures(void **state)
{
	(void)state;
	struct cam_heatmap h = small_map();
	struct cam_tracks t = small_tracks();
	struct cam_buf buf = CAM_BUF(1 << 20), bare = CAM_BUF(1 << 20), with = CAM_BUF(1 << 20);
	struct cam_out out;
	struct cam_heat_options o = {.tracks = &t}, none = {0};
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_svg_heatmap_write(&h, &o, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&buf, 0);
	const char *svg = strstr((const char *)buf.data, "<g class=\"tracks\">");
	assert_non_null(svg);
	assert_non_null(strstr(svg, "url(#hatch)\" x=\"68.00\""));
	assert_non_null(strstr(svg, "03:00:00.000\nnot observed<"));
	assert_non_null(strstr(svg, "03:00:01.000\nuser: 50.0"));
	assert_non_null(strstr(svg, "\nmemory cgroups: 61<"));
	assert_non_null(strstr(svg, "waited to run: &lt;j&gt; (812) 3.20 s<"));
	assert_null(strstr(svg, "psi mem"));
	cam_out_to_buf(&out, &bare);
	assert_int_equal(cam_png_heatmap_write(&h, &none, &out), 0);
	cam_out_finish(&out);
	cam_out_to_buf(&out, &with);
	assert_int_equal(cam_png_heatmap_write(&h, &o, &out), 0);
	cam_out_finish(&out);
	/* A PNG's height stands in its bytes 20 to 23: three lanes and what is between them. */
	assert_int_equal((with.data[22] << 8 | with.data[23]) -
				 (bare.data[22] << 8 | bare.data[23]),
			 34 + 16 + 16 + 4 * 4);
	cam_buf_free(&buf);
	cam_buf_free(&bare);
	cam_buf_free(&with);
}

static void test_text(void **state)
{
	(void)state;
	struct cam_heatmap h = small_map();
	char *text = text_of(&h, CAM_COLOURS_NONE);
	/* Four characters a column; what was not seen is a question, what was idle a blank. */
	assert_non_null(strstr(text, "  CPU 0 ............@@@@\n"));
	assert_non_null(strstr(text, "  CPU 7         ????    \n"));
	assert_non_null(strstr(text, " missed         !!!!    \n"));
	free(text);
	text = text_of(&h, CAM_COLOURS_TRUE);
	assert_non_null(strstr(text, "????"));
	assert_non_null(strstr(text, "\033[48;2;"));
	assert_null(strstr(text, "\033[48;5;"));
	free(text);
}

static void test_svg(void **state)
{
	(void)state;
	struct cam_heatmap h = small_map();
	struct cam_buf buf = CAM_BUF(1 << 20);
	struct cam_out out;
	struct cam_heat_options o = {.title = CAM_TEXT("<b>&"), .subtitle = CAM_TEXT("\x1b[1m")};
	cam_out_to_buf(&out, &buf);
	assert_int_equal(cam_svg_heatmap_write(&h, &o, &out), 0);
	assert_int_equal(cam_out_finish(&out), 0);
	cam_buf_put_u8(&buf, 0);
	const char *svg = (const char *)buf.data;
	assert_non_null(strstr(svg, "&lt;b&gt;&amp;"));
	assert_null(strstr(svg, "<b>"));
	assert_null(strchr(svg, 033));
	assert_non_null(strstr(svg, "03:00:03.000 – 03:00:04.000\nCPU 0\n100 samples<"));
	assert_non_null(strstr(svg, "03:00:02.000 – 03:00:03.000\nnot observed: ring full<"));
	/* Four cells with samples, one without sight; the other three are left empty. */
	unsigned n = 0;
	const char *cell = strstr(svg, "<g class=\"cells\">"), *end = strstr(cell, "</g>");
	while ((cell = strstr(cell, "<rect")) && cell < end) {
		cell++;
		n++;
	}
	assert_int_equal(n, 5);
	cam_buf_free(&buf);
}

static void test_raster(void **state)
{
	(void)state;
	struct cam_raster r;
	const struct cam_rgb white = {255, 255, 255}, black = {0, 0, 0};
	assert_int_equal(cam_raster_init(&r, 0, 5, white), -EINVAL);
	assert_int_equal(cam_raster_init(&r, 5, CAM_RASTER_MAX + 1, white), -EINVAL);
	assert_int_equal(cam_raster_init(&r, 40, 20, white), 0);
	/* What lies outside is left out; a character has its dots and nothing else. */
	cam_raster_rect(&r, -10, -10, 11, 11, black);
	cam_raster_rect(&r, 39, 19, 100, 100, black);
	assert_int_equal(r.rgb[0], 0);
	assert_int_equal(r.rgb[3], 255);
	assert_int_equal(r.rgb[(20 * 40 - 1) * 3], 0);
	cam_raster_text(&r, 2, 2, CAM_TEXT("-\xff\xe2\x80\x93"), black);
	unsigned dark = 0;
	for (unsigned i = 0; i < 40 * 20; i++)
		dark += r.rgb[i * 3] == 0;
	/* Two dashes of 5 dots of 4 pixels, and the two corners. */
	assert_int_equal(dark, 2 * 5 * 4 + 2);
	assert_int_equal(cam_raster_text_width(CAM_TEXT("12:30")), 5 * 12);
	assert_int_equal(cam_raster_text_width(CAM_TEXT("a\x01\xffz")), 2 * 12);
	cam_raster_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scales),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_axis),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_tracks_in_the_terminal),
		cmocka_unit_test(test_tracks_in_pictures),
		cmocka_unit_test(test_svg),
		cmocka_unit_test(test_raster),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
