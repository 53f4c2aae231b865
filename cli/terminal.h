/* SPDX-License-Identifier: MIT */
/*
 * Terminal settings of a verb: colours, a pager and progress. By default each is on if its stream
 * is a terminal; options change that. A verb makes terminal_argp a child of its own argp, gives it
 * a zeroed struct terminal, and calls terminal_setup() before it reads or writes anything. All
 * verbs show progress: options_parse() begins it.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <argp.h>
#include <stdbool.h>

enum terminal_choice { TERMINAL_AUTO, TERMINAL_NEVER, TERMINAL_ALWAYS };

struct terminal {
	/* set by the options */
	enum terminal_choice color_choice, pager_choice, progress_choice;
	bool is_verbose; /* shows all that is known of a recording, also on a terminal */
	bool full_names; /* functions with what they return, all arguments */
	/* set by terminal_setup() from the choices above */
	bool is_terminal; /* data goes to a terminal */
	bool color, utf8;
	const char *pager; /* the command, or NULL */
	unsigned width;	   /* columns of the terminal; 0 if data goes elsewhere */
};

extern const struct argp terminal_argp;

/* Sets the terminal up. `output` is the path of -o, or NULL for standard output. */
void terminal_setup(struct terminal *terminal, const char *output);

/*
 * Shows progress on standard error: one line, which appears when something has taken more than a
 * second, and is removed before data is shown. `what` names the current work, and must be a string
 * literal.
 */
void terminal_progress_begin(void); /* nothing happens unless standard error is a terminal */
void terminal_progress(const char *what);
void terminal_progress_end(void);

#endif
