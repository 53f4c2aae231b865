/* SPDX-License-Identifier: MIT */
/* stackctl export --paraver: a recording as the three files of a Paraver trace. */
#ifndef CLI_PARAVER_H
#define CLI_PARAVER_H

#include <stdbool.h>

#include "input.h"

/* Whether a path can be that of a trace's records: it ends in ".prv". */
bool paraver_is_path(const char *path);

/* Writes FILE.prv, and beside it FILE.pcf and FILE.row. They replace old ones when all are
 * complete, the records last. A cmd_status; a message has been given if it is not CMD_DONE. */
int paraver_write(struct input *input, const char *path);

#endif
