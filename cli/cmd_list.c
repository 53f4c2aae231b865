/* SPDX-License-Identifier: MIT */
/*
 * stackctl list: lists the recordings of a store. The windows of one run of stackd are one line, or
 * with -v a line each.
 *
 * JSON: {"schema":1,"store":path,"recordings":[{"recording","start_unix_ns","duration_ns",
 * "host","target","command","event","frequency_hz","period","samples","lost","state", and for
 * windows "run": the number of the run's first window}]}, oldest first, with one element for each
 * window. The state is "done", "running" or "cut off": a recording that is not finished counts as
 * running if its last commit is recent, because stackd commits about once a second.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd.h"
#include "input.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "base/json_put.h"
#include "base/text.h"
#include "store/store_reader.h"

#define CMD_LIST_RECENT_NS (UINT64_C(10) * 1000000000)

struct cmd_list {
	struct input input;
	bool verbose;
	struct output_options output;
	const char *path;
	uint64_t now_unix_ns;
	const struct store_recording *recordings;
	size_t n;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_list *args = state->input;

	(void)arg;
	args->verbose |= key == 'v';
	if (key == 'v')
		return 0;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &args->input;
	state->child_inputs[1] = &args->output;
	return 0;
}

static uint64_t duration(const struct store_recording *recording)
{
	return store_range_end(recording) - recording->start_unix_ns;
}

static bool is_same_run(const struct store_recording *a, const struct store_recording *b)
{
	return a == b || (a->run && a->run == b->run);
}

static const char *cmd_list_state(const struct cmd_list *list, const struct store_recording *rec)
{
	if (rec->finished)
		return "done";
	return store_range_end(rec) + CMD_LIST_RECENT_NS > list->now_unix_ns ? "running"
									     : "cut off";
}

/* Returns the width of the column "id". It is wide if a line can be a whole run, for which it has
 * the numbers of the run's first and last window. */
static int id_width(const struct cmd_list *list)
{
	for (size_t i = 0; i < list->n && !list->verbose; i++) {
		if (list->recordings[i].run)
			return 12;
	}
	return 5;
}

/* Writes one line about a recording, or about a run, whose windows are *rec to *last. */
static void cmd_list_row(const struct cmd_list *list, const struct store_recording *rec,
			 const struct store_recording *last, struct buf *b)
{
	uint64_t samples = 0, lost = 0, span = store_range_end(last) - rec->start_unix_ns;
	char ids[48];
	time_t start = (time_t)(rec->start_unix_ns / 1000000000);
	char when[64] = "?";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(ids, sizeof(ids), rec == last ? "%" PRId64 : "%" PRId64 "..%" PRId64, rec->id,
		 last->id);
	for (const struct store_recording *r = rec; r <= last; r++) {
		samples += is_same_run(rec, r) ? r->samples : 0;
		lost += is_same_run(rec, r) ? r->lost : 0;
	}
	text_printf(b, "%*s  %-19s  %8.1f s  %9" PRIu64 "  %7" PRIu64 "  %-7s  ", id_width(list),
		    ids, when, (double)span / 1e9, samples, lost, cmd_list_state(list, last));
	text_put(b, rec->event, NULL);
	if (rec->frequency_hz)
		text_printf(b, " at %" PRIu64 " Hz", rec->frequency_hz);
	else if (rec->period)
		text_printf(b, " every %" PRIu64, rec->period);
	text_put_raw(b, "  ");
	text_put(b, rec->target, NULL);
	if (rec->run && rec != last)
		text_put_raw(b, " (windows)");
	text_put_raw(b, "\n");
}

/* Returns the last window of the run whose first window is at `at`. */
static const struct store_recording *last_of_run(const struct cmd_list *list, size_t at)
{
	const struct store_recording *last = &list->recordings[at];

	for (size_t i = at + 1; i < list->n && !list->verbose; i++)
		last = is_same_run(last, &list->recordings[i]) ? &list->recordings[i] : last;
	return last;
}

