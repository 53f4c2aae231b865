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

#include "proc/cgroup_path.h"

#define MOST_BYTES (4u << 20) /* of a file */
#define NAME_BYTES 256u

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

static void find_ids(const char *path, struct container_names *n)
{
	const char *end = path + strlen(path);
	struct cgroup_folder id, runtime, folder, pod;

	if (cgroup_path_container(path, &end, &id, &runtime))
		set(&n->id, id.name, id.len);
	end = path + strlen(path);
	while (!n->pod_uid && cgroup_path_before(path, &end, &folder)) {
		const size_t colon = strcspn(folder.name, ":/");

		folder.len = colon < folder.len ? colon : folder.len;
		if (cgroup_path_pod(folder, &pod))
			set(&n->pod_uid, pod.name, pod.len);
	}
	for (char *at = n->pod_uid; at && *at; at++)
		*at = (char)(*at == '_' ? '-' : *at);
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
	while (dir && !n->pod && (entry = readdir(dir)))
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

/* Returns the string that follows "NAME": in a text, also as the first of a list, and its length.
 * Within a string of JSON quotes have a backslash before them, so what others have written into a
 * value is not found. NULL: there is none. */
static const char *member_of(const char *json, const char *name, size_t *ret_len)
{
	char quoted[128];

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	for (const char *at = strstr(json, quoted); at; at = strstr(at + 1, quoted)) {
		const char *value = at + strlen(quoted);

		value += strspn(value, " \t\r\n");
		if (at[-(at > json)] == '\\' || *value++ != ':')
			continue;
		value += strspn(value, " \t\r\n[");
		if (*value++ != '"')
			continue;
		*ret_len = strcspn(value, "\"\\");
		return value[*ret_len] == '"' ? value : NULL;
	}
	return NULL;
}

static void take_member(const char *json, const char *name, char **member)
{
	size_t len = 0;
	const char *value = member_of(json, name, &len);

	if (value)
		set(member, value, len);
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
	if (found < 5 || strncmp(name, "k8s_", 4) != 0) {
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
	name = json ? member_of(json, "Name", &len) : NULL;
	if (name)
		take_name(name, len, n);
	free(json);
}

/* Reads the annotations of a bundle (OCI), as containerd and CRI-O write them. */
static void read_bundle(const char *root, const char *before, const char *behind,
			struct container_names *n)
{
	char path[512], *json;

	snprintf(path, sizeof(path), "%s%s/%s%s/config.json", root, before, n->id, behind);
	json = read_file(path);
	if (!json)
		return;
	take_member(json, "io.kubernetes.cri.container-name", &n->container);
	take_member(json, "io.kubernetes.cri.sandbox-name", &n->pod);
	take_member(json, "io.kubernetes.cri.sandbox-namespace", &n->name_space);
	take_member(json, "io.kubernetes.cri.sandbox-uid", &n->pod_uid);
	take_member(json, "io.kubernetes.container.name", &n->container);
	take_member(json, "io.kubernetes.pod.name", &n->pod);
	take_member(json, "io.kubernetes.pod.namespace", &n->name_space);
	take_member(json, "io.kubernetes.pod.uid", &n->pod_uid);
	take_member(json, "nerdctl/name", &n->name);
	free(json);
}

/* Reads the list of containers of Podman and CRI-O, in which names follow the id. */
static void read_storage(const char *root, struct container_names *n)
{
	char path[512], *json, *at = NULL;
	const char *name;
	size_t len = 0;

	snprintf(path, sizeof(path),
		 "%s/var/lib/containers/storage/overlay-containers/containers.json", root);
	json = read_file(path);
	if (json)
		at = strstr(json, n->id);
	/* The object ends where the next one begins. */
	if (at && strstr(at, "\"id\""))
		*strstr(at, "\"id\"") = '\0';
	name = at ? member_of(at, "names", &len) : NULL;
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

	look_through(root, "/var/log/containers", take_log, n);
	if (!n->pod)
		read_docker(root, n);
	for (size_t i = 0; !n->pod && !n->name && i < sizeof(bundles) / sizeof(*bundles); i++)
		read_bundle(root, bundles[i][0], bundles[i][1], n);
	if (!n->pod && !n->name)
		read_storage(root, n);
}

int container_names_read(const char *root, const char *path, struct container_names *ret_names)
{
	struct container_names *n = ret_names;

	*n = (struct container_names){0};
	find_ids(path, n);
	if (!n->id && !n->pod_uid)
		return -ENOENT;
	if (n->id)
		read_files(root, n);
	if (!n->pod && n->pod_uid)
		look_through(root, "/var/log/pods", take_pod, n);
	return 0;
}
