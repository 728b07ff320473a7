// SPDX-License-Identifier: Apache-2.0
/* What kind of code lies in a module, judged by its name as perf prints it. */
#pragma once
#include "base/text.h"
#include "model/nouns.h"

enum cam_module_kind cam_frame_module_kind(struct cam_text path);
/* Of a function in such a module; an address in the upper half is the kernel's. */
enum cam_func_kind cam_frame_func_kind(enum cam_module_kind module, uint64_t address);
