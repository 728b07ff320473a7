// SPDX-License-Identifier: Apache-2.0
/* The fields of profile.proto, by message; and how protobuf marks them. Shared by both directions. */
#pragma once

enum cam_pprof_profile {
	CAM_PPROF_SAMPLE_TYPE = 1,
	CAM_PPROF_SAMPLE = 2,
	CAM_PPROF_MAPPING = 3,
	CAM_PPROF_LOCATION = 4,
	CAM_PPROF_FUNCTION = 5,
	CAM_PPROF_STRING = 6,
	CAM_PPROF_TIME_NANOS = 9,
	CAM_PPROF_DURATION_NANOS = 10,
	CAM_PPROF_PERIOD_TYPE = 11,
	CAM_PPROF_PERIOD = 12,
	CAM_PPROF_COMMENT = 13,
};

enum cam_pprof_value_type { CAM_PPROF_TYPE = 1, CAM_PPROF_UNIT = 2 };

enum cam_pprof_sample {
	CAM_PPROF_LOCATION_ID = 1,
	CAM_PPROF_VALUE = 2,
	CAM_PPROF_LABEL = 3,
};

enum cam_pprof_label { CAM_PPROF_KEY = 1, CAM_PPROF_STR = 2, CAM_PPROF_NUM = 3 };

/* The id is field 1 of mappings, locations and functions. */
#define CAM_PPROF_ID 1

enum cam_pprof_mapping {
	CAM_PPROF_MEMORY_START = 2,
	CAM_PPROF_MEMORY_LIMIT = 3,
	CAM_PPROF_FILENAME = 5,
	CAM_PPROF_BUILD_ID = 6,
	CAM_PPROF_HAS_FUNCTIONS = 7,
	CAM_PPROF_HAS_INLINE_FRAMES = 10,
};

enum cam_pprof_location { CAM_PPROF_MAPPING_ID = 2, CAM_PPROF_ADDRESS = 3, CAM_PPROF_LINE = 4 };

/* Of a line: field 1 is the function. */
#define CAM_PPROF_FUNCTION_ID 1

enum cam_pprof_function {
	CAM_PPROF_NAME = 2,
	CAM_PPROF_SYSTEM_NAME = 3,
	CAM_PPROF_SOURCE_FILE = 4,
};

enum cam_protobuf_wire {
	CAM_PROTOBUF_VARINT = 0,
	CAM_PROTOBUF_FIXED64 = 1,
	CAM_PROTOBUF_BYTES = 2,
	CAM_PROTOBUF_FIXED32 = 5,
};
