/* SPDX-License-Identifier: MIT */
/* Gives up root's rights; see rights.h. */
#include "rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RIGHTS_NOBODY 65534

/* Reads the number of a user or group that sudo and pkexec leave in the environment. Returns
 * whether it is one, and not root's. */
static bool from_environment(const char *name, unsigned *ret_id)
{
	const char *text = getenv(name);
	char *end;
	unsigned long id;

	if (!text || *text < '0' || *text > '9')
		return false;
	id = strtoul(text, &end, 10);
	if (*end || !id || id >= UINT32_MAX)
		return false;
	*ret_id = (unsigned)id;
	return true;
}

struct rights rights_choose(void)
{
	struct rights rights = {.user = getuid(), .group = getgid()};
	const struct passwd *entry;
	unsigned id;

	if (geteuid() != 0)
		return rights;
	rights = (struct rights){.user = RIGHTS_NOBODY, .group = RIGHTS_NOBODY, .is_root = true};
	if (from_environment("SUDO_UID", &id) || from_environment("PKEXEC_UID", &id))
		rights.user = id;
	rights.is_nobody = rights.user == RIGHTS_NOBODY;
	entry = getpwuid(rights.user);
	if (entry)
		rights.group = entry->pw_gid;
	return rights;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int rights_become(const struct rights *rights)
{
	if (rights->is_root &&
	    (setgroups(0, NULL) < 0 || setresgid(rights->group, rights->group, rights->group) < 0 ||
	     setresuid(rights->user, rights->user, rights->user) < 0))
		return -errno;
	if (rights->is_root && (setuid(0) == 0 || !getuid() || !geteuid()))
		return -EPERM;
	return drop_capabilities();
}

int rights_lock(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
