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

/* --- containers that cannot be made up -------------------------------------------------------- */

static bool is_of(const struct cgroup_folder *f, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == f->len && memcmp(names[i], f->name, f->len) == 0)
			return true;
	return false;
}

/* Returns whether only root makes cgroups in a folder, if the same holds for those above it. Slices
 * are root's, for systemd does not delegate them, but for users' own slices below user.slice. */
static bool is_roots(const struct cgroup_folder *f)
{
	static const char *const users[] = {"user.slice"};
	static const char *const folders[] = {
		"..", /* cgroups seen from a cgroup namespace */
		"docker",
		"moby",
		"default",
		"k8s.io",
		"kubepods",
		"burstable",
		"besteffort",
		"libpod_parent",
		"docker.service",
		"containerd.service",
		"crio.service",
		"kubelet.service",
		"k3s.service",
		"k3s-agent.service",
		"rke2-server.service",
		"rke2-agent.service",
		"k0scontroller.service",
		"k0sworker.service",
		"snap.microk8s.daemon-containerd.service",
	};

	if (cgroup_path_ends_with(f, ".slice"))
		return !is_of(f, users, 1);
	return is_of(f, folders, sizeof(folders) / sizeof(*folders));
}

/* Gives the folder of the path that begins behind `*at`, and moves `*at` to its end. */
static bool folder_behind(const char **at, struct cgroup_folder *ret_folder)
{
	const char *from = *at + strspn(*at, "/");

	*ret_folder = (struct cgroup_folder){.name = from, .len = strcspn(from, "/")};
	*at = from + ret_folder->len;
	return ret_folder->len;
}

/* Takes a pod's folder, or the part of a container's folder before ':', in which containerd writes
 * the pod's slice. Returns whether it is one. */
static bool take_pod(struct cgroup_folder folder, struct cgroup_owner *owner)
{
	const char *colon = memchr(folder.name, ':', folder.len);

	folder.len = colon ? (size_t)(colon - folder.name) : folder.len;
	return !owner->pod.len && cgroup_path_pod(folder, &owner->pod);
}

bool cgroup_path_owner(const char *path, struct cgroup_owner *ret_owner)
{
	static const char *const payload[] = {"libpod-payload"}, *const parent[] = {
									 "libpod_parent"};
	struct cgroup_folder folder, above = {0};
	struct cgroup_owner *o = ret_owner;
	bool is_service = false;

	*o = (struct cgroup_owner){0};
	while (folder_behind(&path, &folder)) {
		if (folder_container(folder, &o->id, &o->runtime)) {
			const bool is_payload = is_of(&o->runtime, payload, 1);

			/* Podman has the containers of a pod of its own in the pod's folder. */
			if (!is_service && is_of(&above, parent, 1) && !o->runtime.len) {
				above = folder;
				continue;
			}
			if (cgroup_path_ends_with(&o->runtime, "conmon") ||
			    (is_service && !is_payload))
				break;
			if (!is_service)
				take_pod(folder, o);
			return true;
		}
		if (is_service)
			break;
		if (!take_pod(folder, o) && !is_roots(&folder)) {
			is_service = cgroup_path_ends_with(&folder, ".service");
			if (!is_service || o->pod.len)
				break;
		}
		above = folder;
	}
	o->id = o->runtime = (struct cgroup_folder){0};
	return o->pod.len;
}
