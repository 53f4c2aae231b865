/* SPDX-License-Identifier: MIT */
/* Draws the screen of stackctl top; see top_screen.h. Each line is first made as text, escaped and
 * cut to the width, because names come from programs that we do not control. */
#include "top_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_header.h"
#include "base/text.h"

#define TOP_HEAD 5 /* lines above the rows */
#define TOP_FOOT 1
/* columns; narrower screens show only the share by which the rows are sorted */
#define TOP_NARROW     40
#define TOP_WIDE       72 /* columns; narrower screens show no waits and processes */
#define TOP_INDENT_MAX 30 /* columns; deeper rows show their depth as a number */

static bool screen_utf8;

int top_screen_begin(void)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);

	if (!screen)
		return -ENOTTY;
	set_term(screen);
	screen_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return 0;
}

void top_screen_end(void)
{
	endwin();
}

uint32_t top_screen_rows(void)
{
	int lines = getmaxy(stdscr) - TOP_HEAD - TOP_FOOT;

	return lines > 1 ? (uint32_t)lines : 1;
}

int top_screen_key(int timeout_ms)
{
	int key;

	timeout(timeout_ms);
	key = getch();
	return key == ERR ? -1 : key;
}

/* Draws a line and empties the buffer. A line that ends in the screen's last corner is drawn
 * although addnstr() then fails, because the screen does not scroll. */
static void screen_line(int y, struct buf *b, int attributes)
{
	int width = getmaxx(stdscr);

	if (y < getmaxy(stdscr) && width > 0) {
		text_cut(b, (unsigned)width);
		attrset(attributes);
		if (attributes & A_REVERSE)
			mvhline(y, 0, ' ' | A_REVERSE, width);
		move(y, 0);
		if (b->len)
			addnstr((const char *)b->data, (int)b->len);
		attrset(A_NORMAL);
	}
	buf_clear(b);
}

static void screen_name(struct buf *b, const char *name)
{
	if (screen_utf8)
		text_put(b, name, NULL);
	else
		text_put_ascii(b, name);
}

static void screen_recording(const struct top_state *state, const struct profile *profile,
			     struct buf *b)
{
	const struct store_recording *rec = &profile_tables(profile)->recording;
	uint64_t span = rec->end_ns > rec->start_ns ? rec->end_ns - rec->start_ns : 0;

	if (state->is_fleet) {
		text_printf(b, "%u window%s of ", profile_tables(profile)->n_recordings,
			    text_plural(profile_tables(profile)->n_recordings, "", "s"));
		screen_name(b, rec->host);
		text_put_raw(b, ": ");
	} else {
		text_printf(b, "recording %" PRId64 " ", rec->id);
		text_put_raw(b, rec->finished ? "(ended)" : "(running)");
		text_printf(b, ", %.0f s: ", (double)span / 1e9);
	}
	screen_name(b, rec->target);
	text_put_raw(b, ", ");
	report_header_event(rec, b);
}

static void screen_counts(const struct top_state *state, const struct profile *profile,
			  struct buf *b)
{
	const struct profile_totals *totals = profile_totals(profile);
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];

	text_put_raw(
		b, metric_amount(profile_filter(profile)->metric, profile_total(profile), amount));
	if (state->window > 0)
		text_printf(b, " in the last %g s", state->window);
	text_printf(b, ", %s%% complete", text_share(totals->complete, totals->samples, share));
	text_printf(b, ", %" PRIu64 " lost", profile_tables(profile)->recording.lost);
	if (state->pid) {
		if (state->is_fleet)
			text_put_raw(b, "; host ");
		else
			text_printf(b, "; process %d ", state->pid);
		screen_name(b, state->pid_name);
	}
}

/* Returns whether a narrow screen shows the share of self, instead of the share of total. */
static bool screen_shows_self(const struct top_state *state)
{
	return state->view == TOP_FUNCTIONS && state->sort == TOP_BY_SELF;
}

/* Returns whether rows have a column of waits, or of processes: a tree has no room for them. */
static bool screen_shows_waits(const struct top_state *state)
{
	return state->has_waits && state->view != TOP_PATHS && state->view != TOP_CALLERS &&
	       getmaxx(stdscr) >= TOP_WIDE;
}

static bool screen_shows_process(const struct top_state *state)
{
	return state->view == TOP_FUNCTIONS && !state->pid && !state->is_fleet &&
	       getmaxx(stdscr) >= TOP_WIDE;
}

static bool screen_is_of_groups(const struct top_state *state)
{
	return state->view == TOP_PROCESSES || state->view == TOP_UNITS ||
	       state->view == TOP_CONTAINERS;
}

/* Writes the heading of the columns. */
static void screen_columns(const struct top_state *state, struct buf *b)
{
	static const char *const sorts[] = {"self", "total", "waits", "name"};

	if (state->view == TOP_CALLERS) {
		text_put_raw(b, "  share  function, below it what calls it, in % of these samples");
		return;
	}
	text_put_raw(b, screen_is_of_groups(state) ? "  share" : "  total    self");
	if (screen_shows_waits(state))
		text_put_raw(b, "       waits");
	if (screen_shows_process(state))
		text_put_raw(b, "  process        ");
	text_put_raw(b, "  % of these samples");
	if (state->view != TOP_PATHS)
		text_printf(b, ", by %s%s", sorts[state->sort],
			    state->is_reversed ? ", reversed" : "");
}

