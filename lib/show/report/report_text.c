/* SPDX-License-Identifier: MIT */
/*
 * The report as text: the header, then for each part, largest first, a heading and a view.
 *
 * One call tree serves all parts in turn: it is cleared, not made again. The tree view prints it,
 * the flat view sums it up by function, and the views of callers and around a function make other
 * trees from it.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/pipeline.h"
#include "base/text.h"
#include "tree/calltree.h"
#include "tree/flat.h"
#include "tree/histogram.h"
#include "tree/partition.h"
#include "model/pattern.h"
#include "report/report.h"
#include "report/region_view.h"
#include "report/hints.h"
#include "report/report_header.h"
#include "report/report_view.h"
#include "report/treeview.h"
#include "report/wait_view.h"
#include "report/waker_view.h"

#define REPORT_BAR 30 /* columns of the longest bar of a histogram */

struct report {
	struct report_view_state view;
	const struct report_options *options;
	FILE *out;
	struct buf row;
	const char *whole_name;
	char columns[256];	    /* the heading that was written last */
	struct histogram histogram; /* for REPORT_TIME */
};

static int report_line(struct report *report)
{
	return treeview_row(&report->row, report->options, false, report->out);
}

/* Returns the name of what 100 % is: "all", or "all chosen" if the filter left something out. */
static const char *report_all(const struct report *report)
{
	return profile_is_filtered(report->view.profile) ? "all chosen" : "all";
}

/* Formats an amount of the profile's metric. */
static const char *report_amount(const struct report *report, uint64_t value,
				 char ret_text[static METRIC_AMOUNT_MAX])
{
	return metric_amount(profile_filter(report->view.profile)->metric, value, ret_text);
}

/* Formats a value without its noun, where the noun is clear. */
static const char *report_number(const struct report *report, uint64_t value,
				 char ret_text[static METRIC_AMOUNT_MAX])
{
	return metric_number(profile_filter(report->view.profile)->metric, value, ret_text);
}

/* Returns the heading of a column of amounts. */
static const char *report_noun(const struct report *report)
{
	enum metric metric = profile_filter(report->view.profile)->metric;

	return metric_info(metric)->is_count || metric == METRIC_CPU ? metric_info(metric)->records
								     : metric_info(metric)->name;
}

static int heading(struct report *report, uint32_t part)
{
	char amount[METRIC_AMOUNT_MAX];
	uint64_t all = profile_total(report->view.profile);
	char share[TEXT_SHARE_MAX];

	if (fputs("\n", report->out) < 0)
		return -EIO;
	text_put_raw(&report->row, "# ");
	partition_put_name(&report->view.partition, part, report->options->utf8, &report->row);
	text_printf(&report->row, ": %s, %s%% of %s",
		    report_amount(report, report->view.whole, amount),
		    text_share(report->view.whole, all, share), report_all(report));
	return report_line(report);
}

/* Writes the headings of the columns, and what 100 % means. On a terminal, parts with the same
 * heading have it once. */
static int report_columns(struct report *report, const char *before, const char *after)
{
	char columns[sizeof(report->columns)];

	snprintf(columns, sizeof(columns), "%s%s%s", before, report->whole_name, after);
	if (report->options->is_brief && !strcmp(columns, report->columns))
		return 0;
	memcpy(report->columns, columns, sizeof(columns));
	text_put_raw(&report->row, columns);
	return report_line(report);
}

/* Writes a line that explains the column of ranks. */
static int report_imbalance(struct report *report)
{
	const struct imbalance *imbalance = &report->view.imbalance;

	if (!imbalance->nodes)
		return 0;
	text_printf(&report->row,
		    "# %" PRIu32 " rank%s: the most of one over their mean, and which one that is",
		    imbalance->ranks, text_plural(imbalance->ranks, "", "s"));
	return report_line(report);
}

