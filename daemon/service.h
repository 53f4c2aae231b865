/* SPDX-License-Identifier: MIT */
/* Reports the state of the run to the service manager (sd_notify); without one, does nothing. */
#ifndef SERVICE_H
#define SERVICE_H

/* Reports that sampling has begun. */
void service_ready(void);

/* Reports a line of status, as `systemctl status` shows it. */
void service_status(const char *text);

/* Reports that the run is ending. */
void service_stopping(void);

#endif
