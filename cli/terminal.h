/* SPDX-License-Identifier: MIT */
/*
 * Terminal settings of a verb: colours, a pager and progress, as its options set them; by default
 * only if the stream is a terminal. A verb makes terminal_argp a child of its own argp, gives it a
 * zeroed struct terminal, and calls terminal_setup() before it reads or writes anything. Progress
 * is every verb's: options_parse() begins it.
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <argp.h>
#include <stdbool.h>

enum terminal_choice { TERMINAL_AUTO, TERMINAL_NEVER, TERMINAL_ALWAYS };

struct terminal {
	/* what the options say */
	enum terminal_choice color_choice, pager_choice, progress_choice;
	/* what follows from them; set by terminal_setup() */
	bool is_terminal; /* data goes to a terminal */
	bool color, utf8;
	const char *pager; /* the command, or NULL */
	unsigned width;	   /* columns of the terminal; 0 if data goes elsewhere */
};

extern const struct argp terminal_argp;

/* `output`: the path of -o, or NULL for standard output. */
void terminal_setup(struct terminal *terminal, const char *output);

/*
 * Progress, on standard error: one line that is there when something has taken more than a
 * second, and is taken away again when data is shown. `what` must be a literal.
 */
void terminal_progress_begin(void); /* if standard error is a terminal */
void terminal_progress(const char *what);
void terminal_progress_end(void);

#endif
