// SPDX-License-Identifier: Apache-2.0
/* A flame tree as columns: flat arrays that the page draws from as they are. */
#pragma once
#include "query/chart.h"
#include "query/view_diff.h"
#include "query/views.h"
#include "serve/routes.h"

/* Of a frame, in a differential: whether its change exceeds chance. */
enum cam_change { CAM_CHANGE_CHANCE, CAM_CHANGE_MORE, CAM_CHANGE_LESS };

/* d: what is known of the changes, where f has a before beside it; else NULL. Prunes f. */
void cam_send_tree(struct cam_flame *f, const struct cam_diff *d, struct cam_answer *a);
/* The tree, and its samples in order of time. More nodes than can be sent: answered (413). */
void cam_send_chart(struct cam_flame *f, struct cam_chart *rows, struct cam_answer *a);
