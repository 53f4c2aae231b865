/* SPDX-License-Identifier: MIT */
/* Takes paths of cgroups apart; see cgroup_path.h. */
#include "proc/cgroup_path.h"

#include <string.h>

#define POD_SHORTEST 32 /* characters of a pod's id */

bool cgroup_path_before(const char *path, const char **end, struct cgroup_folder *ret_folder)
{
	const char *from;

	while (*end > path && (*end)[-1] == '/')
		--*end;
	if (*end == path)
		return false;
	for (from = *end; from > path && from[-1] != '/'; from--)
		;
	*ret_folder = (struct cgroup_folder){.name = from, .len = (size_t)(*end - from)};
	*end = from;
	return true;
}

bool cgroup_path_ends_with(const struct cgroup_folder *f, const char *suffix)
{
	size_t len = strlen(suffix);

	return f->len > len && memcmp(f->name + f->len - len, suffix, len) == 0;
}

/* Finds a container's id at the end of a folder's name, and the runtime's name before it:
 * "docker-ID.scope", "ID", or containerd's "...slice:cri-containerd:ID". */
static bool folder_container(struct cgroup_folder folder, struct cgroup_folder *ret_id,
			     struct cgroup_folder *ret_runtime)
{
	static const char digits[] = "0123456789abcdef";
	const char *id;

	if (cgroup_path_ends_with(&folder, ".scope"))
		folder.len -= strlen(".scope");
	if (folder.len < CGROUP_ID_DIGITS)
		return false;
	id = folder.name + folder.len - CGROUP_ID_DIGITS;
	if (strspn(id, digits) != CGROUP_ID_DIGITS)
		return false;
	*ret_id = (struct cgroup_folder){.name = id, .len = CGROUP_ID_DIGITS};
	*ret_runtime = (struct cgroup_folder){.name = folder.name};
	if (id == folder.name)
		return true;
	if (id[-1] != '-' && id[-1] != ':')
		return false;
	ret_runtime->len = (size_t)(id - 1 - folder.name);
	for (size_t i = ret_runtime->len; i > 0; i--) {
		if (ret_runtime->name[i - 1] == ':') {
			ret_runtime->name += i;
			ret_runtime->len -= i;
			break;
		}
	}
	return true;
}

bool cgroup_path_pod(struct cgroup_folder folder, struct cgroup_folder *ret_id)
{
	if (cgroup_path_ends_with(&folder, ".slice"))
		folder.len -= strlen(".slice");
	for (size_t i = 0; i + 3 + POD_SHORTEST <= folder.len; i++) {
		if (memcmp(folder.name + i, "pod", 3) != 0 || (i && folder.name[i - 1] != '-'))
			continue;
		*ret_id = (struct cgroup_folder){.name = folder.name + i + 3,
						 .len = folder.len - i - 3};
		return true;
	}
	return false;
}

bool cgroup_path_container(const char *path, const char **end, struct cgroup_folder *ret_id,
			   struct cgroup_folder *ret_runtime)
{
	struct cgroup_folder folder;

	while (cgroup_path_before(path, end, &folder)) {
		if (folder_container(folder, ret_id, ret_runtime) &&
		    !cgroup_path_ends_with(ret_runtime, "conmon"))
			return true;
	}
	return false;
}
