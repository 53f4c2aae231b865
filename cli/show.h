/* SPDX-License-Identifier: MIT */
/* The options of verbs that show one recording as text: those of the input, the terminal and the
 * output. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "input.h"
#include "output.h"
#include "report/report.h"
#include "terminal.h"

struct show {
	struct input input;
	struct terminal terminal;
	struct output_options output;
};

/* These options as children of an argp; the verb calls show_children_begin() at ARGP_KEY_INIT. */
extern const struct argp_child show_children[];
void show_children_begin(struct argp_state *state, struct show *show);

/* Returns the report's options for width, colours and character set. Under a pager, which scrolls
 * sideways, the width is unlimited. terminal_setup() must have been called. */
struct report_options show_options(const struct show *show);

/* Begins the output, through the pager unless it `is_data`, which is for programs. Errors as
 * output_begin(). */
int show_output_begin(const struct show *show, bool is_data, struct output *ret_output);

/* Sets the terminal up, opens the recording and runs `run` on it. Returns the exit status: the
 * result of `run`, or that of an earlier failure. */
int show_run(struct show *show, int (*run)(void *arg, const struct input_open *open), void *arg);

#endif
