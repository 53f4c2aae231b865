/* SPDX-License-Identifier: MIT */
/*
 * stackctl: finds the verb and runs it.
 *
 * A verb is a row of the table below and a file cmd_VERB.c. main() sets what all verbs have in
 * common: the exit status of argp's errors, the locale (only LC_CTYPE, so that numbers keep their
 * decimal point), and SIGPIPE, which ends a report silently when its reader closes the pipe.
 */
#include <argp.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_table.h"
#include "base/parts.h"
#include "cmd.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "perf_habits.h"

static int main_help(int argc, char **argv);
static int version(int argc, char **argv);
static int complete(int argc, char **argv);
static int script(int argc, char **argv);

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* what --help says about the verb; NULL: it is not listed */
	enum part part;	  /* the part of the build that has the verb */
} verbs[] = {
	{"report", cmd_report, "show a recording: call-path tree, functions, callers", PART_CORE},
	{"flamegraph", cmd_flamegraph,
	 "write a flame graph, or the change between two, as one "
	 "HTML file",
	 PART_CORE},
	{"web", cmd_web, "explore recordings in the browser, also while they are made", PART_WEB},
	{"export", cmd_export, "write a recording in the format of another tool", PART_CORE},
	{"annotate", cmd_annotate, "show source lines and instructions of a function", PART_CORE},
	{"top", cmd_top, "watch a recording while it is made", PART_CORE},
	{"stats", cmd_stats, "show the figures of a recording: samples, losses, quality, cost",
	 PART_CORE},
	{"timeline", cmd_timeline, "show which routines each thread was in, and when", PART_CORE},
	{"fold", cmd_fold, "show what happens within a pass through a region, from many passes",
	 PART_FOLD},
	{"heap", cmd_heap, "show what was allocated, over time and by call path", PART_CORE},
	{"align", cmd_align, "measure how well incomplete call paths are completed", PART_CORE},
	{"import", cmd_import, "turn a perf.data file into a recording", PART_CORE},
	{"decode", cmd_decode, "find the call paths that tags stand for", PART_TAGS},
	{"merge", cmd_merge, "merge recordings of many hosts and runs into one", PART_CORE},
	{"diff", cmd_diff, "show what changed between two recordings, apart from noise", PART_CORE},
	{"push", cmd_push, "send recordings to a server that collects those of many hosts",
	 PART_SERVERS},
	{"names", cmd_names, "send names of functions to a server's database, without the hosts",
	 PART_SERVERS},
	{"list", cmd_list, "list the recordings of a store", PART_CORE},
	{"doctor", cmd_doctor, "check what this machine can record, and what is missing",
	 PART_CORE},
	{"completion", cmd_completion, "write the completion script for bash or zsh", PART_CORE},
	{"help", main_help, "show this, or the options of a verb", PART_CORE},
	{"version", version, "show the version", PART_CORE},
	{"complete", complete, NULL, PART_CORE},
	{"script", script, NULL, PART_CORE},
};

#define N_VERBS (sizeof(verbs) / sizeof(*verbs))

/* Returns whether lists of verbs have a line for a verb. A verb of a part that was left out of the
 * build has none, because it only says so. */
static bool is_listed(const struct verb *verb)
{
	return verb->help && part_is_built(verb->part);
}

/* Finds a verb by its name, or by the begin of it that no other verb has. */
static const struct verb *main_find(const char *name)
{
	const struct verb *found = NULL;
	const size_t len = strlen(name);

	for (size_t i = 0; i < N_VERBS; i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	}
	for (size_t i = 0; len && i < N_VERBS; i++) {
		if (!verbs[i].help || strncmp(verbs[i].name, name, len) != 0)
			continue;
		if (found)
			return NULL;
		found = &verbs[i];
	}
	return perf_habits_verb(name) ? NULL : found;
}

