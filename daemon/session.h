/* SPDX-License-Identifier: MIT */
/* Runs the daemon once: sets everything up, records until the run is over, prints the summary. */
#ifndef SESSION_H
#define SESSION_H

#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/worker/copier.h"
#include "daemon/worker/fetcher.h"
#include "daemon/worker/fork_server.h"

/* Runs, and logs its own errors. `copier` and `fetcher` may be NULL; `command_line` is stackd's,
 * for the store. Returns the status to exit with. */
enum exit_status session_run(const struct options *options, struct fork_server *server,
			     struct copier *copier, struct fetcher *fetcher,
			     const char *command_line);

#endif
