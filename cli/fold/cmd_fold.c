/* SPDX-License-Identifier: MIT */
/* stackctl fold: shows what happens within one pass through a region, from the samples of many
 * passes. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/argp_help.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/fold_answer.h"
#include "cli/message.h"
#include "model/counter_names.h"
#include "folding/periods.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/page.h"
#include "folding/burst_rows.h"
#include "folding/folding.h"
#include "report/report_header.h"
#include "cli/show.h"

enum {
	CMD_FOLD_REGION = 0x200,
	CMD_FOLD_AUTO,
	CMD_FOLD_BURST,
	CMD_FOLD_BY,
	CMD_FOLD_GROUP,
	CMD_FOLD_JSON,
	CMD_FOLD_PERCENT,
	CMD_FOLD_TIME,
	CMD_FOLD_SEED,
};

#define LISTED 10u /* most regions that a message names */

enum cmd_fold_form { CMD_FOLD_TEXT, CMD_FOLD_CSV, CMD_FOLD_SVG, CMD_FOLD_PAGE, CMD_FOLD_GNUPLOT };

struct cmd_fold {
	struct show show;
	char *const *words;   /* the command line */
	const char *region;   /* NULL: the recording's only one */
	bool is_auto;	      /* --auto: instead of a region, fold a period that is found in the
			       * samples */
	bool is_burst;	      /* --burst: instead of a region, fold bursts between calls of MPI */
	uint32_t kind;	      /* the kind of bursts to fold, from 1; 0: list the kinds */
	enum partition_by by; /* list the kinds of bursts for each of these */
	double percent_limit; /* kinds below this share are summed up in the list; negative: not
			       * given */
	bool has_by, is_json;
	bool is_grouped, has_time, has_seed;
	uint32_t group; /* show only this group, from 1; 0: show all */
	struct folding_options options;
	enum cmd_fold_form form;
};

static const struct argp_option cmd_fold_options[] = {
	{"region", CMD_FOLD_REGION, "NAME", 0,
	 "Fold the passes of this region or mark (default: the only one of the recording); '*' "
	 "and '?' are wildcards",
	 3},
	{"auto", CMD_FOLD_AUTO, 0, 0,
	 "Without a region: find a period in the samples of a thread, and fold it", 3},
	{"burst", CMD_FOLD_BURST, "KIND", OPTION_ARG_OPTIONAL,
	 "Without a region: list what threads compute between two calls of MPI (stackd --mpi=probes), as "
	 "kinds of bursts with the same calls and similar lengths and counters; =KIND folds the "
	 "bursts of one kind (1 is the largest)",
	 3},
	{"by", CMD_FOLD_BY,
	 "process|thread|command|unit|container|service|namespace|pod|rank|host|all", 0,
	 "With --burst: list the kinds for each of these (default: all)", 3},
	{"json", CMD_FOLD_JSON, 0, 0,
	 "With --burst: list the kinds as JSON (docs/JSON.md; so does --output=FILE.json)", 3},
	{"percent-limit", CMD_FOLD_PERCENT, "PERCENT", ARGP_HELP_RARE,
	 "With --burst: sum up kinds below this share of the time (default 0.5; JSON has all)", 3},
	{"group", CMD_FOLD_GROUP, "N", OPTION_ARG_OPTIONAL,
	 "Fold passes of different kinds separately: in groups by length, totals of counters and "
	 "callers, without outliers; =N shows one group (1 is the largest)",
	 3},
	{"time", CMD_FOLD_TIME, "cpu|wall", 0,
	 "The axis: CPU time of the thread (default, if the recording has readings of it), or "
	 "wall time",
	 3},
	{"seed", CMD_FOLD_SEED, "N", ARGP_HELP_RARE,
	 "Seed of the random numbers with which passes are resampled for the bands (default 1)", 3},
	{"output", 'o', "FILE", 0,
	 "Write to this file: FILE.html is a page for any browser, .svg a picture, .csv a table, "
	 ".gp a script for gnuplot",
	 3},
	{0},
};

static void cmd_fold_output(struct cmd_fold *args, const char *path)
{
	args->show.output.path = path;
	if (output_is_named(path, ".svg"))
		args->form = CMD_FOLD_SVG;
	else if (output_is_named(path, ".html"))
		args->form = CMD_FOLD_PAGE;
	else if (output_is_named(path, ".csv"))
		args->form = CMD_FOLD_CSV;
	else if (output_is_named(path, ".gp"))
		args->form = CMD_FOLD_GNUPLOT;
	args->is_json |= output_is_named(path, ".json");
}

