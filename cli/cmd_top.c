/* SPDX-License-Identifier: MIT */
/*
 * stackctl top: shows the last seconds of a recording while stackd writes it, and refreshes them;
 * or the last windows of a server's database.
 *
 * The loop waits for a key until it is time to read the store again. Reading a long recording can
 * take longer than the interval; then it is read less often, so that top itself uses at most a
 * fifth of a CPU.
 */
#include <argp.h>
#include <errno.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "input_fleet.h"
#include "message.h"
#include "options.h"
#include "terminal.h"
#include "top_model.h"
#include "top_screen.h"

#define TOP_INTERVAL 1.0
#define TOP_WINDOW   10.0
/* A server gets a window (recording) only after it has ended and been pushed, so it is read less
 * often than a store. */
#define TOP_FLEET_INTERVAL 30.0
#define TOP_FLEET_WINDOW   3600.0
#define TOP_MOST_LOAD	   0.2
#define TOP_ESCAPE	   27
#define TOP_DELETE	   127

enum { TOP_INTERVAL_OPTION = 0x200, TOP_WINDOW_OPTION };

struct top {
	struct input input;
	struct top_state state;
	struct top_model *model;
	const struct top_row *rows;
	uint32_t n_rows;
	bool is_done;
};

static const struct argp_option top_options[] = {
	{"interval", TOP_INTERVAL_OPTION, "SECONDS", 0,
	 "Refresh at this interval (default 1; of a server's database 30)", 3},
	{"window", TOP_WINDOW_OPTION, "SECONDS", 0,
	 "Show the last SECONDS (default 10; 0: the whole recording); of a server's database, the "
	 "recordings' windows in the last SECONDS (default 3600; with --since or --from 0)",
	 3},
	{0},
};

static double top_parse_seconds(struct argp_state *state, const char *option, const char *arg,
				double least)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end || !(value >= least && value <= 1e6))
		argp_help_error(state, "--%s: '%s' is not a number of seconds from %g", option, arg,
				least);
	return value;
}

