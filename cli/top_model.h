/* SPDX-License-Identifier: MIT */
/*
 * The contents of stackctl top, without the screen: the last seconds of a recording that may still
 * be written, as rows of functions, call paths, callers or processes; or the last windows that a
 * server's database has, with hosts in the place of processes.
 *
 * A row is known by a key that is the same after the next look at the store, so that what is
 * open stays open and the cursor stays on its row while numbers change around it.
 */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "input.h"

enum top_view { TOP_FUNCTIONS, TOP_PATHS, TOP_CALLERS, TOP_PROCESSES, TOP_VIEWS };
enum top_sort { TOP_BY_SELF, TOP_BY_TOTAL, TOP_BY_NAME, TOP_SORTS };

struct top_row {
	uint64_t key;
	uint64_t total, self;
	const char *name;   /* not escaped */
	const char *object; /* or "" */
	int32_t pid;	    /* of a process's row */
	uint32_t level;	    /* how far it is moved to the right */
	bool has_more, is_open, is_inlined;
};

struct top_model;

/* The input is borrowed. 0 or -ENOMEM. */
int top_model_new(const struct input *input, struct top_model **ret_model);
void top_model_free(struct top_model *model);

/* Select the part of the recording that the next refresh reads. */
void top_model_set_window(struct top_model *model, double seconds); /* 0: all of it */
void top_model_set_pid(struct top_model *model, int32_t pid);	    /* 0: as the input says */

/* The same of a server's database: one host of it (borrowed; NULL: as the input says), or, for the
 * rows of TOP_PROCESSES, hosts apart. */
void top_model_set_host(struct top_model *model, const char *host, bool are_apart);

/* Looks at the store again. 0 (also with no samples in the window); or the reader's error, with
 * the model as it was and a sentence in *ret_error (malloc()ed, may be NULL). */
int top_model_refresh(struct top_model *model, char **ret_error);

/* The rows of a view; they live until the next call or refresh. 0 or -ENOMEM. */
int top_model_rows(struct top_model *model, enum top_view view, enum top_sort sort,
		   const struct top_row **ret_rows, uint32_t *ret_count);

/* Opens or closes a row of TOP_PATHS or TOP_CALLERS. 0 or -ENOMEM. */
int top_model_open(struct top_model *model, uint64_t key, bool is_open);

/* The key in TOP_CALLERS of the function whose key in TOP_FUNCTIONS is given. */
uint64_t top_model_callers_key(uint64_t function_key);

/* What the last refresh found to be missing of a server's database, as sentences; "" if nothing. */
const char *top_model_missing(const struct top_model *model);

/* NULL before the first refresh. */
const struct profile *top_model_profile(const struct top_model *model);

#endif
