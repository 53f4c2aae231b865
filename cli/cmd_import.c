/* SPDX-License-Identifier: MIT */
/* stackctl import: makes a recording in a store from a perf.data file. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/argp_help.h"
#include "base/text.h"
#include "cmd.h"
#include "perf/import.h"
#include "message.h"
#include "options.h"
#include "store/store_path.h"
#include "terminal.h"

#define CMD_IMPORT_EVENTS 16

struct cmd_import {
	const char *file, *output, *symfs;
	const char *events[CMD_IMPORT_EVENTS];
	size_t n_events;
	struct import_region region;
};

enum { KEY_SYMFS = 0x100, KEY_MARK, KEY_REGION };

static const struct argp_option cmd_import_options[] = {
	{NULL, 0, NULL, 0, "What to import:", 3},
	{"output", 'o', "FILE", 0, "Write to this store (default: the one that stackd writes to)",
	 4},
	{"event", 'e', "NAME", 0,
	 "Only samples of this event; may be repeated. Needed if several events have samples", 3},
	{"mark", KEY_MARK, "EVENT", 0,
	 "For stackctl fold: at each sample of this probe's event, a pass begins and the one "
	 "before ends",
	 3},
	{"region", KEY_REGION, "BEGIN,END", 0,
	 "For stackctl fold: passes begin at samples of the first of these probes' events, and "
	 "end at those of the second",
	 3},
	{"symfs", KEY_SYMFS, "DIR", 0,
	 "Look for the programs' files below DIR, too, at the paths that they had where they were "
	 "recorded",
	 3},
	{0},
};

static void cmd_import_region(struct argp_state *state, struct cmd_import *args, char *arg)
{
	char *comma = strchr(arg, ',');

	if (!comma || comma == arg || !comma[1])
		argp_help_error(state, "--region '%s': expected two events, BEGIN,END", arg);
	*comma = '\0';
	args->region = (struct import_region){.begin = arg, .end = comma + 1};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_import *args = state->input;

	switch (key) {
	case 'o':
		args->output = arg;
		return 0;
	case 'e':
		if (args->n_events == CMD_IMPORT_EVENTS)
			argp_help_error(state, "--event: more than %d are given",
					CMD_IMPORT_EVENTS);
		args->events[args->n_events++] = arg;
		return 0;
	case KEY_MARK:
		args->region = (struct import_region){.begin = arg};
		return 0;
	case KEY_REGION:
		cmd_import_region(state, args, arg);
		return 0;
	case KEY_SYMFS:
		args->symfs = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (args->file)
			argp_help_error(state, "give one file, not two: '%s' and '%s'", args->file,
					arg);
		args->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->file)
			argp_help_error(state,
					"give the file to import, such as perf.data, or - for "
					"standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_import_status(int err)
{
	switch (err) {
	case -ENODATA:
		return CMD_NO_SAMPLES;
	case -EACCES:
	case -EPERM:
		return CMD_NO_SUPPORT;
	case -EBADMSG:
	case -ENOTSUP:
	case -EINVAL:
	case -ENOENT:
	case -EISDIR:
		return CMD_USAGE;
	default:
		return CMD_FAILED;
	}
}

/* Prints a message about the failure and returns the exit status; frees `sentence`. */
static int fail(const struct cmd_import *args, int err, char *sentence)
{
	message("cannot import %s: %s", args->file, sentence ? sentence : strerror(-err));
	free(sentence);
	return cmd_import_status(err);
}

/* Gives the store's path, malloc()ed, and makes the folder if it is the default store. Returns the
 * exit status, after a message if it is not CMD_DONE. */
static int cmd_import_store(const struct cmd_import *args, char **ret_path)
{
	char *path = args->output ? strdup(args->output) : store_path_default();
	int err = path ? 0 : -ENOMEM;

	if (!err && !args->output)
		err = store_path_prepare(path);
	if (err) {
		message("cannot make the folder of %s: %s; write elsewhere with -o FILE",
			path ? path : "the store", strerror(-err));
		free(path);
		return cmd_import_status(err);
	}
	*ret_path = path;
	return CMD_DONE;
}

