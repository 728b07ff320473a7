// SPDX-License-Identifier: Apache-2.0
/* Processes and functions of any window, by content. */
#include "base/vec.h"
#include "query/why_history.h"

struct cam_text cam_why_name(struct cam_text comm)
{
	static const char *const numbered[] = {"kworker/", "ksoftirqd/",   "migration/",
					       "cpuhp/",   "idle_inject/", "rcuc/",
					       "rcuop/",   "rcuog/",	   "rcuos/",
					       "rcub/",	   "swapper/",	   "watchdog/"};
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		struct cam_text start = cam_text_of(numbered[i]);
		if (cam_text_starts(comm, start))
			return (struct cam_text){comm.p, start.n - 1};
	}
	return comm;
}

static bool same_process(const void *rows, uint32_t id, const void *key)
{
	const struct cam_why_process *a = (const struct cam_why_process *)rows + id, *b = key;
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

static struct cam_text last_part(struct cam_text path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return slash ? (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

/* Without its main thread a process is called by its program, or by the thread that was met. */
static int name_process(struct cam_why_history *h, const struct cam_tables *t,
			const struct cam_task *k, struct cam_why_process *p)
{
	bool main = k->pid == k->tid || k->pid == CAM_PID_NONE;
	struct cam_text exe = cam_string(t, k->exe), name = cam_why_name(cam_string(t, k->comm));
	if (p->named || (p->name && !main))
		return 0;
	if (!main && exe.n)
		name = last_part(exe);
	struct cam_str_id id;
	int err = cam_string_intern(h->names, name.n ? name : CAM_TEXT("[unknown]"), &id);
	p->name = id.v;
	p->named = main;
	return err;
}

static int find_process(struct cam_why_history *h, const struct cam_why_process *key, uint32_t *out)
{
	uint64_t hash = cam_hash_u64((uint32_t)key->pid, key->start_ns);
	*out = cam_index_find(&h->process_index, hash, same_process, h->processes, key);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&h->processes, &h->cap_processes, h->n_processes + 1,
				  sizeof(*h->processes), h->room.things);
	if (!err)
		err = cam_index_reserve(&h->process_index);
	if (err)
		return err;
	*out = (uint32_t)h->n_processes++;
	h->processes[*out] = *key;
	cam_index_add(&h->process_index, hash, *out);
	return 0;
}

int cam_why_process_of(struct cam_why_history *h, const struct cam_tables *t, uint32_t task,
		       uint32_t *out)
{
	const struct cam_task *k = &t->tasks[task];
	struct cam_str_id cgroup;
	int err = cam_string_intern(h->names, cam_string(t, k->cgroup), &cgroup);
	struct cam_why_process key = {.pid = k->pid == CAM_PID_NONE ? k->tid : k->pid,
				      .start_ns = k->start_ns,
				      .cgroup = cgroup.v,
				      .first = UINT32_MAX};
	if (!err)
		err = find_process(h, &key, out);
	return err ? err : name_process(h, t, k, &h->processes[*out]);
}

int cam_why_rest_of(struct cam_why_history *h, const struct cam_tables *t, uint32_t task,
		    uint32_t *out)
{
	const struct cam_task *k = &t->tasks[task];
	return cam_why_rest_named(h, cam_string(t, k->comm), false, cam_string(t, k->cgroup), out);
}

int cam_why_rest_named(struct cam_why_history *h, struct cam_text called, bool is_program,
		       struct cam_text in, uint32_t *out)
{
	struct cam_str_id name, cgroup = {0};
	struct cam_text text = is_program ? last_part(called) : cam_why_name(called);
	int err = cam_string_intern(h->names, text.n ? text : CAM_TEXT("[unknown]"), &name);
	if (!err)
		err = cam_string_intern(h->names, in, &cgroup);
	if (err)
		return err;
	struct cam_why_process key = {.pid = CAM_WHY_REST,
				      .start_ns = (uint64_t)name.v << 32 | cgroup.v,
				      .name = name.v,
				      .cgroup = cgroup.v,
				      .named = true,
				      .first = UINT32_MAX};
	return find_process(h, &key, out);
}

static bool same_function(const void *rows, uint32_t id, const void *key)
{
	const struct cam_why_function *a = (const struct cam_why_function *)rows + id, *b = key;
	return a->name == b->name && a->leaf == b->leaf && a->kernel == b->kernel;
}

static bool starts_with_any(struct cam_text name, const char *const *starts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cam_text_starts(name, cam_text_of(starts[i])))
			return true;
	return false;
}

#define STARTS_WITH_ANY(name, starts) \
	starts_with_any(name, starts, sizeof(starts) / sizeof((starts)[0]))

static uint8_t role_of(struct cam_text name)
{
	static const char *const enters[] = {"asm_", "entry_", "ret_from_fork", "el0", "el1"};
	static const char *const passes[] = {"do_syscall_64",  "x64_sys_call", "syscall_",
					     "invoke_syscall", "do_el0_svc",   "["};
	if (STARTS_WITH_ANY(name, enters))
		return CAM_WHY_ENTERS;
	return STARTS_WITH_ANY(name, passes) ? CAM_WHY_PASSES : CAM_WHY_TELLS;
}

bool cam_why_says_nothing(struct cam_text name)
{
	static const char *const begins[] = {"__x64_sys_", "__arm64_sys_", "_start", "__libc_start",
					     "start_thread"};
	return role_of(name) != CAM_WHY_TELLS || STARTS_WITH_ANY(name, begins);
}

static int find_function(struct cam_why_history *h, const struct cam_why_function *key,
			 uint32_t *out)
{
	uint64_t hash = cam_hash_u64(key->name, (uint64_t)key->leaf << 1 | key->kernel);
	*out = cam_index_find(&h->function_index, hash, same_function, h->functions, key);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&h->functions, &h->cap_functions, h->n_functions + 1,
				  sizeof(*h->functions), h->room.things);
	if (!err)
		err = cam_index_reserve(&h->function_index);
	if (err)
		return err;
	*out = (uint32_t)h->n_functions++;
	h->functions[*out] = *key;
	cam_index_add(&h->function_index, hash, *out);
	return 0;
}

int cam_why_path_of(struct cam_why_history *h, struct cam_why_way way, uint32_t *out)
{
	*out = UINT32_MAX;
	/* A path of one function is that function. */
	if (way.entry == way.leaf)
		return 0;
	struct cam_why_function key = {.name = h->functions[way.entry - 1].name,
				       .leaf = h->functions[way.leaf - 1].name,
				       .kernel = true};
	return find_function(h, &key, out);
}

int cam_why_function_of(struct cam_why_history *h, const struct cam_tables *t, uint32_t function,
			uint32_t *out)
{
	char room[256];
	struct cam_str_id name;
	struct cam_why_function key = {0};
	struct cam_text label = CAM_TEXT("[unknown]");
	if (function < t->n_functions) {
		label = cam_function_label(t, (struct cam_func_id){function}, room, sizeof(room));
		key.kernel = t->functions[function].kind == CAM_FUNC_KERNEL;
	}
	int err = cam_string_intern(h->names, label, &name);
	key.name = name.v;
	key.role = key.kernel ? role_of(label) : CAM_WHY_TELLS;
	return err ? err : find_function(h, &key, out);
}
