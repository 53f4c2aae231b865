/* SPDX-License-Identifier: MIT */
/* Reads names of containers; see container_names.h. */
#include "proc/container_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_find.h"
#include "proc/cgroup_path.h"

#define MOST_BYTES   (1u << 20) /* of a file */
#define MOST_ENTRIES 8192	/* of a folder */
#define NAME_BYTES   256u

void container_names_fini(struct container_names *n)
{
	free(n->id);
	free(n->pod_uid);
	free(n->name_space);
	free(n->pod);
	free(n->container);
	free(n->name);
	*n = (struct container_names){0};
}

/* Sets a member that is not known yet. */
static void set(char **member, const char *text, size_t len)
{
	if (!*member && len && len < NAME_BYTES)
		*member = strndup(text, len);
}

/* --- ids in the path -------------------------------------------------------------------------- */

int container_names_ids(const char *path, struct container_names *ret_names)
{
	static const char podman[] = "libpod";
	struct container_names *n = ret_names;
	struct cgroup_owner owner;

	*n = (struct container_names){0};
	if (!cgroup_path_owner(path, &owner))
		return -ENOENT;
	set(&n->id, owner.id.name, owner.id.len);
	set(&n->pod_uid, owner.pod.name, owner.pod.len);
	for (char *at = n->pod_uid; at && *at; at++)
		*at = (char)(*at == '_' ? '-' : *at);
	n->is_podman = owner.runtime.len >= strlen(podman) &&
		       memcmp(owner.runtime.name, podman, strlen(podman)) == 0;
	return 0;
}

/* --- the kubelet's folders -------------------------------------------------------------------- */

/* Takes "POD_NAMESPACE_CONTAINER-ID.log" apart, if it is of this container. */
static void take_log(const char *name, struct container_names *n)
{
	const char *first = strchr(name, '_'), *second = first ? strchr(first + 1, '_') : NULL;
	const char *id = second ? strstr(second, n->id) : NULL;

	if (!id || id[-1] != '-' || strcmp(id + CGROUP_ID_DIGITS, ".log") != 0)
		return;
	set(&n->pod, name, (size_t)(first - name));
	set(&n->name_space, first + 1, (size_t)(second - first - 1));
	set(&n->container, second + 1, (size_t)(id - 1 - second - 1));
}

/* Takes "NAMESPACE_POD_UID" apart, if it is of this pod. */
static void take_pod(const char *name, struct container_names *n)
{
	const char *first = strchr(name, '_'), *second = first ? strchr(first + 1, '_') : NULL;

	if (!second || strcmp(second + 1, n->pod_uid) != 0)
		return;
	set(&n->name_space, name, (size_t)(first - name));
	set(&n->pod, first + 1, (size_t)(second - first - 1));
}

static void look_through(const char *root, const char *folder,
			 void (*take)(const char *, struct container_names *),
			 struct container_names *n)
{
	char path[512];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	dir = opendir(path);
	for (unsigned i = 0; dir && !n->pod && i < MOST_ENTRIES && (entry = readdir(dir)); i++)
		take(entry->d_name, n);
	if (dir)
		closedir(dir);
}

/* --- files with JSON -------------------------------------------------------------------------- */

/* Reads a file, at most MOST_BYTES of it. NULL: it cannot be read. */
static char *read_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t size = 0, room = 1u << 16;
	char *text = fd >= 0 ? malloc(room + 1) : NULL, *more;
	ssize_t got = 1;

	while (text && got > 0 && size < MOST_BYTES) {
		if (size == room) {
			room *= 2;
			more = realloc(text, room + 1);
			if (!more)
				free(text);
			text = more;
			continue;
		}
		got = read(fd, text + size, room - size);
		size += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text)
		text[size] = '\0';
	return text;
}

static void take_member(const char *object, const char *name, char **member)
{
	size_t len = 0;
	const char *text = json_find_string(json_find_member(object, name), &len);

	if (text)
		set(member, text, len);
}

/* Takes a container's name, which is "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT" if Kubernetes has
 * given it. */
