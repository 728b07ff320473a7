// SPDX-License-Identifier: Apache-2.0
/* Any records of the kernel, and any answers of helpers: a step is a byte for what, pid, time, and what it needs. */
#include "live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cam_live_options o = {.window_ns = 2000ull * FUZZ_MS,
					   .hz = 97,
					   .event = CAM_TEXT("cpu-clock"),
					   .host = CAM_TEXT("host"),
					   .scope = {.uid = CAM_UID_NONE},
					   .due_known = true,
					   .bpf = size & 1,
					   .java_maps = true,
					   .max_table_bytes = 1u << 20,
					   .max_process_bytes = 1u << 17,
					   .max_name_bytes = 1u << 16};
	struct fuzz_live f = {.p = data, .left = size, .now_ns = 1000ull * FUZZ_MS};
	f.errands = (struct cam_errands){.self = &f, .send = fuzz_send};
	if (cam_live_new(&o, &(struct cam_live_doors){&f, fuzz_door, &f.errands, NULL}, &f.live))
		abort();
	while (f.left)
		fuzz_step(&f);
	cam_live_no_more(f.live);
	f.now_ns += 1000ull * FUZZ_MS; /* what is cut lies before */
	if (cam_live_cut(f.live, f.now_ns))
		abort();
	struct cam_live_stats s = cam_live_stats(f.live);
	if (s.samples + s.dropped + s.idle != f.given || s.samples != f.appended)
		abort();
	cam_live_free(f.live);
	return 0;
}
