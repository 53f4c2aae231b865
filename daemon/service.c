/* SPDX-License-Identifier: MIT */
/* Calls sd_notify(); see service.h. */
#include "daemon/service.h"

#include <systemd/sd-daemon.h>

void service_ready(void)
{
	sd_notify(0, "READY=1");
}

void service_status(const char *text)
{
	sd_notifyf(0, "STATUS=%s", text);
}

void service_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