static void take_name(const char *name, size_t len, struct container_names *n)
{
	const char *parts[5];
	size_t found = 0;

	if (len && *name == '/') {
		name++;
		len--;
	}
	for (size_t i = 0; i < len && found < 5; i++)
		if (name[i] == '_')
			parts[found++] = name + i;
	if (found < 5 || strncmp(name, "k8s_", 4) != 0 || n->is_podman) {
		set(&n->name, name, len);
		return;
	}
	set(&n->container, parts[0] + 1, (size_t)(parts[1] - parts[0] - 1));
	set(&n->pod, parts[1] + 1, (size_t)(parts[2] - parts[1] - 1));
	set(&n->name_space, parts[2] + 1, (size_t)(parts[3] - parts[2] - 1));
}

static void read_docker(const char *root, struct container_names *n)
{
	char path[512], *json;
	const char *name;
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root, n->id);
	json = read_file(path);
	name = json ? json_find_string(json_find_member(json, "Name"), &len) : NULL;
	if (name)
		take_name(name, len, n);
	free(json);
}

/* Reads the annotations of a bundle (OCI), as containerd and CRI-O write them. */
static void read_bundle(const char *root, const char *before, const char *behind,
			struct container_names *n)
{
	char path[512], *file;
	const char *json;

	snprintf(path, sizeof(path), "%s%s/%s%s/config.json", root, before, n->id, behind);
	file = read_file(path);
	json = file ? json_find_member(file, "annotations") : NULL;
	take_member(json, "io.kubernetes.cri.container-name", &n->container);
	take_member(json, "io.kubernetes.cri.sandbox-name", &n->pod);
	take_member(json, "io.kubernetes.cri.sandbox-namespace", &n->name_space);
	take_member(json, "io.kubernetes.cri.sandbox-uid", &n->pod_uid);
	take_member(json, "io.kubernetes.container.name", &n->container);
	take_member(json, "io.kubernetes.pod.name", &n->pod);
	take_member(json, "io.kubernetes.pod.namespace", &n->name_space);
	take_member(json, "io.kubernetes.pod.uid", &n->pod_uid);
	take_member(json, "nerdctl/name", &n->name);
	free(file);
}

/* Reads the list of containers of Podman and CRI-O: [{"id": "ID", "names": ["NAME"]}]. */
static void read_storage(const char *root, struct container_names *n)
{
	char path[512], *json;
	const char *item, *id, *name;
	size_t len = 0;

	snprintf(path, sizeof(path),
		 "%s/var/lib/containers/storage/overlay-containers/containers.json", root);
	json = read_file(path);
	for (item = json_find_first(json); item; item = json_find_next(item)) {
		id = json_find_string(json_find_member(item, "id"), &len);
		if (id && len == strlen(n->id) && memcmp(id, n->id, len) == 0)
			break;
	}
	name = json_find_string(json_find_first(json_find_member(item, "names")), &len);
	if (name)
		take_name(name, len, n);
	free(json);
}

static void read_files(const char *root, struct container_names *n)
{
	static const char *const bundles[][2] = {
		{"/run/containerd/io.containerd.runtime.v2.task/k8s.io", ""},
		{"/run/containerd/io.containerd.runtime.v2.task/default", ""},
		{"/run/containers/storage/overlay-containers", "/userdata"},
		{"/var/run/containers/storage/overlay-containers", "/userdata"},
	};

	if (n->is_podman) {
		read_storage(root, n);
		return;
	}
	look_through(root, "/var/log/containers", take_log, n);
	if (!n->pod)
		read_docker(root, n);
	for (size_t i = 0; !n->pod && !n->name && i < sizeof(bundles) / sizeof(*bundles); i++)
		read_bundle(root, bundles[i][0], bundles[i][1], n);
	if (!n->pod && !n->name)
		read_storage(root, n);
}

void container_names_read(const char *root, struct container_names *n)
{
	if (n->id)
		read_files(root, n);
	if (!n->pod && n->pod_uid)
		look_through(root, "/var/log/pods", take_pod, n);
}
