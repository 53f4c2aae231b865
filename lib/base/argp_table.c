/* SPDX-License-Identifier: MIT */
/* Reading argp's tables; see argp_table.h. The manual's format is man(7). */
#include "base/argp_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct argp_option argp_table_builtin[] = {
	{"help", '?', NULL, 0, "Show the options that are used most", -1},
	{"help-all", 0x1001, NULL, 0, "Show all options", -1},
	{"usage", 0x1000, NULL, 0, "Show the options, in short", -1},
	{"version", 'V', NULL, 0, "Show the version", -1},
	{0},
};

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc && !o->group;
}

int argp_table_each(const struct argp *argp,
		    int (*each)(void *arg, const struct argp_option *option), void *arg)
{
	int err = 0;

	for (const struct argp_option *o = argp->options; !err && o && !is_end(o); o++)
		if (!(o->flags & OPTION_HIDDEN))
			err = each(arg, o);
	for (const struct argp_child *c = argp->children; !err && c && c->argp; c++)
		err = argp_table_each(c->argp, each, arg);
	return err;
}

const struct argp_option *argp_table_find(const struct argp *argp, const char *name)
{
	const struct argp_option *found = NULL;

	for (const struct argp_option *o = argp_table_builtin; o->name; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	for (const struct argp_option *o = argp->options; o && !is_end(o); o++)
		if (o->name && strcmp(o->name, name) == 0)
			return o;
	for (const struct argp_child *c = argp->children; !found && c && c->argp; c++)
		found = argp_table_find(c->argp, name);
	return found;
}

static int begins(void *arg, const struct argp_option *o)
{
	const char *name = arg;

	return o->name && !strncmp(o->name, name, strlen(name));
}

bool argp_table_is_begin(const struct argp *argp, const char *name)
{
	char begin[128];

	snprintf(begin, sizeof(begin), "%s", name);
	if (argp_table_each(argp, begins, begin))
		return true;
	for (const struct argp_option *o = argp_table_builtin; o->name; o++)
		if (begins(begin, o))
			return true;
	return false;
}

unsigned argp_table_near(const char *word)
{
	const size_t len = strlen(word);

	return len < 6 ? 1 : (unsigned)(len / 3);
}

/* Returns the cost of cell j in the row of a[i - 1]; `before` and `above` are the two rows above.
 */
static unsigned cell(const char *a, const char *b, unsigned i, unsigned j, const unsigned *before,
		     const unsigned *above, unsigned left)
{
	unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);

	if (above[j] + 1 < best)
		best = above[j] + 1;
	if (left + 1 < best)
		best = left + 1;
	if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
	    before[j - 2] + 1 < best)
		best = before[j - 2] + 1;
	return best;
}

unsigned argp_table_distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	unsigned rows[3][ARGP_TABLE_FAR];

	if (n >= ARGP_TABLE_FAR || m >= ARGP_TABLE_FAR)
		return ARGP_TABLE_FAR;
	for (unsigned j = 0; j <= m; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *row = rows[i % 3];

		row[0] = i;
		for (unsigned j = 1; j <= m; j++)
			row[j] = cell(a, b, i, j, rows[(i + 1) % 3], rows[(i + 2) % 3], row[j - 1]);
	}
	return rows[n % 3][m];
}

struct argp_table_guess {
	const char *name, *closest;
	unsigned best;
};

static int compare(void *arg, const struct argp_option *o)
{
	struct argp_table_guess *guess = arg;
	unsigned distance = o->name ? argp_table_distance(guess->name, o->name) : ARGP_TABLE_FAR;

	if (distance <= guess->best && (!guess->closest || distance < guess->best)) {
		guess->best = distance;
		guess->closest = o->name;
	}
	return 0;
}

const char *argp_table_guess(const struct argp *argp, const char *name)
{
	struct argp_table_guess guess = {.name = name, .best = argp_table_near(name)};

	argp_table_each(argp, compare, &guess);
	for (const struct argp_option *o = argp_table_builtin; o->name; o++)
		compare(&guess, o);
	return guess.closest;
}

