/* SPDX-License-Identifier: MIT */
/* The page of `stackctl web` as one file (web/one_file.awk), for answers that are put into it. */
#ifndef WEB_ONE_FILE_H
#define WEB_ONE_FILE_H

/* Returns the page, a constant with "@DATA@" in it once, in the place of the data. */
const char *one_file_page(void);

#endif
