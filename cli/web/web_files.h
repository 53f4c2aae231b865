/* SPDX-License-Identifier: MIT */
/* The files of the page (web/), which the build puts into stackctl. */
#ifndef CLI_WEB_WEB_FILES_H
#define CLI_WEB_WEB_FILES_H

#include <stddef.h>
#include <stdint.h>

struct web_file {
	const char *name; /* path below web/: "app.js" */
	const uint8_t *bytes;
	size_t len;
};

/* Returns a file by its name; NULL: there is none. */
const struct web_file *web_files_find(const char *name);

/* Returns the type of a file for the header Content-Type, by the ending of its name; NULL: files of
 * this ending are not served. */
const char *web_files_type(const char *name);

#endif
