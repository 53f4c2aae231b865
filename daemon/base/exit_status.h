/* SPDX-License-Identifier: MIT */
/* Defines the exit statuses that docs/REPORTS.md documents. */
#ifndef BASE_EXIT_STATUS_H
#define BASE_EXIT_STATUS_H

#include <errno.h>

enum exit_status {
	STATUS_DONE = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_NO_SAMPLES = 3,
	STATUS_UNSUPPORTED = 4, /* permission or kernel support is missing */
	STATUS_AGAIN = 75,	/* a service that is to be started again (EX_TEMPFAIL) */
};

/* Returns the status for a failure with the negative errno `err`. */
static inline enum exit_status exit_status_of(int err)
{
	return err == -EPERM || err == -EACCES || err == -EOPNOTSUPP ? STATUS_UNSUPPORTED
								     : STATUS_FAILED;
}

#endif