/* Lists the verbs that begin with a word, such as "report, record"; returns how many there are. */
static unsigned with_prefix(const char *word, char *text, size_t size)
{
	size_t used = 0;
	unsigned n = 0;

	text[0] = '\0';
	for (size_t i = 0; *word && i < N_VERBS && used < size; i++) {
		if (verbs[i].help && strncmp(verbs[i].name, word, strlen(word)) == 0)
			used += (size_t)snprintf(text + used, size - used, "%s%s", n++ ? ", " : "",
						 verbs[i].name);
	}
	return n;
}

static int unknown(const char *name)
{
	const char *says = perf_habits_verb(name);
	const struct verb *closest = NULL;
	unsigned best = argp_table_near(name);
	char several[256];

	for (size_t i = 0; i < N_VERBS && verbs[i].help; i++) {
		unsigned distance = argp_table_distance(name, verbs[i].name);

		if (distance <= best && (!closest || distance < best)) {
			best = distance;
			closest = &verbs[i];
		}
	}
	if (says)
		message("there is no verb '%s': %s", name, says);
	else if (with_prefix(name, several, sizeof(several)))
		message("'%s' could be: %s", name, several);
	else if (access(name, R_OK) == 0)
		message("there is no verb '%s'; did you mean 'stackctl report %s'?", name, name);
	else if (closest)
		message("there is no verb '%s'; did you mean '%s'?", name, closest->name);
	else
		message("there is no verb '%s'; 'stackctl help' lists them", name);
	return CMD_USAGE;
}

static void usage(FILE *out)
{
	fputs("Usage: stackctl VERB [OPTION...]\n\n", out);
	for (size_t i = 0; i < N_VERBS; i++)
		if (is_listed(&verbs[i]))
			fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'stackctl VERB --help' lists the options of a verb. Record first: "
	      "sudo stackd --pid PID\n\n",
	      out);
	parts_print(out);
}

static int main_print(void (*print)(FILE *out))
{
	struct output output;
	int status = output_begin(NULL, &output);

	print(output.file);
	return status != CMD_DONE ? status : output_end(&output, 0);
}

static int main_run(const struct verb *verb, int argc, char **argv)
{
	char name[64];

	snprintf(name, sizeof(name), "stackctl %s", verb->name);
	argv[0] = name;
	return message_status(verb->run(argc, argv));
}

/* Writes the manual page of stackctl itself, with a list of verbs instead of options. */
static void main_man(FILE *out)
{
	char date[ARGP_TABLE_DATE];

	fprintf(out, ".TH STACKCTL 1 \"%s\" \"stackd " STACKD_VERSION "\"\n", options_date(date));
	fputs(".SH NAME\nstackctl \\- show what stackd recorded\n.SH SYNOPSIS\n"
	      "\\fBstackctl\\fR \\fIVERB\\fR [\\fIOPTION\\fR...]\n.SH DESCRIPTION\n"
	      "Reads the recordings of \\fBstackd\\fR(8) and shows where programs spent their "
	      "time.\nData goes to standard output, everything else to standard error.\n"
	      ".SH VERBS\n",
	      out);
	for (size_t i = 0; i < N_VERBS; i++)
		if (is_listed(&verbs[i]))
			fprintf(out, ".TP\n\\fB%s\\fR\n%s\n", verbs[i].name, verbs[i].help);
	fputs(".SH ENVIRONMENT\n.TP\n\\fBSTACKD_STORE\\fR\nThe store that is read, if "
	      "\\fB\\-\\-input\\fR does not name one.\n.TP\n\\fBNO_COLOR\\fR\nIf set, no colours "
	      "are used.\n.TP\n\\fBSTACKCTL_PAGER\\fR, \\fBPAGER\\fR\nThe pager of reports on a "
	      "terminal; empty or \\fBcat\\fR: none.\n.SH SEE ALSO\n",
	      out);
	for (size_t i = 0; i < N_VERBS; i++)
		if (is_listed(&verbs[i]) && verbs[i].run != main_help && verbs[i].run != version)
			fprintf(out, "\\fBstackctl\\-%s\\fR(1),\n", verbs[i].name);
	fputs("\\fBstackd\\fR(8)\n", out);
}

