/* SPDX-License-Identifier: MIT */
/* One run of the daemon: sets everything up, records until it is over, sums up. */
#ifndef SESSION_H
#define SESSION_H

#include "exit_status.h"
#include "options.h"

/* Runs; says what goes wrong itself. `command_line` is stackd's own, for the store. */
enum exit_status session_run(const struct options *options, const char *command_line);

#endif
