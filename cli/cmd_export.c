/* SPDX-License-Identifier: MIT */
/* stackctl export: writes a recording in the formats of other tools. Each format is a row of a
 * table. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "cmd.h"
#include "export/export.h"
#include "input.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "paraver.h"
#include "export_tables.h"

enum { CMD_EXPORT_PARQUET = 0x180, CMD_EXPORT_PARAVER, CMD_EXPORT_KINDS, CMD_EXPORT_FIRST = 0x200 };

/* The series that --perfetto shows of a recording without samples. */
#define PERFETTO_SERIES                                                                            \
	(1ull << SERIES_REGION_TIME | 1ull << SERIES_WAIT_BLOCKED | 1ull << SERIES_WAIT_RUNNABLE | \
	 1ull << SERIES_ALLOC_BYTES)

struct cmd_export_format {
	const char *name;
	int (*write)(struct profile *profile, FILE *out);
	const char *help;
	bool is_binary;	  /* the format is not text, so it is not written to a terminal */
	bool has_metrics; /* the format can express any metric; else only samples */
};

static const struct cmd_export_format cmd_export_formats[] = {
	{"folded", export_folded,
	 "Folded stacks, one line for each call path, for flame graph "
	 "tools",
	 false, true},
	{"perf-script", export_perf_script, "Samples one by one, as 'perf script' prints them",
	 false, false},
	{"pprof", export_pprof, "For pprof: go tool pprof FILE", true, true},
	{"speedscope", export_speedscope, "For speedscope, a timeline for each thread", false,
	 false},
	{"firefox", export_firefox, "For Firefox's profiler, profiler.firefox.com", false, false},
	{"perfetto", export_perfetto,
	 "A trace for ui.perfetto.dev: samples (one for each period that a sample stands for), "
	 "regions, waits with their wakers, counters, heap",
	 true, false},
	{"callgrind", export_callgrind, "For KCachegrind and callgrind_annotate", false, true},
	{"json", export_json, "Everything that the recording has, as JSON (docs/JSON.md)", false,
	 true},
	{"tags", export_tags, "Locations, tags and samples as text (docs/TAGS.md)", false, true},
};

#define CMD_EXPORT_FORMATS (sizeof(cmd_export_formats) / sizeof(*cmd_export_formats))

static const struct argp_option cmd_export_options[] = {
	{"parquet", CMD_EXPORT_PARQUET, "DIR", 0,
	 "Write samples.parquet, paths.parquet and locations.parquet into this folder "
	 "(docs/TABLES.md): all metrics, and each recording of a range by itself",
	 3},
	{"paraver", CMD_EXPORT_PARAVER, "FILE.prv", 0,
	 "A trace for Paraver, with FILE.pcf and FILE.row beside it (docs/FOLD.md): instances of "
	 "regions, counters, and samples with their call paths",
	 3},
	{"kinds", CMD_EXPORT_KINDS, 0, 0,
	 "With --folded: put the kinds of functions into their names, for tools that color by "
	 "them: _[k] behind the kernel's, _[i] behind inlined ones, _[j] behind JIT code's, and "
	 "py::NAME:FILE, rb::NAME:FILE, php::NAME:FILE or pl::NAME:FILE for Python's, Ruby's, "
	 "PHP's and Perl's",
	 3},
	{"output", 'o', "FILE", 0, "Write to this file", 4},
	{0},
};

#define CMD_EXPORT_OPTIONS (sizeof(cmd_export_options) / sizeof(*cmd_export_options))

struct cmd_export {
	struct input input;
	const char *output;
	const struct cmd_export_format *format;
	const char *parquet; /* the argument of --parquet, a folder; or NULL */
	const char *paraver; /* the argument of --paraver, a file; or NULL */
	bool has_kinds;
};

