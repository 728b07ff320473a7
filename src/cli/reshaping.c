// SPDX-License-Identifier: Apache-2.0
#include "cli/reshaping.h"

#include "cli/say.h"

#include <string.h>

static int add_all(struct cam_reshape *shape, enum cam_reshape_filter filter, const char *name,
		   const struct cam_option_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		char why[200];
		int err = cam_reshape_add(shape, filter, cam_text_of(list->values[i]), why,
					  sizeof(why));
		if (err)
			return cam_refused(err, "--%s '%s': %s", name, list->values[i], why);
	}
	return CAM_EXIT_OK;
}

static int find_group(const char *name, struct cam_reshape *shape, struct cam_flame_options *build)
{
	static const struct {
		const char *name;
		enum cam_reshape_group group;
	} groups[] = {{"package", CAM_GROUP_PACKAGE},
		      {"leaf-package", CAM_GROUP_LEAF_PACKAGE},
		      {"module", CAM_GROUP_MODULE},
		      {"build-id", CAM_GROUP_MODULE}};
	if (!name)
		return CAM_EXIT_OK;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!strcmp(groups[i].name, name)) {
			shape->group = groups[i].group;
			build->builds = !strcmp(name, "build-id");
			return CAM_EXIT_OK;
		}
	}
	return cam_usage("--group takes package, leaf-package, module or build-id, not '%s'", name);
}

int cam_reshaping_resolve(const struct cam_reshape_options *o, struct cam_reshape *shape,
			  struct cam_flame_options *build)
{
	*shape = (struct cam_reshape){.recursion = o->recursion, .reverse = o->reverse};
	if (o->by && o->per_thread)
		return cam_usage("--per-thread is --by thread: one of the two");
	if (o->by && !cam_grouping_find(cam_text_of(o->by), &build->by))
		return cam_usage(
			"--by takes comm, process, thread, exe, user, cgroup, container, pod or cpu, "
			"not '%s'",
			o->by);
	if (o->per_thread)
		build->by = CAM_BY_THREAD;
	if (o->frames && strcmp(o->frames, "user") != 0 && strcmp(o->frames, "kernel") != 0)
		return cam_usage("--frames takes user or kernel, not '%s'", o->frames);
	if (o->frames)
		shape->frames = o->frames[0] == 'u' ? CAM_FRAMES_USER : CAM_FRAMES_KERNEL;
	int status = find_group(o->group, shape, build);
	if (!status)
		status = add_all(shape, CAM_RESHAPE_HIDE, "hide", &o->hide);
	return status ? status : add_all(shape, CAM_RESHAPE_FOCUS, "focus", &o->focus);
}

int cam_reshaping_pick(const struct cam_reshape_options *o, struct cam_reshape *shape)
{
	struct cam_flame_options build = {0};
	int status = cam_reshaping_resolve(o, shape, &build);
	if (!status && (shape->group == CAM_GROUP_LEAF_PACKAGE || build.builds))
		status =
			cam_usage("--group %s is of perfcam flame; here it takes package or module",
				  o->group);
	return status;
}
