/* SPDX-License-Identifier: MIT */
/* See heap_paths_view.h. */
#include "report/heap_paths_view.h"
#include "report/treeview.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"

#define LEAF_FRAMES 6	/* frames of a path that text shows, from the leaf on */
#define WIDE	    120 /* columns of a terminal; a narrower one has no room for all figures */

static double sorted_by(const struct heap_path *path, enum heap_paths_kind kind)
{
	switch (kind) {
	case HEAP_PATHS_LEAKS:
		return path->old.value;
	case HEAP_PATHS_CHANGE:
		return fabs(path->change.value);
	default:
		return path->peak.value;
	}
}

struct order {
	const struct heap_paths *paths;
	enum heap_paths_kind kind;
};

static int compare(const void *x, const void *y, void *arg)
{
	const struct order *order = arg;
	const size_t a = *(const size_t *)x, b = *(const size_t *)y;
	const double left = sorted_by(&order->paths->items[a], order->kind);
	const double right = sorted_by(&order->paths->items[b], order->kind);

	if (left != right)
		return left < right ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* Returns the indices of the paths in the order in which they are shown; the caller frees them.
 * NULL: memory is short. */
static size_t *sort(const struct heap_paths *paths, enum heap_paths_kind kind)
{
	struct order order = {paths, kind};
	size_t *indices = calloc(paths->n + 1, sizeof(*indices));

	for (size_t i = 0; indices && i < paths->n; i++)
		indices[i] = i;
	if (indices)
		qsort_r(indices, paths->n, sizeof(*indices), compare, &order);
	return indices;
}

/* --- text ------------------------------------------------------------------------------------- */

struct table {
	const struct heap_paths *paths;
	enum heap_paths_kind kind;
	struct profile *profile;
	const struct report_options *options;
	struct buf line;
};

/* Returns whether there is room for standard errors, rates and the like beside paths. */
static bool is_wide(const struct table *t)
{
	return !t->options->width || t->options->width >= WIDE;
}

/* Appends a number of bytes, negative for a decrease. */
static void put_bytes(struct table *t, double bytes, int width)
{
	char amount[METRIC_AMOUNT_MAX], text[METRIC_AMOUNT_MAX + 1];

	metric_number(METRIC_HEAP_LIVE, (uint64_t)(fabs(bytes) + 0.5), amount);
	snprintf(text, sizeof(text), "%s%s", bytes <= -0.5 ? "-" : "", amount);
	text_printf(&t->line, " %*s", width, text);
}

static void put_estimate(struct table *t, const struct heap_estimate *estimate)
{
	put_bytes(t, estimate->value, 11);
	if (t->paths->has_errors && is_wide(t))
		put_bytes(t, sqrt(estimate->variance > 0 ? estimate->variance : 0), 11);
}

static void put_heading(struct table *t, const char *what)
{
	text_printf(&t->line, " %11s", what);
	if (t->paths->has_errors && is_wide(t))
		text_printf(&t->line, " %11s", "std. error");
}

/* Appends bars that show how the live heap has grown: for each time, the share of the bytes now
 * live that had been allocated by then. */
static void put_growth(struct table *t, const struct heap_path *path)
{
	static const char *const blocks[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {".", "_", "_", "-", "-", "=", "=", "#", "#"};
	double sum = 0;

	text_put_raw(&t->line, " ");
	for (size_t i = 0; i < HEAP_PATHS_BINS; i++) {
		int step;

		sum += path->live_since[i];
		step = path->live.value > 0 ? (int)(sum / path->live.value * 8 + 0.5) : 0;
		step = step < 0 ? 0 : step > 8 ? 8 : step;
		text_put_raw(&t->line, (t->options->utf8 ? blocks : ascii)[step]);
	}
}

static double seconds_of(const struct heap_paths *paths)
{
	return paths->to_ns > paths->start_ns ? (double)(paths->to_ns - paths->start_ns) / 1e9 : 1;
}

/* Returns the mean age of the freed bytes, in seconds; negative: none were freed. */
static double lifetime(const struct heap_path *path)
{
	return path->ended > 0 ? path->ended_ns / path->ended / 1e9 : -1;
}

/* Appends the path, leaf first. */
static int put_path(struct table *t, const struct heap_path *path)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(t->profile, path->node, path->end_reason, path->origin, &n);

	if (!frames)
		return -ENOMEM;
	text_put_raw(&t->line, "  ");
	for (size_t i = 0; i < n && i < LEAF_FRAMES; i++) {
		text_put_raw(&t->line, i ? " < " : "");
		treeview_function(&t->line, frames[n - 1 - i].symbol->name,
				  frames[n - 1 - i].symbol->kind, t->options);
	}
	text_put_raw(&t->line, n > LEAF_FRAMES ? " < ..." : "");
	return 0;
}

static void put_title(struct table *t)
{
	switch (t->kind) {
	case HEAP_PATHS_LEAKS:
		put_heading(t, "live");
		text_printf(&t->line, " %9s", "blocks");
		if (is_wide(t))
			text_printf(&t->line, " %11s  %-*s", "allocated", HEAP_PATHS_BINS,
				    "growth");
		break;
	case HEAP_PATHS_CHANGE:
		put_heading(t, "change");
		text_printf(&t->line, " %11s %11s", "before", "after");
		break;
	default:
		put_heading(t, "peak");
		put_heading(t, "live");
		if (is_wide(t))
			text_printf(&t->line, " %13s %11s", "rate", "lifetime");
	}
	text_put_raw(&t->line, "  path\n");
}

static int put_row(struct table *t, const struct heap_path *path)
{
	switch (t->kind) {
	case HEAP_PATHS_LEAKS:
		put_estimate(t, &path->old);
		text_printf(&t->line, " %9.0f", path->live_objects);
		if (!is_wide(t))
			break;
		put_bytes(t, path->allocated, 11);
		put_growth(t, path);
		break;
	case HEAP_PATHS_CHANGE:
		put_estimate(t, &path->change);
		put_bytes(t, path->live_first, 11);
		put_bytes(t, path->live.value, 11);
		break;
	default:
		put_estimate(t, &path->peak);
		put_estimate(t, &path->live);
		if (!is_wide(t))
			break;
		put_bytes(t, path->allocated / seconds_of(t->paths), 11);
		text_put_raw(&t->line, "/s");
		if (lifetime(path) < 0)
			text_printf(&t->line, " %11s", "-");
		else
			text_printf(&t->line, " %9.3f s", lifetime(path));
	}
	return put_path(t, path);
}

int heap_paths_view_text(const struct heap_paths *paths, enum heap_paths_kind kind,
			 struct profile *profile, const struct report_options *options, FILE *out)
{
	struct table t = {.paths = paths, .kind = kind, .profile = profile, .options = options};
	size_t *indices = sort(paths, kind);
	int err = indices ? 0 : -ENOMEM;

	put_title(&t);
	if (!err)
		err = text_flush(&t.line, out);
	for (size_t i = 0; !err && i < paths->n && i < HEAP_PATHS_SHOWN; i++) {
		const struct heap_path *path = &paths->items[indices[i]];

		if (sorted_by(path, kind) < 1)
			break;
		err = put_row(&t, path);
		text_cut(&t.line, options->width);
		text_put_raw(&t.line, "\n");
		if (!err)
			err = text_flush(&t.line, out);
	}
	free(indices);
	return text_end(&t.line, out, err);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_estimate(struct json *j, const struct heap_paths *paths, const char *name,
			  const struct heap_estimate *estimate)
{
	char error[64];

	json_put_fixed(j, name, estimate->value, 0);
	if (!paths->has_errors)
		return;
	snprintf(error, sizeof(error), "%s_error", name);
	json_put_fixed(j, error, sqrt(estimate->variance > 0 ? estimate->variance : 0), 0);
}

static int json_frames(struct json *j, struct profile *profile, const struct heap_path *path)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(profile, path->node, path->end_reason, path->origin, &n);

	if (!frames)
		return -ENOMEM;
	json_put_array(j, "path");
	for (size_t i = 0; i < n; i++)
		json_put_string(j, NULL, frames[i].symbol->name);
	json_put_end(j);
	return 0;
}

static int json_path(struct json *j, const struct heap_paths *paths, struct profile *profile,
		     const struct heap_path *path)
{
	int err;

	json_put_line(j);
	json_put_object(j, NULL);
	err = json_frames(j, profile, path);
	json_put_uint(j, "samples", path->samples);
	json_put_fixed(j, "allocated", path->allocated, 0);
	json_put_fixed(j, "objects", path->objects, 0);
	json_estimate(j, paths, "peak", &path->peak);
	json_estimate(j, paths, "live", &path->live);
	json_estimate(j, paths, "old", &path->old);
	json_estimate(j, paths, "change", &path->change);
	json_put_fixed(j, "live_objects", path->live_objects, 0);
	json_put_fixed(j, "live_first", path->live_first, 0);
	json_put_fixed(j, "bytes_per_s", path->allocated / seconds_of(paths), 0);
	if (lifetime(path) >= 0)
		json_put_fixed(j, "lifetime_s", lifetime(path), 9);
	json_put_array(j, "live_since");
	for (size_t i = 0; i < HEAP_PATHS_BINS; i++)
		json_put_fixed(j, NULL, path->live_since[i], 0);
	json_put_end(j);
	json_put_end(j);
	return err;
}

int heap_paths_view_json(const struct heap_paths *paths, enum heap_paths_kind kind,
			 struct profile *profile, struct json *j)
{
	size_t *indices = sort(paths, kind);
	int err = indices ? 0 : -ENOMEM;

	json_put_array(j, "paths");
	for (size_t i = 0; !err && i < paths->n; i++)
		err = json_path(j, paths, profile, &paths->items[indices[i]]);
	json_put_line(j);
	json_put_end(j);
	free(indices);
	return err;
}
