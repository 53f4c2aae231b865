/* SPDX-License-Identifier: MIT */
/*
 * Writes output of verbs; see output.h. The new file is made in the folder of the one that it will
 * replace, so that the rename stays within one file system. If a signal ends stackctl, a handler
 * removes the new file first. If the reader of a pipe ends, SIGPIPE ends stackctl: see main.c.
 */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "message.h"
#include "terminal.h"

enum { OUTPUT_JSON = 0x400 };

/* Endings of file names for forms that are neither text nor JSON. */
static const struct {
	const char *ending, *name, *made_by;
} output_forms[] = {
	{".html", "a page", "flamegraph"},
	{".svg", "a picture", "flamegraph"},
	{".csv", "a table", "report --view waits"},
};

/* Refuses a file whose name has the ending of a form that the verb does not write. With --json the
 * file has JSON, whatever its name. */
static void output_check(struct argp_state *state, const struct output_options *options)
{
	for (size_t i = 0; i < sizeof(output_forms) / sizeof(*output_forms); i++) {
		const char *ending = output_forms[i].ending;

		if (options->is_json || !output_is_named(options->path, ending) ||
		    (options->own_ending && !strcmp(options->own_ending, ending)))
			continue;
		argp_help_error(
			state,
			"-o '%s': this verb writes text, or JSON (a file that ends in .json); "
			"'stackctl %s -o FILE' writes %s",
			options->path, output_forms[i].made_by, output_forms[i].name);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct output_options *options = state->input;

	switch (key) {
	case OUTPUT_JSON:
		options->is_json = true;
		return 0;
	case 'o':
		options->path = arg;
		options->is_json |= output_is_named(arg, ".json");
		return 0;
	case ARGP_KEY_END:
		output_check(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option output_argp_options[] = {
	{"json", OUTPUT_JSON, 0, 0, "Write JSON (schema in docs/JSON.md)", 4},
	{"output", 'o', "FILE", 0, "Write to this file, as JSON if it ends in .json", 4},
	{0},
};

const struct argp output_argp = {.options = output_argp_options, .parser = parse};

#define OUTPUT_MAX 4 /* most files that are open for writing at once */

/* The temporary files that the signal handler removes. They are global because handlers get no
 * argument. */
static char output_doomed[OUTPUT_MAX][PATH_MAX];

static void on_signal(int number)
{
	for (size_t i = 0; i < OUTPUT_MAX; i++)
		if (output_doomed[i][0])
			unlink(output_doomed[i]);
	/* the handler was reset, so the signal now ends the program as it would have without a
	 * handler */
	raise(number);
}

static void watch_signals(const char *temp)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

	for (size_t i = 0; i < OUTPUT_MAX; i++) {
		if (output_doomed[i][0])
			continue;
		snprintf(output_doomed[i], sizeof(output_doomed[i]), "%s", temp);
		break;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

/* From now on, the signal handler does not remove a temporary file; NULL is fine. */
static void spare(const char *temp)
{
	for (size_t i = 0; temp && i < OUTPUT_MAX; i++)
		if (strcmp(output_doomed[i], temp) == 0)
			output_doomed[i][0] = '\0';
}

/* Discards unwritten output, so that exit() does not try to write it again. */
static void forget(void)
{
	__fpurge(stdout);
	clearerr(stdout);
}

static int fail(struct output *output, const char *path, int error_number)
{
	forget();
	message("cannot write %s: %s", path, strerror(error_number));
	if (output->temp)
		unlink(output->temp);
	spare(output->temp);
	free(output->temp);
	free(output->path);
	*output = (struct output){0};
	return CMD_FAILED;
}

void output_drop(struct output *output)
{
	if (output->file && output->file != stdout)
		fclose(output->file);
	if (output->temp)
		unlink(output->temp);
	spare(output->temp);
	free(output->temp);
	free(output->path);
	*output = (struct output){0};
}

/* Opens a new file beside output->path, with the mode that open() would have given it. Returns a
 * descriptor or -errno. */
static int open_temp(struct output *output)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&output->temp, "%s.XXXXXX", output->path) < 0) {
		output->temp = NULL;
		return -ENOMEM;
	}
	fd = mkstemp(output->temp);
	if (fd < 0) {
		int err = -errno;

		free(output->temp);
		output->temp = NULL;
		return err;
	}
	watch_signals(output->temp);
	fchmod(fd, 0666 & ~mask);
	output->file = fdopen(fd, "w");
	return output->file ? 0 : -ENOMEM;
}

/* In the child: becomes the pager. LESS makes less exit at once if everything fits on the screen,
 * pass colours through and scroll long lines sideways. A shell runs the pager, because the command
 * can have options. */
static void become_pager(const char *pager)
{
	setenv("LESS", "FRSX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

/* Starts a pager that reads standard output. Interrupts are then left to the pager: otherwise it
 * would still have the terminal after an interrupt has ended stackctl. */
static void start_pager(struct output *output, const char *pager)
{
	int ends[2];

	if (pipe(ends) < 0)
		return;
	output->pager = fork();
	if (output->pager == 0) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		become_pager(pager);
	}
	if (output->pager > 0) {
		fflush(stdout);
		dup2(ends[1], STDOUT_FILENO);
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		signal(SIGPIPE, SIG_IGN); /* if the pager ends before all is written, writing fails,
					   * and end_pager() still waits for it */
	} else {
		output->pager = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

int output_begin_paged(const char *path, const char *pager, struct output *ret_output)
{
	int status = output_begin(path, ret_output);

	if (status == CMD_DONE && pager && ret_output->file == stdout)
		start_pager(ret_output, pager);
	return status;
}

/* Closes the pager's input, and waits for the pager to end. A pager that ends before it has read
 * everything is no error. */
static int end_pager(struct output *output)
{
	int status;

	fflush(stdout);
	forget();
	close(STDOUT_FILENO);
	while (waitpid(output->pager, &status, 0) < 0 && errno == EINTR)
		;
	*output = (struct output){0};
	return CMD_DONE;
}

static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

bool output_is_named(const char *path, const char *ending)
{
	size_t n = path ? strlen(path) : 0, m = strlen(ending);

	return n > m && strcmp(path + n - m, ending) == 0;
}

int output_begin(const char *path, struct output *ret_output)
{
	struct output output = {0};
	struct stat st;
	int err = 0;

	/* The reader of a pipe may be a pager, which has the terminal and reads at the user's pace,
	 * so there must be no progress line. */
	if ((!path || strcmp(path, "-") == 0) && !is_file(STDOUT_FILENO))
		terminal_progress_end();
	else
		terminal_progress("writing");
	if (!path || strcmp(path, "-") == 0) {
		output.file = stdout;
		*ret_output = output;
		return CMD_DONE;
	}
	/* if the path is a symbolic link, the file to which it links is replaced */
	output.path = realpath(path, NULL);
	if (!output.path)
		output.path = strdup(path);
	if (!output.path)
		return fail(&output, path, ENOMEM);
	if (stat(output.path, &st) == 0 && !S_ISREG(st.st_mode)) {
		output.file = S_ISDIR(st.st_mode) ? NULL : fopen(output.path, "w");
		if (!output.file)
			err = S_ISDIR(st.st_mode) ? -EISDIR : -errno;
	} else {
		err = open_temp(&output);
	}
	if (err < 0)
		return fail(&output, path, -err);
	*ret_output = output;
	return CMD_DONE;
}

int output_end(struct output *output, int err)
{
	int error_number = err == -EIO && errno ? errno : -err;
	const char *path = output->path ? output->path : "standard output";

	terminal_progress_end();
	if (output->pager && (err == 0 || error_number == EPIPE))
		return end_pager(output);
	errno = 0;
	if (ferror(output->file) && !error_number)
		error_number = EIO;
	if ((output->file == stdout ? fflush(stdout) : fclose(output->file)) != 0 && !error_number)
		error_number = errno ? errno : EIO;
	output->file = NULL;
	if (!error_number && output->temp && rename(output->temp, output->path) < 0)
		error_number = errno;
	if (error_number)
		return fail(output, path, error_number);
	spare(output->temp);
	free(output->temp);
	free(output->path);
	*output = (struct output){0};
	return CMD_DONE;
}
