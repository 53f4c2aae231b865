/* SPDX-License-Identifier: MIT */
/* Names of units and containers; see cgroup_name.h. */
#include "model/cgroup_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/pattern.h"
#include "proc/cgroup_path.h"

#define ID_SHOWN 12

/* --- units ----------------------------------------------------------------------------------- */

void cgroup_name_unit(const char *path, struct buf *b)
{
	const char *end = path ? path + strlen(path) : NULL;
	struct cgroup_folder folder, slice = {0};

	if (!path || *path != '/') {
		text_put_raw(b, "[unknown]");
		return;
	}
	while (cgroup_path_before(path, &end, &folder)) {
		if (cgroup_path_ends_with(&folder, ".service") ||
		    cgroup_path_ends_with(&folder, ".scope")) {
			buf_put(b, folder.name, folder.len);
			return;
		}
		if (!slice.name && cgroup_path_ends_with(&folder, ".slice"))
			slice = folder;
	}
	if (slice.name)
		buf_put(b, slice.name, slice.len);
	else
		text_put_raw(b, "[no unit]");
}

bool cgroup_name_is_in(const char *path, const char *pattern)
{
	const char *end = path ? path + strlen(path) : NULL;
	struct cgroup_folder folder;

	while (path && cgroup_path_before(path, &end, &folder)) {
		if (pattern_matches(pattern, folder.name, folder.len))
			return true;
		if (cgroup_path_ends_with(&folder, ".service") &&
		    pattern_matches(pattern, folder.name, folder.len - strlen(".service")))
			return true;
	}
	return false;
}

/* --- containers ------------------------------------------------------------------------------ */

/* Removes a beginning from a folder's name. Returns whether the name has it, and more. */
static bool cut_beginning(struct cgroup_folder *f, const char *beginning)
{
	size_t len = strlen(beginning);

	if (f->len <= len || memcmp(f->name, beginning, len) != 0)
		return false;
	f->name += len;
	f->len -= len;
	return true;
}

static bool is_folder(const struct cgroup_folder *f, const char *name)
{
	return f->len == strlen(name) && memcmp(f->name, name, f->len) == 0;
}

/* Finds the name of a container of LXC or systemd-nspawn, which have no ids: `folder` is in the
 * folder `above` and has the folder `below` (no name: none). libvirt's scopes are named like those
 * of nspawn, but have no "payload". */
static bool folder_named(struct cgroup_folder folder, struct cgroup_folder above,
			 struct cgroup_folder below, struct cgroup_folder *ret_name,
			 const char **ret_runtime)
{
	struct cgroup_folder name = folder;

	*ret_runtime = "lxc";
	*ret_name = name;
	if (is_folder(&above, "lxc") || is_folder(&above, "lxc.payload"))
		return true;
	if (cut_beginning(ret_name, "lxc.payload."))
		return true;
	*ret_runtime = "nspawn";
	if (cgroup_path_ends_with(&name, ".service") && cut_beginning(&name, "systemd-nspawn@"))
		name.len -= strlen(".service");
	else if (is_folder(&below, "payload") && cgroup_path_ends_with(&name, ".scope") &&
		 cut_beginning(&name, "machine-"))
		name.len -= strlen(".scope");
	else
		return false;
	*ret_name = name;
	return name.len > 0;
}

/* Appends a container's name, in which systemd writes some characters as \xNN. */
static void put_name(const struct cgroup_folder *name, struct buf *b)
{
	for (size_t i = 0; i < name->len; i++) {
		char code[3] = {0};
		char *end = code;
		unsigned long c = 0;

		if (i + 4 <= name->len && !memcmp(name->name + i, "\\x", 2)) {
			memcpy(code, name->name + i + 2, 2);
			c = strtoul(code, &end, 16);
		}
		if (c > ' ' && c < 0x7f && end == code + 2) {
			buf_put_u8(b, (uint8_t)c);
			i += 3;
		} else {
			buf_put_u8(b, (uint8_t)name->name[i]);
		}
	}
}

/* Appends the innermost container that has a name rather than an id. false: there is none. */
static bool put_named(const char *path, struct buf *b)
{
	const char *end = path + strlen(path), *runtime;
	struct cgroup_folder folder, above, below = {0}, name;
	bool more = cgroup_path_before(path, &end, &folder);

	while (more) {
		above = (struct cgroup_folder){0};
		more = cgroup_path_before(path, &end, &above);
		if (folder_named(folder, above, below, &name, &runtime)) {
			text_put_raw(b, runtime);
			buf_put_u8(b, ' ');
			put_name(&name, b);
			return true;
		}
		below = folder;
		folder = above;
	}
	return false;
}

/* Appends a pod's id. systemd's cgroup driver writes underscores for the dashes of the id. */
static void put_pod(const struct cgroup_folder *pod, struct buf *b)
{
	for (size_t i = 0; i < pod->len; i++)
		buf_put_u8(b, (uint8_t)(pod->name[i] == '_' ? '-' : pod->name[i]));
}

void cgroup_name_container(const char *path, struct buf *b)
{
	const char *end = path ? path + strlen(path) : NULL;
	struct cgroup_folder id, runtime, pod = {0};
	struct cgroup_owner owner;

	if (!path || *path != '/') {
		text_put_raw(b, "[unknown]");
		return;
	}
	if (!cgroup_path_container(path, &end, &id, &runtime)) {
		if (!put_named(path, b))
			text_put_raw(b, "[no container]");
		return;
	}
	if (!runtime.len && !cgroup_path_before(path, &end, &runtime))
		runtime = (struct cgroup_folder){.name = "container", .len = 9};
	if (cgroup_path_owner(path, &owner) && owner.id.name == id.name)
		pod = owner.pod;
	if (pod.len) {
		text_put_raw(b, "pod ");
		put_pod(&pod, b);
	} else {
		buf_put(b, runtime.name, runtime.len);
	}
	buf_put_u8(b, pod.len ? '/' : ' ');
	buf_put(b, id.name, ID_SHOWN);
}

bool cgroup_name_pod(const char *path, struct buf *b)
{
	struct cgroup_owner owner;

	if (!cgroup_path_owner(path, &owner) || !owner.pod.len)
		return false;
	put_pod(&owner.pod, b);
	return true;
}
