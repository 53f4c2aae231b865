/* SPDX-License-Identifier: MIT */
/*
 * Inputs of the verbs that work by tag: a store or a tag export, detected by content. A store is
 * named as FILE or as FILE@ID for one recording of it; @ID alone is one of the default store.
 */
#ifndef CLI_TAG_INPUT_H
#define CLI_TAG_INPUT_H

#include "input.h"
#include "model/profile.h"
#include "tagset/tagset.h"

enum tag_input_which {
	TAG_INPUT_LATEST, /* of a store's recordings, unless one is named */
	TAG_INPUT_ALL,
};

/* What to read from an input, and what to say about it. */
struct tag_input_choice {
	enum metric metric;		     /* what is read of stores without samples */
	const struct profile_filter *filter; /* of stores; or NULL */
	const char *region;   /* of which the passes are counted in `passes`; or NULL */
	uint64_t duration_ns; /* told: of a store's recording, or the range of it; 0: not known */
	uint64_t passes;
};

/* The same as tag_input_add() of the latest recording, by a choice. */
int tag_input_add_chosen(struct tagset *set, const char *name, uint32_t side,
			 struct tag_input_choice *choice);

/* Adds an input to a set; a store's recording must have what the metric adds up
 * (input_has_times()). A cmd_status; a message has been given if it is not CMD_DONE. A store or
 * recording without samples is CMD_NO_SAMPLES, with TAG_INPUT_ALL it adds nothing. */
int tag_input_add(struct tagset *set, const char *name, uint32_t side, enum tag_input_which which,
		  enum metric metric);

/* Adds a part of a server's database, by its sums of a metric; `name` is for messages. As
 * tag_input_add(). */
int tag_input_add_fleet(struct tagset *set, const char *name, uint32_t side,
			const struct input *part, enum metric metric);

#endif
