/* SPDX-License-Identifier: MIT */
/* One run of the daemon: sets everything up, records until it is over, sums up. */
#ifndef SESSION_H
#define SESSION_H

#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"

/* Runs; says what goes wrong itself. `command_line` is stackd's own, for the store. */
enum exit_status session_run(const struct options *options, const char *command_line);

#endif
