/* SPDX-License-Identifier: MIT */
/*
 * The contents of stackctl top, without the screen: the last seconds of a recording that may still
 * be being written, as rows of functions, call paths, callers or processes; or the last windows of
 * a server's database, with hosts in place of processes.
 *
 * A row has a key, which stays the same when the store is read again. So open rows stay open, and
 * the cursor stays on its row while the numbers change.
 */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "input.h"

enum top_view {
	TOP_FUNCTIONS,
	TOP_PATHS,
	TOP_CALLERS,
	TOP_PROCESSES,
	TOP_UNITS,
	TOP_CONTAINERS,
	TOP_VIEWS
};
/* TOP_BY_NAME sorts processes by their numbers. */
enum top_sort { TOP_BY_SELF, TOP_BY_TOTAL, TOP_BY_WAIT, TOP_BY_NAME, TOP_SORTS };

struct top_row {
	uint64_t key;
	uint64_t total, self;
	uint64_t wait; /* ns that threads were blocked or runnable; 0 if waits were not recorded */
	const char *name;   /* not escaped */
	const char *object; /* the name of its object, or "" */
	int32_t pid;	    /* the process, if the row is one of a process */
	/* of a function: the name of the processes that it ran in; "*": several; "": it did not run
	 */
	const char *process;
	uint32_t level; /* indentation */
	bool has_more, is_open, is_inlined;
};

struct top_model;

/* The input is borrowed. Returns 0 or -ENOMEM. */
int top_model_new(const struct input *input, struct top_model **ret_model);
void top_model_free(struct top_model *model);

/* Select the part of the recording that the next refresh reads: the last `seconds` seconds; the
 * process `pid`. */
void top_model_set_window(struct top_model *model, double seconds); /* 0: the whole recording */
/* 0: all processes that the input's options choose */
void top_model_set_pid(struct top_model *model, int32_t pid);

/* Selects the part of a server's database that the next refresh reads: one host (`host`, borrowed;
 * NULL: the hosts that the input's options choose); with `are_apart`, each host is a row of
 * TOP_PROCESSES. */
void top_model_set_host(struct top_model *model, const char *host, bool are_apart);

/* Reads the store again. Returns 0, even if there are no samples in the time that is shown; or the
 * reader's error, with the model unchanged, and in *ret_error a malloc()ed sentence or NULL. */
int top_model_refresh(struct top_model *model, char **ret_error);

/* Gives the rows of a view, which live until the next call or refresh. Returns 0 or -ENOMEM. */
int top_model_rows(struct top_model *model, enum top_view view, enum top_sort sort,
		   bool is_reversed, const struct top_row **ret_rows, uint32_t *ret_count);

/* Returns whether the recording has waits, which rows then have. */
bool top_model_has_waits(const struct top_model *model);

/* Opens or closes a row of TOP_PATHS or TOP_CALLERS. Returns 0 or -ENOMEM. */
int top_model_open(struct top_model *model, uint64_t key, bool is_open);

/* Returns the key that a function has in TOP_CALLERS, given its key in TOP_FUNCTIONS. */
uint64_t top_model_callers_key(uint64_t function_key);

/* Returns sentences about the data of a server's database that were missing at the last refresh;
 * "": none were. */
const char *top_model_missing(const struct top_model *model);

/* Returns the profile of the last refresh; NULL before the first. */
const struct profile *top_model_profile(const struct top_model *model);

#endif