static int report_tree(struct report *report)
{
	bool with_sources = report->options->with_sources;
	bool with_imbalance = report->view.imbalance.nodes;
	struct treeview_options options = {.report = report->options,
					   .whole = report->view.whole,
					   .sources = with_sources ? &report->view.sources : NULL,
					   .imbalance =
						   with_imbalance ? &report->view.imbalance : NULL};
	char before[128];
	int err = report_imbalance(report);

	if (err == 0 && with_sources) {
		frame_sources_put_sum(&report->view.sources.all, &report->row);
		err = report_line(report);
	}
	snprintf(before, sizeof(before),
		 "#  total    self  %s%scall path from the root down, in %% of ",
		 with_imbalance ? "max/mean  rank  " : "", with_sources ? "from, in %      " : "");
	if (err == 0)
		err = report_columns(report, before, "");
	return err < 0 ? err : treeview_write(report->view.tree, &options, report->out);
}

static int report_flat_row(struct report *report, const struct flat_row *row)
{
	const struct profile_symbol *symbol = profile_symbol_at(report->view.profile, row->symbol);
	uint64_t whole = report->view.whole;
	char amount[METRIC_AMOUNT_MAX];

	treeview_share(&report->row, row->self, whole);
	treeview_share(&report->row, row->total, whole);
	text_printf(&report->row, "  %8s  ", report_number(report, row->self, amount));
	treeview_function(&report->row, symbol->name, symbol->kind, report->options);
	if (!symbol->is_mark)
		treeview_object(&report->row, symbol->object, report->options);
	return treeview_row(&report->row, report->options, row->self * 20 >= whole, report->out);
}

static int flat_rows(struct report *report, const struct flat *flat)
{
	uint64_t hidden_self = 0, whole = report->view.whole;
	uint32_t n_hidden = 0;
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < flat->n; i++) {
		if (treeview_is_small(flat->rows[i].total, whole, report->options)) {
			n_hidden++;
			hidden_self += flat->rows[i].self;
		} else {
			err = report_flat_row(report, &flat->rows[i]);
		}
	}
	if (err == 0 && n_hidden) {
		text_printf(&report->row, "  %5s%%          %8s  (%u more, %s%%)",
			    text_share(hidden_self, whole, share),
			    report_number(report, hidden_self, amount), n_hidden, share);
		err = report_line(report);
	}
	return err;
}

static int report_flat(struct report *report)
{
	struct flat flat = {0};
	char after[64];
	int err;

	snprintf(after, sizeof(after), ", and %s", report_noun(report));
	err = report_columns(report, "#   self   total      self  function; % of ", after);
	if (err == 0)
		err = flat_make(report->view.profile, report->view.tree, &flat);
	if (err < 0)
		return err;
	err = flat_rows(report, &flat);
	flat_free(&flat);
	return err;
}

static int report_cut(struct report *report, bool is_cut)
{
	if (!is_cut)
		return 0;
	text_printf(&report->row, "# callers beyond %d levels or %u rows are not shown",
		    REPORT_VIEW_LEVELS, REPORT_VIEW_NODES);
	return report_line(report);
}

static int report_callers(struct report *report)
{
	struct treeview_options options = {
		.report = report->options, .whole = report->view.whole, .is_callers = true};
	bool is_cut;
	int err = report_columns(report,
				 "#   self  functions by self, with those that called them below, "
				 "in % of ",
				 "");

	if (err == 0)
		err = report_view_callers(&report->view, report->options->percent_limit, &is_cut);
	if (err == 0)
		err = treeview_write(report->view.callers, &options, report->out);
	return err < 0 ? err : report_cut(report, is_cut);
}

/* Writes how many of the part's samples have the function in their path, and how many hit the
 * function itself. */
static int around_sum(struct report *report, const struct report_view_around *around)
{
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];

	text_put_raw(&report->row, "# ");
	text_put_name(&report->row, report->options->around, report->options->utf8);
	text_printf(&report->row, ": %s with what it calls, %s%% of ",
		    report_amount(report, around->total, amount),
		    text_share(around->total, report->view.whole, share));
	text_put_raw(&report->row, report->whole_name);
	text_printf(&report->row, "; %s in the function itself, %s%%",
		    report_number(report, around->self, amount),
		    text_share(around->self, report->view.whole, share));
	return report_line(report);
}