/* Returns whether an earlier line has shown the run of a recording. */
static bool is_shown(const struct cmd_list *list, size_t at)
{
	for (size_t i = 0; i < at && !list->verbose; i++) {
		if (is_same_run(&list->recordings[i], &list->recordings[at]))
			return true;
	}
	return false;
}

static int text(const struct cmd_list *list, FILE *out)
{
	struct buf b = {0};

	text_printf(&b,
		    "%*s  started               duration    samples     lost  state    "
		    "event  target\n",
		    id_width(list), "id");
	for (size_t i = 0; i < list->n; i++) {
		if (!is_shown(list, i))
			cmd_list_row(list, &list->recordings[i], last_of_run(list, i), &b);
	}
	return text_end(&b, out, 0);
}

static void json_recording(const struct cmd_list *list, const struct store_recording *rec,
			   struct json *j)
{
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_int(j, "recording", rec->id);
	json_put_uint(j, "start_unix_ns", rec->start_unix_ns);
	json_put_uint(j, "duration_ns", duration(rec));
	json_put_string(j, "host", rec->host);
	json_put_string(j, "target", rec->target);
	json_put_string(j, "command", rec->command);
	json_put_string(j, "event", rec->event);
	json_put_uint(j, "frequency_hz", rec->frequency_hz);
	json_put_uint(j, "period", rec->period);
	json_put_uint(j, "samples", rec->samples);
	json_put_uint(j, "lost", rec->lost);
	json_put_string(j, "state", cmd_list_state(list, rec));
	if (rec->run)
		json_put_int(j, "run", rec->run);
	json_put_end(j);
}

static int json(const struct cmd_list *list, FILE *out)
{
	struct json j = {.out = out};

	json_put_object(&j, NULL);
	json_put_uint(&j, "schema", 1);
	json_put_string(&j, "store", list->path);
	json_put_array(&j, "recordings");
	for (size_t i = 0; i < list->n; i++)
		json_recording(list, &list->recordings[i], &j);
	return json_put_finish(&j, 0);
}

static int cmd_list_write(const struct cmd_list *list)
{
	struct output output;
	int status = output_begin(list->output.path, &output);

	if (status != CMD_DONE)
		return status;
	return output_end(&output,
			  list->output.is_json ? json(list, output.file) : text(list, output.file));
}

/* Returns whether an input that does not exist is a word that lists events in 'perf list'. */
static bool is_kind_of_event(const char *path)
{
	static const char *const kinds[] = {"hw",  "sw",    "cache", "tracepoint",
					    "pmu", "event", NULL};

	for (size_t i = 0; path && kinds[i]; i++)
		if (!strcmp(path, kinds[i]))
			return access(path, F_OK) != 0;
	return false;
}

static int cmd_list_run(struct cmd_list *list)
{
	struct store_recording *recordings = NULL;
	char *error = NULL;
	int status, err;

	err = store_list_recordings(list->path, &recordings, &list->n, &error);
	if (err < 0)
		return input_explain(&list->input, list->path, err, error);
	list->recordings = recordings;
	status = cmd_list_write(list);
	store_recordings_free(recordings, list->n);
	return status;
}

int cmd_list(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&input_store_argp, 0, NULL, 0}, {&output_argp, 0, NULL, 0}, {0}};
	static const struct argp_option options[] = {
		{"verbose", 'v', NULL, 0, "Show each window of a run", 3}, {0}};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[FILE[@ID]]",
		.doc = "Lists the recordings of a store. All windows of one run of stackd are one "
		       "line.",
		.children = children,
	};
	struct cmd_list list = {0};
	char *path;
	int status;

	options_parse(&argp, argc, argv, &list);
	if (is_kind_of_event(list.input.path)) {
		message("list shows recordings; events have libpfm4's names: 'stackd -e NAME' "
			"with cycles, instructions, cache-misses, page-faults, cpu-clock, ...");
		return CMD_USAGE;
	}
	path = input_path(&list.input);
	if (!path) {
		message("out of memory");
		return CMD_FAILED;
	}
	list.now_unix_ns = clock_ns(CLOCK_REALTIME);
	list.path = path;
	status = cmd_list_run(&list);
	free(path);
	return status;
}
