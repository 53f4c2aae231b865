/* SPDX-License-Identifier: MIT */
/*
 * Writes a program's --help from its argp tables, in reading order. argp itself sorts the options
 * of a group by name, and always writes all of them.
 *
 *   Usage: stackctl report [OPTION...] [FILE]
 *   What the program does.
 *
 *   Heading of the first group:
 *     -x, --name=VALUE           what it does
 *   ...
 *   'stackctl report --help-all' lists 21 more options.
 *
 * An option with the flag OPTION_NO_USAGE is a rare one: only --help-all has it. (argp leaves such
 * options out of --usage, which suits them as well.) Within a group, options keep the order of
 * their table. The text of argp->doc behind '\v' comes last.
 */
#ifndef BASE_ARGP_HELP_H
#define BASE_ARGP_HELP_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/* A rare option: --help leaves it out. */
#define ARGP_HELP_RARE OPTION_NO_USAGE

/* Groups in the order in which they are written; `heading` NULL ends the list. A heading in a table
 * of options (argp's entry without a name and key) replaces that of its group. */
struct argp_help_group {
	int group;
	const char *heading;
};

/* Writes the help of `name` ("stackctl report"). Options of groups that `groups` does not have are
 * left out. Returns 0, or -EIO if the stream failed. */
int argp_help_write(const struct argp *argp, const char *name, const struct argp_help_group *groups,
		    bool is_all, FILE *out);

/* Returns whether a word asks for help: --help, a beginning of it, -h or -?. *ret_all: it is
 * --help-all. */
bool argp_help_is_asked(const char *word, bool *ret_all);

/* What a parser says of a wrong command line, in one line: the name, the text, and where help is.
 * (argp_error() adds a sentence that fills two more.) Ends the program with
 * argp_err_exit_status. */
void argp_help_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

#endif
