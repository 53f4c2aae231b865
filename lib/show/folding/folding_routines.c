/* SPDX-License-Identifier: MIT */
/*
 * Finds routines over the course of a pass; see folding_routines.h.
 *
 * Only the part of a sample's path from the region on is used. Samples share paths, so each path is
 * looked up once, and samples refer to paths by number. The two limits below were chosen by hand.
 */
#include "folding/folding_routines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/int_map.h"

/* a depth at which one routine has a larger share of the samples than this tells nothing */
#define MOST_OF_ALL 0.9
#define MAX_DEPTH   16u

/* A path below the region: its frames are frames[first .. first + depth). */
struct path {
	size_t first;
	uint32_t depth;
	/* samples of the current phase with this path; 0 also if keep_those() has left the path
	 * out */
	uint64_t in_phase;
};

struct finder {
	struct folding *folding;
	struct profile *profile;
	const struct profile_symbol *around; /* for a mark: the function that contains it */
	VEC(struct folding_frame) frames;
	VEC(struct path) paths;
	struct int_map by_path; /* (node, origin and end reason) -> path */
	uint32_t *path;		/* by sample: index of its path */
	uint64_t *by_symbol;	/* by symbol number: samples at the current depth */
	size_t n_symbols;
};

/* --- paths ------------------------------------------------------------------------------------ */

/* Returns the function that a mark is in: the second-innermost frame of the mark's passes. */
static const struct profile_symbol *around_of(struct finder *f)
{
	const struct store_tables *tables = profile_tables(f->profile);
	uint32_t parent = tables->nodes[f->folding->passes.node].parent;
	size_t n;
	const struct profile_frame *frames =
		parent ? profile_location_frames(f->profile, tables->nodes[parent].location, &n)
		       : NULL;

	return frames ? frames[0].symbol : NULL;
}

/* Returns the index of the first frame below the region: the one after the outermost frame of the
 * region. */
static size_t below(const struct finder *f, const struct profile_frame *frames, size_t n)
{
	const struct profile_symbol *const starts[] = {f->folding->passes.region, f->around};

	for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++) {
		for (size_t i = 0; i < n && starts[k]; i++) {
			if (frames[i].symbol == starts[k])
				return i + 1;
		}
	}
	return 0;
}

/* Adds the path of a sample below the region. If the sample hit the region's own code, the path is
 * the region alone. Returns 0 or -ENOMEM. */
static int add_path(struct finder *f, const struct pass_sample *sample)
{
	size_t n, from;
	const struct profile_frame *frames =
		profile_frames(f->profile, sample->node, sample->end_reason, sample->origin, &n);
	struct path path = {.first = f->frames.count};

	if (!frames)
		return -ENOMEM;
	from = below(f, frames, n);
	if (from == n && n)
		from = n - 1;
	if (VEC_RESERVE(&f->frames, n - from + 1) || VEC_RESERVE(&f->paths, 1))
		return -ENOMEM;
	for (size_t i = from; i < n; i++)
		f->frames.items[f->frames.count++] = (struct folding_frame){
			.symbol = frames[i].symbol, .file = frames[i].file, .line = frames[i].line};
	if (!n)
		f->frames.items[f->frames.count++] =
			(struct folding_frame){.symbol = profile_no_frames(f->profile)};
	path.depth = (uint32_t)(f->frames.count - path.first);
	f->paths.items[f->paths.count++] = path;
	return 0;
}

static int find_paths(struct finder *f)
{
	const struct passes *p = &f->folding->passes;

	for (size_t i = 0; i < p->samples.count; i++) {
		const struct pass_sample *sample = &p->samples.items[i];

		if (int_map_enter_wide(&f->by_path, sample->node,
				       sample->origin << 8 | sample->end_reason,
				       (uint32_t)f->paths.count, &f->path[i]))
			return -ENOMEM;
		if (f->path[i] == f->paths.count && add_path(f, sample))
			return -ENOMEM;
	}
	return 0;
}

/* Returns a path's function at a depth below the region; if the path is shorter, its leaf. */
static const struct profile_symbol *at_depth(const struct finder *f, uint32_t path, uint32_t depth)
{
	const struct path *p = &f->paths.items[path];

	return f->frames.items[p->first + (depth < p->depth ? depth : p->depth - 1)].symbol;
}

