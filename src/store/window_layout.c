// SPDX-License-Identifier: Apache-2.0
#include "store/window_layout.h"

#include "model/nouns.h"

const uint8_t cam_module_splits[CAM_MODULE_STREAMS] = {4, 4, 4, 4};
const uint8_t cam_function_splits[CAM_FUNCTION_STREAMS] = {4, 4, 4, 4, 5};
const uint8_t cam_function_contexts[CAM_FUNCTION_STREAMS] = {CAM_FUNC_KIND_MAX, CAM_NAME_MAX, 3, 2,
							     CAM_FUNC_KIND_MAX + 1};
const uint8_t cam_function_old_contexts[CAM_FUNCTION_OLD_STREAMS] = {CAM_FUNC_KIND_MAX,
								     CAM_NAME_MAX, 2};
const uint8_t cam_task_splits[CAM_TASK_STREAMS] = {4, 5, 5, 6, 4, 4, 4, 5};
const uint8_t cam_slot_splits[CAM_SLOT_STREAMS] = {4, 7};
const uint8_t cam_second_splits[CAM_SECOND_STREAMS] = {6, 4, 6, 5, 5, 4, 5, 5};
const uint8_t cam_process_splits[CAM_PROCESS_STREAMS] = {4, 4, 4, 5};
const uint8_t cam_process_contexts[CAM_PROCESS_STREAMS] = {1, 1, 1, 2};
const uint8_t cam_leaf_splits[CAM_LEAF_STREAMS] = {5, 4};
const uint8_t cam_leaf_contexts[CAM_LEAF_STREAMS] = {2, 1};
const uint8_t cam_place_splits[CAM_PLACE_STREAMS] = {4, 4, 4};
const uint8_t cam_place_contexts[CAM_PLACE_STREAMS] = {1, 16, 1};
const uint8_t cam_location_splits[CAM_LOCATION_STREAMS] = {5, 6, 4, 4};
const uint8_t cam_location_contexts[CAM_LOCATION_STREAMS] = {1, 1, 2, 1};
const uint8_t cam_counter_splits[CAM_COUNTER_STREAMS] = {7, 5, 5, 4, 4, 5, 6, 4, 5};
const uint8_t cam_counter_contexts[CAM_COUNTER_STREAMS] = {1, 1, 1, 1, 1, 1, 1, 1, 5};
