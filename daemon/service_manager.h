/* SPDX-License-Identifier: MIT */
/* Reports the state of the run to the service manager (sd_notify; does nothing without one), and
 * shares the store with a group. */
#ifndef SERVICE_MANAGER_H
#define SERVICE_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

/* Reports that sampling has begun. */
void service_manager_ready(void);

/* State of service_manager_alive(); zeroed at the start. */
struct service_manager_watchdog {
	bool is_asked;
	uint64_t every_ns; /* 0: there is no watchdog */
	uint64_t last_ns;
};

/* Reports to the manager's watchdog (WatchdogSec=) that stackd is alive, twice as often as the
 * manager requires. The main loop calls this, so that the manager restarts stackd if the loop
 * hangs. `now_ns`: CLOCK_MONOTONIC. */
void service_manager_alive(struct service_manager_watchdog *watchdog, uint64_t now_ns);

/* Reports a line of status, as `systemctl status` shows it. */
void service_manager_status(const char *text);

/* Reports that the run is ending. */
void service_manager_stopping(void);

/* Lets the members of a group of users read the store. `group`: its name; NULL: does nothing. Logs
 * a warning if that fails. */
void service_manager_share_store(const char *path, const char *group);

#endif
