/* SPDX-License-Identifier: MIT */
/*
 * Takes the path of a cgroup apart: finds the ids of the container and of the Kubernetes pod that
 * it belongs to. Container runtimes name the cgroup of a container by its id of 64 hexadecimal
 * digits, with their own name before it or above it:
 *
 *   /system.slice/docker-ID.scope, /docker/ID, /machine.slice/libpod-ID.scope/container
 *   /kubepods.slice/.../kubepods-burstable-podU_I_D.slice/cri-containerd-ID.scope (or
 * crio-ID.scope) /kubepods/burstable/podUID/ID
 *   /system.slice/kubepods-burstable-podU_I_D.slice:cri-containerd:ID
 */
#ifndef PROC_CGROUP_PATH_H
#define PROC_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_ID_DIGITS 64u /* characters of a container's id */

/* A folder of a path, or a part of its name, without slashes. It points into the path. */
struct cgroup_folder {
	const char *name;
	size_t len;
};

/* Gives the folder of the path that ends at `*end`, and moves `*end` to the slash before it.
 * Returns false at the root. */
bool cgroup_path_before(const char *path, const char **end, struct cgroup_folder *ret_folder);

/* Returns whether a folder's name ends with a text, and is longer. */
bool cgroup_path_ends_with(const struct cgroup_folder *folder, const char *suffix);

/* Finds a pod's id in a folder's name, whoever has made the folder: "podUID",
 * "kubepods-burstable-podU_I_D.slice", with underscores in the place of dashes. */
bool cgroup_path_pod(struct cgroup_folder folder, struct cgroup_folder *ret_id);

/* Finds the innermost container, whoever has made its folder, of the part of a path before `*end`,
 * and moves `*end` before its folder; conmon, which monitors a container, does not count.
 * *ret_runtime is the name before the id, of length 0 if there is none. Returns false if there is
 * no container. */
bool cgroup_path_container(const char *path, const char **end, struct cgroup_folder *ret_id,
			   struct cgroup_folder *ret_runtime);

/* What a path says of a container and a pod that cannot be made up. Parts that it does not say have
 * length 0. */
struct cgroup_owner {
	struct cgroup_folder id, runtime; /* of the container */
	struct cgroup_folder pod;	  /* its id, with underscores or dashes */
};

/* Finds the outermost container of a path, and its pod. Only folders that root alone makes may be
 * above it: slices, those of container runtimes and of the kubelet. So the cgroups that a user's
 * session, a service or a container makes below its own do not count, whatever their names are.
 * The one exception is Podman's "libpod-payload-ID" in a service, which never is in a pod.
 * Returns false if there is neither a container nor a pod. */
bool cgroup_path_owner(const char *path, struct cgroup_owner *ret_owner);

#endif
