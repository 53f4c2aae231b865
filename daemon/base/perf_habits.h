/* SPDX-License-Identifier: MIT */
/* What people who use perf type, and what stackd does instead. */
#ifndef BASE_PERF_HABITS_H
#define BASE_PERF_HABITS_H

#include <argp.h>

/* Replaces the options of `perf record` in a command line by those of `argp`, and drops the word
 * "record" in front of them, unless there is a command of that name. Returns the new words, which
 * stay until the program ends, and sets *argc to their number. Ends the program with a message and
 * STATUS_USAGE at an option that stackd has not. */
char **perf_habits_translate(const struct argp *argp, int *argc, char **argv);

/* Returns what to type instead of a command that does not exist, if it is a verb of perf or
 * stackctl; else NULL. */
const char *perf_habits_command(const char *name);

#endif