/* --- routines --------------------------------------------------------------------------------- */

/* Counts samples by their function at a depth. Returns true if routines are to be shown at this
 * depth, because no function has nearly all samples, or no path is deeper. */
static bool count_at(struct finder *f, uint32_t depth)
{
	const struct folding *folding = f->folding;
	uint64_t most = 0;
	bool is_deeper = false;

	for (size_t i = 0; i < f->n_symbols; i++)
		f->by_symbol[i] = 0;
	for (size_t i = 0; i < folding->passes.samples.count; i++) {
		uint64_t *n;

		if (isnan(folding->x[i]))
			continue;
		n = &f->by_symbol[at_depth(f, f->path[i], depth)->number];
		most = ++*n > most ? *n : most;
		is_deeper |= f->paths.items[f->path[i]].depth > depth + 1;
	}
	return !is_deeper || (double)most < MOST_OF_ALL * (double)folding->samples;
}

/* Makes rows of the functions with most samples, and a last row of all others. */
static void choose(struct finder *f)
{
	struct folding *folding = f->folding;
	uint64_t others = folding->samples;

	while (folding->n_routines < FOLDING_ROUTINES) {
		size_t best = 0;

		for (size_t i = 1; i < f->n_symbols; i++)
			best = f->by_symbol[i] > f->by_symbol[best] ? i : best;
		if (!f->by_symbol[best])
			break;
		folding->routines[folding->n_routines++] = (struct folding_routine){
			.symbol = profile_symbol_at(f->profile, (uint32_t)best),
			.samples = f->by_symbol[best]};
		others -= f->by_symbol[best];
		f->by_symbol[best] = 0;
	}
	if (others)
		folding->routines[folding->n_routines++].samples = others;
}

static void place(struct finder *f, uint32_t depth)
{
	struct folding *folding = f->folding;

	for (size_t i = 0; i < folding->passes.samples.count; i++) {
		const struct profile_symbol *symbol;
		unsigned row = 0, column;

		if (isnan(folding->x[i]))
			continue;
		symbol = at_depth(f, f->path[i], depth);
		while (row + 1 < folding->n_routines && folding->routines[row].symbol != symbol)
			row++;
		column = (unsigned)(folding->x[i] * FOLDING_COLUMNS);
		if (column >= FOLDING_COLUMNS)
			column = FOLDING_COLUMNS - 1;
		folding->routines[row].columns[column]++;
	}
}

static int find_routines(struct finder *f)
{
	uint32_t depth = 0;

	f->n_symbols = profile_symbol_count(f->profile);
	f->by_symbol = calloc(f->n_symbols + 1, sizeof(*f->by_symbol));
	if (!f->by_symbol)
		return -ENOMEM;
	while (!count_at(f, depth) && depth < MAX_DEPTH)
		depth++;
	choose(f);
	place(f, depth);
	return 0;
}

/* --- phases ----------------------------------------------------------------------------------- */

static bool is_in(const struct folding *folding, const struct fold_phase *phase, size_t sample)
{
	double x = folding->x[sample];

	return x >= phase->from.value && x < phase->to.value;
}

/* Counts the samples of each path in a phase. */
static void count_phase(struct finder *f, struct folding_phase *phase)
{
	const struct folding *folding = f->folding;

	for (size_t i = 0; i < f->paths.count; i++)
		f->paths.items[i].in_phase = 0;
	for (size_t i = 0; i < folding->passes.samples.count; i++) {
		if (!is_in(folding, &phase->phase, i))
			continue;
		phase->samples++;
		f->paths.items[f->path[i]].in_phase++;
	}
}

/* Adds up the samples of the phase by their function at a depth. Returns the number of a path with
 * the function that has most samples; *ret_most is their number. */
static uint32_t most_at(struct finder *f, uint32_t depth, uint64_t *ret_most)
{
	uint32_t best = 0;

	*ret_most = 0;
	for (size_t i = 0; i < f->n_symbols; i++)
		f->by_symbol[i] = 0;
	for (uint32_t i = 0; i < f->paths.count; i++) {
		const struct path *path = &f->paths.items[i];
		uint64_t *n;

		if (!path->in_phase || path->depth <= depth)
			continue;
		n = &f->by_symbol[f->frames.items[path->first + depth].symbol->number];
		*n += path->in_phase;
		if (*n > *ret_most) {
			*ret_most = *n;
			best = i;
		}
	}
	return best;
}

