/* SPDX-License-Identifier: MIT */
/*
 * Sources of frames; see frame_sources.h.
 *
 * The nodes of the tree have no place for the counts, because reports that do not show sources must
 * not pay for them. So a second pass follows each entry's frames down the tree, and has the counts
 * in an array by node.
 */
#include "tree/frame_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* by enum frame_source */
static const char *const short_names[FRAME_SOURCE_COUNT] = {
	[FRAME_SOURCE_WALKED] = "wa",	[FRAME_SOURCE_PREFIX] = "pr",  [FRAME_SOURCE_BRANCH] = "br",
	[FRAME_SOURCE_STITCHED] = "st", [FRAME_SOURCE_ALIGNED] = "al", [FRAME_SOURCE_TAG] = "ta",
};

void frame_sources_free(struct frame_sources *s)
{
	free(s->nodes);
	*s = (struct frame_sources){0};
}

static void count(struct frame_source_counts *counts, const struct profile_frame *frame,
		  uint8_t provenance, uint64_t samples)
{
	if (frame->source < FRAME_SOURCE_COUNT)
		counts->by[frame->source] += samples;
	if (frame->source == FRAME_SOURCE_WALKED)
		counts->rules[provenance] += samples;
	if (frame->confidence < 100)
		counts->unsure += samples;
}

static int add_entry(struct profile *profile, const struct calltree_node *nodes,
		     const struct profile_entry *entry, struct frame_sources *s)
{
	size_t n;
	const struct profile_frame *frames =
		profile_frames(profile, entry->node, entry->end_reason, entry->origin, &n);
	const struct store_location *locations = profile_tables(profile)->locations;
	uint32_t at = 0;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < n && at != CALLTREE_NONE; i++) {
		uint8_t provenance;

		at = calltree_find_child(nodes, at, &frames[i]);
		if (at == CALLTREE_NONE || frames[i].symbol->is_mark)
			continue;
		provenance = locations[frames[i].location].provenance;
		count(&s->nodes[at], &frames[i], provenance, profile_entry_amount(entry));
		if (!frames[i].is_inlined)
			count(&s->all, &frames[i], provenance, profile_entry_amount(entry));
	}
	return 0;
}

int frame_sources_make(struct profile *profile, const struct calltree *tree,
		       const uint32_t *entries, uint32_t n, struct frame_sources *s)
{
	size_t n_entries;
	const struct profile_entry *all = profile_entries(profile, &n_entries);
	const struct calltree_node *nodes;
	int err = 0;

	frame_sources_free(s);
	nodes = calltree_nodes(tree, &s->n);
	s->nodes = calloc(s->n, sizeof(*s->nodes));
	if (!s->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; err == 0 && i < n; i++)
		err = add_entry(profile, nodes, &all[entries[i]], s);
	return err;
}

bool frame_sources_has_branches(const struct profile *profile)
{
	size_t n;
	const struct profile_entry *entries = profile_entries(profile, &n);

	for (size_t i = 0; i < n; i++) {
		const struct origin *origin = profile_origin(profile, entries[i].origin);

		for (uint32_t k = 0; k < origin->n_runs; k++) {
			if (origin->runs[k].source == FRAME_SOURCE_BRANCH ||
			    origin->runs[k].source == FRAME_SOURCE_STITCHED)
				return true;
		}
	}
	return false;
}

bool frame_sources_has_weak_rules(const struct profile *profile)
{
	const struct store_tables *t = profile_tables(profile);

	for (uint32_t i = 0; i < t->n_locations; i++) {
		if (provenance_is_weak(t->locations[i].provenance))
			return true;
	}
	return false;
}

/* --- text ------------------------------------------------------------------------------------ */

#define MAX_PARTS (FRAME_SOURCE_COUNT + PROVENANCE_COUNT)

/* A share in a column: of a frame source, or of a kind of unwinding rule among walked frames. */
struct part {
	const char *letters, *name;
	uint64_t samples;
};

struct parts {
	struct part list[MAX_PARTS]; /* largest first */
	size_t n;
	uint64_t samples; /* of all parts */
};

/* Inserts a part, unless it has no samples, after all parts with as many samples or more. */
static void add_part(struct parts *parts, const char *letters, const char *name, uint64_t samples)
{
	size_t at = samples ? parts->n++ : 0;

	parts->samples += samples;
	if (!samples)
		return;
	for (; at && parts->list[at - 1].samples < samples; at--)
		parts->list[at] = parts->list[at - 1];
	parts->list[at] = (struct part){letters, name, samples};
}

/* Lists the parts. Walked frames with a weak rule are parts by provenance, the others are "walked";
 * so are all in older stores, which have no provenances. */
static void list_parts(const struct frame_source_counts *counts, struct parts *ret_parts)
{
	uint64_t weak = 0;

	*ret_parts = (struct parts){0};
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++)
		weak += provenance_is_weak((uint8_t)i) ? counts->rules[i] : 0;
	for (unsigned i = 0; i < FRAME_SOURCE_COUNT; i++)
		add_part(ret_parts, short_names[i], frame_source_name((uint8_t)i),
			 counts->by[i] - (i == FRAME_SOURCE_WALKED ? weak : 0));
	for (unsigned i = 0; i < PROVENANCE_COUNT; i++)
		if (provenance_is_weak((uint8_t)i))
			add_part(ret_parts, provenance_letters((uint8_t)i),
				 provenance_name((uint8_t)i), counts->rules[i]);
}

/* Rounds a share to percent: never to 0 % or 100 % unless it is exactly that. */
static unsigned percent(uint64_t part, uint64_t whole)
{
	uint64_t p = (part * 100 + whole / 2) / whole;

	return (unsigned)(part && !p ? 1 : part < whole && p == 100 ? 99 : p);
}

void frame_sources_put(const struct frame_source_counts *counts, struct buf *row)
{
	struct parts parts;
	char text[64] = "";
	size_t len = 0;

	list_parts(counts, &parts);
	for (size_t i = 0; i < parts.n; i++) {
		char one[16];
		int n = snprintf(one, sizeof(one), "%s%s %u", len ? " " : "", parts.list[i].letters,
				 percent(parts.list[i].samples, parts.samples));

		if (len + (size_t)n + (counts->unsure > 0) > FRAME_SOURCES_COLUMN)
			break;
		memcpy(text + len, one, (size_t)n + 1);
		len += (size_t)n;
	}
	if (counts->unsure)
		text[len++] = '?';
	text[len] = 0;
	text_printf(row, "%-*s", FRAME_SOURCES_COLUMN + 2, text);
}

void frame_sources_put_sum(const struct frame_source_counts *all, struct buf *row)
{
	struct parts parts;
	char share[TEXT_SHARE_MAX];

	list_parts(all, &parts);
	text_put_raw(row, "# frames from:");
	for (size_t i = 0; i < parts.n; i++)
		text_printf(row, "%s %s %s (%s%%)", i ? "," : "", parts.list[i].letters,
			    parts.list[i].name,
			    text_share(parts.list[i].samples, parts.samples, share));
	text_printf(row, "; ? not verified by walk or memory (%s%%)",
		    text_share(all->unsure, parts.samples, share));
}
