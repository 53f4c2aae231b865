/* SPDX-License-Identifier: MIT */
/* Parses options of verbs; see options.h. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/argp_help.h"
#include "base/argp_table.h"
#include "base/habits.h"
#include "cmd.h"
#include "message.h"
#include "output.h"
#include "perf_habits.h"
#include "terminal.h"

#define OPTIONS_NAME_MAX 64

static const char options_exits[] =
	"0: done. 1: failed (output could not be written, out of memory). 2: wrong options, or an "
	"input that cannot be read. 3: no samples. 4: permission or kernel support is missing.\n";

/* What --help shows, in reading order. */
static const struct argp_help_group options_groups[] = {
	{OPTIONS_SHOW, "What to show:"}, {OPTIONS_FILTER, "Filters:"},	  {OPTIONS_INPUT, "Input:"},
	{OPTIONS_OUTPUT, "Output:"},	 {OPTIONS_TERMINAL, "Terminal:"}, {0}};

/* main() sets this before it runs a verb; verbs do not read it. */
static enum options_mode options_mode;

void options_set_mode(enum options_mode mode)
{
	options_mode = mode;
}

/* Extracts the name from "--name" or "--name=value". Returns false for any other word, and for a
 * very long name. */
static bool options_name(const char *arg, char ret_name[OPTIONS_NAME_MAX])
{
	size_t len;

	if (strncmp(arg, "--", 2) != 0 || !arg[2])
		return false;
	len = strcspn(arg + 2, "=");
	if (len == 0 || len >= OPTIONS_NAME_MAX)
		return false;
	memcpy(ret_name, arg + 2, len);
	ret_name[len] = '\0';
	return true;
}

static bool is_known(const struct argp *argp, const char *name)
{
	return argp_table_find(argp, name) || argp_table_is_begin(argp, name);
}

static void unknown(const struct argp *argp, const char *verb, const char *name)
{
	const char *guess = argp_table_guess(argp, name);

	if (guess)
		message("there is no option '--%s'; did you mean '--%s'?", name, guess);
	else
		message("there is no option '--%s'; '%s --help' lists them", name, verb);
	exit(CMD_USAGE);
}

static void options_remove(char **argv, int *argc, int at, int count)
{
	memmove(&argv[at], &argv[at + count], (size_t)(*argc - at - count + 1) * sizeof(*argv));
	*argc -= count;
}

/* Returns how many words the option at `at` takes: 2 if its value is the next word, else 1. */
static int options_words(const struct argp *argp, char **argv, int argc, int at)
{
	char name[OPTIONS_NAME_MAX];
	const struct argp_option *o;

	if (!options_name(argv[at], name) || strchr(argv[at], '='))
		return 1;
	o = argp_table_find(argp, name);
	return o && o->arg && !(o->flags & OPTION_ARG_OPTIONAL) && at + 1 < argc ? 2 : 1;
}

/* Removes the word "--no-X" at index `at`, and every --X before it; `what` is X. Returns the index
 * of the word after these. */
static int take_back(const struct argp *argp, char **argv, int *argc, int at, const char *what)
{
	char name[OPTIONS_NAME_MAX];
	int i = 1;

	options_remove(argv, argc, at, 1);
	while (i < at) {
		int words = options_words(argp, argv, *argc, i);

		if (options_name(argv[i], name) && strcmp(name, what) == 0) {
			options_remove(argv, argc, i, words);
			at -= words;
		} else {
			i += words;
		}
	}
	return at;
}

/* Prepares the arguments for argp: applies each "--no-X", and ends the program with a message if an
 * option does not exist. Returns the new number of arguments. */
static int prepare(const struct argp *argp, int argc, char **argv)
{
	char name[OPTIONS_NAME_MAX];
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0) {
		if (!options_name(argv[i], name) || is_known(argp, name)) {
			i += options_words(argp, argv, argc, i);
			continue;
		}
		if (strncmp(name, "no-", 3) != 0 || !argp_table_find(argp, name + 3))
			unknown(argp, argv[0], name);
		i = take_back(argp, argv, &argc, i, name + 3);
	}
	return argc;
}

const char *options_date(char ret_date[static ARGP_TABLE_DATE])
{
	argp_table_date(getenv("SOURCE_DATE_EPOCH"), time(NULL), ret_date);
	return ret_date;
}

static int describe(const struct argp *argp, const char *name)
{
	char date[ARGP_TABLE_DATE];
	const struct argp_table_page page = {.date = options_date(date),
					     .name = name,
					     .groups = options_groups,
					     .section = 1,
					     .version = "stackd " STACKD_VERSION,
					     .exits = options_exits,
					     .see_also = "\\fBstackctl\\fR(1), \\fBstackd\\fR(8)"};
	struct output output;
	int status = output_begin(NULL, &output);

	if (status != CMD_DONE)
		return status;
	return output_end(&output, options_mode == OPTIONS_MAN
					   ? argp_table_man(argp, &page, output.file)
					   : argp_table_list(argp, output.file));
}

/* Replaces options of perf by the verb's own. Ends the program with a message if there is no such
 * option. The words stay for the rest of the program, since `input` points to them. */
static const struct habits_words *translate(const struct argp *argp, int argc, char **argv)
{
	static struct habits_words words;

	if (habits_translate(argp, perf_habits, false, argc, argv, &words) < 0) {
		message("out of memory");
		exit(CMD_FAILED);
	}
	if (words.option) {
		message("there is no option '%s' here: %s", words.option, words.says);
		exit(CMD_USAGE);
	}
	if (words.unknown_letter) {
		message("there is no option '-%c'; '%s --help' lists them", words.unknown_letter,
			argv[0]);
		exit(CMD_USAGE);
	}
	return &words;
}

/* Writes the help and ends the program, if the words ask for it. */
static void help(const struct argp *argp, int argc, char **argv)
{
	struct output output;
	int status;
	bool is_all = false;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0;
	     i += options_words(argp, argv, argc, i)) {
		if (!argp_help_is_asked(argv[i], &is_all))
			continue;
		status = output_begin(NULL, &output);
		if (status == CMD_DONE)
			status = output_end(&output, argp_help_write(argp, argv[0], options_groups,
								     is_all, output.file));
		exit(status);
	}
}

void options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	const struct habits_words *words;

	if (options_mode != OPTIONS_READ)
		exit(describe(argp, argv[0]));
	words = translate(argp, argc, argv);
	argc = prepare(argp, words->argc, words->argv);
	help(argp, argc, words->argv);
	argp_parse(argp, argc, words->argv, 0, NULL, input);
	terminal_progress_begin();
}

const char *options_decimal(const char *text, double *ret_number)
{
	char *end;
	const double number = strtod(text, &end);

	if (end == text || strspn(text, "0123456789.") < (size_t)(end - text))
		return NULL;
	*ret_number = number;
	return end;
}

double options_percent(struct argp_state *state, const char *option, const char *arg)
{
	double percent;
	const char *end = options_decimal(arg, &percent);

	if (!end || *end || percent > 100)
		argp_help_error(state, "%s: '%s' is not a number from 0 to 100", option, arg);
	return percent;
}
