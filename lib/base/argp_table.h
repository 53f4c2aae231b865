/* SPDX-License-Identifier: MIT */
/*
 * What a program's argp tables say, for other readers than argp: manual pages, completion in
 * shells, and guesses at what a misspelt option should have been. The tables are the one source
 * of all of them, and of --help.
 */
#ifndef BASE_ARGP_TABLE_H
#define BASE_ARGP_TABLE_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Calls `each` for every visible option of a table and its children, in the order in which they
 * stand: options, headings (no name and no key) and aliases (OPTION_ALIAS). Stops at the first
 * non-zero return, which is passed on. */
int argp_table_each(const struct argp *argp,
		    int (*each)(void *arg, const struct argp_option *option), void *arg);

/* The option of this long name, without the dashes; NULL if there is none. --help, --usage and
 * --version, which argp adds, are found too. */
const struct argp_option *argp_table_find(const struct argp *argp, const char *name);

/* The long option that a misspelt name is closest to; NULL if none is close. */
const char *argp_table_guess(const struct argp *argp, const char *name);

/* How many single-letter edits lead from one word to the other (Levenshtein), for words below
 * ARGP_TABLE_FAR letters; that for longer ones. */
#define ARGP_TABLE_FAR 96
/* Returns that distance. */
unsigned argp_table_distance(const char *a, const char *b);

/* Writes what completion needs of each long option: a line of its name, its argument ("" for
 * none) and its description, parted by tabs. 0, or -EIO if the stream failed. */
int argp_table_list(const struct argp *argp, FILE *out);

struct argp_table_page {
	const char *name;     /* "stackctl report" */
	int section;	      /* of the manual: 1 or 8 */
	const char *version;  /* "stackd 0.1.0" */
	const char *date;     /* "2026-11-21" */
	const char *exits;    /* what the exit statuses say, or NULL */
	const char *see_also; /* "stackd(8), stackctl(1)", or NULL */
};

/* The date of a manual page: that of `epoch` (what SOURCE_DATE_EPOCH says, so that a build can be
 * repeated), or that of `now` if it is NULL. */
#define ARGP_TABLE_DATE 16
/* Writes "YYYY-MM-DD" and a NUL. */
void argp_table_date(const char *epoch, time_t now, char ret_date[static ARGP_TABLE_DATE]);

/* Writes a manual page in the man(7) format. The first line of argp->doc becomes the name line,
 * what follows it and what stands after '\v' the description, where a line that starts with a
 * blank is an example and an empty line parts paragraphs. 0, or -EIO if the stream failed. */
int argp_table_man(const struct argp *argp, const struct argp_table_page *page, FILE *out);

#endif