static int around_tree(struct report *report, const struct calltree *tree, uint64_t total,
		       bool is_callers)
{
	struct treeview_options options = {
		.report = report->options, .whole = total, .is_callers = is_callers};
	char amount[METRIC_AMOUNT_MAX];

	text_printf(&report->row,
		    is_callers ? "#  total  called by, in %% of these %s"
			       : "#  total    self  calls, in %% of these %s",
		    report_amount(report, total, amount));
	return report_line(report) < 0 ? -EIO : treeview_write(tree, &options, report->out);
}

static int report_around(struct report *report)
{
	struct report_view_around around;
	int err = report_view_around(&report->view, report->options, &around);

	if (err == 0)
		err = around_sum(report, &around);
	if (err < 0 || !around.total)
		return err;
	err = around_tree(report, report->view.callers, around.total, true);
	if (err == 0)
		err = report_cut(report, around.is_cut);
	if (err == 0)
		err = around_tree(report, report->view.callees, around.total, false);
	return err;
}

/* Appends a bar whose length is `part` of `whole`. It is visible unless `part` is 0. */
static void report_bar(struct report *report, uint64_t part, uint64_t whole)
{
	uint64_t n = whole ? (part * REPORT_BAR + whole - 1) / whole : 0;

	for (uint64_t i = 0; i < REPORT_BAR; i++)
		text_put_raw(&report->row, i >= n ? " " : report->options->utf8 ? "█" : "#");
}

static int time_row(struct report *report, const struct histogram *h, uint32_t i,
		    const struct histogram_bin *bin, uint64_t most)
{
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];

	text_printf(&report->row, "%10.3f  %8s", (double)(h->from_ns + i * h->step_ns) / 1e9,
		    report_number(report, bin->samples, amount));
	treeview_share(&report->row, bin->samples, report->view.whole);
	text_put_raw(&report->row, "  ");
	report_bar(report, bin->samples, most);
	if (bin->samples) {
		const struct profile_symbol *symbol =
			profile_symbol_at(report->view.profile, bin->symbol);

		text_printf(&report->row, "  %s%% ",
			    text_share(bin->symbol_samples, bin->samples, share));
		treeview_function(&report->row, symbol->name, symbol->kind, report->options);
	}
	return treeview_row(&report->row, report->options, bin->samples == most, report->out);
}

static int report_time(struct report *report, const struct histogram *h, uint32_t part)
{
	const struct histogram_bin *bins = &h->bins[(size_t)part * h->n_bins];
	uint64_t most = 0;
	int err;

	for (uint32_t i = 0; i < h->n_bins; i++)
		most = bins[i].samples > most ? bins[i].samples : most;
	text_printf(&report->row,
		    "#     from  %8s  in %% of %s; the function hit most, in %% "
		    "of its row; steps of %.3f s",
		    report_noun(report), report->whole_name, (double)h->step_ns / 1e9);
	err = report_line(report);
	for (uint32_t i = 0; err == 0 && i < h->n_bins; i++)
		err = time_row(report, h, i, &bins[i], most);
	return err;
}

static int report_part(struct report *report, uint32_t part, const struct subtree *subtree)
{
	int err = report_view_begin(&report->view, part, report->options->view != REPORT_TIME,
				    subtree);

	if (err < 0 || !report_view_has(&report->view, report->options))
		return err;
	err = heading(report, part);
	if (err < 0)
		return err;
	switch (report->options->view) {
	case REPORT_FLAT:
		return report_flat(report);
	case REPORT_CALLERS:
		return report_callers(report);
	case REPORT_AROUND:
		return report_around(report);
	case REPORT_REGIONS: /* These views have writers of their own. */
	case REPORT_WAKERS:
	case REPORT_WAITS:
		break;
	case REPORT_TIME:
		return report_time(report, &report->histogram, part);
	case REPORT_TREE:
		break;
	}
	return report_tree(report);
}

/* Shows parts in one thread while another thread makes the subtrees of the next parts. */
struct report_relay {
	struct report *report;
	struct subtree_maker *maker;
	pthread_mutex_t lock; /* held while the maker is used */
	struct subtree subtrees[PIPELINE_SLOTS];
};

