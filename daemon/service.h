/* SPDX-License-Identifier: MIT */
/* What a service needs: reports the state of the run to the service manager (sd_notify), which does
 * nothing without one, and shares the store. */
#ifndef SERVICE_H
#define SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Reports that sampling has begun. */
void service_ready(void);

/* When the manager's watchdog was answered. Zeroed at the start. */
struct service_watchdog {
	bool is_asked;
	uint64_t every_ns; /* 0: there is no watchdog */
	uint64_t last_ns;
};

/* Answers the manager's watchdog (WatchdogSec=), twice as often as it wants. To be called by the
 * loop that would have to be restarted if it hung. `now_ns`: CLOCK_MONOTONIC. */
void service_alive(struct service_watchdog *watchdog, uint64_t now_ns);

/* Reports a line of status, as `systemctl status` shows it. */
void service_status(const char *text);

/* Reports that the run is ending. */
void service_stopping(void);

/* Lets the members of a group read the store; NULL: there is none to do so for. Warns if that
 * fails.
 */
void service_share_store(const char *path, const char *group);

#endif
