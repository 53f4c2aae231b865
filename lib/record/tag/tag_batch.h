/* SPDX-License-Identifier: MIT */
/*
 * Decodes many tags of one program with one budget: so much time a tag, on average. Hard tags get
 * the time that easy ones leave, and every path that is found makes the others easier.
 */
#ifndef TAG_TAG_BATCH_H
#define TAG_TAG_BATCH_H

#include "tag/tag_search.h"

struct tag_batch_item {
	uint64_t tag;
	uint32_t leaf; /* the path's last node; as in struct tag_search_query */
	bool leaf_is_hint;
	/* The result; the item owns its paths. */
	enum tag_search_status status;
	bool is_cut;
	uint64_t spent_ns;
	struct tag_search_path *paths;
	size_t n;
	/* For the search: index of the item that this one depends on, and the nodes of the path
	 * from there down to this item's leaf; `below` is owned. */
	uint32_t above, n_below, *below;
};

/* Decodes items in any order. With `all`, each item gets its whole budget for itself. Returns 0,
 * -ENOMEM, or -EINVAL (an item's leaf is no node of the graph): after an error some items may have
 * answers. */
int tag_batch_run(struct tag_search *search, struct tag_batch_item *items, size_t n,
		  uint64_t budget_ns, bool all);
void tag_batch_item_release(struct tag_batch_item *item); /* empties the answer */

#endif