/* Returns perf's build-id cache folder, malloc()ed, or NULL. */
static char *cmd_import_cache(void)
{
	const char *named = getenv("PERF_BUILDID_DIR"), *home = getenv("HOME");
	char *path = NULL;

	if (named)
		return strdup(named);
	if (home && asprintf(&path, "%s/.debug", home) < 0)
		return NULL;
	return path;
}

static uint64_t cmd_import_time(int fd)
{
	struct timespec t;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &t);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		t = st.st_mtim;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void summary(const struct import_result *result, const char *path)
{
	message("%" PRIu64 " sample%s of %s, %" PRIu64 " lost, %" PRIu64 " complete, %" PRIu64
		" reconstructed, %" PRIu64 " partial: recording %" PRId64 " in %s",
		result->samples, text_plural(result->samples, "", "s"),
		*result->event ? result->event : "an event without a name", result->lost,
		result->complete, result->reconstructed, result->partial, result->recording, path);
	if (result->other_samples)
		message("left out: %" PRIu64 " sample%s of other events", result->other_samples,
			text_plural(result->other_samples, "", "s"));
	if (result->counters_left_out)
		message("%" PRIu32 " counter%s left out: a recording has %d at most",
			result->counters_left_out,
			text_plural(result->counters_left_out, " was", "s were"), METRIC_COUNTERS);
	if (result->missing)
		message("%s", result->missing);
}

static int cmd_import_run(const struct cmd_import *args, struct perfdata *reader, int fd,
			  const char *path)
{
	const char *slash = strrchr(args->file, '/');
	struct utsname machine;
	struct import_options options = {
		.store = path,
		.target = slash ? slash + 1 : args->file,
		.events = args->events,
		.n_events = args->n_events,
		.region = args->region,
		.machine = &machine,
		.symfs = args->symfs,
		.unix_ns = cmd_import_time(fd),
	};
	struct import_result result;
	char *sentence, *cache;
	int err;

	uname(&machine);
	cache = cmd_import_cache();
	options.cache = cache;
	err = import_run(reader, &options, &result, &sentence);
	free(cache);
	if (err)
		return fail(args, err, sentence);
	if (!args->output)
		store_path_hand_over(path);
	summary(&result, path);
	free(result.missing);
	return CMD_DONE;
}

static int cmd_import_open(const struct cmd_import *args, int fd)
{
	struct perfdata *reader;
	char *sentence, *path;
	int status, err = perfdata_open(fd, &reader, &sentence);

	if (err)
		return fail(args, err, sentence);
	status = cmd_import_store(args, &path);
	if (status == CMD_DONE) {
		status = cmd_import_run(args, reader, fd, path);
		free(path);
	}
	perfdata_free(reader);
	return status;
}

int cmd_import(int argc, char **argv)
{
	static const struct argp argp = {
		.options = cmd_import_options,
		.parser = parse,
		.args_doc = "PERF.DATA",
		.doc = "Makes a recording from a file of perf record, or - for a pipe: perf "
		       "record -o - COMMAND | stackctl import -\vCall paths are taken from call "
		       "chains (-g), from stacks (--call-graph dwarf), which are walked here, and "
		       "from branch records (--call-graph lbr, -b). Names and walks need the "
		       "files of the programs. They are looked for at their recorded paths, below "
		       "--symfs, and in perf's cache (PERF_BUILDID_DIR or ~/.debug, where an "
		       "archive of `perf archive` is unpacked), and used if their build-id is the "
		       "recorded one.",
	};
	struct cmd_import args = {0};
	bool is_pipe;
	int fd, status;

	options_parse(&argp, argc, argv, &args);
	terminal_progress("importing");
	is_pipe = !strcmp(args.file, "-");
	fd = is_pipe ? STDIN_FILENO : open(args.file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(&args, -errno, NULL);
	status = cmd_import_open(&args, fd);
	if (!is_pipe)
		close(fd);
	return status;
}