static error_t top_parse(int key, char *arg, struct argp_state *state)
{
	struct top *top = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &top->input;
		return 0;
	case TOP_INTERVAL_OPTION:
		top->state.interval = top_parse_seconds(state, "interval", arg, 0.1);
		return 0;
	case TOP_WINDOW_OPTION:
		top->state.window = top_parse_seconds(state, "window", arg, 0);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static double top_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* --- the cursor ----------------------------------------------------------------------------- */

static void top_move(struct top *top, int64_t to)
{
	struct top_state *s = &top->state;
	uint32_t fit = top_screen_rows();

	if (to >= (int64_t)top->n_rows)
		to = (int64_t)top->n_rows - 1;
	s->at = to < 0 ? 0 : (uint32_t)to;
	if (s->at < s->first)
		s->first = s->at;
	if (s->at >= s->first + fit)
		s->first = s->at - fit + 1;
	s->cursor = top->n_rows ? top->rows[s->at].key : 0;
}

/* Makes the rows again. The cursor stays on its row, or if the row is gone, at its place on the
 * screen. Returns 0 or an error. */
static int top_update(struct top *top)
{
	struct top_state *s = &top->state;
	int err = top_model_rows(top->model, s->view, s->sort, s->is_reversed, &top->rows,
				 &top->n_rows);

	if (err < 0)
		return err;
	for (uint32_t i = 0; s->cursor && i < top->n_rows; i++) {
		if (top->rows[i].key == s->cursor) {
			/* A cursor on the first row of the list of functions stays on the first
			 * row, because the user wants to see the largest function. */
			top_move(top, s->at == 0 && s->view == TOP_FUNCTIONS ? 0 : i);
			return 0;
		}
	}
	top_move(top, s->at);
	return 0;
}

/* Returns whether `err` means that the store has no recording yet, because stackd is just starting.
 */
static bool top_is_early(const struct top *top, int err)
{
	return err == -ENODATA && !top->input.recording && !top->state.is_fleet;
}

static int top_look(struct top *top)
{
	struct top_state *s = &top->state;
	double start = top_now();
	char *error = NULL;
	int err;

	top_model_set_window(top->model, s->window);
	if (s->is_fleet)
		top_model_set_host(top->model, s->pid ? s->pid_name : NULL,
				   s->view == TOP_PROCESSES);
	else
		top_model_set_pid(top->model, s->pid);
	err = top_model_refresh(top->model, &error);
	s->has_waits = top_model_has_waits(top->model);
	snprintf(s->error, sizeof(s->error), "%s", top_model_missing(top->model));
	if (err < 0 && !top_is_early(top, err))
		snprintf(s->error, sizeof(s->error), "%s", error ? error : strerror(-err));
	free(error);
	if (err == -ENOMEM)
		return err;
	err = top_update(top);
	s->cost = top_now() - start;
	return err;
}

/* --- keys ----------------------------------------------------------------------------------- */

static int top_show(struct top *top, enum top_view view, uint64_t cursor)
{
	top->state.view = view;
	top->state.cursor = cursor;
	top->state.at = top->state.first = 0;
	/* A server adds up the hosts unless the query selects them separately, so for TOP_PROCESSES
	 * it must be read again. */
	return top->state.is_fleet && view == TOP_PROCESSES ? top_look(top) : top_update(top);
}

/* Handles Enter: shows what is below a row. */
static int top_enter(struct top *top)
{
	struct top_state *s = &top->state;
	const struct top_row *row = top->n_rows ? &top->rows[s->at] : NULL;
	uint64_t key;
	int err;

	if (!row)
		return 0;
	key = row->key;
	switch (s->view) {
	case TOP_FUNCTIONS:
		key = top_model_callers_key(key);
		err = top_model_open(top->model, key, true);
		return err < 0 ? err : top_show(top, TOP_CALLERS, key);
	case TOP_PROCESSES:
		s->pid = s->is_fleet ? 1 : row->pid;
		s->pid_row = key;
		snprintf(s->pid_name, sizeof(s->pid_name), "%s", row->name);
		s->view = TOP_FUNCTIONS;
		s->at = s->first = 0;
		s->cursor = 0;
		return top_look(top);
	default:
		err = row->has_more ? top_model_open(top->model, key, !row->is_open) : 0;
		return err < 0 ? err : top_update(top);
	}
}

/* Handles the key "left": closes the row if it is open, else moves the cursor to the row's parent.
 * Returns 0 or an error. */
static int top_close(struct top *top)
{
	struct top_state *s = &top->state;
	const struct top_row *row = top->n_rows ? &top->rows[s->at] : NULL;
	uint32_t at = s->at;

	if (!row || (s->view != TOP_PATHS && s->view != TOP_CALLERS))
		return 0;
	if (row->is_open) {
		int err = top_model_open(top->model, row->key, false);

		return err < 0 ? err : top_update(top);
	}
	while (at > 0 && top->rows[at].level >= row->level)
		at--;
	top_move(top, at);
	return 0;
}

static int top_leave(struct top *top)
{
	struct top_state *s = &top->state;

	if (s->is_help) {
		s->is_help = false;
		return 0;
	}
	if (!s->pid)
		return 0;
	s->cursor = s->pid_row;
	s->pid = 0;
	s->view = TOP_PROCESSES;
	return top_look(top);
}

/* Changes the length of time that is shown by `by` steps: 1, 2, 5, 10, ... s, and then the whole
 * recording. Returns 0 or an error. */
static int top_zoom(struct top *top, int by)
{
	static const double windows[] = {1, 2, 5, 10, 20, 60, 300, 3600, 0};
	const int n = sizeof(windows) / sizeof(*windows);
	int at = 0;

	while (at < n - 1 && (windows[at] < top->state.window || top->state.window == 0))
		at++;
	at = at + by < 0 ? 0 : at + by >= n ? n - 1 : at + by;
	top->state.window = windows[at];
	return top_look(top);
}

static int top_sort_by(struct top *top, enum top_sort sort)
{
	top->state.sort = sort;
	return top_show(top, top->state.view, 0);
}

/* Handles the keys that choose the order of rows, which are those of top(1). */
static int top_key_sort(struct top *top, int key)
{
	switch (key) {
	case 's':
	case '>':
		return top_sort_by(top, (top->state.sort + 1) % TOP_SORTS);
	case '<':
		return top_sort_by(top, (top->state.sort + TOP_SORTS - 1) % TOP_SORTS);
	case 'P':
		return top_sort_by(top, TOP_BY_SELF);
	case 'T':
		return top_sort_by(top, TOP_BY_TOTAL);
	case 'W':
		return top_sort_by(top, TOP_BY_WAIT);
	case 'N':
		return top_sort_by(top, TOP_BY_NAME);
	case 'R':
		top->state.is_reversed = !top->state.is_reversed;
		return top_show(top, top->state.view, 0);
	default:
		return 0;
	}
}

static int top_key_view(struct top *top, int key)
{
	switch (key) {
	case '\t':
		return top_show(top, (top->state.view + 1) % TOP_VIEWS, 0);
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
		return top_show(top, (enum top_view)(key - '1'), 0);
	case '+':
	case '-':
		return top_zoom(top, key == '+' ? 1 : -1);
	case 'r':
		return top_look(top);
	case ' ':
	case 'p':
		top->state.is_paused = !top->state.is_paused;
		return 0;
	case 'h':
	case '?':
		top->state.is_help = !top->state.is_help;
		return 0;
	case 'q':
		top->is_done = true;
		return 0;
	case KEY_RESIZE:
		top_move(top, top->state.at);
		return 0;
	default:
		return top_key_sort(top, key);
	}
}

static int top_key(struct top *top, int key)
{
	int64_t at = top->state.at, fit = top_screen_rows();

	switch (key) {
	case KEY_UP:
	case 'k':
		top_move(top, at - 1);
		return 0;
	case KEY_DOWN:
	case 'j':
		top_move(top, at + 1);
		return 0;
	case KEY_PPAGE:
		top_move(top, at - fit);
		return 0;
	case KEY_NPAGE:
		top_move(top, at + fit);
		return 0;
	case KEY_HOME:
		top_move(top, 0);
		return 0;
	case KEY_END:
		top_move(top, top->n_rows);
		return 0;
	case '\n':
	case '\r':
	case KEY_ENTER:
	case KEY_RIGHT:
		return top_enter(top);
	case KEY_LEFT:
		return top_close(top);
	case KEY_BACKSPACE:
	case TOP_DELETE:
	case TOP_ESCAPE:
	case '\b':
		return top_leave(top);
	default:
		return top_key_view(top, key);
	}
}

/* --- the loop ------------------------------------------------------------------------------- */

/* The number of a SIGINT, SIGTERM or SIGHUP that has arrived; 0: none. Then the loop ends, the
 * terminal is restored, and the program ends. */
static volatile sig_atomic_t top_signal;

static void top_on_signal(int number)
{
	top_signal = number;
}

static void top_watch_signals(void)
{
	struct sigaction action = {.sa_handler = top_on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void top_draw(const struct top *top)
{
	top_screen_draw(&top->state, top_model_profile(top->model), top->rows, top->n_rows);
}

static int top_loop(struct top *top)
{
	double due = top_now();
	int err = 0;

	while (err == 0 && !top->is_done && !top_signal) {
		double left = due - top_now();
		int key;

		if (left <= 0 && !top->state.is_paused) {
			double rest = top->state.interval;

			err = top_look(top);
			if (rest < top->state.cost / TOP_MOST_LOAD)
				rest = top->state.cost / TOP_MOST_LOAD;
			due = top_now() + rest;
			continue;
		}
		top_draw(top);
		key = top_screen_key(top->state.is_paused ? 1000 : (int)(left * 1e3) + 1);
		if (key >= 0)
			err = top_key(top, key);
	}
	return err;
}

/* Reads the store once before the screen is set up, so that an error is printed to the terminal. */
static int top_first_look(struct top *top)
{
	char *error = NULL, *path = input_path(&top->input);
	int err, status = CMD_DONE;

	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	top_model_set_window(top->model, top->state.window);
	err = top_model_refresh(top->model, &error);
	if (top_is_early(top, err))
		free(error);
	else if (err < 0)
		status = input_explain(&top->input, path, err, error);
	else if (!top->state.is_fleet &&
		 !input_has_times(top->input.filter.metric, path,
				  profile_reader(top_model_profile(top->model))))
		status = CMD_NO_SAMPLES;
	free(path);
	return status;
}

static int top_run(struct top *top)
{
	int err, status = top_first_look(top);

	if (status != CMD_DONE)
		return status;
	terminal_progress_end();
	if (top_screen_begin() < 0) {
		message("the terminal '%s' is unknown: set TERM, or use 'stackctl report'",
			getenv("TERM") ? getenv("TERM") : "");
		return CMD_USAGE;
	}
	top_watch_signals();
	err = top_loop(top);
	top_screen_end();
	if (err < 0)
		message("%s", strerror(-err));
	return err < 0 ? CMD_FAILED : CMD_DONE;
}

/* Sets the defaults of options that were not given. */
static void top_complete(struct top *top)
{
	struct top_state *s = &top->state;
	const bool has_time = top->input.since || top->input.from || top->input.to;

	s->is_fleet = input_is_fleet(&top->input);
	if (s->interval < 0)
		s->interval = s->is_fleet ? TOP_FLEET_INTERVAL : TOP_INTERVAL;
	if (s->window < 0)
		s->window = !s->is_fleet ? TOP_WINDOW : has_time ? 0 : TOP_FLEET_WINDOW;
}

int cmd_top(int argc, char **argv)
{
	static const struct argp_child children[] = {{&input_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = top_options,
		.parser = top_parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Shows what runs now: the last seconds of a recording, while stackd makes "
		       "it.\vShares are of the samples of the last seconds; waits are the time that "
		       "threads were blocked or waited for a CPU (stackd --wait). 'h' shows all "
		       "keys; the most used ones:\n\n"
		       "  Tab    functions, call paths, callers, processes, units, containers\n"
		       "  Enter  open a row; a function: its callers; a process: only it\n"
		       "  P T W N  sort by self, total, waits, or name (process id); R: reversed\n"
		       "  space  pause\n"
		       "  q      quit\n",
		.children = children,
	};
	struct top top = {.state = {.interval = -1, .window = -1}};
	int status;

	options_parse(&argp, argc, argv, &top);
	top_complete(&top);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		message("top needs a terminal; 'stackctl report' writes text anywhere");
		return CMD_USAGE;
	}
	if (top_model_new(&top.input, &top.model) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	status = top_run(&top);
	top_model_free(top.model);
	return status;
}
