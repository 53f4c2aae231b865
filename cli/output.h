/* SPDX-License-Identifier: MIT */
/*
 * Output of a verb: standard output, or a file that replaces the old one only when it is complete.
 * After a failed or interrupted export the old file is unchanged, and there is no partial file. Up
 * to four files can be written at once.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Where to write, and in which form, from the options --output and --json. A verb makes output_argp
 * a child of its own argp, and gives it a zeroed struct, or a struct with only own_ending set. A
 * file name with the ending of a form that the verb does not write is refused. */
struct output_options {
	const char *path; /* NULL: standard output */
	bool is_json;
	const char *own_ending; /* ending of file names for a form that the verb writes besides text
				 * and JSON, or NULL */
};

extern const struct argp output_argp;

/* Returns whether a file's name (NULL: there is none) has this ending, such as ".svg". */
bool output_is_named(const char *path, const char *ending);

struct output {
	FILE *file;
	char *path;  /* NULL: standard output */
	pid_t pager; /* a pager that shows standard output; 0: none */
	/* the file that is written until output_end(); NULL: `path` itself is written (a device, a
	 * pipe) */
	char *temp;
};

/* Begins an output; `path` NULL means standard output. Returns a cmd_status; a message has been
 * printed if it is not CMD_DONE. */
int output_begin(const char *path, struct output *ret_output);

/* Does what output_begin() does, for text that a person reads: through the command `pager`, if it
 * is not NULL. If the pager cannot be run, the text is written without it. */
int output_begin_paged(const char *path, const char *pager, struct output *ret_output);

/* Drops an output without a message: the old file stays. */
void output_drop(struct output *output);

/* Ends an output. `err` is the result of writing: 0 or a negative errno, with errno as the writing
 * left it. Returns a cmd_status; a message has been printed if it is not CMD_DONE. */
int output_end(struct output *output, int err);

#endif
