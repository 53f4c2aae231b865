/* SPDX-License-Identifier: MIT */
/* stackctl diff: shows what changed between two recordings, and which changes are larger than
 * noise. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_help.h"
#include "base/buf.h"
#include "base/strings.h"
#include "base/text.h"
#include "cmd.h"
#include "fleet_side.h"
#include "input.h"
#include "input_fleet.h"
#include "tagset/tagset_diff.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "model/namesakes.h"
#include "tagset_input.h"
#include "tagset/tagset_reader.h"
#include "terminal.h"

#define CMD_DIFF_LIMIT 0.1 /* default of --percent-limit for text; JSON has all rows by default */

enum {
	CMD_DIFF_BY = 0x200,
	CMD_DIFF_SHARE,
	CMD_DIFF_PER,
	CMD_DIFF_NORMALISE,
	CMD_DIFF_PERCENT,
	CMD_DIFF_SIGNIFICANT,
	CMD_DIFF_FAIL
};

struct cmd_diff {
	struct terminal terminal;
	struct input input; /* the options that choose samples; its path is that of a server's
			     * database, or NULL */
	const char *inputs[2];
	unsigned n;
	struct output_options output;
	struct tagset_diff_ask ask;
	const char *per; /* what amounts are divided by: "second", or the name of a region; NULL:
			  * not given */
	double percent_limit; /* negative: not given */
	double fail_above;    /* percent of A's whole; negative: not given */
	bool only_significant;
};

static const struct argp_option cmd_diff_options[] = {
	{"by", CMD_DIFF_BY, "function|tag", 0,
	 "Compare functions with their callees (default), or call paths", 3},
	{"per", CMD_DIFF_PER, "second|REGION", 0,
	 "Compare amounts per second of the recording, or per pass through a region (stackd "
	 "--region)",
	 3},
	{"share", CMD_DIFF_SHARE, 0, 0,
	 "Compare shares of the total instead of amounts; note that a share also grows when "
	 "others shrink",
	 3},
	{"normalise-by", CMD_DIFF_NORMALISE, "FUNCTION", 0,
	 "Compare amounts in percent of the amount of this function with its callees", 3},
	{"significant", CMD_DIFF_SIGNIFICANT, 0, 0, "Show only what changed by more than noise", 3},
	{"fail-above", CMD_DIFF_FAIL, "PERCENT", 0,
	 "Exit with 5 if a function with its callees (or with --by tag a path) has grown by more than "
	 "this share of A's whole, and by more than noise",
	 3},
	{"percent-limit", CMD_DIFF_PERCENT, "PERCENT", ARGP_HELP_RARE,
	 "Leave out rows below this share in both (default 0.1; with --json 0)", 3},
	{0},
};

static void parse_by(struct argp_state *state, const char *arg, struct cmd_diff *args)
{
	if (strcmp(arg, "tag") == 0)
		args->ask.by = TAGSET_DIFF_BY_TAG;
	else if (strcmp(arg, "function") == 0)
		args->ask.by = TAGSET_DIFF_BY_FUNCTION;
	else
		argp_help_error(state, "--by '%s': give function or tag", arg);
}

static void parse_limit(struct argp_state *state, const char *arg, struct cmd_diff *args)
{
	double percent;
	const char *end = options_decimal(arg, &percent);

	if (!end || (*end && strcmp(end, "%") != 0) || percent > 1e6)
		argp_help_error(state, "--fail-above: '%s' is not a share such as 5%%", arg);
	args->fail_above = percent;
}

