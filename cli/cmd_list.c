/* SPDX-License-Identifier: MIT */
/*
 * stackctl list: the recordings of a store.
 *
 * JSON: {"schema":1,"store":path,"recordings":[{"recording","start_unix_ns","duration_ns",
 * "host","target","command","event","frequency_hz","period","samples","lost","state"}]}, oldest
 * first. The state is "done", "running" or "cut off": a recording that is not finished is being
 * written if its last commit is recent, since commits come about once a second.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cmd.h"
#include "input.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "base/text.h"
#include "store/store_reader.h"

#define CMD_LIST_RECENT_NS (UINT64_C(10) * 1000000000)

struct cmd_list {
	struct input input;
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
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &args->input;
	state->child_inputs[1] = &args->output;
	return 0;
}

static uint64_t duration(const struct store_recording *recording)
{
	return recording->end_ns > recording->start_ns ? recording->end_ns - recording->start_ns
						       : 0;
}

static const char *cmd_list_state(const struct cmd_list *list, const struct store_recording *rec)
{
	uint64_t last = rec->start_unix_ns + duration(rec);

	if (rec->finished)
		return "done";
	return last + CMD_LIST_RECENT_NS > list->now_unix_ns ? "running" : "cut off";
}

static void cmd_list_row(const struct cmd_list *list, const struct store_recording *rec,
			 struct buf *b)
{
	time_t start = (time_t)(rec->start_unix_ns / 1000000000);
	char when[64] = "?";
	struct tm tm;

	if (localtime_r(&start, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	text_printf(b, "%5" PRId64 "  %-19s  %8.1f s  %9" PRIu64 "  %7" PRIu64 "  %-7s  ", rec->id,
		    when, (double)duration(rec) / 1e9, rec->samples, rec->lost,
		    cmd_list_state(list, rec));
	text_put(b, rec->event, NULL);
	if (rec->frequency_hz)
		text_printf(b, " at %" PRIu64 " Hz", rec->frequency_hz);
	else if (rec->period)
		text_printf(b, " every %" PRIu64, rec->period);
	text_put_raw(b, "  ");
	text_put(b, rec->target, NULL);
	text_put_raw(b, "\n");
}

static void text(const struct cmd_list *list, struct buf *b)
{
	text_put_raw(b, "   id  started               duration    samples     lost  state    "
			"event  target\n");
	for (size_t i = 0; i < list->n; i++)
		cmd_list_row(list, &list->recordings[i], b);
}

static void member(struct buf *b, const char *name, const char *value)
{
	text_printf(b, ",\"%s\":", name);
	text_put_json(b, value ? value : "");
}

static void json(const struct cmd_list *list, struct buf *b)
{
	text_put_raw(b, "{\"schema\":1");
	member(b, "store", list->path);
	text_put_raw(b, ",\"recordings\":[");
	for (size_t i = 0; i < list->n; i++) {
		const struct store_recording *rec = &list->recordings[i];

		text_printf(b,
			    "%s\n{\"recording\":%" PRId64 ",\"start_unix_ns\":%" PRIu64
			    ",\"duration_ns\":%" PRIu64,
			    i ? "," : "", rec->id, rec->start_unix_ns, duration(rec));
		member(b, "host", rec->host);
		member(b, "target", rec->target);
		member(b, "command", rec->command);
		member(b, "event", rec->event);
		text_printf(b,
			    ",\"frequency_hz\":%" PRIu64 ",\"period\":%" PRIu64
			    ",\"samples\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"state\":\"%s\"}",
			    rec->frequency_hz, rec->period, rec->samples, rec->lost,
			    cmd_list_state(list, rec));
	}
	text_put_raw(b, "]}\n");
}

static int cmd_list_write(const struct cmd_list *list)
{
	struct output output;
	struct buf b = {0};
	int status = output_begin(list->output.path, &output);

	if (status != CMD_DONE)
		return status;
	if (list->output.is_json)
		json(list, &b);
	else
		text(list, &b);
	status = output_end(&output, text_flush(&b, output.file));
	buf_free(&b);
	return status;
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
	static const struct argp argp = {
		.parser = parse,
		.doc = "Lists the recordings of a store.",
		.children = children,
	};
	struct cmd_list list = {0};
	char *path;
	int status;

	options_parse(&argp, argc, argv, &list);
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
