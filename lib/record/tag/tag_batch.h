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
	uint32_t leaf; /* as in struct tag_search_query */
	bool leaf_is_hint;
	/* the result; the item owns its paths */
	enum tag_search_status status;
	bool is_cut;
	uint64_t spent_ns;
	struct tag_search_path *paths;
	size_t n;
	/* during the search: the item above this one, and the path from there; owned */
	uint32_t above, n_below, *below;
};

/* Decodes items in any order. With `all`, each gets its whole budget, alone. 0, -ENOMEM, -EINVAL
 * (no such leaf); then some items may have answers. */
int tag_batch_run(struct tag_search *search, struct tag_batch_item *items, size_t n,
		  uint64_t budget_ns, bool all);
void tag_batch_item_release(struct tag_batch_item *item); /* empties the answer */

#endif