static int report_make(void *arg, size_t job, unsigned slot)
{
	struct report_relay *relay = arg;
	struct report_view_state *view = &relay->report->view;
	struct subtree_entries of = report_view_entries(view, view->partition.groups.ranking[job]);
	int err;

	pthread_mutex_lock(&relay->lock);
	err = subtree_make(relay->maker, &of, &relay->subtrees[slot]);
	pthread_mutex_unlock(&relay->lock);
	return err;
}

static int report_take(void *arg, size_t job, unsigned slot)
{
	struct report_relay *relay = arg;

	return report_part(relay->report, relay->report->view.partition.groups.ranking[job],
			   &relay->subtrees[slot]);
}

static int large_parts(struct report *report, uint32_t n)
{
	struct report_relay relay = {.report = report, .lock = PTHREAD_MUTEX_INITIALIZER};
	const struct pipeline_work work = {
		.n = n, .make = report_make, .take = report_take, .arg = &relay};
	int err = subtree_maker_new(report->view.profile, &relay.maker);

	if (err == 0)
		err = pipeline_run(&work);
	subtree_maker_free(relay.maker);
	for (unsigned i = 0; i < PIPELINE_SLOTS; i++)
		subtree_free(&relay.subtrees[i]);
	pthread_mutex_destroy(&relay.lock);
	return err;
}

static int parts(struct report *report)
{
	const struct groups *groups = &report->view.partition.groups;
	uint64_t hidden = 0, all = profile_total(report->view.profile);
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];
	uint32_t i = 0;
	int err = 0;

	while (i < groups->n_ranking &&
	       !treeview_is_small(groups->samples[groups->ranking[i]], all, report->options))
		i++;
	if (report_view_is_large(&report->view))
		err = large_parts(report, i);
	for (uint32_t at = 0; !report_view_is_large(&report->view) && err == 0 && at < i; at++)
		err = report_part(report, groups->ranking[at], NULL);
	if (err < 0 || i == groups->n_ranking)
		return err;
	for (uint32_t at = i; at < groups->n_ranking; at++)
		hidden += groups->samples[groups->ranking[at]];
	text_printf(&report->row, "\n# %u more %s: %s, %s%% of %s", groups->n_ranking - i,
		    partition_plural(&report->view.partition),
		    report_amount(report, hidden, amount), text_share(hidden, all, share),
		    report_all(report));
	return report_line(report);
}

static int hints(struct report *report)
{
	int err = hints_put(report->view.profile, &report->row);

	if (report->row.failed)
		err = -ENOMEM;
	if (!err && report->row.len &&
	    fwrite(report->row.data, 1, report->row.len, report->out) != report->row.len)
		err = -EIO;
	buf_clear(&report->row);
	return err;
}

int report_write_text(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report report = {.options = options, .out = out};
	int err;

	if (options->view == REPORT_REGIONS)
		return region_view_text(profile, options, out);
	if (options->view == REPORT_WAKERS)
		return waker_view_text(profile, options, out);
	if (options->view == REPORT_WAITS)
		return wait_view_text(profile, options, out);
	err = report_view_new(profile, options, &report.view);

	if (options->view == REPORT_TREE)
		report.view.percent = options->percent_limit;
	report.whole_name = profile_filter(profile)->metric == METRIC_CPU
				    ? partition_whole(&report.view.partition)
				    : metric_info(profile_filter(profile)->metric)->name;
	if (err == 0 && options->view == REPORT_TIME)
		err = histogram_make(&report.view.partition, options->n_bins, &report.histogram);
	if (err == 0)
		err = report_header_text(profile, options, out);
	if (err == 0)
		err = hints(&report);
	if (err == 0)
		err = parts(&report);
	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	histogram_free(&report.histogram);
	report_view_free(&report.view);
	buf_free(&report.row);
	return err;
}

int report_write_csv(struct profile *profile, const struct report_options *options, FILE *out)
{
	return wait_view_csv(profile, options, out);
}
