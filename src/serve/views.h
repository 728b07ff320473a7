// SPDX-License-Identifier: Apache-2.0
/* The routes that look into windows: parameters → selection → query → JSON or columns. */
#pragma once
#include "serve/routes.h"

void cam_answer_store(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a);
void cam_answer_time(const struct cam_server_doors *doors, const struct cam_request *q,
		     struct cam_answer *a);
void cam_answer_timeline(const struct cam_server_doors *doors, const struct cam_request *q,
			 struct cam_answer *a);
void cam_answer_flame(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a);
/* A flame tree as SVG; the status is 200, or the answer an error. */
void cam_answer_picture(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_grafana(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_export(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a);
/* A moment as one HTML file. */
void cam_answer_capsule(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_mark(const struct cam_server_doors *doors, const struct cam_request *q,
		     struct cam_answer *a);
void cam_answer_alerts(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a);
void cam_answer_pin(const struct cam_server_doors *doors, const struct cam_request *q,
		    struct cam_answer *a);
void cam_answer_unpin(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a);
void cam_answer_metrics(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_heatmap(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_counters(const struct cam_server_doors *doors, const struct cam_request *q,
			 struct cam_answer *a);
void cam_answer_events(const struct cam_server_doors *doors, const struct cam_request *q,
		       struct cam_answer *a);
void cam_answer_why(const struct cam_server_doors *doors, const struct cam_request *q,
		    struct cam_answer *a);
void cam_answer_moments(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_diff(const struct cam_server_doors *doors, const struct cam_request *q,
		     struct cam_answer *a);
void cam_answer_sources(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
void cam_answer_chart(const struct cam_server_doors *doors, const struct cam_request *q,
		      struct cam_answer *a);
void cam_answer_quality(const struct cam_server_doors *doors, const struct cam_request *q,
			struct cam_answer *a);
/* One source, as /api/sources tells of it. */
void cam_answer_put_source(struct cam_json *j, const struct cam_server_doors *doors);
