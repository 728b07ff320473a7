// SPDX-License-Identifier: Apache-2.0
/*
 * A thread that makes journals durable, one at a time: a slow disk takes seconds for it, and the ingest thread has
 * others who wait.
 */
#pragma once
#include "store/store.h"

struct cam_sync_thread;

/* NULL: there is no memory, or no thread to be had; whoever writes syncs himself then. */
struct cam_sync_thread *cam_sync_thread_start(void);
/* For cam_store_set_syncer(); until free(). */
const struct cam_syncer *cam_sync_thread_door(const struct cam_sync_thread *t);
/* After the store was closed. NULL is fine. */
void cam_sync_thread_free(struct cam_sync_thread *t);
