// SPDX-License-Identifier: Apache-2.0
#include "interop/frame.h"

#include "base/escape.h"

#include <errno.h>
#include <stdlib.h>

/* Mappings of a process without a file; every other name in brackets is a kernel module's. */
static enum cam_module_kind bracket_kind(struct cam_text path)
{
	static const char *const unknown[] = {
		"[unknown]", "[heap]", "[stack", "[anon", "[uprobes]", "[aio]", "[shmem", "[memfd",
	};
	if (cam_text_starts(path, CAM_TEXT("[vdso")) ||
	    cam_text_starts(path, CAM_TEXT("[vsyscall")) ||
	    cam_text_starts(path, CAM_TEXT("[vectors]")))
		return CAM_MODULE_VDSO;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		if (cam_text_starts(path, cam_text_of(unknown[i])))
			return CAM_MODULE_UNKNOWN;
	}
	return CAM_MODULE_KERNEL;
}

/* "perf-123.map", "jitted-123-4.so", "jit-123.dump" */
static bool is_jit(struct cam_text name)
{
	return (cam_text_starts(name, CAM_TEXT("perf-")) &&
		cam_text_ends(name, CAM_TEXT(".map"))) ||
	       cam_text_starts(name, CAM_TEXT("jitted-")) || cam_text_ends(name, CAM_TEXT(".dump"));
}

static bool is_kernel(struct cam_text path, struct cam_text name)
{
	static const char *const ends[] = {".ko", ".ko.gz", ".ko.xz", ".ko.zst"};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (cam_text_ends(name, cam_text_of(ends[i])))
			return true;
	}
	return cam_text_starts(name, CAM_TEXT("vmlinux")) ||
	       cam_text_starts(name, CAM_TEXT("bpf_prog_")) ||
	       cam_text_equal(path, CAM_TEXT("/proc/kcore"));
}

enum cam_module_kind cam_frame_module_kind(struct cam_text path)
{
	if (!path.n || cam_text_starts(path, CAM_TEXT("//anon")))
		return CAM_MODULE_UNKNOWN;
	if (path.p[0] == '[')
		return bracket_kind(path);
	const char *slash = memrchr(path.p, '/', path.n);
	struct cam_text name = path;
	if (slash)
		name = (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
	if (is_jit(name))
		return CAM_MODULE_JIT;
	return is_kernel(path, name) ? CAM_MODULE_KERNEL : CAM_MODULE_FILE;
}

enum cam_func_kind cam_frame_func_kind(enum cam_module_kind module, uint64_t address)
{
	if (module == CAM_MODULE_KERNEL)
		return CAM_FUNC_KERNEL;
	if (module == CAM_MODULE_JIT)
		return CAM_FUNC_JIT;
	if (module == CAM_MODULE_UNKNOWN && address >> 63)
		return CAM_FUNC_KERNEL;
	return CAM_FUNC_USER;
}

static int define_mark(struct cam_sink *sink, struct cam_text name, struct cam_loc_id *out)
{
	struct cam_location loc = {.func_offset = CAM_OFFSET_NONE};
	struct cam_function func = {.kind = CAM_FUNC_MARK, .source = CAM_NAME_OWN};
	int err = sink->string(sink, name, &func.name);
	if (!err)
		err = sink->function(sink, &func, &loc.func);
	return err ? err : sink->location(sink, &loc, out);
}

int cam_frame_truncated(struct cam_sink *sink, struct cam_loc_id *out)
{
	return define_mark(sink, CAM_TEXT("[truncated]"), out);
}

int cam_frame_broken(struct cam_sink *sink, struct cam_loc_id *out)
{
	return define_mark(sink, CAM_TEXT(CAM_FRAME_BROKEN), out);
}

int cam_frame_string(struct cam_sink *sink, struct cam_text text, unsigned escapes,
		     struct cam_str_id *out)
{
	char few[512];
	if (!text.n || !memmem(text.p, text.n, "\\x", 2))
		return sink->string(sink, text, out);
	char *room = text.n <= sizeof(few) ? few : malloc(text.n);
	if (!room)
		return -ENOMEM;
	struct cam_text plain = {room, cam_escape_undo(text, escapes, room)};
	int err = sink->string(sink, plain, out);
	if (room != few)
		free(room);
	return err;
}
