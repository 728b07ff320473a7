// SPDX-License-Identifier: Apache-2.0
#include "daemon/shelf.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "ingest/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Where files lie below a root: by its path, or by its build-id as xx/yyyy… or as a whole. */
enum by {
	BY_PATH,
	BY_SPLIT_ID,
	BY_ID,
};

struct row {
	enum cam_namer_origin origin;
	size_t root; /* of a text in the options; NO_ROOT: / */
	enum by by;
	const char *before, *after;
	bool kernel; /* where the kernel's symbols are; the others are files */
	enum cam_shelf_fetched fetched;
};

#define NO_ROOT	 SIZE_MAX
#define ROOT(of) offsetof(struct cam_librarian_options, of)

/* The file itself first: offsets are its own. perf keeps a directory a build-id, older ones a file. */
static const struct row rows[] = {
	{CAM_NAMER_ITSELF, NO_ROOT, BY_PATH, "", "", false},
	{CAM_NAMER_SYMFS, ROOT(symfs), BY_PATH, "", "", false},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_SPLIT_ID, "/.build-id/", "/elf", false},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_SPLIT_ID, "/.build-id/", "", false},
	{CAM_NAMER_SYMFS, ROOT(symfs), BY_SPLIT_ID, "/.build-id/", ".debug", false},
	{CAM_NAMER_SYMFS, ROOT(symfs), BY_SPLIT_ID, "/usr/lib/debug/.build-id/", ".debug", false},
	{CAM_NAMER_DEBUG, ROOT(debug_dir), BY_SPLIT_ID, "/.build-id/", ".debug", false},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_SPLIT_ID, "/.build-id/", "/debug", false},
	{CAM_NAMER_DEBUGINFOD, ROOT(client_dir), BY_ID, "/", "/executable", false},
	{CAM_NAMER_DEBUGINFOD, ROOT(client_dir), BY_ID, "/", "/debuginfo", false},
	{CAM_NAMER_DEBUGINFOD, ROOT(found_dir), BY_ID, "/", "/executable", false,
	 CAM_SHELF_EXECUTABLE},
	{CAM_NAMER_DEBUGINFOD, ROOT(found_dir), BY_ID, "/", "/debuginfo", false,
	 CAM_SHELF_DEBUGINFO},
	{CAM_NAMER_GIVEN, ROOT(kallsyms), BY_PATH, "", "", true},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_ID, "/[kernel.kallsyms]/", "/kallsyms", true},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_SPLIT_ID, "/.build-id/", "/kallsyms", true},
	{CAM_NAMER_GIVEN, ROOT(vmlinux), BY_PATH, "", "", true},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_SPLIT_ID, "/.build-id/", "/vmlinux", true},
	{CAM_NAMER_CACHE, ROOT(perf_cache), BY_SPLIT_ID, "/.build-id/", "/elf", true},
	{CAM_NAMER_DEBUG, ROOT(debug_dir), BY_SPLIT_ID, "/.build-id/", ".debug", true},
};

static void put_hex(struct cam_text id, char out[2 * CAM_ERRAND_MAX_BUILD_ID + 1])
{
	size_t n = 0;
	for (size_t i = 0; i < id.n && i < CAM_ERRAND_MAX_BUILD_ID; i++)
		n += (size_t)sprintf(out + n, "%02x", (unsigned)(uint8_t)id.p[i]);
	out[n] = 0;
}

bool cam_shelf_place(const struct cam_librarian_options *o, const struct cam_namer_module *m,
		     unsigned nth, struct cam_shelf_place *out)
{
	char id[2 * CAM_ERRAND_MAX_BUILD_ID + 1];
	if (nth >= sizeof(rows) / sizeof(rows[0]))
		return false;
	const struct row *row = &rows[nth];
	const char *root = "";
	out->origin = row->origin;
	out->fetched = row->fetched;
	out->path[0] = 0;
	if (row->root != NO_ROOT)
		root = *(const char *const *)((const char *)o + row->root);
	bool kernel = m->kind == CAM_MODULE_KERNEL, fits = true;
	if (!root || kernel != row->kernel || (row->by != BY_PATH && m->build_id.n < 2))
		return true;
	put_hex(m->build_id, id);
	int n;
	if (row->by == BY_SPLIT_ID)
		n = snprintf(out->path, sizeof(out->path), "%s%s%.2s/%s%s", root, row->before, id,
			     id + 2, row->after);
	else if (row->by == BY_ID)
		n = snprintf(out->path, sizeof(out->path), "%s%s%s%s", root, row->before, id,
			     row->after);
	else if (kernel)
		n = snprintf(out->path, sizeof(out->path), "%s", root);
	else {
		fits = m->path.n && m->path.p[0] == '/' && !memchr(m->path.p, 0, m->path.n);
		n = snprintf(out->path, sizeof(out->path), "%s%.*s", root,
			     (int)(m->path.n < PATH_MAX ? m->path.n : PATH_MAX), m->path.p);
	}
	if (!fits || n < 0 || (size_t)n >= sizeof(out->path))
		out->path[0] = 0;
	return true;
}

int cam_shelf_open(const char *path, struct cam_file_key *key)
{
	char again[64];
	struct stat s;
	int look CAM_AUTOCLOSE = open(path, O_PATH | O_CLOEXEC);
	if (look < 0 || fstat(look, &s))
		return -errno;
	if (!S_ISREG(s.st_mode))
		return -EINVAL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", look);
	int fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &s)) {
		int err = -errno;
		close(fd);
		return err;
	}
	*key = (struct cam_file_key){
		.major = major(s.st_dev),
		.minor = minor(s.st_dev),
		.inode = s.st_ino,
		.ctime_ns = cam_file_time(s.st_ctim.tv_sec, s.st_ctim.tv_nsec),
		.bytes = (uint64_t)s.st_size,
	};
	return fd;
}

bool cam_shelf_is_key(struct cam_text recorded, const struct cam_file_key *key)
{
	struct cam_file_key r;
	return !cam_files_key_read(recorded, &r) && r.ctime_ns && r.major == key->major &&
	       r.minor == key->minor && r.inode == key->inode && r.ctime_ns == key->ctime_ns &&
	       r.bytes == key->bytes;
}
