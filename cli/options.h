/* SPDX-License-Identifier: MIT */
/*
 * Parses the options of all verbs: argp, with additions that users expect of current tools.
 *
 * - "did you mean" for a misspelt option;
 * - `--no-X` cancels an earlier `--X`, whatever its kind, so that a call can cancel an option of a
 *   shell alias; if a verb's table has the option `--no-X` itself, it has its own meaning;
 * - the manual pages and the list for completion come from the same tables.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <argp.h>

#include "base/argp_table.h"

/* Groups of options, for the tables: --help shows them in the order of options.c. */
enum options_group {
	OPTIONS_INPUT = 1,
	OPTIONS_FILTER,
	OPTIONS_SHOW,
	OPTIONS_OUTPUT,
	OPTIONS_TERMINAL = 8
};

/* What options_parse() does: it reads the options, or writes a description of them (a manual page,
 * for `stackctl help --man VERB`, or a list, for completion) and ends the program. */
enum options_mode { OPTIONS_READ, OPTIONS_MAN, OPTIONS_LIST };
void options_set_mode(enum options_mode mode);

/* Returns the date for manual pages: today, or that of SOURCE_DATE_EPOCH, which makes builds
 * reproducible. */
const char *options_date(char ret_date[static ARGP_TABLE_DATE]);

/* Reads a verb's options into `input`, as argp_parse() does. Ends the program with a message and
 * CMD_USAGE if they are wrong. May reorder and shorten `argv`. */
void options_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Reads the decimal number that a text begins with, without a sign: strtod() also takes blanks,
 * signs, hexadecimal numbers, "inf" and "nan". Returns what follows it; NULL: there is no number.
 */
const char *options_decimal(const char *text, double *ret_number);

/* Reads the argument of an option ("--percent-limit") as a number from 0 to 100. Ends the program
 * with a message and CMD_USAGE if it is no such number. */
double options_percent(struct argp_state *state, const char *option, const char *arg);

#endif
