/* SPDX-License-Identifier: MIT */
/*
 * The report as text: the header, then for each process, largest first, a heading and a view.
 *
 * One call tree serves all processes in turn: it is cleared, not made again. The tree view prints
 * it, the flat view sums it up by function, the callers view inverts it.
 */
#include <errno.h>
#include <inttypes.h>

#include "report/calltree.h"
#include "report/flat.h"
#include "report/groups.h"
#include "report/report.h"
#include "report/report_header.h"
#include "report/treeview.h"

#define REPORT_CALLER_LEVELS 512
#define REPORT_CALLER_NODES  (2u << 20)

struct report {
	struct profile *profile;
	const struct report_options *options;
	FILE *out;
	struct buf row;
	struct calltree *tree, *callers;
	uint64_t whole; /* samples of the process at hand */
};

static int report_line(struct report *report)
{
	return treeview_row(&report->row, report->options, false, report->out);
}

static int report_heading(struct report *report, uint32_t number)
{
	const struct store_process *process = &profile_tables(report->profile)->processes[number];
	uint64_t all = profile_totals(report->profile)->samples;
	char share[TEXT_SHARE_MAX];
	int r = fputs("\n", report->out) < 0 ? -EIO : 0;

	text_printf(&report->row, "# process %d ", process->pid);
	treeview_name(&report->row, process->comm ? process->comm : "?", report->options);
	if (process->exe && *process->exe) {
		text_put_raw(&report->row, " (");
		treeview_name(&report->row, process->exe, report->options);
		text_put_raw(&report->row, ")");
	}
	text_printf(&report->row, ": %" PRIu64 " samples, %s%% of all", report->whole,
		    text_share(report->whole, all, share));
	if (r == 0)
		r = report_line(report);
	return r;
}

static int report_tree(struct report *report)
{
	struct treeview_options options = {report->options, report->whole, false};

	text_put_raw(&report->row, "#  total    self  call path from the root down, "
				   "in % of this process's samples");
	if (report_line(report) < 0)
		return -EIO;
	return treeview_write(report->tree, &options, report->out);
}

static int report_flat_row(struct report *report, const struct flat_row *row)
{
	const struct profile_symbol *symbol = profile_symbol_at(report->profile, row->symbol);
	char share[TEXT_SHARE_MAX];

	text_printf(&report->row, "  %5s%%  ", text_share(row->self, report->whole, share));
	text_printf(&report->row, "%5s%%  ", text_share(row->total, report->whole, share));
	text_printf(&report->row, "%8" PRIu64 "  ", row->self);
	treeview_name(&report->row, symbol->name, report->options);
	if (!symbol->is_mark)
		treeview_object(&report->row, symbol->object, report->options);
	return treeview_row(&report->row, report->options, row->self * 20 >= report->whole,
			    report->out);
}

static int report_flat_rows(struct report *report, const struct flat *flat)
{
	uint64_t hidden_self = 0;
	uint32_t n_hidden = 0;
	char share[TEXT_SHARE_MAX];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < flat->n; i++) {
		if (treeview_is_small(flat->rows[i].total, report->whole, report->options)) {
			n_hidden++;
			hidden_self += flat->rows[i].self;
		} else {
			r = report_flat_row(report, &flat->rows[i]);
		}
	}
	if (r == 0 && n_hidden) {
		text_printf(&report->row, "  %5s%%          %8" PRIu64 "  (%u more, %s%%)",
			    text_share(hidden_self, report->whole, share), hidden_self, n_hidden,
			    share);
		r = report_line(report);
	}
	return r;
}

static int report_flat(struct report *report)
{
	struct flat flat = {0};
	int r;

	text_put_raw(&report->row, "#   self   total      self  function; "
				   "% of this process's samples, and samples");
	r = report_line(report);
	if (r == 0)
		r = flat_make(report->profile, report->tree, &flat);
	if (r < 0)
		return r;
	r = report_flat_rows(report, &flat);
	flat_free(&flat);
	return r;
}

static int report_callers(struct report *report)
{
	struct treeview_options options = {report->options, report->whole, true};
	struct calltree_limits limits = {report->options->percent_limit, REPORT_CALLER_LEVELS,
					 REPORT_CALLER_NODES};
	bool is_cut;
	int r;

	text_put_raw(&report->row,
		     "#   self  functions by self, with those that called them below, "
		     "in % of this process's samples");
	r = report_line(report);
	calltree_clear(report->callers);
	if (r == 0)
		r = calltree_invert(report->tree, &limits, report->callers, &is_cut);
	if (r == 0)
		r = treeview_write(report->callers, &options, report->out);
	if (r == 0 && is_cut) {
		text_printf(&report->row, "# callers beyond %d levels or %u rows are not shown",
			    REPORT_CALLER_LEVELS, REPORT_CALLER_NODES);
		r = report_line(report);
	}
	return r;
}

static int report_process(struct report *report, const struct groups *groups, uint32_t number)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(report->profile, &n);
	int r;

	report->whole = groups->samples[number];
	r = report_heading(report, number);
	calltree_clear(report->tree);
	for (uint32_t i = groups->first[number]; r == 0 && i < groups->first[number + 1]; i++) {
		const struct profile_entry *e = &entries[groups->order[i]];

		r = calltree_add(report->tree, e);
	}
	if (r < 0)
		return r;
	calltree_sum(report->tree);
	switch (report->options->view) {
	case REPORT_FLAT:
		return report_flat(report);
	case REPORT_CALLERS:
		return report_callers(report);
	case REPORT_TREE:
		break;
	}
	return report_tree(report);
}

static int report_processes(struct report *report, const struct groups *groups)
{
	uint64_t hidden = 0, all = profile_totals(report->profile)->samples;
	char share[TEXT_SHARE_MAX];
	uint32_t i = 0;
	int r = 0;

	for (; r == 0 && i < groups->n_ranking; i++) {
		if (treeview_is_small(groups->samples[groups->ranking[i]], all, report->options))
			break;
		r = report_process(report, groups, groups->ranking[i]);
	}
	if (r < 0 || i == groups->n_ranking)
		return r;
	for (uint32_t at = i; at < groups->n_ranking; at++)
		hidden += groups->samples[groups->ranking[at]];
	text_printf(&report->row, "\n# %u more processes: %" PRIu64 " samples, %s%% of all",
		    groups->n_ranking - i, hidden, text_share(hidden, all, share));
	return report_line(report);
}

int report_write_text(struct profile *profile, const struct report_options *options, FILE *out)
{
	struct report report = {.profile = profile, .options = options, .out = out};
	struct groups groups = {0};
	int r;

	r = report_header_text(profile, options, out);
	if (r == 0)
		r = groups_by_process(profile, &groups);
	if (r == 0)
		r = calltree_new(profile, CALLTREE_BY_SYMBOL, &report.tree);
	if (r == 0)
		r = calltree_new(profile, CALLTREE_BY_SYMBOL, &report.callers);
	if (r == 0)
		r = report_processes(&report, &groups);
	if (r == 0 && fflush(out) != 0)
		r = -EIO;
	groups_free(&groups);
	calltree_free(report.tree);
	calltree_free(report.callers);
	buf_free(&report.row);
	return r;
}
