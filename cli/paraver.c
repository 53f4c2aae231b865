/* SPDX-License-Identifier: MIT */
/* Writes the files of a Paraver trace; see paraver.h. */
#include "paraver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "export/export_paraver.h"
#include "message.h"
#include "output.h"

#define EXTENSION 4 /* length of ".prv" */

bool paraver_is_path(const char *path)
{
	const size_t n = strlen(path);

	return n > EXTENSION && !strcmp(path + n - EXTENSION, ".prv") &&
	       path[n - EXTENSION - 1] != '/';
}

static int begin_files(struct output outputs[EXPORT_PARAVER_FILES], const char *path)
{
	static const char *const extensions[EXPORT_PARAVER_FILES] = {
		[EXPORT_PARAVER_PCF] = ".pcf",
		[EXPORT_PARAVER_ROW] = ".row",
		[EXPORT_PARAVER_PRV] = ".prv",
	};
	char *name = strdup(path);
	int status = CMD_DONE;

	if (!name) {
		message("out of memory");
		return CMD_FAILED;
	}
	for (unsigned i = 0; status == CMD_DONE && i < EXPORT_PARAVER_FILES; i++) {
		memcpy(name + strlen(name) - EXTENSION, extensions[i], EXTENSION);
		status = output_begin(name, &outputs[i]);
	}
	free(name);
	return status;
}

/* Ends the files in order. If one fails, its error is printed, and the remaining files are dropped.
 * Returns the exit status. */
static int end_files(struct output outputs[EXPORT_PARAVER_FILES], int status, int err)
{
	const int error_number = errno;
	unsigned failed = 0;

	for (unsigned i = 0; err && i < EXPORT_PARAVER_FILES; i++)
		if (ferror(outputs[i].file))
			failed = i;
	errno = error_number;
	if (err)
		status = output_end(&outputs[failed], err);
	for (unsigned i = 0; i < EXPORT_PARAVER_FILES; i++) {
		if (status == CMD_DONE)
			status = output_end(&outputs[i], 0);
		else if (outputs[i].file)
			output_drop(&outputs[i]);
	}
	return status;
}

int paraver_write(struct input *input, const char *path)
{
	struct output outputs[EXPORT_PARAVER_FILES] = {0};
	FILE *files[EXPORT_PARAVER_FILES];
	struct input_open open;
	int err = 0, status;

	input->takes_series = 1u << SERIES_REGION_TIME;
	status = input_open(input, &open);
	if (status == CMD_DONE)
		status = begin_files(outputs, path);
	if (status == CMD_DONE) {
		for (unsigned i = 0; i < EXPORT_PARAVER_FILES; i++)
			files[i] = outputs[i].file;
		err = export_paraver(open.profile, files);
		input_regions_off(open.profile);
	}
	if (err == -ENODATA) {
		message("--paraver: no sample and no pass through a region matches the options");
		status = CMD_NO_SAMPLES;
		err = 0;
	}
	status = end_files(outputs, status, err);
	input_close(&open);
	return status;
}