static void cmd_fold_time(struct argp_state *state, struct cmd_fold *args, const char *arg)
{
	args->has_time = true;
	if (!strcmp(arg, "cpu"))
		args->options.time = FOLDING_CPU;
	else if (!strcmp(arg, "wall"))
		args->options.time = FOLDING_WALL;
	else
		argp_help_error(state, "--time '%s': expected cpu or wall", arg);
}

/* Reads the number of a group or a kind, from 1 to `most`. Returns 0 if the option has no
 * argument. */
static uint32_t cmd_fold_number(struct argp_state *state, const char *option, const char *arg,
				uint32_t most)
{
	char *end;
	const unsigned long n = arg ? strtoul(arg, &end, 10) : 0;

	if (arg && (end == arg || *end || *arg < '0' || *arg > '9' || !n || n > most))
		argp_help_error(state, "%s '%s': expected a number from 1 to %" PRIu32, option, arg,
				most);
	return (uint32_t)n;
}

static void cmd_fold_by(struct argp_state *state, struct cmd_fold *args, const char *arg)
{
	args->has_by = true;
	if (partition_by_word(arg, &args->by) < 0 || args->by == PARTITION_BY_CPU ||
	    args->by == PARTITION_BY_REASON || args->by == PARTITION_BY_OBJECT)
		argp_help_error(state, "--by: bursts cannot be split by '%s'", arg);
	args->show.input.filter.by_label = partition_label(arg);
}

