// SPDX-License-Identifier: Apache-2.0
/* The streams inside chunks of tables and columns, as both sides must know them. */
#pragma once
#include "model/counter.h"
#include "store/format.h"
#include "store/stream.h"

enum cam_module_stream {
	CAM_MODULE_PATH,
	CAM_MODULE_KEY,
	CAM_MODULE_BUILD_ID,
	CAM_MODULE_STREAM_KIND,
	CAM_MODULE_STREAMS,
};
extern const uint8_t cam_module_splits[CAM_MODULE_STREAMS];

enum cam_function_stream {
	CAM_FUNCTION_KIND,
	CAM_FUNCTION_SOURCE,
	CAM_FUNCTION_START, /* the last one of the first form */
	CAM_FUNCTION_LOW,
	CAM_FUNCTION_NAME,
	CAM_FUNCTION_STREAMS,
};
#define CAM_FUNCTION_OLD_STREAMS (CAM_FUNCTION_START + 1)
extern const uint8_t cam_function_old_contexts[CAM_FUNCTION_OLD_STREAMS];
extern const uint8_t cam_function_splits[CAM_FUNCTION_STREAMS];
extern const uint8_t cam_function_contexts[CAM_FUNCTION_STREAMS];

/* Where a function starts is a multiple of this far more often than not. */
#define CAM_START_LOW_BITS 4u
#define CAM_START_LOW_MASK ((1u << CAM_START_LOW_BITS) - 1)
/* Of a start: without a name, named by what is exported, the rest (marks). */
static inline unsigned cam_start_ctx(uint64_t source)
{
	return source == CAM_NAME_NONE ? 0 : source == CAM_NAME_DYNSYM ? 1 : 2;
}
/* Of a name: by the kind of function, or none is expected. */
static inline unsigned cam_name_ctx(uint64_t kind, uint64_t source)
{
	return source == CAM_NAME_NONE ? CAM_FUNC_KIND_MAX : (unsigned)kind;
}
#define CAM_NAME_EMPTY	 0u
#define CAM_NAME_SPELLED 1u /* the next line */
#define CAM_NAME_KNOWN	 2u /* + its number */

enum cam_task_stream {
	CAM_TASK_PROCESS,
	CAM_TASK_PID,
	CAM_TASK_TID,
	CAM_TASK_COMM,
	CAM_TASK_EXE,
	CAM_TASK_CGROUP,
	CAM_TASK_UID,
	CAM_TASK_START,
	CAM_TASK_STREAMS,
};
extern const uint8_t cam_task_splits[CAM_TASK_STREAMS];

enum cam_process_stream {
	CAM_PROCESS_FIRST,
	CAM_PROCESS_SECONDS,
	CAM_PROCESS_GAP,
	CAM_PROCESS_SAMPLES,
	CAM_PROCESS_STREAMS,
};
enum cam_second_stream {
	CAM_SECOND_NAME,
	CAM_SECOND_PROGRAM,
	CAM_SECOND_CGROUP,
	CAM_SECOND_NUMBER,
	CAM_SECOND_FIRST,
	CAM_SECOND_GAP,
	CAM_SECOND_SAMPLES,
	CAM_SECOND_OTHERS,
	CAM_SECOND_STREAMS,
};
enum cam_slot_stream {
	CAM_SLOT_STEP,
	CAM_SLOT_SAMPLES,
	CAM_SLOT_STREAMS,
};
extern const uint8_t cam_slot_splits[CAM_SLOT_STREAMS];
extern const uint8_t cam_second_splits[CAM_SECOND_STREAMS];
extern const uint8_t cam_process_splits[CAM_PROCESS_STREAMS];
extern const uint8_t cam_process_contexts[CAM_PROCESS_STREAMS];

/* Contexts of the columns. */
#define CAM_COUNTS_CPUS	 0u /* CPUs with samples in a second */
#define CAM_COUNTS_GAP	 1u /* CPUs without, between two of them */
#define CAM_COUNTS_FIRST 2u /* samples - 1 of a CPU the span has not met */
#define CAM_COUNTS_NEXT	 3u /* difference to its last second with samples */
#define CAM_TIME_GAP	 4u /* periods passed over - 1; contexts 0 to 3: by the last error */
#define CAM_TASK_AGAIN	 0u
#define CAM_TASK_BACK	 1u
#define CAM_TASK_ONE	 2u /* the group has met one task in this span */

static inline unsigned cam_time_ctx(int64_t error)
{
	return error == 0 ? 0 : error < 0 ? 3 : error < 4 ? 1 : 2;
}

enum cam_place_stream {
	CAM_PLACE_NUMBER,
	CAM_PLACE_PARENT,
	CAM_PLACE_LOCATION,
	CAM_PLACE_STREAMS,
};
extern const uint8_t cam_place_splits[CAM_PLACE_STREAMS];
extern const uint8_t cam_place_contexts[CAM_PLACE_STREAMS];

enum cam_location_stream {
	CAM_LOCATION_FUNC,
	CAM_LOCATION_OFFSET,
	CAM_LOCATION_BASE,
	CAM_LOCATION_MODULE,
	CAM_LOCATION_STREAMS,
};
extern const uint8_t cam_location_splits[CAM_LOCATION_STREAMS];
extern const uint8_t cam_location_contexts[CAM_LOCATION_STREAMS];

#define CAM_DETAIL_SPLIT 6u /* 0: no text, 1: the next one, 1 + distance back from it */

#define CAM_LEAF_STREAMS 2u /* offsets (context: not the function's first), counts - 1 */
extern const uint8_t cam_leaf_splits[CAM_LEAF_STREAMS];
extern const uint8_t cam_leaf_contexts[CAM_LEAF_STREAMS];

enum cam_counter_stream {
	CAM_COUNTER_STREAM_TIME,
	CAM_COUNTER_STREAM_SPAN,
	CAM_COUNTER_STREAM_KIND,
	CAM_COUNTER_STREAM_SUBJECT,
	CAM_COUNTER_STREAM_EXPONENT,
	CAM_COUNTER_STREAM_FIRST,
	CAM_COUNTER_STREAM_NUMBER,
	CAM_COUNTER_STREAM_GAP,
	CAM_COUNTER_STREAM_VALUE,
	CAM_COUNTER_STREAMS,
};
extern const uint8_t cam_counter_splits[CAM_COUNTER_STREAMS];
extern const uint8_t cam_counter_contexts[CAM_COUNTER_STREAMS];
#define CAM_COUNTER_MAX_EXPONENT 9u

static inline bool cam_counter_of_cpu(uint64_t kind)
{
	return kind <= CAM_COUNTER_IDLE;
}
static inline uint64_t cam_counter_unit(unsigned exponent)
{
	uint64_t unit = 1;
	for (; exponent; exponent--)
		unit *= 10;
	return unit;
}
/* Of a value: user, system, what is mostly 0, what idle is off, the rest. */
static inline unsigned cam_counter_ctx(uint64_t kind)
{
	return kind < CAM_COUNTER_IRQ	  ? (unsigned)kind
	       : kind < CAM_COUNTER_IDLE  ? 2
	       : kind == CAM_COUNTER_IDLE ? 3
					  : 4;
}
/* What is left of a CPU's time for idle. */
static inline uint64_t cam_counter_left(uint64_t span_ns, uint64_t unit, uint64_t others)
{
	return span_ns / unit + (span_ns % unit >= unit - unit / 2) - others;
}
