// SPDX-License-Identifier: Apache-2.0
/*
 * The definitions of a block, and what refers to them. Private to journal_decode.c.
 */
#pragma once
#include "store/journal_decode.h"

/* For another epoch: empties the maps. */
void cam_journal_define_rewind(struct cam_journal_decode *d);
/* What drop() goes back to. */
void cam_journal_define_save(struct cam_journal_decode *d);
void cam_journal_define_drop(struct cam_journal_decode *d);
/* Takes the definitions of a block. */
int cam_journal_define_all(struct cam_journal_decode *d, struct cam_journal_view *v);

/* The own id of a local one; CAM_NONE: it was lost, or (r->error) there is none. */
uint32_t cam_journal_define_own(struct cam_journal_decode *d, struct cam_rd *r,
				enum cam_journal_table which, uint64_t local);
/* What the next code of a column refers to: 0 is the next new row. */
uint32_t cam_journal_define_ref(struct cam_journal_decode *d, struct cam_journal_view *v,
				struct cam_rd *r, enum cam_journal_table which);
/* The same of a string that samples, events, facts and tasks refer to: never CAM_NONE. */
int cam_journal_define_string(struct cam_journal_decode *d, struct cam_journal_view *v,
			      struct cam_rd *r, struct cam_str_id *out);
/* What stands for those that were lost. */
int cam_journal_define_lost_place(struct cam_journal_decode *d, uint32_t *own);
int cam_journal_define_lost_task(struct cam_journal_decode *d, uint32_t *own);
int cam_journal_define_lost_etype(struct cam_journal_decode *d, uint32_t *own);

static inline uint64_t cam_journal_define_delta(struct cam_rd *r, uint64_t before)
{
	return before + (uint64_t)cam_rd_zigzag(r);
}
