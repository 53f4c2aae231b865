/* SPDX-License-Identifier: MIT */
/* Names of units and containers; see cgroup_name.h. */
#include "model/cgroup_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/pattern.h"

#define ID_DIGITS    64 /* characters of a container's id */
#define ID_SHOWN     12
#define POD_SHORTEST 32 /* characters of a pod's id */

/* A folder of a path, without slashes. */
struct folder {
	const char *name;
	size_t len;
};

/* Gives the folder of the path that ends at `*end`, and moves `*end` to the slash before it.
 * Returns false at the root. */
static bool folder_before(const char *path, const char **end, struct folder *ret_folder)
{
	const char *from;

	while (*end > path && (*end)[-1] == '/')
		--*end;
	if (*end == path)
		return false;
	for (from = *end; from > path && from[-1] != '/'; from--)
		;
	*ret_folder = (struct folder){.name = from, .len = (size_t)(*end - from)};
	*end = from;
	return true;
}

static bool ends_with(const struct folder *f, const char *suffix)
{
	size_t len = strlen(suffix);

	return f->len > len && memcmp(f->name + f->len - len, suffix, len) == 0;
}

/* --- units ----------------------------------------------------------------------------------- */

void cgroup_name_unit(const char *path, struct buf *b)
{
	const char *end = path ? path + strlen(path) : NULL;
	struct folder folder, slice = {0};

	if (!path || *path != '/') {
		text_put_raw(b, "[unknown]");
		return;
	}
	while (folder_before(path, &end, &folder)) {
		if (ends_with(&folder, ".service") || ends_with(&folder, ".scope")) {
			buf_put(b, folder.name, folder.len);
			return;
		}
		if (!slice.name && ends_with(&folder, ".slice"))
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
	struct folder folder;

	while (path && folder_before(path, &end, &folder)) {
		if (pattern_matches(pattern, folder.name, folder.len))
			return true;
		if (ends_with(&folder, ".service") &&
		    pattern_matches(pattern, folder.name, folder.len - strlen(".service")))
			return true;
	}
	return false;
}

/* --- containers ------------------------------------------------------------------------------ */

/* Finds a container's id at the end of a folder's name, and the runtime's name before it:
 * "docker-ID.scope", "ID", or containerd's "...slice:cri-containerd:ID". */
static bool folder_container(struct folder folder, struct folder *ret_id,
			     struct folder *ret_runtime)
{
	static const char digits[] = "0123456789abcdef";
	const char *id;

	if (ends_with(&folder, ".scope"))
		folder.len -= strlen(".scope");
	if (folder.len < ID_DIGITS)
		return false;
	id = folder.name + folder.len - ID_DIGITS;
	if (strspn(id, digits) != ID_DIGITS)
		return false;
	*ret_id = (struct folder){.name = id, .len = ID_SHOWN};
	*ret_runtime = (struct folder){.name = folder.name};
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

/* Removes a beginning from a folder's name. Returns whether the name has it, and more. */
static bool cut_beginning(struct folder *f, const char *beginning)
{
	size_t len = strlen(beginning);

	if (f->len <= len || memcmp(f->name, beginning, len) != 0)
		return false;
	f->name += len;
	f->len -= len;
	return true;
}

static bool is_folder(const struct folder *f, const char *name)
{
	return f->len == strlen(name) && memcmp(f->name, name, f->len) == 0;
}

/* Finds the name of a container of LXC or systemd-nspawn, which have no ids: `folder` is in the
 * folder `above` and has the folder `below` (no name: none). libvirt's scopes are named like those
 * of nspawn, but have no "payload". */
static bool folder_named(struct folder folder, struct folder above, struct folder below,
			 struct folder *ret_name, const char **ret_runtime)
{
	struct folder name = folder;

	*ret_runtime = "lxc";
	*ret_name = name;
	if (is_folder(&above, "lxc") || is_folder(&above, "lxc.payload"))
		return true;
	if (cut_beginning(ret_name, "lxc.payload."))
		return true;
	*ret_runtime = "nspawn";
	if (ends_with(&name, ".service") && cut_beginning(&name, "systemd-nspawn@"))
		name.len -= strlen(".service");
	else if (is_folder(&below, "payload") && ends_with(&name, ".scope") &&
		 cut_beginning(&name, "machine-"))
		name.len -= strlen(".scope");
	else
		return false;
	*ret_name = name;
	return name.len > 0;
}

/* Appends a container's name, in which systemd writes some characters as \xNN. */
static void put_name(const struct folder *name, struct buf *b)
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
	struct folder folder, above, below = {0}, name;
	bool more = folder_before(path, &end, &folder);

	while (more) {
		above = (struct folder){0};
		more = folder_before(path, &end, &above);
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

/* Finds a pod's id in a folder's name: "podUID", "kubepods-burstable-podU_I_D.slice". */
static bool folder_pod(struct folder folder, struct folder *ret_id)
{
	if (ends_with(&folder, ".slice"))
		folder.len -= strlen(".slice");
	for (size_t i = 0; i + 3 + POD_SHORTEST <= folder.len; i++) {
		if (memcmp(folder.name + i, "pod", 3) != 0 || (i && folder.name[i - 1] != '-'))
			continue;
		*ret_id = (struct folder){.name = folder.name + i + 3, .len = folder.len - i - 3};
		return true;
	}
	return false;
}

/* Appends a pod's id. systemd's cgroup driver writes underscores for the dashes of the id. */
static void put_pod(const struct folder *pod, struct buf *b)
{
	text_put_raw(b, "pod ");
	for (size_t i = 0; i < pod->len; i++)
		buf_put_u8(b, (uint8_t)(pod->name[i] == '_' ? '-' : pod->name[i]));
}

/* Finds the innermost container of a path. conmon, which monitors a container, does not count. */
static bool find_container(const char *path, const char **end, struct folder *ret_id,
			   struct folder *ret_runtime)
{
	struct folder folder;

	while (folder_before(path, end, &folder)) {
		if (folder_container(folder, ret_id, ret_runtime) &&
		    !ends_with(ret_runtime, "conmon"))
			return true;
	}
	return false;
}

void cgroup_name_container(const char *path, struct buf *b)
{
	const char *end = path ? path + strlen(path) : NULL;
	struct folder id, runtime, folder, pod = {0};
	bool more;

	if (!path || *path != '/') {
		text_put_raw(b, "[unknown]");
		return;
	}
	if (!find_container(path, &end, &id, &runtime)) {
		if (!put_named(path, b))
			text_put_raw(b, "[no container]");
		return;
	}
	/* containerd with the driver "cgroupfs" writes the pod's slice into the same folder name.
	 */
	folder = (struct folder){.name = end, .len = strcspn(end, ":/")};
	folder_pod(folder, &pod);
	more = folder_before(path, &end, &folder);
	if (!runtime.len)
		runtime = more ? folder : (struct folder){.name = "container", .len = 9};
	for (; more && !pod.name; more = folder_before(path, &end, &folder))
		folder_pod(folder, &pod);
	if (pod.name)
		put_pod(&pod, b);
	else
		buf_put(b, runtime.name, runtime.len);
	buf_put_u8(b, pod.name ? '/' : ' ');
	buf_put(b, id.name, id.len);
}
