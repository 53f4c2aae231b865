/* SPDX-License-Identifier: MIT */
/*
 * Option parsing of all verbs: argp, with additions that users of current tools expect.
 *
 * - "did you mean" for a misspelt option;
 * - `--no-X` takes back an `--X` that stands before it, of any kind (an alias can set what a call
 *   then unsets); tables may have a `--no-X` of their own, which then means what they say;
 * - a manual page and the list for completion are written from the same tables.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <argp.h>

#include "base/argp_table.h"

/* Instead of reading options: describe them and exit. For `stackctl help --man VERB` and for
 * completion. */
enum options_mode { OPTIONS_READ, OPTIONS_MAN, OPTIONS_LIST };
void options_set_mode(enum options_mode mode);

/* The date of manual pages: today, or that of SOURCE_DATE_EPOCH, so that a build can be repeated.
 */
const char *options_date(char ret_date[static ARGP_TABLE_DATE]);

/* Reads a verb's options into `input`, as argp_parse() does. Ends the program with a message and
 * CMD_USAGE if they are wrong. May reorder and shorten `argv`. */
void options_parse(const struct argp *argp, int argc, char **argv, void *input);

/* Reads the argument of an option ("--percent-limit") as a number from 0 to 100. Ends the program
 * with a message and CMD_USAGE if it is none. */
double options_percent(struct argp_state *state, const char *option, const char *arg);

#endif
