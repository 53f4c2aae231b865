/* SPDX-License-Identifier: MIT */
/* Names wakers; see waker_name.h. */
#include "model/waker_name.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define LABEL_FUNCTIONS 3 /* most functions in a waker's name: the innermost ones */

/* The functions that name a waker: the innermost one, which is mostly a library's, and its callers
 * outside of that library; in code without libraries, the innermost functions. */
struct functions {
	const struct profile_symbol *symbols[LABEL_FUNCTIONS]; /* innermost first */
	int count;
	bool is_cut; /* There are other functions between the first two. */
};

static void add_function(struct functions *f, const struct profile_symbol *symbol, bool same)
{
	if (symbol->is_kernel || f->count == LABEL_FUNCTIONS)
		return;
	if (f->count == 1 && !same && !strcmp(symbol->object, f->symbols[0]->object)) {
		f->is_cut = true;
		return;
	}
	f->symbols[f->count++] = symbol;
}

/* Finds the functions that name a waker, from the leaf on. `same`: functions of the same library
 * count, too. Returns 0 or -ENOMEM. */
static int find_functions(struct profile *profile, uint32_t node, bool same,
			  struct functions *ret_found)
{
	const struct store_tables *tables = profile_tables(profile);

	*ret_found = (struct functions){0};
	for (; node; node = tables->nodes[node].parent) {
		size_t n;
		const struct profile_frame *frames =
			profile_location_frames(profile, tables->nodes[node].location, &n);

		if (!frames)
			return -ENOMEM;
		while (n-- > 0)
			add_function(ret_found, frames[n].symbol, same);
	}
	return 0;
}

int waker_name(struct profile *profile, uint32_t thread, const struct waking *waking, struct buf *b)
{
	const char *before = ": ";
	struct functions f;
	int err = find_functions(profile, waking->node, false, &f);

	if (!err && f.count < 2)
		err = find_functions(profile, waking->node, true, &f);
	if (err)
		return err;
	if (thread == WAITS_NONE)
		text_printf(b, "thread %llu", (unsigned long long)waking->value - 1);
	else
		text_put_raw(b, profile_tables(profile)->threads[thread].comm);
	while (f.count-- > 0) {
		text_put_raw(b, before);
		text_put_raw(b, f.symbols[f.count]->name);
		before = f.count == 1 && f.is_cut ? " > ... > " : " > ";
	}
	return b->failed ? -ENOMEM : 0;
}
