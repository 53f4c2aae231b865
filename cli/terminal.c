/* SPDX-License-Identifier: MIT */
/*
 * Sets up the terminal and shows progress; see terminal.h.
 *
 * A handler of SIGALRM writes the progress line once a second. Callers only name the current work,
 * so no part of lib/ has to report progress.
 */
#include "base/argp_help.h"
#include "terminal.h"

#include <langinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	TERMINAL_COLOR = 0x300,
	TERMINAL_NO_COLOR,
	TERMINAL_PAGER,
	TERMINAL_NO_PAGER,
	TERMINAL_PROGRESS,
	TERMINAL_NO_PROGRESS,
	TERMINAL_STDIO,
	TERMINAL_FULL_NAMES
};

static const struct argp_option terminal_options[] = {
	{"color", TERMINAL_COLOR, "auto|always|never", OPTION_ARG_OPTIONAL | ARGP_HELP_RARE,
	 "Colours (auto, the default: on a terminal, unless NO_COLOR is set)", 8},
	{"no-color", TERMINAL_NO_COLOR, 0, ARGP_HELP_RARE, "No colours", 8},
	{"pager", TERMINAL_PAGER, 0, ARGP_HELP_RARE,
	 "Show in $STACKCTL_PAGER, $PAGER or less (default on a terminal)", 8},
	{"no-pager", TERMINAL_NO_PAGER, 0, ARGP_HELP_RARE, "Write straight to the terminal", 8},
	{"progress", TERMINAL_PROGRESS, 0, ARGP_HELP_RARE,
	 "Show progress on standard error when something takes more than a second (default on a "
	 "terminal)",
	 8},
	{"full-names", TERMINAL_FULL_NAMES, 0, 0,
	 "Show functions with what they return, their parameters and template arguments (text "
	 "shows 'name<...>'; data such as --json always has full names)",
	 8},
	{"verbose", 'v', 0, 0, "Show the whole head of the report (on a terminal it has two lines)",
	 8},
	{"no-progress", TERMINAL_NO_PROGRESS, 0, ARGP_HELP_RARE, "Show no progress", 8},
	{"stdio", TERMINAL_STDIO, 0, ARGP_HELP_RARE,
	 "Plain text: no pager, no colours (as perf's --stdio)", 8},
	{0},
};

static error_t parse_color(const char *arg, struct argp_state *state, struct terminal *terminal)
{
	if (!arg || strcmp(arg, "always") == 0)
		terminal->color_choice = TERMINAL_ALWAYS;
	else if (strcmp(arg, "never") == 0)
		terminal->color_choice = TERMINAL_NEVER;
	else if (strcmp(arg, "auto") == 0)
		terminal->color_choice = TERMINAL_AUTO;
	else
		argp_help_error(state, "--color '%s': give auto, always or never", arg);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct terminal *terminal = state->input;

	switch (key) {
	case TERMINAL_COLOR:
		return parse_color(arg, state, terminal);
	case TERMINAL_NO_COLOR:
		terminal->color_choice = TERMINAL_NEVER;
		return 0;
	case TERMINAL_PAGER:
	case TERMINAL_NO_PAGER:
		terminal->pager_choice = key == TERMINAL_PAGER ? TERMINAL_ALWAYS : TERMINAL_NEVER;
		return 0;
	case TERMINAL_PROGRESS:
	case TERMINAL_NO_PROGRESS:
		terminal->progress_choice =
			key == TERMINAL_PROGRESS ? TERMINAL_ALWAYS : TERMINAL_NEVER;
		return 0;
	case 'v':
		terminal->is_verbose = true;
		return 0;
	case TERMINAL_FULL_NAMES:
		terminal->full_names = true;
		return 0;
	case TERMINAL_STDIO:
		terminal->color_choice = terminal->pager_choice = TERMINAL_NEVER;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp terminal_argp = {.options = terminal_options, .parser = parse};

static const char *terminal_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Returns whether the terminal understands escape sequences. */
static bool is_able(void)
{
	const char *term = terminal_env("TERM");

	return term && strcmp(term, "dumb") != 0;
}

/* Returns the command of the pager: STACKCTL_PAGER if it is set (empty: no pager), else PAGER, else
 * less. NULL: no pager. */
static const char *terminal_pager(void)
{
	const char *ours = getenv("STACKCTL_PAGER"), *pager = ours ? ours : terminal_env("PAGER");

	if (!pager)
		pager = "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* --- progress ------------------------------------------------------------------------------- */

static struct {
	const char *volatile what;
	volatile sig_atomic_t seconds;
	volatile sig_atomic_t is_shown;
	volatile size_t columns; /* width of the terminal, because a longer line would continue in
				  * the next row */
} terminal_line;

/* Writes the progress line; calls only functions that a signal handler may call. */
static void on_alarm(int number)
{
	char text[160];
	size_t n = 0;
	const char *parts[] = {"\rstackctl: ", terminal_line.what, ": ", NULL};
	unsigned seconds = (unsigned)++terminal_line.seconds;

	(void)number;
	for (const char **part = parts; *part; part++)
		for (const char *at = *part; *at && n < sizeof(text) - 16; at++)
			text[n++] = *at;
	if (seconds >= 1000)
		text[n++] = (char)('0' + seconds / 1000 % 10);
	if (seconds >= 100)
		text[n++] = (char)('0' + seconds / 100 % 10);
	if (seconds >= 10)
		text[n++] = (char)('0' + seconds / 10 % 10);
	text[n++] = (char)('0' + seconds % 10);
	text[n++] = ' ';
	text[n++] = 's';
	if (n > terminal_line.columns)
		n = terminal_line.columns;
	if (write(STDERR_FILENO, text, n) > 0)
		terminal_line.is_shown = 1;
}

static void terminal_clock(int seconds)
{
	struct itimerval timer = {.it_interval = {.tv_sec = seconds},
				  .it_value = {.tv_sec = seconds}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

void terminal_progress(const char *what)
{
	terminal_line.what = what;
}

void terminal_progress_end(void)
{
	terminal_clock(0);
	if (terminal_line.is_shown) {
		bool is_terminal = isatty(STDERR_FILENO) && is_able();

		fputs(is_terminal ? "\r\033[K" : "\n", stderr);
	}
	terminal_line.is_shown = 0;
}

static void start_clock(void)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct winsize size;

	terminal_progress("reading");
	terminal_line.columns = SIZE_MAX;
	/* The line also has a carriage return, so it can show one column fewer than its number of
	 * bytes. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		terminal_line.columns = size.ws_col;
	sigaction(SIGALRM, &action, NULL);
	terminal_clock(1);
}

void terminal_progress_begin(void)
{
	if (isatty(STDERR_FILENO))
		start_clock();
}

void terminal_setup(struct terminal *t, const char *output)
{
	struct winsize size;

	t->is_terminal = (!output || strcmp(output, "-") == 0) && isatty(STDOUT_FILENO);
	t->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	t->color = t->color_choice == TERMINAL_ALWAYS ||
		   (t->color_choice == TERMINAL_AUTO && t->is_terminal &&
		    !terminal_env("NO_COLOR") && is_able());
	if (t->is_terminal && t->pager_choice != TERMINAL_NEVER && is_able())
		t->pager = terminal_pager();
	if (t->is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		t->width = size.ws_col;
	if (t->progress_choice == TERMINAL_NEVER)
		terminal_progress_end();
	else if (t->progress_choice == TERMINAL_ALWAYS)
		start_clock();
}