static void cmd_fold_seed(struct argp_state *state, struct cmd_fold *args, const char *arg)
{
	char *end;

	errno = 0;
	args->has_seed = true;
	args->options.seed = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-')
		argp_help_error(state, "--seed '%s': expected a number", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_fold *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->show.input;
		state->child_inputs[1] = &args->show.terminal;
		return 0;
	case CMD_FOLD_REGION:
		args->region = arg;
		return 0;
	case CMD_FOLD_AUTO:
		args->is_auto = true;
		return 0;
	case CMD_FOLD_BURST:
		args->is_burst = true;
		args->kind = cmd_fold_number(state, "--burst", arg, UINT32_MAX - 1);
		return 0;
	case CMD_FOLD_BY:
		cmd_fold_by(state, args, arg);
		return 0;
	case CMD_FOLD_JSON:
		args->is_json = true;
		return 0;
	case CMD_FOLD_PERCENT:
		args->percent_limit = options_percent(state, "--percent-limit", arg);
		return 0;
	case CMD_FOLD_GROUP:
		args->is_grouped = true;
		args->group = cmd_fold_number(state, "--group", arg, FOLD_MAX_MODES);
		return 0;
	case CMD_FOLD_TIME:
		cmd_fold_time(state, args, arg);
		return 0;
	case CMD_FOLD_SEED:
		cmd_fold_seed(state, args, arg);
		return 0;
	case 'o':
		cmd_fold_output(args, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- which region ----------------------------------------------------------------------------- */

static void cmd_fold_list(const struct pass_region *regions, size_t n)
{
	for (size_t i = 0; i < n && i < LISTED; i++)
		message("  %s: %" PRIu64 " %s", regions[i].symbol->name, regions[i].visits,
			text_plural(regions[i].visits, "pass", "passes"));
	if (n > LISTED)
		message("  and %zu more", n - LISTED);
}

/* Finds the region that the options name, or the only region. Returns CMD_DONE, or the exit status
 * after a message. */
static int cmd_fold_find(const struct cmd_fold *args, struct profile *profile,
			 const struct profile_symbol **ret_symbol)
{
	struct pass_region *regions = NULL;
	size_t n;
	int err = passes_regions(profile, args->region, &regions, &n);

	if (err) {
		message("fold: cannot read the regions: %s", strerror(-err));
		return CMD_FAILED;
	}
	if (n == 1) {
		*ret_symbol = regions[0].symbol;
	} else if (n) {
		message("fold: %zu regions %s: give one by --region", n,
			args->region ? "match" : "are in the recording");
		cmd_fold_list(regions, n);
	} else if (args->region && !passes_regions(profile, NULL, &regions, &n) && n) {
		message("fold: there is no pass through '%s'; the recording has", args->region);
		cmd_fold_list(regions, n);
		n = 0;
	} else {
		message("fold: the recording has no passes through regions: record with stackd "
			"--region FUNC or --mark PLACE, and --counter NAME to see how a counter "
			"advances in them");
		n = 0;
	}
	free(regions);
	return n == 1 ? CMD_DONE : CMD_USAGE;
}

/* --- the folding ------------------------------------------------------------------------------ */

static int cmd_fold_explain(const char *name, int err)
{
	if (err == -ENODATA)
		message("fold: no sample is within a pass through %s: record for longer, or with a "
			"higher frequency (stackd -F)",
			name);
	else if (err == -ENOTSUP)
		message("fold: the recording has no readings of CPU time: record with stackd "
			"--counter, or give --time wall");
	else
		message("fold: cannot fold the passes through %s: %s", name, strerror(-err));
	return err == -ENOTSUP ? CMD_USAGE : CMD_FAILED;
}

/* Writes the page of `stackctl web` with one folding. Returns 0 or a negative errno. */
static int cmd_fold_page(const struct cmd_fold *args, const struct input_open *open,
			 const struct folding *folding, FILE *out)
{
	struct page page;
	int err = page_begin(&args->show.input, open, args->words, &page);
	const struct one_file file = {.source = &page.source,
				      .tab = "fold",
				      .region = folding->passes.name,
				      .from_ns = page.from_ns,
				      .to_ns = page.to_ns};

	page.source.fold = fold_answer_given;
	page.source.fold_arg = folding;
	if (err == 0)
		err = one_file_write(&file, out);
	page_end(&page);
	return err;
}

/* Writes one folding. With `is_first`, text begins with the report's header. Returns 0 or a
 * negative errno. */
static int cmd_fold_write(const struct cmd_fold *args, const struct input_open *open,
			  const struct folding *folding, bool is_first, FILE *out)
{
	const struct report_options options = show_options(&args->show);
	int err = 0;

	switch (args->form) {
	case CMD_FOLD_CSV:
		return folding_write_csv(folding, out);
	case CMD_FOLD_SVG:
		return folding_write_svg(folding, out);
	case CMD_FOLD_GNUPLOT:
		return folding_write_gnuplot(folding, out);
	case CMD_FOLD_PAGE:
		return cmd_fold_page(args, open, folding, out);
	case CMD_FOLD_TEXT:
		if (is_first)
			err = report_header_text(open->profile, &options, out);
		return err ? err : folding_write_text(folding, &options, out);
	}
	return -EINVAL;
}

/* Folds passes and writes the folding. Takes the passes over. */
static int cmd_fold_passes(const struct cmd_fold *args, const struct input_open *open,
			   struct passes *passes, bool is_first, FILE *out, int *ret_error)
{
	struct folding *folding = NULL;
	/* If CPU time is the only counter, there is none whose growth could be shown. */
	const bool has_cpu_time = counter_names_cpu(passes->counters) < METRIC_COUNTERS;
	char *name = strdup(passes->name);
	int status = CMD_DONE,
	    err = name ? folding_new(open->profile, passes, &args->options, &folding) : -ENOMEM;

	if (err)
		status = cmd_fold_explain(name ? name : "", err);
	free(name);
	if (err)
		return status;
	if (!folding->n_counters && !args->is_auto && is_first)
		message("fold: the recording has no counter%s: record with stackd --counter NAME "
			"to see %s course (stackd --help)",
			has_cpu_time ? " but CPU time" : "s", has_cpu_time ? "its" : "their");
	*ret_error = cmd_fold_write(args, open, folding, is_first, out);
	folding_free(folding);
	return CMD_DONE;
}

/* --- groups ----------------------------------------------------------------------------------- */

static void cmd_fold_say_outliers(const struct passes *passes, const struct fold_modes *groups,
				  const struct store_tables *tables)
{
	unsigned said = 0;

	if (groups->n_outliers)
		message("fold: %" PRIu32 " outlier%s left out:", groups->n_outliers,
			text_plural(groups->n_outliers, " is", "s are"));
	for (size_t i = 0; i < passes->all.count && groups->n_outliers; i++) {
		const struct pass *pass = &passes->all.items[i];

		if (groups->mode_of[i] != FOLD_OUTLIER)
			continue;
		if (said++ == LISTED) {
			message("  and others");
			break;
		}
		message("  at %.6f s in thread %d: %.3f ms",
			(double)(pass->start_ns - tables->recording.start_ns) / 1e9,
			tables->threads[pass->thread].tid,
			(double)(pass->end_ns - pass->start_ns) / 1e6);
	}
}

static int cmd_fold_write_group(const struct cmd_fold *args, const struct input_open *open,
				const struct passes *passes, const struct fold_modes *groups,
				uint32_t number, bool is_first, FILE *out, int *ret_error)
{
	struct passes picked = {0};
	char *name = NULL;
	int status, err = passes_pick(passes, groups->mode_of, number, &picked);

	if (!err && asprintf(&name, "%s, group %" PRIu32 " of %" PRIu32, passes->name, number + 1,
			     groups->n) < 0) {
		name = NULL;
		err = -ENOMEM;
	}
	if (name) {
		free(picked.name);
		picked.name = name;
	}
	status = err ? cmd_fold_explain(passes->name, err)
		     : cmd_fold_passes(args, open, &picked, is_first, out, ret_error);
	passes_free(&picked);
	return status;
}

static int cmd_fold_write_groups(const struct cmd_fold *args, const struct input_open *open,
				 const struct passes *passes, const struct fold_modes *groups,
				 FILE *out, int *ret_error)
{
	const uint32_t from = args->group ? args->group - 1 : 0;
	const uint32_t to = args->group ? args->group : groups->n;
	int status = CMD_DONE;

	for (uint32_t i = from; i < to && status == CMD_DONE && !*ret_error; i++)
		status = cmd_fold_write_group(args, open, passes, groups, i, i == from, out,
					      ret_error);
	return status;
}

/* Finds the groups of passes, and checks that the group of --group exists. Returns the exit
 * status. */
static int cmd_fold_group_passes(const struct cmd_fold *args, const struct input_open *open,
				 const struct passes *passes, struct fold_modes **ret_groups)
{
	const struct store_tables *tables = profile_tables(open->profile);
	int err = folding_groups(passes, args->options.time, ret_groups);

	if (err)
		return cmd_fold_explain(passes->name, err);
	cmd_fold_say_outliers(passes, *ret_groups, tables);
	if (args->group <= (*ret_groups)->n && (*ret_groups)->n)
		return CMD_DONE;
	message("fold: there %s %" PRIu32 " group%s", text_plural((*ret_groups)->n, "is", "are"),
		(*ret_groups)->n, text_plural((*ret_groups)->n, "", "s"));
	return CMD_USAGE;
}

/* Writes passes as one folding, or as groups. Owns the passes from now on. Returns the exit
 * status. */
static int cmd_fold_show(const struct cmd_fold *args, const struct input_open *open,
			 struct passes *passes)
{
	struct fold_modes *groups = NULL;
	struct output output;
	int err = 0, status = CMD_DONE;

	if (args->is_grouped)
		status = cmd_fold_group_passes(args, open, passes, &groups);
	if (status == CMD_DONE)
		status = show_output_begin(&args->show, args->form != CMD_FOLD_TEXT, &output);
	if (status != CMD_DONE) {
		fold_modes_free(groups);
		return status;
	}
	if (groups)
		status = cmd_fold_write_groups(args, open, passes, groups, output.file, &err);
	else
		status = cmd_fold_passes(args, open, passes, true, output.file, &err);
	fold_modes_free(groups);
	if (status == CMD_DONE)
		return output_end(&output, err);
	output_drop(&output);
	return status;
}

static int cmd_fold_of_region(const struct cmd_fold *args, const struct input_open *open)
{
	const struct profile_symbol *region = NULL;
	struct passes passes = {0};
	int err, status = cmd_fold_find(args, open->profile, &region);

	if (status != CMD_DONE)
		return status;
	err = passes_make(open->profile, region, &passes);
	status = err ? cmd_fold_explain(region->name, err) : cmd_fold_show(args, open, &passes);
	passes_free(&passes);
	return status;
}

/* --- periods ---------------------------------------------------------------------------------- */

static void cmd_fold_say(const struct store_tables *tables, const struct periods *periods,
			 const struct period *p, uint64_t left_out)
{
	message("fold: thread %d %s is periodic: %.4g ms between the beginnings of %s, %" PRIu64
		" of %zu times (%.0f%% of these distances are within a quarter of it, or of twice "
		"it); left out: %" PRIu64 " of other lengths",
		tables->threads[p->thread].tid, tables->threads[p->thread].comm, p->ns / 1e6,
		p->marker ? p->marker->name : "work after pauses", p->passes, p->count - 1,
		p->regular * 100, left_out);
	for (size_t i = 1; i < periods->found.count; i++) {
		const struct period *other = &periods->found.items[i];

		if (other->thread == p->thread && other->ns > 1.5 * p->ns) {
			message("fold: a longer one is of %.4g ms, by %s", other->ns / 1e6,
				other->marker ? other->marker->name : "pauses");
			return;
		}
	}
}

static void cmd_fold_say_none(const struct periods *periods)
{
	const struct period *p = &periods->best_missed;
	const char *name = p->marker ? p->marker->name : "work after pauses";

	switch (periods->lack) {
	case PERIODS_RARE:
		message("fold: not periodic: no function begins more than %u times; a longer recording may "
			"have one",
			PERIODS_LEAST);
		break;
	case PERIODS_IRREGULAR:
		message("fold: not periodic: distances are irregular: of the %zu between the beginnings of %s, "
			"which are the most regular, %.0f%% are within a quarter of %.4g ms, or of twice "
			"that; %.0f%% are asked for",
			p->count - 1, name, p->regular * 100, p->ns / 1e6, PERIODS_REGULAR * 100);
		break;
	case PERIODS_SHORT:
		message("fold: not periodic: %s begins each %.4g ms, which is too short for the sampling rate: "
			"%.1f samples, and %.0f are asked for; a higher frequency (stackd -F) may do",
			name, p->ns / 1e6, p->ns / periods->sample_ns, PERIODS_SAMPLES);
		break;
	case PERIODS_FEW:
		message("fold: not periodic: %s begins each %.4g ms, but in %" PRIu64
			" case%s alone; %u are asked for: a longer recording may do",
			name, p->ns / 1e6, p->passes, text_plural(p->passes, "", "s"),
			PERIODS_LEAST);
		break;
	case PERIODS_ELSEWHERE:
		message("fold: not periodic: %s begins each %.4g ms, but that is %.0f%% of the thread's time; "
			"%.0f%% are asked for",
			name, p->ns / 1e6, p->covered * 100, PERIODS_COVERED * 100);
		break;
	}
}

static void cmd_fold_say_pauses(const struct period *p)
{
	if (p->count)
		message("fold: not known to be periodic: work goes on after pauses each %.4g ms, which may be "
			"the program's own, or the scheduler's time slices: stackd --wait tells which",
			p->ns / 1e6);
}

static int cmd_fold_auto(const struct cmd_fold *args, const struct input_open *open)
{
	struct periods periods;
	struct passes passes = {0};
	uint64_t left_out;
	int status = CMD_FAILED, err = periods_find(open->profile, &periods);

	if (!err && !periods.found.count) {
		if (!periods.uncertain.count || periods.lack != PERIODS_RARE)
			cmd_fold_say_none(&periods);
		cmd_fold_say_pauses(&periods.uncertain);
		periods_free(&periods);
		return CMD_FAILED;
	}
	if (!err)
		err = periods_passes(&periods, &periods.found.items[0], open->profile, &passes,
				     &left_out);
	if (err) {
		message("fold: cannot look for a period: %s", strerror(-err));
	} else {
		cmd_fold_say(profile_tables(open->profile), &periods, &periods.found.items[0],
			     left_out);
		status = cmd_fold_show(args, open, &passes);
	}
	passes_free(&passes);
	periods_free(&periods);
	return status;
}

/* --- bursts ----------------------------------------------------------------------------------- */

#define LIST_PERCENT 0.5 /* kinds below this share are summed up in the list */

static int cmd_fold_list_kinds(const struct cmd_fold *args, const struct input_open *open,
			       const struct burst_rows *rows)
{
	struct report_options options = show_options(&args->show);
	struct output output;
	int err, status;

	if (args->form != CMD_FOLD_TEXT && !args->is_json) {
		message("fold: a file has one kind: give --burst=1, the largest, or another one");
		return CMD_USAGE;
	}
	status = show_output_begin(&args->show, args->is_json, &output);
	if (status != CMD_DONE)
		return status;
	options.percent_limit = args->percent_limit >= 0 ? args->percent_limit : LIST_PERCENT;
	err = args->is_json ? burst_view_json(open->profile, rows, output.file)
			    : burst_view_text(open->profile, rows, &options, output.file);
	return output_end(&output, err);
}

static int cmd_fold_kind(const struct cmd_fold *args, const struct input_open *open,
			 const struct burst_rows *rows)
{
	struct passes passes = {0};
	char *name;
	int err, status;

	if (args->kind > rows->kinds->n) {
		message("fold: there is no kind %" PRIu32 ": there %s %" PRIu32 " kind%s",
			args->kind, text_plural(rows->kinds->n, "is", "are"), rows->kinds->n,
			text_plural(rows->kinds->n, "", "s"));
		return CMD_USAGE;
	}
	name = burst_rows_name(open->profile, rows, args->kind - 1);
	err = name ? bursts_passes(open->profile, &rows->bursts, rows->kinds->kind_of,
				   args->kind - 1, name, &passes)
		   : -ENOMEM;
	status = err ? cmd_fold_explain(name ? name : "bursts", err)
		     : cmd_fold_show(args, open, &passes);
	passes_free(&passes);
	free(name);
	return status;
}

/* Returns whether a filter selects MPI calls by their call paths. */
static bool is_of_paths(const struct profile_filter *filter)
{
	return filter->focus.n || filter->ignore.n || filter->symbols.n || filter->dsos.n;
}

static int cmd_fold_bursts(const struct cmd_fold *args, const struct input_open *open)
{
	struct burst_rows rows;
	int status = CMD_FAILED, err;

	err = burst_rows_make(open->profile, args->has_by ? args->by : PARTITION_BY_ALL, &rows);
	if (err == -ENODATA && !rows.bursts.n_calls) {
		message("fold: the recording has no calls of MPI, so no bursts between them: record "
			"with stackd --mpi=probes");
		status = CMD_USAGE;
	} else if (err == -ENODATA) {
		message("fold: no thread that is chosen has a burst between two calls of MPI%s",
			is_of_paths(profile_filter(open->profile))
				? ": --focus, --ignore, --symbol and --dso must choose both calls, by "
				  "their paths"
				: "");
		status = CMD_NO_SAMPLES;
	} else if (err) {
		message("fold: cannot find the bursts: %s", strerror(-err));
	} else {
		status = args->kind ? cmd_fold_kind(args, open, &rows)
				    : cmd_fold_list_kinds(args, open, &rows);
	}
	burst_rows_free(&rows);
	return status;
}

static int cmd_fold_run(void *arg, const struct input_open *open)
{
	const struct cmd_fold *args = arg;

	if (args->is_burst)
		return cmd_fold_bursts(args, open);
	return args->is_auto ? cmd_fold_auto(args, open) : cmd_fold_of_region(args, open);
}

/* Checks whether the options can be combined. Returns CMD_DONE, or CMD_USAGE after a message. */
static int cmd_fold_check(const struct cmd_fold *args)
{
	const bool is_list = args->is_burst && !args->kind;
	const char *wrong = NULL;

	if (args->is_auto + args->is_burst + (args->region != NULL) > 1)
		wrong = "--auto, --burst and --region exclude each other";
	else if ((args->has_by || args->is_json || args->percent_limit >= 0) && !is_list)
		wrong = "--by, --json (or a file that ends in .json) and --percent-limit are for "
			"the list of kinds: --burst";
	else if ((args->is_grouped || args->has_time || args->has_seed) && is_list)
		wrong = "--group, --time and --seed are for the bursts of one kind: --burst=1, the "
			"largest, or another one";
	else if (args->is_grouped && !args->group && args->form != CMD_FOLD_TEXT)
		wrong = "a file has one group: give --group=1, the largest, or another one";
	if (wrong)
		message("fold: %s", wrong);
	return wrong ? CMD_USAGE : CMD_DONE;
}

int cmd_fold(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&input_argp, 0, NULL, 0}, {&terminal_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_fold_options,
		.parser = parse,
		.doc = "Shows what happens within one pass through a region, from the few samples "
		       "of each of many passes: the course of counters, its phases, and which "
		       "routines run when."
		       "\vExamples:\n\n"
		       "  stackd --region step --counter page-faults --counter var:cells -- ./model\n"
		       "  stackctl fold --region step\n"
		       "  stackctl fold --region step -o step.html\n"
		       "  stackctl fold --auto\n"
		       "  stackctl fold --burst --by rank\n\n"
		       "All samples are put on one axis, from the beginning of a pass to its end. "
		       "Bands have 95 % confidence; they come from resampling passes.\n",
		.children = children,
	};
	struct cmd_fold args = {.words = argv, .options.seed = 1, .percent_limit = -1};
	int status;

	options_parse(&argp, argc, argv, &args);
	status = cmd_fold_check(&args);
	if (status != CMD_DONE)
		return status;
	args.show.input.takes_series = args.is_burst ? 1u << SERIES_REGION_TIME : 0;
	status = input_only_samples(&args.show.input, "fold");
	return status == CMD_DONE ? show_run(&args.show, cmd_fold_run, &args) : status;
}
