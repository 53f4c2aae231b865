/* SPDX-License-Identifier: MIT */
/* What a service manager is told (sd_notify); nothing happens without one. */
#ifndef SERVICE_H
#define SERVICE_H

void service_ready(void);
void service_status(const char *text);
void service_stopping(void);

#endif
