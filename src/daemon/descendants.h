// SPDX-License-Identifier: Apache-2.0
/* Who is there already, at the start: children of a process (--tree), threads of a process or of a
 * user. Reads the numbers in /proc, nothing that could wait for the process. Each answers how many
 * there are; the first max of them are written, the others are the caller's to tell of. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Behind the n that are there: all that are below one of them and are not there yet, each once. The answer counts
 * the n, too. What is listed one by one is never of one moment: call it until it finds nobody new.
 */
size_t cam_descendants_add(int32_t *pids, size_t n, size_t max);
size_t cam_descendants_threads(int32_t pid, int32_t *tids, size_t max);
size_t cam_descendants_threads_of_user(uid_t uid, int32_t *tids, size_t max);
bool cam_descendants_is_of(int32_t pid, uid_t uid);
/* The process that this thread is of, which may be itself; -1: not to be had. */
int32_t cam_descendants_process(int32_t tid);
