/* SPDX-License-Identifier: MIT */
/* Reads mountinfo; see fuse_devices.h. */
#include "proc/fuse_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Reads a line of mountinfo: "36 35 8:1 / /mnt rw - fuseblk /dev/sda1 rw". Returns whether the line
 * is about this device; if so, sets *ret_is_fuse. */
static bool read_line(const char *line, dev_t device, bool *ret_is_fuse)
{
	const char *type = strstr(line, " - ");
	unsigned major, minor;

	if (!type || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
	    makedev(major, minor) != device)
		return false;
	*ret_is_fuse = strncmp(type + 3, "fuse", 4) == 0;
	return true;
}

static bool look_up(const char *mounts, dev_t device)
{
	FILE *file = fopen(mounts, "re");
	bool is_found = false, is_fuse = true;
	char *line = NULL;
	size_t size = 0;

	while (file && !is_found && getline(&line, &size, file) > 0)
		is_found = read_line(line, device, &is_fuse);
	free(line);
	if (file)
		fclose(file);
	return is_fuse;
}

bool fuse_devices_may_have(struct fuse_devices *d, const char *mounts, dev_t device)
{
	bool is_fuse;

	for (size_t i = 0; i < d->known.count; i++)
		if (d->known.items[i].device == device)
			return d->known.items[i].is_fuse;
	is_fuse = look_up(mounts, device);
	if (!VEC_RESERVE(&d->known, 1))
		d->known.items[d->known.count++] = (struct fuse_device){device, is_fuse};
	return is_fuse;
}

void fuse_devices_fini(struct fuse_devices *d)
{
	free(d->known.items);
	*d = (struct fuse_devices){0};
}
