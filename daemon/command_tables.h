/* SPDX-License-Identifier: MIT */
/*
 * Has the tables made that a command with an interpreter needs, before it starts.
 *
 * The functions of an interpreter (Python's) are read when a sample is taken, by facts about the
 * interpreter's file that come with its table. Native frames can be found later, in the sample's
 * copy of the stack, but these functions cannot: they are in the heap, which has changed by then.
 * So the program's first samples would have native frames alone, until the tables are there. A
 * command waits before its exec, which is a moment that has no samples yet. For programs that run
 * already, attach_load() does this.
 */
#ifndef DAEMON_COMMAND_TABLES_H
#define DAEMON_COMMAND_TABLES_H

#include "daemon/base/options.h"
#include "daemon/capture/target.h"
#include "daemon/recorder/recorder.h"
#include "daemon/tables/tables.h"

/* If programs that the command's words name have an interpreter, requests the tables of these
 * programs and of their libraries, and waits for them, for some seconds at most. `target`: the
 * command, which has not begun. 0 or -ENOMEM. */
int command_tables_make(const struct options *options, const struct target *target,
			struct recorder *recorder, struct tables *tables);

#endif