/* --- completion ----------------------------------------------------------------------------- */

static int list_one(void *arg, const struct argp_option *o)
{
	FILE *out = arg;

	if (!o->name)
		return 0;
	fprintf(out, "%s\t", o->name);
	/* Where an argument lists its words ("a|b| c"), the blanks only let --help break the line:
	 * they are left out. */
	for (const char *c = o->arg; c && *c; c++) {
		if (*c != ' ' || !strchr(o->arg, '|'))
			fputc(*c, out);
	}
	fprintf(out, "\t%s\n", o->doc ? o->doc : "");
	return 0;
}

int argp_table_list(const struct argp *argp, FILE *out)
{
	argp_table_each(argp, list_one, out);
	for (const struct argp_option *o = argp_table_builtin; o->name; o++)
		list_one(out, o);
	return ferror(out) ? -EIO : 0;
}

/* --- the manual ----------------------------------------------------------------------------- */

/* Writes a line of text with roff's special characters escaped. Returns the begin of the next line,
 * or the end of the text. */
static const char *man_text(const char *at, FILE *out)
{
	if (*at == '.' || *at == '\'')
		fputs("\\&", out);
	for (; *at && *at != '\n'; at++) {
		if (*at == '\\')
			fputs("\\e", out);
		else if (*at == '-')
			fputs("\\-", out);
		else
			fputc(*at, out);
	}
	fputc('\n', out);
	return *at ? at + 1 : at;
}

/* Writes a text as paragraphs and examples. */
static void man_paragraphs(const char *at, FILE *out)
{
	bool in_example = false, is_first = true, is_apart = false;

	for (; *at; is_first = is_apart = false) {
		bool is_example = *at == ' ' || *at == '\t';

		while (*at == '\n') {
			is_apart = true;
			at++;
			is_example = *at == ' ' || *at == '\t';
		}
		if (is_example != in_example)
			fputs(is_example ? ".sp\n.RS 4\n.nf\n" : ".fi\n.RE\n.PP\n", out);
		else if (is_apart && !is_first && !is_example)
			fputs(".PP\n", out);
		in_example = is_example;
		while (is_example && (*at == ' ' || *at == '\t'))
			at++;
		if (*at)
			at = man_text(at, out);
	}
	if (in_example)
		fputs(".fi\n.RE\n", out);
}

static void man_option_name(const struct argp_option *o, FILE *out)
{
	const char *before = "";

	if (o->key > 0 && o->key < 0x80 && isprint(o->key)) {
		fprintf(out, "\\fB\\-%c\\fR", o->key);
		if (o->arg && !o->name)
			fprintf(out, " \\fI%s\\fR", o->arg);
		before = ", ";
	}
	if (!o->name)
		return;
	fprintf(out, "%s\\fB\\-\\-", before);
	for (const char *at = o->name; *at; at++)
		fprintf(out, *at == '-' ? "\\-" : "%c", *at);
	fputs("\\fR", out);
	if (o->arg)
		fprintf(out, o->flags & OPTION_ARG_OPTIONAL ? "[=\\fI%s\\fR]" : "=\\fI%s\\fR",
			o->arg);
}

static int man_option(void *arg, const struct argp_option *o)
{
	FILE *out = arg;

	fputs(o->flags & OPTION_ALIAS ? ".TQ\n" : ".TP\n", out);
	man_option_name(o, out);
	fputs("\n", out);
	if (o->doc)
		man_text(o->doc, out);
	return 0;
}

/* What man_group_option() writes: the options of a group. */
struct man_group {
	FILE *out;
	int group;
	const char *heading; /* NULL: it has been written */
};

