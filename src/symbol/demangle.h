// SPDX-License-Identifier: Apache-2.0
/*
 * Mangled names of C++ and Rust (legacy and v0) made readable, as `perf script` shows them by
 * default: without parameters, return types, clone suffixes and Rust's hashes.
 *
 * Names come from hostile files. A name longer than CAM_DEMANGLE_MAX_BYTES is not looked into; the
 * demangler's own recursion limits hold; and its output is paid for, since back references let 100
 * bytes of name grow to gigabytes.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

#define CAM_DEMANGLE_MAX_BYTES 4096u

/*
 * `name` must have a NUL behind its n bytes. Answers the readable name, in `room`, cut at
 * room_bytes; or `name` itself where it is no mangled name. *work is how many bytes the caller may
 * still cause to be looked at or written; it is counted down, and at 0 `name` is the answer.
 */
struct cam_text cam_demangle(struct cam_text name, char *room, size_t room_bytes, uint64_t *work);