/* Checks whether the options that were given go together. */
static void parse_end(struct argp_state *state, const struct cmd_export *args)
{
	const char *name = args->parquet ? "parquet" : "paraver";

	if (args->parquet && args->paraver)
		argp_help_error(state, "--parquet and --paraver: one format at a time");
	if ((args->parquet || args->paraver) && args->format)
		argp_help_error(state, "--%s and --%s: one format at a time", name,
				args->format->name);
	if ((args->parquet || args->paraver) && args->output)
		argp_help_error(state, "--%s names its own files: leave out --output", name);
	if (!args->parquet && !args->paraver && !args->format)
		argp_help_error(state,
				"give a format: --folded, --perf-script, --pprof, --speedscope, "
				"--firefox, --perfetto, --callgrind, --json, --tags, --parquet or "
				"--paraver");
	if (args->has_kinds && (!args->format || args->format->write != export_folded))
		argp_help_error(state, "--kinds works with --folded only");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_export *args = state->input;

	if (key >= CMD_EXPORT_FIRST && key < CMD_EXPORT_FIRST + (int)CMD_EXPORT_FORMATS) {
		const struct cmd_export_format *format =
			&cmd_export_formats[key - CMD_EXPORT_FIRST];

		if (args->format && args->format != format)
			argp_help_error(state, "--%s and --%s: one format at a time",
					args->format->name, format->name);
		args->format = format;
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->input;
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	case CMD_EXPORT_KINDS:
		args->has_kinds = true;
		return 0;
	case CMD_EXPORT_PARQUET:
		if (!*arg)
			argp_help_error(state, "--parquet: the folder's name is empty");
		args->parquet = arg;
		return 0;
	case CMD_EXPORT_PARAVER:
		if (!paraver_is_path(arg))
			argp_help_error(state, "--paraver '%s': the trace's name must end in .prv",
					arg);
		args->paraver = arg;
		return 0;
	case ARGP_KEY_END:
		parse_end(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Checks whether the format can express what the options choose, and refuses to write a binary
 * format to a terminal, because the terminal would interpret its bytes as commands. */
static int check(const struct cmd_export *args)
{
	const char *path = args->output && strcmp(args->output, "-") != 0 ? args->output : NULL;

	if (!args->format->has_metrics &&
	    input_only_samples(&args->input, args->format->name) != CMD_DONE)
		return CMD_USAGE;
	if (!args->format->is_binary || path || !isatty(STDOUT_FILENO))
		return CMD_DONE;
	message("--%s is a binary format, which would garble the terminal: give -o FILE, or pipe "
		"it into a program",
		args->format->name);
	return CMD_USAGE;
}

/* Returns whether a format has no place for notes on missing data, so that messages must give
 * them. */
static bool is_bare(const struct cmd_export_format *format)
{
	return format->write == export_folded || format->write == export_tags;
}

static int cmd_export_write(const struct cmd_export *args, const struct input_open *open)
{
	struct output output;
	int (*write)(struct profile *, FILE *) =
		args->has_kinds ? export_folded_kinds : args->format->write;
	int status = output_begin(args->output, &output);

	if (status != CMD_DONE)
		return status;
	if (is_bare(args->format) && metric_is_of_regions(profile_filter(open->profile)->metric))
		input_regions_off(open->profile);
	return output_end(&output, write(open->profile, output.file));
}

/* Fills in the options: a heading, a row for each format of the table, then the others. */
static void list_options(struct argp_option *options)
{
	*options++ = (struct argp_option){.doc = "Formats:", .group = OPTIONS_SHOW};
	for (size_t i = 0; i < CMD_EXPORT_FORMATS; i++)
		*options++ = (struct argp_option){.name = cmd_export_formats[i].name,
						  .key = CMD_EXPORT_FIRST + (int)i,
						  .doc = cmd_export_formats[i].help,
						  .group = OPTIONS_SHOW};
	memcpy(options, cmd_export_options, sizeof(cmd_export_options));
}

int cmd_export(int argc, char **argv)
{
	static const struct argp_child children[] = {{&input_argp, 0, NULL, 0}, {0}};
	struct argp_option options[CMD_EXPORT_FORMATS + 1 + CMD_EXPORT_OPTIONS] = {0};
	struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Writes a recording in the format of another tool.",
		.children = children,
	};
	struct cmd_export args = {0};
	struct input_open open;
	int status;

	list_options(options);
	options_parse(&argp, argc, argv, &args);
	if (args.parquet)
		return export_tables_parquet(&args.input, args.parquet);
	if (args.paraver) {
		status = input_only_samples(&args.input, "paraver");
		return status == CMD_DONE ? paraver_write(&args.input, args.paraver) : status;
	}
	status = check(&args);
	if (status != CMD_DONE)
		return status;
	if (args.format->write == export_perfetto)
		args.input.takes_series = PERFETTO_SERIES;
	status = input_open(&args.input, &open);
	if (status == CMD_DONE)
		status = cmd_export_write(&args, &open);
	input_close(&open);
	return status;
}
