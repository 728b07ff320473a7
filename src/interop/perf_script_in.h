// SPDX-License-Identifier: Apache-2.0
/*
 * `perf script` text in: one streaming pass from a cam_input to a cam_sink.
 *
 * Taken: all variants of `-F` that print a pid or tid; with and without time, cpu, period, event,
 * addresses, symbols, modules, source lines; `--header`, `--ns`, `-G`, `--show-*-events`. Bytes are
 * kept as printed, so that an exporter can apply the rules of another tool to them.
 *
 * How a line becomes nouns
 *  - task: comm as printed without the blanks around it; one number is the tid, pid CAM_PID_NONE.
 *  - event type: the name with its modifiers, empty where none is printed; has_weight where a
 *    period is printed, which is then the sample's weight, also when it is 0.
 *  - detail: a tracepoint's text.
 *  - location: the address as printed (0 where none is), the name without +0xOFFSET, the offset.
 *  - function: CAM_NAME_IMPORTED; a name "[unknown]" or none is the unnamed function (empty name,
 *    CAM_NAME_NONE) of its module; an empty name that was printed (two blanks before the module) is
 *    shown like it, and CAM_NAME_IMPORTED. "a->b" chains stay one name.
 *  - module: the path as printed ("[unknown]" too); no module where none is printed; "(inlined)"
 *    is a function of kind CAM_FUNC_INLINED in no module.
 *
 * A sample ends with an empty line, or with the next head. One that the end of the file cuts off
 * is dropped and counted, since its roots may be missing; stackcollapse-perf.pl drops it too. A
 * sample without a call chain (`-G`) has its address on the line of its head: a stack of one.
 * Of a stack deeper than CAM_MAX_STACK_FRAMES the leaf-most frames are kept, below one frame
 * "[truncated]" (CAM_FUNC_MARK) in place of the rest.
 */
#pragma once
#include "interop/import.h"

/* o may be NULL. See import.h for what it answers. */
int cam_perf_script_read(struct cam_input *in, struct cam_sink *sink,
			 const struct cam_import_options *o, struct cam_import_stats *st);

/* What the first lines say about all heads of a file. */
struct cam_perf_shape {
	bool found; /* a head was found: this is perf script text */
	bool timed;
	bool with_event;
	uint32_t decimals;
};

/* Looks at the first bytes of a file; the last line may be cut. */
struct cam_perf_shape cam_perf_script_probe(struct cam_text first);