/* Leaves out all paths that do not have the function of path `like` at this depth. */
static void keep_those(struct finder *f, uint32_t like, uint32_t depth)
{
	const struct path *is = &f->paths.items[like];
	const struct profile_symbol *symbol = f->frames.items[is->first + depth].symbol;

	for (uint32_t i = 0; i < f->paths.count; i++) {
		struct path *path = &f->paths.items[i];

		if (path->depth <= depth || f->frames.items[path->first + depth].symbol != symbol)
			path->in_phase = 0;
	}
}

/* Finds the line of the last function of the phase's path that most samples with the path hit.
 * Returns 0 or -ENOMEM. */
static int find_line(struct finder *f, struct folding_phase *phase)
{
	uint64_t *samples = calloc(f->paths.count, sizeof(*samples)), most = 0; /* by line */
	struct int_map lines = {0};
	int err = samples ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < f->paths.count && !err; i++) {
		const struct path *path = &f->paths.items[i];
		const struct folding_frame *at = &f->frames.items[path->first + phase->depth - 1];
		uint32_t index;

		if (!path->in_phase)
			continue;
		err = int_map_enter(&lines, at->line, (uint32_t)lines.used, &index);
		if (err)
			break;
		samples[index] += path->in_phase;
		if (samples[index] > most) {
			most = samples[index];
			phase->file = at->file;
			phase->line = at->line;
		}
	}
	int_map_fini(&lines);
	free(samples);
	return err;
}

/* Extends the phase's path from the region on as long as one function has at least half of the
 * phase's samples. The path has at least one function. Returns 0 or -ENOMEM. */
static int name_phase(struct finder *f, struct folding_phase *phase)
{
	count_phase(f, phase);
	for (uint64_t most; phase->samples; phase->depth++) {
		uint32_t best = most_at(f, phase->depth, &most);

		if (!most || (phase->depth && most * 2 < phase->samples))
			break;
		keep_those(f, best, phase->depth);
		phase->path = f->frames.items + f->paths.items[best].first;
		phase->of_path = most;
	}
	return phase->depth ? find_line(f, phase) : 0;
}

