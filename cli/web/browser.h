/* SPDX-License-Identifier: MIT */
/*
 * Opens the page in the user's browser. The arguments of programs can be read by all users of the
 * machine, so the browser is not given the link, which has the token in it, but a file of the user
 * alone that leads there.
 */
#ifndef CLI_WEB_BROWSER_H
#define CLI_WEB_BROWSER_H

#include <stdbool.h>

struct browser {
	char folder[64]; /* of the file; "": there is none */
};

/* Returns whether there is a display to show a page on. */
bool browser_is_possible(void);

/* Opens a link, in a process of its own. Returns whether that was begun. The caller calls
 * browser_end() at the end. */
bool browser_open(const char *link, struct browser *ret_browser);

/* Deletes the file. */
void browser_end(const struct browser *browser);

#endif
