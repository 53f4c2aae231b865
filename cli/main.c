/* SPDX-License-Identifier: MIT */
/*
 * stackctl: finds the verb and hands over to it.
 *
 * A verb is a row of the table below and a file cmd_VERB.c. What is common to all is set here:
 * the exit status of argp's errors, the locale (LC_CTYPE alone: numbers keep their points), and
 * SIGPIPE, which ends a report quietly when its reader has seen enough.
 */
#include <argp.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "message.h"
#include "output.h"

static int main_help(int argc, char **argv);
static int main_version(int argc, char **argv);

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"report", cmd_report, "show a recording: call-path tree, functions, callers"},
	{"export", cmd_export, "write a recording in the format of another tool"},
	{"stats", cmd_stats, "show the figures of a recording: samples, losses, quality, cost"},
	{"list", cmd_list, "list the recordings of a store"},
	{"doctor", cmd_doctor, "check what this machine can record, and what is missing"},
	{"help", main_help, "show this, or the options of a verb"},
	{"version", main_version, "show the version"},
};

#define N_VERBS (sizeof(verbs) / sizeof(*verbs))

static const struct verb *main_find(const char *name)
{
	for (size_t i = 0; i < N_VERBS; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* How many single-letter edits lead from one word to the other (Levenshtein), for words below 32
 * letters; more than that for longer ones. */
static unsigned main_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned row[32];

	if (n >= 32 || m >= 32)
		return 32;
	for (unsigned j = 0; j <= m; j++)
		row[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

static int main_unknown(const char *name)
{
	const struct verb *closest = NULL;
	unsigned best = 3;

	for (size_t i = 0; i < N_VERBS; i++) {
		unsigned distance = main_distance(name, verbs[i].name);

		if (distance < best) {
			best = distance;
			closest = &verbs[i];
		}
	}
	if (closest)
		message("there is no verb '%s'; did you mean '%s'?", name, closest->name);
	else
		message("there is no verb '%s'; 'stackctl help' lists them", name);
	return CMD_USAGE;
}

static void main_usage(FILE *out)
{
	fputs("Usage: stackctl VERB [OPTION...]\n\n", out);
	for (size_t i = 0; i < N_VERBS; i++)
		fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'stackctl VERB --help' lists the options of a verb. Record first: "
	      "sudo stackd --pid PID\n",
	      out);
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
	return verb->run(argc, argv);
}

static int main_help(int argc, char **argv)
{
	char option[] = "--help", *args[] = {NULL, option, NULL};
	const struct verb *verb;

	if (argc < 2 || argv[1][0] == '-')
		return main_print(main_usage);
	verb = main_find(argv[1]);
	if (!verb)
		return main_unknown(argv[1]);
	return verb->run == main_help ? main_print(main_usage) : main_run(verb, 2, args);
}

static void main_print_version(FILE *out)
{
	fprintf(out, "stackctl %s\n", STACKD_VERSION);
}

static int main_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return main_print(main_print_version);
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	argp_err_exit_status = CMD_USAGE;
	argp_program_version = "stackctl " STACKD_VERSION;
	setlocale(LC_CTYPE, "");
	signal(SIGPIPE, SIG_DFL);
	if (argc < 2) {
		main_usage(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return main_print(main_usage);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return main_print(main_print_version);
	verb = main_find(argv[1]);
	return verb ? main_run(verb, argc - 1, argv + 1) : main_unknown(argv[1]);
}
