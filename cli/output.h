/* SPDX-License-Identifier: MIT */
/*
 * Output of a verb: standard output, or a file that replaces the old one only when it is complete.
 * A failed or interrupted export leaves the old file as it was, and no partial one. Up to four
 * files can be under way at once.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Where a verb is asked to write, and in which form: the options --output and --json, which a verb
 * gets by making output_argp a child of its own argp, with a zeroed struct as its input, or one
 * with own_ending. A file whose name ends as that of another form is refused. */
struct output_options {
	const char *path; /* NULL: standard output */
	bool is_json;
	const char *own_ending; /* of a form that the verb has beside text and JSON; or NULL */
};

extern const struct argp output_argp;

/* Returns whether a file's name (NULL: there is none) ends in ".svg" or the like. */
bool output_is_named(const char *path, const char *ending);

struct output {
	FILE *file;
	char *path;  /* NULL: standard output */
	pid_t pager; /* that standard output goes through; 0: none */
	char *temp;  /* what is written until output_end(); NULL: the path itself (a device, a pipe)
		      */
};

/* `path` NULL: standard output. A cmd_status; a message has been given if it is not CMD_DONE. */
int output_begin(const char *path, struct output *ret_output);

/* The same for what a person reads: through the pager command, if it is not NULL. A pager that
 * cannot be run is not missed. */
int output_begin_paged(const char *path, const char *pager, struct output *ret_output);

/* Drops what output_begin() began, without a message: the old file stays. */
void output_drop(struct output *output);

/* Ends what output_begin() began. `err` is the result of the writing: 0 or negative errno, with
 * errno as it left it. A cmd_status; a message has been given if it is not CMD_DONE. */
int output_end(struct output *output, int err);

#endif