static int man_group_option(void *arg, const struct argp_option *o)
{
	struct man_group *g = arg;

	if (o->group != g->group)
		return 0;
	if (!o->name && !o->key) {
		g->heading = o->doc;
		return 0;
	}
	if (g->heading) {
		fputs(".SS ", g->out);
		man_text(g->heading, g->out);
	}
	g->heading = NULL;
	return man_option(g->out, o);
}

static void man_options(const struct argp *argp, const struct argp_help_group *groups, FILE *out)
{
	for (; groups->heading; groups++) {
		struct man_group g = {
			.out = out, .group = groups->group, .heading = groups->heading};

		argp_table_each(argp, man_group_option, &g);
	}
	fputs(".SS Help:\n", out);
	for (const struct argp_option *o = argp_table_builtin; o->name; o++)
		man_option(out, o);
}

/* Writes a page's title: "stackctl report" becomes "stackctl-report", in capitals if wanted. */
static void man_title(const char *name, bool is_upper, FILE *out)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '-')
			fputs("\\-", out);
		else
			fputc(is_upper ? toupper((unsigned char)*name) : *name, out);
	}
}

/* Writes a line for each usage; argp has one usage a line. */
static void man_synopsis(const char *name, const char *args, FILE *out)
{
	for (bool is_first = true; is_first || *args; is_first = false) {
		size_t n = strcspn(args, "\n");

		fprintf(out, "%s\\fB%s\\fR [\\fIOPTION\\fR...]%s\\fI", is_first ? "" : ".br\n",
			name, n ? " " : "");
		for (size_t i = 0; i < n; i++)
			fprintf(out, args[i] == '-' ? "\\-" : "%c", args[i]);
		fputs("\\fR\n", out);
		args += n + (args[n] == '\n');
	}
}

static void man_name(const struct argp *argp, const struct argp_table_page *page, FILE *out)
{
	const char *doc = argp->doc ? argp->doc : "";
	size_t line = strcspn(doc, "\n\v"), n = line;

	while (n && (doc[n - 1] == '.' || doc[n - 1] == ' '))
		n--;
	fputs(".TH ", out);
	man_title(page->name, true, out);
	fprintf(out, " %d \"%s\" \"%s\"\n.SH NAME\n", page->section, page->date, page->version);
	man_title(page->name, false, out);
	fputs(" \\- ", out);
	for (size_t i = 0; i < n; i++)
		fputc(i ? doc[i] : tolower((unsigned char)doc[i]), out);
	fputs("\n.SH SYNOPSIS\n", out);
	man_synopsis(page->name, argp->args_doc ? argp->args_doc : "", out);
	fputs(".SH DESCRIPTION\n", out);
	man_paragraphs(doc[line] == '\n' ? doc + line + 1 : doc, out);
}

void argp_table_date(const char *epoch, time_t now, char ret_date[static ARGP_TABLE_DATE])
{
	time_t when = epoch ? (time_t)strtoll(epoch, NULL, 10) : now;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(ret_date, ARGP_TABLE_DATE, "%Y-%m-%d", &tm))
		strcpy(ret_date, "1970-01-01");
}

int argp_table_man(const struct argp *argp, const struct argp_table_page *page, FILE *out)
{
	const char *more = argp->doc ? strchr(argp->doc, '\v') : NULL;
	char *first = argp->doc ? strndup(argp->doc, strcspn(argp->doc, "\v")) : NULL;
	struct argp before = *argp;

	if (argp->doc && !first)
		return -ENOMEM;
	before.doc = first;
	man_name(&before, page, out);
	free(first);
	if (more) {
		fputs(".PP\n", out);
		man_paragraphs(more + 1, out);
	}
	fputs(".SH OPTIONS\n", out);
	man_options(argp, page->groups, out);
	if (page->exits) {
		fputs(".SH EXIT STATUS\n", out);
		man_paragraphs(page->exits, out);
	}
	if (page->see_also)
		fprintf(out, ".SH SEE ALSO\n%s\n", page->see_also);
	return ferror(out) ? -EIO : 0;
}
