/* SPDX-License-Identifier: MIT */
/* The exit statuses of the command contract. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

enum exit_status {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_NO_SAMPLES = 3,
	STATUS_UNSUPPORTED = 4, /* permission or kernel support is missing */
};

#endif
