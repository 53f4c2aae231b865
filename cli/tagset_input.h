/* SPDX-License-Identifier: MIT */
/*
 * Reads the inputs of verbs that work by tag: stores and tag exports. The content of a file shows
 * which of the two it is. A store is given as FILE, or as FILE@ID for one recording of it; @ID
 * alone is a recording of the default store.
 */
#ifndef CLI_TAGSET_INPUT_H
#define CLI_TAGSET_INPUT_H

#include "input.h"
#include "model/profile.h"
#include "tagset/tagset.h"

enum tagset_input_which {
	TAGSET_INPUT_LATEST, /* the latest recording of a store, unless one is named */
	TAGSET_INPUT_ALL,
};

/* What to read from an input, and what the reading found out. */
struct tagset_input_choice {
	enum metric metric;		     /* metric that is read from stores without samples */
	const struct profile_filter *filter; /* selects samples of stores; or NULL */
	const char *region;   /* count the passes through this region in `passes`; or NULL */
	uint64_t duration_ns; /* result: the duration of a store's recording or range; 0: not known
			       */
	uint64_t passes;
};

/* Does what tagset_input_add() does, for the latest recording, with what `choice` selects of it. */
int tagset_input_add_chosen(struct tagset *set, const char *name, uint32_t side,
			    struct tagset_input_choice *choice);

/* Adds an input to a set. A store's recording must have the records that the metric needs
 * (input_has_times()). Returns a cmd_status; a message has been printed if it is not CMD_DONE. For
 * a store or recording without samples returns CMD_NO_SAMPLES; but with TAGSET_INPUT_ALL it adds
 * nothing. */
int tagset_input_add(struct tagset *set, const char *name, uint32_t side,
		     enum tagset_input_which which, enum metric metric);

/* Adds the sums of a metric from a part of a server's database. `name` is the name for messages.
 * Returns as tagset_input_add() does. */
int tagset_input_add_fleet(struct tagset *set, const char *name, uint32_t side,
			   const struct input *part, enum metric metric);

#endif
