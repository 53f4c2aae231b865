/* SPDX-License-Identifier: MIT */
/* What a service needs: reports the state of the run to the service manager (sd_notify), which does
 * nothing without one, and shares the store. */
#ifndef SERVICE_H
#define SERVICE_H

/* Reports that sampling has begun. */
void service_ready(void);

/* Reports a line of status, as `systemctl status` shows it. */
void service_status(const char *text);

/* Reports that the run is ending. */
void service_stopping(void);

/* Lets the members of a group read the store; NULL: there is none to do so for. Warns if that
 * fails.
 */
void service_share_store(const char *path, const char *group);

#endif
