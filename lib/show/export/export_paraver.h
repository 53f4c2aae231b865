/* SPDX-License-Identifier: MIT */
/* Exports a recording as a trace for Paraver, BSC's viewer, and for other tools that read such
 * traces. */
#ifndef EXPORT_EXPORT_PARAVER_H
#define EXPORT_EXPORT_PARAVER_H

#include <stdio.h>

#include "model/profile.h"

enum export_paraver_file {
	EXPORT_PARAVER_PCF, /* the names of types and values */
	EXPORT_PARAVER_ROW, /* the names of CPUs, the host, processes and threads */
	EXPORT_PARAVER_PRV, /* the records */
	EXPORT_PARAVER_FILES
};

/* Writes the three files of a trace of a profile of METRIC_CPU. Returns 0; -ENODATA: no thread has
 * an event; -ENOMEM; -EIO: a stream failed; or an error of store_reader_records(). */
int export_paraver(struct profile *profile, FILE *const files[EXPORT_PARAVER_FILES]);

#endif
