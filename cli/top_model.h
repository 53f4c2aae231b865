/* SPDX-License-Identifier: MIT */
/*
 * The contents of stackctl top, without the screen: the last seconds of a recording that may still
 * be being written, as rows of functions, call paths, callers or processes; or the last windows of
 * a server's database, with hosts in place of processes.
 *
 * A row is identified by a key that stays the same at the next look at the store. So open rows stay
 * open, and the cursor stays on its row while the numbers change.
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
	const char *object; /* the name of its object, or "" */
	int32_t pid;	    /* the process, if the row is one of a process */
	uint32_t level;	    /* indentation */
	bool has_more, is_open, is_inlined;
};

struct top_model;

/* The input is borrowed. 0 or -ENOMEM. */
int top_model_new(const struct input *input, struct top_model **ret_model);
void top_model_free(struct top_model *model);

/* Select the part of the recording that the next refresh reads: the last seconds, or a process. */
void top_model_set_window(struct top_model *model, double seconds); /* 0: all of it */
void top_model_set_pid(struct top_model *model, int32_t pid); /* 0: the processes that the input's
							       * options choose */

/* Selects the part of a server's database that the next refresh reads: one host (borrowed; NULL:
 * those that the input's options choose), or with `are_apart` all hosts, each as a row of
 * TOP_PROCESSES. */
void top_model_set_host(struct top_model *model, const char *host, bool are_apart);

/* Reads the store again. Returns 0, also if there are no samples in the time that is shown; or the
 * reader's error, with the model unchanged and a malloc()ed sentence or NULL in *ret_error. */
int top_model_refresh(struct top_model *model, char **ret_error);

/* Returns the rows of a view, which live until the next call or refresh. 0 or -ENOMEM. */
int top_model_rows(struct top_model *model, enum top_view view, enum top_sort sort,
		   const struct top_row **ret_rows, uint32_t *ret_count);

/* Opens or closes a row of TOP_PATHS or TOP_CALLERS. 0 or -ENOMEM. */
int top_model_open(struct top_model *model, uint64_t key, bool is_open);

/* Returns the key in TOP_CALLERS of a function with a key in TOP_FUNCTIONS. */
uint64_t top_model_callers_key(uint64_t function_key);

/* Returns sentences about data of a server's database that the last refresh found missing; "" if
 * none was. */
const char *top_model_missing(const struct top_model *model);

/* Returns the profile of the last refresh; NULL before the first. */
const struct profile *top_model_profile(const struct top_model *model);

#endif
