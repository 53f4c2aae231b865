/* SPDX-License-Identifier: MIT */
/*
 * The page of `stackctl web` as one file (web/one_file.awk), and files of it that verbs write: the
 * page with the answers to its own questions in it, as "Save as one file" makes it (web/save.js).
 */
#ifndef WEB_ONE_FILE_H
#define WEB_ONE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "web/web.h"

#define ONE_FILE_BYTES 1000000 /* that a file has at most */

/* Returns the page, a constant with "@DATA@" in it once, in the place of the data. */
const char *one_file_page(void);

/* What a file shows when it is opened. All is borrowed. */
struct one_file {
	const struct web_source *source; /* with `given` */
	const char *tab;		 /* "flame", "difference" or "fold" */
	const char *by;		 /* the parts next to the root of the flame graph; NULL: none */
	const char *region;	 /* fold */
	double minimum;		 /* frames with a smaller share are left out; 0: as many as fit */
	bool is_bottom;		 /* the root of flame graphs is at the bottom */
	uint64_t from_ns, to_ns; /* the selected time since the begin; to_ns 0: all of it */
	bool is_unlimited;	 /* the file may have more bytes than ONE_FILE_BYTES; then the
				  * source's most_bytes should be large, too */
};

/* Writes the file. Answers that do not fit, and those that the recording has nothing for, are not
 * in it. Returns 0; -ENODATA: nothing is selected, so nothing is written;
 * -EINVAL: what the tab needs cannot be asked (status 400 of web.h); -ENOMEM; or -EIO. */
int one_file_write(const struct one_file *file, FILE *out);

#endif