static void check(struct argp_state *state, const struct cmd_diff *args)
{
	const struct input *input = &args->input;

	if (args->n < 2)
		argp_help_error(state,
				"give two recordings: stores (FILE, FILE@ID, @ID), tag exports, "
				"or, with -i URL, hosts and times (HOST, @FROM..TO)");
	if (!input_is_fleet(input) && (input->path || input->since || input->credentials))
		argp_help_error(state, "-i, --since and --credentials are for parts of a server's "
				       "database: -i clickhouse://HOST/DATABASE");
	if (input_is_fleet(input) && args->per)
		argp_help_error(state,
				"--per is not for a server's database, which has sums of samples");
	if (input->recording || input->range.first)
		argp_help_error(state, "--recording: a recording is named as FILE@ID");
	if (args->ask.is_share + (args->per != NULL) + (args->ask.base != NULL) > 1)
		argp_help_error(state, "--share, --per and --normalise-by exclude each other");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_diff *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->terminal;
		state->child_inputs[1] = &args->output;
		state->child_inputs[2] = &args->input;
		return 0;
	case CMD_DIFF_BY:
		parse_by(state, arg, args);
		return 0;
	case CMD_DIFF_SHARE:
		args->ask.is_share = true;
		return 0;
	case CMD_DIFF_PER:
		args->per = arg;
		return 0;
	case CMD_DIFF_NORMALISE:
		args->ask.base = arg;
		return 0;
	case CMD_DIFF_SIGNIFICANT:
		args->only_significant = true;
		return 0;
	case CMD_DIFF_FAIL:
		parse_limit(state, arg, args);
		return 0;
	case CMD_DIFF_PERCENT:
		args->percent_limit = options_percent(state, "--percent-limit", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (args->n == 2)
			argp_help_error(state, "give two recordings: '%s' is a third", arg);
		args->inputs[args->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		check(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int cmd_diff_write(const struct cmd_diff *args, const struct tagset *set,
			  const struct tagset_diff *diff)
{
	struct tagset_diff_options options = {
		.names = {args->inputs[0], args->inputs[1]},
		.per = args->per && strcmp(args->per, "second") != 0 ? "pass" : args->per,
		.only_significant = args->only_significant,
		.percent_limit = args->percent_limit >= 0 ? args->percent_limit
				 : args->output.is_json	  ? 0
							  : CMD_DIFF_LIMIT,
		.color = args->terminal.color,
		.full_names = args->terminal.full_names,
		.width = args->terminal.pager ? 0 : args->terminal.width,
	};
	struct output output;
	int status = output_begin_paged(
		args->output.path, args->output.is_json ? NULL : args->terminal.pager, &output);

	if (status != CMD_DONE)
		return status;
	return output_end(&output,
			  args->output.is_json
				  ? tagset_diff_write_json(set, diff, &options, output.file)
				  : tagset_diff_write_text(set, diff, &options, output.file));
}

/* Says what has grown by more than --fail-above. Returns the exit status. */
static int judge(const struct cmd_diff *args, const struct tagset *set,
		 const struct tagset_diff *diff)
{
	double percent;
	const struct tagset_diff_row *row =
		args->fail_above >= 0 ? tagset_diff_growth(diff, args->fail_above, &percent) : NULL;
	struct buf b = {0};
	uint32_t n;

	if (!row)
		return CMD_DONE;
	if (diff->ask.by == TAGSET_DIFF_BY_TAG)
		text_printf(&b, "the call path %016" PRIx64, tagset_nodes(set, &n)[row->key].tag);
	else
		text_put_name(&b, tagset_diff_function(diff, row->key), args->terminal.utf8);
	text_printf(&b, " has grown by %.1f%% of ", percent);
	text_put_name(&b, args->inputs[0], args->terminal.utf8);
	text_printf(&b, "'s whole, more than --fail-above %g%%", args->fail_above);
	buf_put_u8(&b, '\0');
	message("%s", b.failed ? "out of memory" : (const char *)b.data);
	buf_free(&b);
	return CMD_GROWN;
}

static int explain(const struct cmd_diff *args, const struct tagset_diff *diff, int err)
{
	const enum metric metric = args->ask.metric;

	if (err == -ENODATA)
		message("%s has no %s: there is nothing to compare",
			args->inputs[diff->amount[0] ? 1 : 0],
			metric == METRIC_CPU ? "samples" : metric_info(metric)->name);
	else if (err == -ENOENT)
		message("--normalise-by: %s has no path through %s",
			args->inputs[diff->scale[0] > 0 ? 1 : 0], args->ask.base);
	else
		message("%s", strerror(-err));
	return err == -ENODATA || err == -ENOENT ? CMD_NO_SAMPLES : CMD_FAILED;
}

/* What suffix() needs to tell functions of one name apart. One reader has the recordings of both
 * sides. */
struct cmd_diff_names {
	struct store_reader *reader;
	struct namesakes *namesakes;
};

/* Returns the suffix that distinguishes a location's function from others of the same name; NULL:
 * it needs none. If an object was rebuilt, a function has other addresses in the two files. Then
 * functions are compared by name only, so that all functions of one name in the object are summed
 * up. The lines of a location have the innermost function first. */
static const char *suffix(void *arg, uint32_t location, unsigned outer, bool is_rebuilt)
{
	const struct cmd_diff_names *names = arg;
	const struct store_tables *t = store_reader_tables(names->reader);
	uint32_t end = t->line_first[location + 1], n = end - t->line_first[location];
	const char *text = outer < n ? namesakes_suffix(names->namesakes, end - 1 - outer) : NULL;

	return text && is_rebuilt && namesakes_is_start(text) ? NULL : text;
}

/* Finds the names that several functions have, so that suffix() can tell these functions apart.
 * Returns 0 or -ENOMEM; other failures are ignored here, because the comparison will report
 * them. */
static int find_names(const struct cmd_diff *args, const struct tagset *set,
		      struct cmd_diff_names *ret_names)
{
	uint32_t left_out;
	int err = tagset_reader_new(set, args->ask.metric, "", &ret_names->reader, &left_out);

	if (err < 0)
		return err == -ENOMEM ? err : 0;
	return namesakes_find(store_reader_tables(ret_names->reader), &ret_names->namesakes);
}

static int compare(const struct cmd_diff *args, const struct tagset *set)
{
	struct cmd_diff_names names = {0};
	struct tagset_diff_ask ask = args->ask;
	struct tagset_diff diff = {0};
	int status, err = find_names(args, set, &names);

	if (names.namesakes) {
		ask.suffix = suffix;
		ask.suffix_arg = &names;
	}
	if (err == 0)
		err = tagset_diff_make(set, &ask, &diff);
	status = err == 0 ? cmd_diff_write(args, set, &diff) : explain(args, &diff, err);
	if (err == 0 && status == CMD_DONE)
		status = judge(args, set, &diff);
	if (err == 0)
		tagset_diff_release(&diff);
	namesakes_free(names.namesakes);
	if (names.reader)
		store_reader_close(names.reader);
	return status;
}

static int add_fleet(const struct cmd_diff *args, struct tagset *set, uint32_t i)
{
	struct fleet_side side;
	int status = fleet_side_parse(args->inputs[i], &args->input, &side);

	if (status == CMD_DONE)
		status = tagset_input_add_fleet(set, args->inputs[i], i, &side.input,
						args->ask.metric);
	fleet_side_free(&side);
	return status;
}

/* Returns whether the filter selects only a part of the samples. */
static bool has_choice(const struct profile_filter *f)
{
	return f->n_pids || f->n_tids || f->n_comms || f->units.n || f->labels.n || f->from_ns ||
	       f->to_ns || f->dsos.n || f->symbols.n || f->focus.n || f->ignore.n || f->max_depth ||
	       f->fold_recursion || f->no_inlined || f->no_reconstructed;
}

/* Adds a store's samples to a side. Sets the number by which --per divides the side's amounts: the
 * seconds of the recording, or its passes through the region. Returns the exit status. */
static int add_store(struct cmd_diff *args, struct tagset *set, uint32_t i)
{
	const bool is_second = args->per && strcmp(args->per, "second") == 0;
	struct tagset_input_choice choice = {
		.metric = args->ask.metric,
		.filter = has_choice(&args->input.filter) ? &args->input.filter : NULL,
		.region = is_second ? NULL : args->per};
	int status = tagset_input_add_chosen(set, args->inputs[i], i, &choice);

	if (status != CMD_DONE || !args->per)
		return status;
	args->ask.per[i] = is_second ? (double)choice.duration_ns / 1e9 : (double)choice.passes;
	if (args->ask.per[i] > 0)
		return CMD_DONE;
	message("--per needs a store: %s does not say how long its recording took",
		args->inputs[i]);
	return CMD_USAGE;
}

static int add(struct cmd_diff *args, struct tagset *set, uint32_t i)
{
	return input_is_fleet(&args->input) ? add_fleet(args, set, i) : add_store(args, set, i);
}

int cmd_diff(int argc, char **argv)
{
	static const struct argp_child children[] = {{&terminal_argp, 0, NULL, 0},
						     {&output_argp, 0, NULL, 0},
						     {&input_argp, 0, NULL, 0},
						     {0}};
	static const struct argp argp = {
		.options = cmd_diff_options,
		.parser = parse,
		.args_doc = "A B",
		.doc = "Shows what changed from recording A to recording B, and what of it is "
		       "more than noise.\vA and B are stores (FILE: its latest recording; "
		       "FILE@ID; @ID: of the default store) or files that 'stackctl export "
		       "--tags' or 'stackctl merge' wrote; with -i clickhouse://HOST/DATABASE "
		       "parts of that: HOST (a name, or a pattern with * and ?), @FROM..TO "
		       "(moments, or times until now), or HOST@FROM..TO. Amounts are compared: "
		       "CPU time, or the sum of another metric. For runs of different lengths, "
		       "--per second or --per REGION compares amounts per second or per pass, "
		       "--normalise-by amounts relative to another function's, and --share shares "
		       "of the total. Options that choose samples apply to both recordings.",
		.children = children,
	};
	struct cmd_diff args = {
		.ask = {.by = TAGSET_DIFF_BY_FUNCTION}, .percent_limit = -1, .fail_above = -1};
	struct tagset *set;
	int status = CMD_DONE;

	options_parse(&argp, argc, argv, &args);
	args.ask.metric = args.input.filter.metric;
	if (!input_is_fleet(&args.input) && args.input.is_range) {
		message("--from and --to as moments are for parts of a server's database; of stores "
			"they are times since the recording's start");
		return CMD_USAGE;
	}
	terminal_setup(&args.terminal, args.output.path);
	if (tagset_new(&set) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	for (uint32_t i = 0; status == CMD_DONE && i < 2; i++)
		status = add(&args, set, i);
	if (status == CMD_DONE)
		status = compare(&args, set);
	tagset_free(set);
	return status;
}