static void screen_head(const struct top_state *state, const struct profile *profile)
{
	static const char *const views[] = {"functions", "paths", "callers",
					    "processes", "units", "containers"};
	struct buf b = {0};

	if (profile)
		screen_recording(state, profile, &b);
	else
		text_put_raw(&b, "no recording yet");
	screen_line(0, &b, A_BOLD);
	if (profile)
		screen_counts(state, profile, &b);
	screen_line(1, &b, A_NORMAL);
	for (int i = 0; i < TOP_VIEWS; i++)
		text_printf(&b, "%s%d %s%s", (int)state->view == i ? "[" : " ", i + 1,
			    state->is_fleet && i == TOP_PROCESSES ? "hosts" : views[i],
			    (int)state->view == i ? "]" : " ");
	text_put_raw(&b, state->is_paused ? " PAUSED" : "");
	screen_line(2, &b, A_NORMAL);
	if (state->error[0])
		text_put(&b, state->error, NULL);
	screen_line(3, &b, A_BOLD);
	screen_columns(state, &b);
	screen_line(4, &b, A_UNDERLINE);
	buf_free(&b);
}

static void screen_indent(const struct top_row *row, struct buf *b)
{
	unsigned columns = row->level > TOP_INDENT_MAX ? TOP_INDENT_MAX : row->level;

	text_printf(b, "%*s", (int)columns, "");
	if (row->level > TOP_INDENT_MAX)
		text_printf(b, "[%u] ", row->level);
}

static void screen_row(const struct top_state *state, const struct top_row *row, uint64_t all,
		       struct buf *b)
{
	char share[TEXT_SHARE_MAX], amount[METRIC_AMOUNT_MAX];
	bool is_tree = state->view == TOP_PATHS || state->view == TOP_CALLERS;

	bool is_narrow = getmaxx(stdscr) < TOP_NARROW;
	uint64_t first = is_narrow && screen_shows_self(state) ? row->self : row->total;

	text_printf(b, " %5s%%", text_share(first, all, share));
	if (state->view != TOP_CALLERS && !screen_is_of_groups(state) && !is_narrow)
		text_printf(b, "  %5s%%", text_share(row->self, all, share));
	if (screen_shows_waits(state))
		text_printf(b, "  %10s",
			    row->wait ? metric_number(METRIC_WAIT, row->wait, amount) : "-");
	if (screen_shows_process(state)) {
		const size_t from = b->len;

		text_put_raw(b, "  ");
		screen_name(b, row->process ? row->process : "");
		for (size_t n = b->len - from; n < 17; n++)
			text_put_raw(b, " ");
	}
	text_put_raw(b, "  ");
	if (is_tree) {
		screen_indent(row, b);
		text_put_raw(b, !row->has_more ? "  " : row->is_open ? "- " : "+ ");
	}
	if (state->view == TOP_PROCESSES && !state->is_fleet)
		text_printf(b, "%7d ", row->pid);
	screen_name(b, row->name);
	if (row->is_inlined)
		text_put_raw(b, " (inlined)");
	if (row->object[0] && !(is_tree && row->level > 0)) {
		bool has_brackets = row->object[0] == '[';

		text_put_raw(b, has_brackets ? "  " : "  [");
		screen_name(b, text_basename(row->object));
		text_put_raw(b, has_brackets ? "" : "]");
	}
}

static void screen_help(void)
{
	static const char *const lines[] = {
		"1 to 6, Tab    functions, call paths, callers, processes or hosts, units, containers",
		"up down        move; also k j, page up and down, home, end",
		"Enter, right   open a row; a function: its callers; a process or host: only it",
		"left           close a row, or go to the one above it",
		"Backspace      leave the process or host",
		"P T W N        sort by self, total, waits, or name (processes: by number)",
		"s < >          the next or previous order; R: reversed",
		"+ -            look at a longer or shorter time",
		"space          pause",
		"r              look again now",
		"q              quit",
		NULL};
	struct buf b = {0};

	for (int i = 0; lines[i]; i++) {
		text_put_raw(&b, lines[i]);
		screen_line(TOP_HEAD + i, &b, A_NORMAL);
	}
	buf_free(&b);
}

static void screen_rows(const struct top_state *state, const struct profile *profile,
			const struct top_row *rows, uint32_t n_rows)
{
	uint64_t all = profile ? profile_total(profile) : 0;
	uint32_t fit = top_screen_rows();
	struct buf b = {0};

	for (uint32_t i = 0; i < fit && state->first + i < n_rows; i++) {
		const struct top_row *row = &rows[state->first + i];
		bool is_hot = row->self * 20 >= all && state->view != TOP_CALLERS;

		screen_row(state, row, all, &b);
		screen_line(TOP_HEAD + (int)i, &b,
			    state->first + i == state->at ? A_REVERSE
			    : is_hot			  ? A_BOLD
							  : A_NORMAL);
	}
	if (!n_rows) {
		text_put_raw(&b, "  no samples in this time: is the target using the CPU?");
		screen_line(TOP_HEAD, &b, A_NORMAL);
	}
	buf_free(&b);
}

void top_screen_draw(const struct top_state *state, const struct profile *profile,
		     const struct top_row *rows, uint32_t n_rows)
{
	struct buf b = {0};

	erase();
	screen_head(state, profile);
	if (state->is_help)
		screen_help();
	else
		screen_rows(state, profile, rows, n_rows);
	if (getmaxy(stdscr) > TOP_HEAD) {
		text_printf(&b, "q quit  space %s  Tab view  s sort  Enter open  h help",
			    state->is_paused ? "go on" : "pause");
		screen_line(getmaxy(stdscr) - 1, &b, A_REVERSE);
	}
	buf_free(&b);
	refresh();
}