static int find_phases(struct finder *f)
{
	struct folding *folding = f->folding;
	const struct fold_curve *curve = folding->n_counters ? folding->counters[0].curve : NULL;

	if (!curve)
		return 0;
	folding->phases = calloc(curve->n_phases + 1, sizeof(*folding->phases));
	if (!folding->phases)
		return -ENOMEM;
	for (; folding->n_phases < curve->n_phases; folding->n_phases++) {
		struct folding_phase *phase = &folding->phases[folding->n_phases];

		phase->phase = curve->phases[folding->n_phases];
		if (name_phase(f, phase))
			return -ENOMEM;
	}
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A line with its number of samples. Where in the pass the samples are takes much more memory, so
 * that is counted later, and only for the lines that are shown. */
struct tally {
	const struct profile_symbol *symbol;
	const char *file;
	uint32_t line;
	uint32_t shown; /* index in the folding's lines; NO_LINE: it is not shown */
	uint64_t samples;
};

/* All lines, and for each path the number of its line; NO_LINE: it has none. */
struct lines {
	VEC(struct tally) all;
	struct int_map by_line; /* (function, line) -> number */
	uint32_t *of_path;
};

#define NO_LINE UINT32_MAX

/* Finds the line of a path: that of the innermost frame with a known line. Returns 0 or -ENOMEM. */
static int find_line_of(struct finder *f, struct lines *lines, uint32_t path)
{
	const struct path *p = &f->paths.items[path];
	const struct folding_frame *frame = NULL;

	for (uint32_t k = p->depth; k-- > 0 && !frame;) {
		if (f->frames.items[p->first + k].file && f->frames.items[p->first + k].line)
			frame = &f->frames.items[p->first + k];
	}
	lines->of_path[path] = NO_LINE;
	if (!frame)
		return 0;
	if (int_map_enter_wide(&lines->by_line, frame->symbol->number, frame->line,
			       (uint32_t)lines->all.count, &lines->of_path[path]) ||
	    VEC_RESERVE(&lines->all, 1))
		return -ENOMEM;
	if (lines->of_path[path] == lines->all.count)
		lines->all.items[lines->all.count++] = (struct tally){.symbol = frame->symbol,
								      .file = frame->file,
								      .line = frame->line,
								      .shown = NO_LINE};
	return 0;
}

static void count_lines(const struct finder *f, struct lines *lines)
{
	struct folding *folding = f->folding;

	for (size_t i = 0; i < folding->passes.samples.count; i++) {
		const uint32_t number = lines->of_path[f->path[i]];

		if (isnan(folding->x[i]))
			continue;
		if (number == NO_LINE)
			folding->without_line++;
		else
			lines->all.items[number].samples++;
	}
}

static int by_samples(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Keeps the lines with most samples in the folding. `sorted` must have room for all lines. Returns
 * 0 or -ENOMEM. */
static int keep_lines(struct folding *folding, struct lines *lines, struct tally **sorted)
{
	folding->lines = calloc(FOLDING_LINES, sizeof(*folding->lines));
	if (!folding->lines)
		return -ENOMEM;
	for (size_t i = 0; i < lines->all.count; i++)
		sorted[i] = &lines->all.items[i];
	qsort(sorted, lines->all.count, sizeof(*sorted), by_samples);
	for (size_t i = 0; i < lines->all.count && sorted[i]->samples; i++) {
		if (i >= FOLDING_LINES) {
			folding->lines_left++;
			folding->in_lines_left += sorted[i]->samples;
			continue;
		}
		sorted[i]->shown = folding->n_lines;
		folding->lines[folding->n_lines++] =
			(struct folding_line){.symbol = sorted[i]->symbol,
					      .file = sorted[i]->file,
					      .line = sorted[i]->line,
					      .samples = sorted[i]->samples};
	}
	return 0;
}

/* Counts the samples of each shown line by column of the time axis. */
static void place_samples(const struct finder *f, const struct lines *lines)
{
	struct folding *folding = f->folding;

	for (size_t i = 0; i < folding->passes.samples.count; i++) {
		const uint32_t number = lines->of_path[f->path[i]];
		unsigned column;

		if (isnan(folding->x[i]) || number == NO_LINE ||
		    lines->all.items[number].shown == NO_LINE)
			continue;
		column = (unsigned)(fmax(0, folding->x[i]) * FOLDING_LINE_COLUMNS);
		if (column >= FOLDING_LINE_COLUMNS)
			column = FOLDING_LINE_COLUMNS - 1;
		folding->lines[lines->all.items[number].shown].columns[column]++;
	}
}

static int find_lines(struct finder *f)
{
	struct lines lines = {.of_path = calloc(f->paths.count + 1, sizeof(*lines.of_path))};
	struct tally **sorted = NULL;
	int err = lines.of_path ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < f->paths.count && !err; i++)
		err = find_line_of(f, &lines, i);
	if (!err) {
		sorted = calloc(lines.all.count + 1, sizeof(struct tally *));
		err = sorted ? 0 : -ENOMEM;
	}
	if (!err) {
		count_lines(f, &lines);
		err = keep_lines(f->folding, &lines, sorted);
	}
	if (!err)
		place_samples(f, &lines);
	free(sorted);
	free(lines.all.items);
	int_map_fini(&lines.by_line);
	free(lines.of_path);
	return err;
}

int folding_find_routines(struct folding *folding, struct profile *profile)
{
	struct finder f = {.folding = folding, .profile = profile};
	int err;

	f.around = around_of(&f);
	f.path = calloc(folding->passes.samples.count + 1, sizeof(*f.path));
	err = f.path ? find_paths(&f) : -ENOMEM;
	if (!err)
		err = find_routines(&f);
	if (!err)
		err = find_phases(&f);
	if (!err)
		err = find_lines(&f);
	folding->frames = f.frames.items;
	free(f.paths.items);
	free(f.path);
	free(f.by_symbol);
	int_map_fini(&f.by_path);
	return err;
}
