/* SPDX-License-Identifier: MIT */
/* Calls sd_notify(); see service_manager.h. */
#include "daemon/service_manager.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/base/log.h"
#include "store/store_path.h"

void service_manager_ready(void)
{
	sd_notify(0, "READY=1");
}

void service_manager_alive(struct service_manager_watchdog *w, uint64_t now_ns)
{
	uint64_t limit_us = 0;

	if (!w->is_asked) {
		w->is_asked = true;
		w->every_ns = sd_watchdog_enabled(0, &limit_us) > 0 ? limit_us * 1000 / 2 : 0;
	}
	if (!w->every_ns || now_ns - w->last_ns < w->every_ns)
		return;
	w->last_ns = now_ns;
	sd_notify(0, "WATCHDOG=1");
}

void service_manager_status(const char *text)
{
	sd_notifyf(0, "STATUS=%s", text);
}

void service_manager_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void service_manager_share_store(const char *path, const char *group)
{
	const struct group *found = group ? getgrnam(group) : NULL;
	int err;

	if (!group)
		return;
	if (!found) {
		log_warning("--group '%s': there is no such group, so only root reads %s: groupadd "
			    "--system %s",
			    group, path, group);
		return;
	}
	err = store_path_share(path, found->gr_gid);
	if (err)
		log_warning("cannot let the group '%s' read %s: %s", group, path, strerror(-err));
}
