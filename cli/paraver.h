/* SPDX-License-Identifier: MIT */
/* stackctl export --paraver: a recording as the three files of a Paraver trace. */
#ifndef CLI_PARAVER_H
#define CLI_PARAVER_H

#include <stdbool.h>

#include "input.h"

/* Returns whether a path ends in ".prv", as the file of a trace's records must. */
bool paraver_is_path(const char *path);

/* Writes FILE.prv, and beside it FILE.pcf and FILE.row. They replace old files only when all three
 * are complete, the records last. Returns a cmd_status; a message has been printed if it is not
 * CMD_DONE. */
int paraver_write(struct input *input, const char *path);

#endif
