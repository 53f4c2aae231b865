/* SPDX-License-Identifier: MIT */
/* What verbs have in common that show one recording as text: where it is read, and how and where
 * it is shown. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "input.h"
#include "report/report.h"
#include "terminal.h"

struct show {
	struct input input;
	struct terminal terminal;
	const char *output; /* or NULL: standard output */
};

/* The options of both, as an argp's children; show_children_begin() is for ARGP_KEY_INIT. */
extern const struct argp_child show_children[];
void show_children_begin(struct argp_state *state, struct show *show);

/* How wide, in what colours and letters: a pager scrolls to the side. When the terminal is set up.
 */
struct report_options show_options(const struct show *show);

/* Sets the terminal up, opens the recording and runs `run` on it. The exit status: its, or that of
 * what went wrong before. */
int show_run(struct show *show, int (*run)(void *arg, const struct input_open *open), void *arg);

#endif
