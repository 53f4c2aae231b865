/* SPDX-License-Identifier: MIT */
/*
 * Splits the text of a shell into words, and says which of them may name a command.
 *
 * That is the first word of each simple command, behind assignments and keywords (`if`, `exec`),
 * and the arguments of a program that starts others (`mpirun -n 4 solver`), until one of them was
 * found to be a program. The text is not run and its quotes are not matched, so a word can be
 * taken for a command that is none.
 */
#ifndef REGIONS_SHELL_WORDS_H
#define REGIONS_SHELL_WORDS_H

#include <stdbool.h>

/* What stands between words, in the texts of shells and of other languages. */
#define SHELL_WORDS_SEPARATORS " \t\r\n;&|()`\"'<>=${}"

/* Receives a word. `may_be_command`: it stands where a command can; if not, it has a slash. Returns
 * 1 if the word is a program's, 0 if not, or a negative error, which stops the calls. */
typedef int (*shell_words_each_fn)(void *arg, const char *word, bool may_be_command);

/* Calls `each` for the words of a text, in order, and changes the text meanwhile: for those that
 * may be commands if `is_shell`, and for all others that have a slash. Options (`-n`), numbers,
 * names of variables, and comments are left out. 0 or the error of `each`. */
int shell_words_each(char *text, bool is_shell, shell_words_each_fn each, void *arg);

/* Returns whether a program of that name, or at that path, is known to start the program that its
 * arguments name. */
bool shell_words_is_launcher(const char *command);

/* Returns whether a script with that text is for a shell: by its first line, `#!/bin/sh`. A text
 * without such a line is run by a shell, too, if it is run at all. */
bool shell_words_is_script(const char *text);

#endif
