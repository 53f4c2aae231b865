/* SPDX-License-Identifier: MIT */
/*
 * The recordings that questions have opened, each with the selections that were made of it. A
 * recording that is still being made is opened anew once the store has more of it.
 *
 * The owner (web.c) lets one thread at a time in.
 */
#ifndef WEB_OPENED_H
#define WEB_OPENED_H

#include <sys/types.h>

#include "store/store_reader.h"
#include "web/ask.h"

#define OPENED_MAX	4	     /* recordings that are kept open */
#define OPENED_SELECTED 8	     /* selections that are kept of each */
#define OPENED_LOG	(128u << 20) /* bytes of a log of samples at most */

struct sample_log;
struct selection;
struct thread_totals;

struct opened {
	int64_t first, last; /* numbers of the recordings that are added up; 0: there is none */
	struct store_reader *reader;
	struct reader_names *names; /* or NULL */
	bool is_live;		    /* it had not ended when it was opened */
	bool is_given;		    /* the reader is the source's: it is not closed */
	/* CLOCK_MONOTONIC; checked_ns: when the store was last found to have no more of it */
	uint64_t opened_ns, checked_ns, used_ns;
	uint64_t change;	      /* the figures' when it was opened */
	struct thread_totals *totals; /* by thread; NULL: not needed yet */
	struct sample_log *log;	      /* NULL: not needed yet, or has_no_log */
	bool has_no_log;	      /* the samples are too many to be kept */
	struct selection *selections[OPENED_SELECTED];
};

struct web_store {
	const struct web_source *source;
	struct web_store *base; /* of the source's `base`; or NULL */
	struct opened opened[OPENED_MAX];
	/* the store's file, from the first time that it was opened on */
	dev_t device;
	ino_t inode;
};

/* What of a recording can be read without its samples. */
struct opened_figures {
	uint64_t change; /* differs after each commit of samples or other records */
	bool is_live;
};

/* Returns the figures of a recording, whose reader store_reader_open_figures() has opened. */
struct opened_figures opened_figures_of(struct store_reader *reader);

/* Finds the store. Returns 0, or -EINVAL after ask_fail() if it is gone. */
int opened_check(struct ask *ask);

/* Returns whether the source has sums of one metric, without times. */
bool opened_is_sums(const struct ask *ask);

/* Returns how many bytes the lists of an answer may have. */
size_t opened_room(const struct ask *ask);

/* Opens recording `id` (0: the latest) without its samples. The caller ends with opened_release().
 * Returns 0, or an error after ask_fail(). */
int opened_glance(struct ask *ask, int64_t id, struct store_reader **ret_reader);
void opened_release(const struct ask *ask, struct store_reader *reader);

/* Opens the recordings from `first` to `last` (0: the latest), or finds them open. Returns 0, or an
 * error after ask_fail(). *ret_opened, with its selections, is valid until the question ends,
 * unless this is called for OPENED_MAX other recordings. */
int opened_get(struct ask *ask, int64_t first, int64_t last, struct opened **ret_opened);

/* Gives the log of the recording's samples, for profiles; NULL: there is none, since it would be
 * too large. Returns 0, -ECANCELED or an error of a reader. */
int opened_log(const struct ask *ask, struct opened *opened, struct sample_log **ret_log);

/* Does what store_reader_samples() does, with the log if there is one. The samples have no CPU. */
int opened_samples(const struct ask *ask, struct opened *opened,
		   int (*each)(void *arg, const struct store_sample *sample), void *arg);

/* Closes what has not been used for `idle_ns`; 0: everything. */
void opened_tidy(struct web_store *store, uint64_t idle_ns);

/* Reads the parameter `name` with the number of a recording, or of several: 3..5. Both are 0 if it
 * is not given. Returns 0, or -EINVAL after ask_fail(). */
int opened_numbers(struct ask *ask, const char *name, int64_t *ret_first, int64_t *ret_last);

/* Keeps the error of a reader as the question's, and frees its sentence. Returns `err`. */
int opened_fail(struct ask *ask, int err, char *sentence);

#endif
