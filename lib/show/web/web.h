/* SPDX-License-Identifier: MIT */
/*
 * Answers the questions of the page `stackctl web` (docs/WEB.md): a question is a name with
 * parameters, and its answer is one JSON object of at most WEB_ANSWER_MAX bytes, which holds what a
 * screen can show. Nothing here knows HTTP: the server (cli/web) brings questions, and the pages
 * that verbs write as one file contain the same answers.
 *
 * The next answers use again what one answer has needed (web/opened.h): the opened recording, the
 * sums of the last selections, and their trees.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "store/store_reader.h"

#define WEB_ANSWER_MAX 300000

struct json;
struct profile;
struct profile_filter;
struct reader_names;

enum web_fold_time { WEB_FOLD_BEST, WEB_FOLD_CPU, WEB_FOLD_WALL };

/* What is to be folded. */
struct web_fold {
	const char *region; /* NULL: list the regions that can be */
	enum web_fold_time time;
};

/* The one recording of a source whose reader is open already, and what of it is chosen: by the
 * options of a verb that writes a page. */
struct web_given {
	struct store_reader *reader;
	/* what every selection is restricted to, besides the question's own parameters */
	const struct profile_filter *filter;
	const bool *threads; /* by number of a thread: whether it has a lane; NULL: all have */
	const char *chosen;  /* what was chosen, for people; NULL: the whole recording */
	bool is_sums;	     /* the reader has sums of one metric, without times */
};

/* Where recordings come from. The source and all that it points to are borrowed, and must outlive
 * what is made of it. */
struct web_source {
	const char *path;  /* the store, as it is opened */
	const char *label; /* the store, as people know it */
	/* Makes a source of the names that an unfinished recording lacks; NULL: they are not looked
	 * up. Returns 0 or -ENOMEM. */
	int (*new_names)(struct reader_names **ret_names);
	/* Opens a source that is no store (a file of `stackctl merge`, a server's database) as one
	 * recording of sums of `metric`. NULL: the source is a store. Errors as
	 * store_reader_open(). */
	int (*open)(const void *arg, struct store_reader **ret_reader, char **ret_error);
	/* Describes the store's file as stat() does; NULL: stat() of the path does. Returns 0 or a
	 * negative errno; -ENOENT: the store is gone. */
	int (*look)(const void *arg, struct stat *ret_stat);
	/* Writes the members of the answer to "fold" into the open object of *j; NULL: this build
	 * has no folding. Returns 0; -ENOENT: there is no such region; -ENODATA: no pass has a
	 * sample; -ENOTSUP: CPU time is asked for and was not read; -ENOMEM, or an error of the
	 * reader. */
	int (*fold)(const void *fold_arg, struct profile *profile, const struct web_fold *fold,
		    struct json *j);
	const void *arg;      /* of `open` and `look` */
	const void *fold_arg; /* of `fold` */
	enum metric metric;   /* of a source that is no store */
	/* the only recording, instead of those of a store or of `open`; NULL: there is none */
	const struct web_given *given;
	/* what differences are compared with, whatever their base_recording is, and its name for
	 * people; NULL: a recording of the same source */
	const struct web_source *base;
	const char *base_name;
	size_t most_bytes; /* of an answer's lists; 0: so many that it has WEB_ANSWER_MAX at most */
};

struct web_parameter {
	const char *name, *value; /* decoded */
};

struct web_question {
	const char *name; /* "tree" */
	const struct web_parameter *parameters;
	size_t n_parameters;
	/* Another thread sets this flag when nobody wants the answer any more. NULL: the question
	 * cannot be stopped. */
	const atomic_bool *stop;
};

struct web;

/* Makes what answers questions about a source. Returns 0 or -ENOMEM. */
int web_new(const struct web_source *source, struct web **ret_web);

/* Frees it, with all recordings that it has open; NULL is allowed. No question may be running. */
void web_free(struct web *web);

/* Appends the answer to a question, or an object that describes the error, and returns the status
 * as HTTP numbers it: 200; 400; 404; 409: `stop` was set; 410: the store is gone; 500. May be
 * called by several threads at once. */
int web_answer(struct web *web, const struct web_question *question, struct buf *answer);

/* Returns whether a question needs no recording's samples, so that it is answered at once. */
bool web_is_light(const char *name);

/* Closes recordings that nobody has asked about for a while: as long as one is open, the store
 * cannot reuse the room of what was committed meanwhile. To be called every few seconds. */
void web_tidy(struct web *web);

#endif
