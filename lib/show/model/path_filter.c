/* SPDX-License-Identifier: MIT */
/*
 * Selection of call paths by names; see path_filter.h.
 *
 *   by symbol: `met`      which --focus patterns it meets, whether --ignore, --symbol or --dso
 *   by location: the union over its frames; --symbol and --dso of the innermost alone
 *   by node: its location's, and what it inherits from its parent; not --symbol and --dso
 */
#include "model/path_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "model/frame_kind.h"
#include "model/pattern.h"

#define PATH_FILTER_IGNORED (1u << PROFILE_MAX_FOCUS)
#define PATH_FILTER_LEAF    (1u << (PROFILE_MAX_FOCUS + 1)) /* the leaf's function and object fit */

struct path_filter {
	const struct profile_filter *wanted;
	uint16_t *met; /* by node: PATH_FILTER_... bits of its path */
	uint16_t all;  /* the bits that a selected path has */
};

static bool path_filter_any(const struct profile_patterns *patterns, const char *name,
			    bool (*matches)(const char *pattern, const char *name))
{
	for (size_t i = 0; i < patterns->n; i++)
		if (matches(patterns->items[i], name))
			return true;
	return patterns->n == 0;
}

static bool any_symbol(const struct profile_patterns *patterns, const struct profile_symbol *symbol)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (profile_symbol_matches(symbol, patterns->items[i]))
			return true;
	return patterns->n == 0;
}

/* Returns the bits that a path has since the symbol is somewhere in it. */
static uint16_t in_path(const struct profile_filter *filter, const struct profile_symbol *symbol)
{
	uint16_t met = 0;

	for (size_t i = 0; i < filter->focus.n; i++)
		if (profile_symbol_matches(symbol, filter->focus.items[i]))
			met |= (uint16_t)(1u << i);
	if (filter->ignore.n && any_symbol(&filter->ignore, symbol))
		met |= PATH_FILTER_IGNORED;
	return met;
}

static uint16_t of_symbol(const struct profile_filter *filter, const struct profile_symbol *symbol)
{
	uint16_t met = in_path(filter, symbol);

	if (any_symbol(&filter->symbols, symbol) &&
	    path_filter_any(&filter->dsos, symbol->object, pattern_is_object))
		met |= PATH_FILTER_LEAF;
	return met;
}

/* The patterns that symbols match, computed on first use. */
struct path_filter_cache {
	uint32_t *met; /* by symbol number: its bits + 1; 0: not computed yet */
	size_t cap;
};

static int look_up(struct path_filter_cache *cache, const struct profile_filter *filter,
		   const struct profile_symbol *symbol, uint16_t *ret_met)
{
	if (VEC_GROW_ZEROED(cache->met, cache->cap, (size_t)symbol->number + 1) < 0)
		return -ENOMEM;
	if (!cache->met[symbol->number])
		cache->met[symbol->number] = of_symbol(filter, symbol) + 1u;
	*ret_met = (uint16_t)(cache->met[symbol->number] - 1);
	return 0;
}

static int path_filter_of_location(struct path_filter_cache *cache,
				   const struct profile_filter *filter, struct names *names,
				   uint32_t location, uint16_t *ret_met)
{
	const struct profile_frame *frames;
	uint32_t count;
	uint16_t all = 0, met = 0;
	int err = names_location(names, location, &frames, &count);

	for (uint32_t i = 0; err == 0 && i < count; i++) {
		err = look_up(cache, filter, frames[i].symbol, &met);
		all |= met & (uint16_t)~PATH_FILTER_LEAF;
	}
	/* Bits of PATH_FILTER_LEAF count only for the innermost frame, because the sample hit
	 * there. */
	*ret_met = all | (met & PATH_FILTER_LEAF);
	return err;
}

static int fill(struct path_filter *filter, const struct store_tables *t, struct names *names)
{
	uint16_t *of_location = calloc((size_t)t->n_locations + 1, sizeof(*of_location));
	struct path_filter_cache cache = {0};
	int err = of_location ? 0 : -ENOMEM;

	for (uint32_t i = 0; err == 0 && i < t->n_locations; i++)
		err = path_filter_of_location(&cache, filter->wanted, names, i, &of_location[i]);
	if (err == 0 && !filter->wanted->symbols.n && !filter->wanted->dsos.n)
		/* An empty path has no leaf that could miss the patterns. */
		filter->met[0] = PATH_FILTER_LEAF;
	for (uint32_t i = 1; err == 0 && i < t->n_nodes; i++)
		filter->met[i] = of_location[t->nodes[i].location] |
				 (filter->met[t->nodes[i].parent] & (uint16_t)~PATH_FILTER_LEAF);
	free(of_location);
	free(cache.met);
	return err;
}

int path_filter_new(const struct profile_filter *wanted, const struct store_tables *tables,
		    struct names *names, struct path_filter **ret_filter)
{
	struct path_filter *filter;
	int err = -ENOMEM;

	*ret_filter = NULL;
	if (!wanted ||
	    !(wanted->focus.n || wanted->ignore.n || wanted->symbols.n || wanted->dsos.n))
		return 0;
	if (wanted->focus.n > PROFILE_MAX_FOCUS)
		return -EINVAL;
	filter = calloc(1, sizeof(*filter));
	if (!filter)
		return -ENOMEM;
	filter->wanted = wanted;
	filter->all = (uint16_t)(((1u << wanted->focus.n) - 1) | PATH_FILTER_LEAF);
	filter->met = calloc((size_t)tables->n_nodes + 1, sizeof(*filter->met));
	if (filter->met)
		err = fill(filter, tables, names);
	if (err < 0) {
		path_filter_free(filter);
		return err;
	}
	*ret_filter = filter;
	return 0;
}

void path_filter_free(struct path_filter *filter)
{
	if (!filter)
		return;
	free(filter->met);
	free(filter);
}

bool path_filter_accepts(const struct path_filter *filter, uint32_t node, const char *mark)
{
	uint16_t met = filter->met[node];

	if (mark)
		met |= in_path(filter->wanted,
			       &(struct profile_symbol){.name = mark, .kind = FRAME_NOTE});
	return (met & (filter->all | PATH_FILTER_IGNORED)) == filter->all;
}
