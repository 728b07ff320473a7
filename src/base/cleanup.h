// SPDX-License-Identifier: Apache-2.0
/* Scope-bound release, so that an early return leaks nothing. */
#pragma once
#include <stdlib.h>
#include <unistd.h>

#define CAM_CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void cam_freep(void *p)
{
	free(*(void **)p);
}

static inline void cam_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define CAM_AUTOFREE  CAM_CLEANUP(cam_freep)
#define CAM_AUTOCLOSE CAM_CLEANUP(cam_closep)
