/* SPDX-License-Identifier: MIT */
/*
 * Guesses which programs a command starts, from its words (`mpirun -n 4 ./solver`,
 * `env A=1 ./solver`, `sh -c './solver 5'`) and from the text of scripts, so that their functions
 * are found before they run. A wrong guess costs a useless look at a file; a program that was not
 * guessed is found when it is mapped.
 */
#ifndef REGIONS_COMMAND_WORDS_H
#define REGIONS_COMMAND_WORDS_H

#include <stdbool.h>

/* Calls `each` for the path of each program that the command's words name, and of each script,
 * which the caller must distinguish from programs; once for each path, and for some dozens of paths
 * at most. Leaves out the command's own file; if that is a script, its interpreter and the programs
 * that it names are included. A nonzero result of `each` stops the calls and is returned, else 0 or
 * -ENOMEM. */
int command_words_each(char *const *command, int (*each)(void *arg, const char *path), void *arg);

/* Returns whether execvp() finds a file for a command. */
bool command_words_is_there(const char *command);

/* Returns whether a program of that name is known to start the program that its arguments name. */
bool command_words_is_launcher(const char *command);

#endif
