/* SPDX-License-Identifier: MIT */
/*
 * Reads a program's argp tables for purposes other than parsing: manual pages, shell completion,
 * and suggestions for a misspelt option. The tables are the one source of all of them and of
 * --help.
 */
#ifndef BASE_ARGP_TABLE_H
#define BASE_ARGP_TABLE_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/argp_help.h"

/* The options that every program has beside its table: --help, --help-all, --usage, --version. */
extern const struct argp_option argp_table_builtin[];

/* Calls `each` for every visible option of a table and its children, in the order in which they
 * stand: options, headings (no name and no key) and aliases (OPTION_ALIAS). Stops at the first
 * non-zero return, which is passed on. */
int argp_table_each(const struct argp *argp,
		    int (*each)(void *arg, const struct argp_option *option), void *arg);

/* Returns the option with this long name (without the dashes), or NULL. Also finds those of
 * argp_table_builtin. */
const struct argp_option *argp_table_find(const struct argp *argp, const char *name);

/* Returns whether a long option begins with `name`, since getopt accepts abbreviations. */
bool argp_table_is_begin(const struct argp *argp, const char *name);

/* Returns the long option whose name is closest to a misspelt one; NULL if none is close. */
const char *argp_table_guess(const struct argp *argp, const char *name);

#define ARGP_TABLE_FAR 96

/* Returns the number of edits from one word to another: letters that are added, dropped, replaced,
 * or swapped with their neighbour ("optimal string alignment", a Levenshtein distance with swaps;
 * Damerau, A technique for computer detection and correction of spelling errors, 1964). Returns
 * ARGP_TABLE_FAR if either has that many letters or more. */
unsigned argp_table_distance(const char *a, const char *b);

/* Returns the largest distance at which a word may have been meant by `word`: a third of its
 * letters, at least 1. The share was chosen by hand. */
unsigned argp_table_near(const char *word);

/* Writes one line for each long option, for shell completion: its name, its argument ("" for none)
 * and its description, separated by tabs. Returns 0, or -EIO if the stream failed. */
int argp_table_list(const struct argp *argp, FILE *out);

struct argp_table_page {
	const char *name; /* "stackctl report" */
	/* in the order of the page; options of other groups are left out */
	const struct argp_help_group *groups;
	int section;	      /* of the manual: 1 or 8 */
	const char *version;  /* "stackd 0.1.0" */
	const char *date;     /* "2026-11-21" */
	const char *exits;    /* the meanings of the exit statuses, or NULL */
	const char *see_also; /* "stackd(8), stackctl(1)", or NULL */
};

#define ARGP_TABLE_DATE 16

/* Writes the date of a manual page, YYYY-MM-DD in UTC: that of `epoch` (the value of
 * SOURCE_DATE_EPOCH, which makes a build reproducible), or that of `now` if `epoch` is NULL. */
void argp_table_date(const char *epoch, time_t now, char ret_date[static ARGP_TABLE_DATE]);

/* Writes a manual page in the man(7) format. The first line of argp->doc becomes the name line, the
 * rest of it and the text after '\v' become the description. There, a line that starts with a blank
 * is an example, and an empty line separates paragraphs. Returns 0, or -EIO if the stream failed.
 */
int argp_table_man(const struct argp *argp, const struct argp_table_page *page, FILE *out);

#endif
