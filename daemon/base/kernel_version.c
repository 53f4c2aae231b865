/* SPDX-License-Identifier: MIT */
/* Reads the release's two first numbers; see kernel_version.h. */
#include "daemon/base/kernel_version.h"

#include <stdio.h>
#include <sys/utsname.h>

bool kernel_is_from(unsigned major, unsigned minor)
{
	struct utsname name;
	unsigned is_major, is_minor;

	if (uname(&name) || sscanf(name.release, "%u.%u", &is_major, &is_minor) != 2)
		return false;
	return is_major > major || (is_major == major && is_minor >= minor);
}
