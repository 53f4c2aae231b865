/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of containers and of Kubernetes' pods, by the ids in the path of a cgroup, in the
 * files that container runtimes and the kubelet keep on each machine. No server is asked, so no
 * rights in the cluster are needed.
 *
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log       kubelet, with any runtime
 *   /var/log/pods/NAMESPACE_POD_UID                          kubelet
 *   /var/lib/docker/containers/ID/config.v2.json             Docker: "Name"
 *   /run/containerd/io.containerd.runtime.v2.task/.../ID/config.json
 *   /run/containers/storage/overlay-containers/ID/userdata/config.json   CRI-O
 *   /var/lib/containers/storage/overlay-containers/containers.json       Podman, CRI-O: "names"
 *
 * Only the ids that cannot be made up (cgroup_path_owner()) are looked for, and in JSON files only
 * the members at their place, for what users write, such as labels of images, is in these files as
 * well.
 */
#ifndef PROC_CONTAINER_NAMES_H
#define PROC_CONTAINER_NAMES_H

#include <stdbool.h>

/* What is known of a container. Each member may be NULL. */
struct container_names {
	char *id;      /* of the container */
	char *pod_uid; /* of its pod */
	char *name_space, *pod;
	char *container; /* in its pod */
	char *name;	 /* of a container that is in no pod */
	bool is_podman;	 /* a container of Podman, which has no pod of Kubernetes */
};

/* Finds the ids in a cgroup's path; opens no file. Returns 0, also if memory for them is short, or
 * -ENOENT: the path has no container and no pod. The caller frees the result in any case. */
int container_names_ids(const char *path, struct container_names *ret_names);

/* Reads the names for the ids, at most 8 files of 1 MiB; `root` is "" but for tests. Files that are
 * missing or not as expected are passed over, as are names for which memory is short. */
void container_names_read(const char *root, struct container_names *names);

/* Frees all members. */
void container_names_fini(struct container_names *names);

#endif
