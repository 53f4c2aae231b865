/* SPDX-License-Identifier: MIT */
/* What people who use perf type, and what stackctl does instead. */
#ifndef CLI_PERF_HABITS_H
#define CLI_PERF_HABITS_H

#include "base/habits.h"

/* The options of perf's commands. */
extern const struct habit perf_habits[];

/* Returns what to type instead of a command of perf that stackctl has no verb for, or NULL if perf
 * has no such command either. */
const char *perf_habits_verb(const char *name);

/* Runs stackd with the words of `stackctl record ARGS`, of which argv[0] is replaced: the stackd
 * beside stackctl, else the one in PATH. Returns only if that fails, with an exit status; a message
 * has been printed. */
int perf_habits_record(char **argv);

#endif
