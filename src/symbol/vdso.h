// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's own shared object, as it is mapped into this (and so into every other) process of
 * the same word size.
 *
 * Called before confinement: it copies the image that the auxiliary vector points at. A 32-bit
 * process has another image: its "[vdso]" must not be asked for here.
 */
#pragma once
#include "symbol/bytes.h"

/* The caller frees out->memory. -ENOENT: there is none; -EBADMSG: it is not as it should be. */
int cam_vdso_copy(struct cam_bytes *out);