/* Lists the verbs that have options, one on each line, for making manual pages. */
static void list(FILE *out)
{
	for (size_t i = 0; i < N_VERBS; i++)
		if (is_listed(&verbs[i]) && verbs[i].run != main_help && verbs[i].run != version)
			fprintf(out, "%s\n", verbs[i].name);
}

/* Makes a verb describe its options instead of parsing them. */
static int describe(const char *name, enum options_mode mode)
{
	const struct verb *verb = main_find(name);
	char *args[] = {NULL, NULL};

	if (!verb || !verb->help)
		return unknown(name);
	if (verb->run == main_help || verb->run == version)
		return CMD_DONE;
	options_set_mode(mode);
	return main_run(verb, 1, args);
}

static int main_help(int argc, char **argv)
{
	char option[] = "--help", *args[] = {NULL, option, NULL};
	const struct verb *verb;

	if (argc >= 2 && strcmp(argv[1], "--man") == 0)
		return argc > 2 ? describe(argv[2], OPTIONS_MAN) : main_print(main_man);
	if (argc >= 2 && strcmp(argv[1], "--verbs") == 0)
		return main_print(list);
	if (argc < 2 || argv[1][0] == '-')
		return main_print(usage);
	verb = main_find(argv[1]);
	if (!verb)
		return unknown(argv[1]);
	return verb->run == main_help || verb->run == version ? main_print(usage)
							      : main_run(verb, 2, args);
}

static void complete_verbs(FILE *out)
{
	for (size_t i = 0; i < N_VERBS; i++)
		if (is_listed(&verbs[i]))
			fprintf(out, "%s\t\t%s\n", verbs[i].name, verbs[i].help);
}

/* For the completion scripts: lists the verbs, or a verb's options. Returns the exit status. */
static int complete(int argc, char **argv)
{
	if (argc < 2)
		return main_print(complete_verbs);
	return describe(argv[1], OPTIONS_LIST);
}

/* What perf calls 'perf script': an export of all samples as text. */
static int script(int argc, char **argv)
{
	char name[] = "stackctl export", option[] = "--perf-script";
	char **words;
	int status;

	if (argc > 1 && (!strcmp(argv[1], "report") || !strcmp(argv[1], "record")) &&
	    access(argv[1], F_OK) != 0) {
		message("'stackctl flamegraph -o page.html' draws a flame graph; other scripts of "
			"perf read what 'stackctl export --perf-script' writes");
		return CMD_USAGE;
	}
	words = calloc((size_t)argc + 2, sizeof(*words));
	if (!words) {
		message("out of memory");
		return CMD_FAILED;
	}
	words[0] = name;
	words[1] = option;
	memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof(*words));
	status = cmd_export(argc + 1, words);
	free(words);
	return status;
}

static void print_version(FILE *out)
{
	fprintf(out, "stackctl %s\n", STACKD_VERSION);
	parts_print(out);
}

static int version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return main_print(print_version);
}

/* Flushes standard output at the end, and fails if it could not be written; argp's --help does not
 * check that. */
static void close_output(void)
{
	if (ferror(stdout) || fflush(stdout) != 0) {
		fputs("stackctl: cannot write standard output\n", stderr);
		_exit(CMD_FAILED);
	}
}

/* Makes malloc() map every large array. (By default, the limit above which it maps rises with each
 * large array that is freed.) A mapped array can grow in place, whereas growing on the heap needs
 * room for the old and the new array at once. */
static void map_large(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	map_large();
	atexit(close_output);
	argp_err_exit_status = CMD_USAGE;
	argp_program_version = "stackctl " STACKD_VERSION;
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_DFL);
	if (argc < 2) {
		usage(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return main_print(usage);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
	    strcmp(argv[1], "-v") == 0)
		return main_print(print_version);
	if (strcmp(argv[1], "record") == 0)
		return perf_habits_record(argv);
	verb = main_find(argv[1]);
	return verb ? main_run(verb, argc - 1, argv + 1) : unknown(argv[1]);
}
