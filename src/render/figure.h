// SPDX-License-Identifier: Apache-2.0
/* Numbers as people read them, the same in every picture and table. All fit into struct cam_figure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct cam_figure {
	char s[48];
};

/* 1234567 → "1 234 567", the spaces narrow and unbreakable. */
struct cam_figure cam_figure_count(uint64_t n);
/* 12.1 %, 1.2 %, 0.034 %; of nothing: "–". */
struct cam_figure cam_figure_percent(uint64_t part, uint64_t whole);
/* 490 ms, 1.90 s, 2 min 5 s, 12 h 3 min. */
struct cam_figure cam_figure_duration(uint64_t ns);
/* 2026-04-15 03:14:07.254; without the date: 03:14:07.254. */
struct cam_figure cam_figure_utc(int64_t realtime_ns, bool with_date);
/* A stamp of a clock that starts anywhere: 12345.678 s. */
struct cam_figure cam_figure_stamp(uint64_t ns);
