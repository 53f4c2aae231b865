/* SPDX-License-Identifier: MIT */
/*
 * Guesses which programs a command starts, from its words (`mpirun -n 4 ./solver`,
 * `env A=1 ./solver`, `sh -c './solver 5'`) and from the text of shell scripts, so that their
 * functions are found before they run. Only what may be a command is looked for (shell_words.h),
 * each word once, and for some hundred looks at files at most, since the command waits meanwhile.
 * A wrong guess costs a useless look at a file; a program that was not guessed is found when it is
 * mapped.
 */
#ifndef REGIONS_COMMAND_WORDS_H
#define REGIONS_COMMAND_WORDS_H

#include <stdbool.h>

/* Calls `each` for the path of each program that the command's words name, and of each script,
 * which the caller must distinguish from programs; once for each path, and for some dozens of paths
 * at most. Leaves out the command's own file; if that is a script, its interpreter and the programs
 * that it names are included. `each` returns 0 or a negative error, which stops the calls and
 * is returned. 0, that error, or -ENOMEM. */
int command_words_each(char *const *command, int (*each)(void *arg, const char *path), void *arg);

/* Returns whether execvp() finds a file for a command. */
bool command_words_is_there(const char *command);

#endif
