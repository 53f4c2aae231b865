/* SPDX-License-Identifier: MIT */
/*
 * The options that verbs share for what they read: which store, which recording, and which part
 * of it. A verb makes input_argp (or input_store_argp, without the parts) a child of its own argp
 * and gives it a zeroed struct input.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"
#include "store/store_range.h"

#define INPUT_MAX 64 /* of each of pids, tids, and names of one kind */

struct input {
	const char *path;	       /* NULL: the default store */
	int64_t recording;	       /* 0: the latest */
	const char *since, *from, *to; /* as given, or NULL */
	bool is_range;		       /* all of the range are read, rather than one recording */
	struct store_range range;
	int32_t pids[INPUT_MAX], tids[INPUT_MAX];
	const char *comms[INPUT_MAX], *dsos[INPUT_MAX], *symbols[INPUT_MAX], *focus[INPUT_MAX],
		*ignore[INPUT_MAX], *units[INPUT_MAX];
	bool is_unfolded;     /* --no-fold-recursion was given */
	bool takes_moments;   /* of a metric of one moment, --from is another one */
	bool is_nameless;     /* the verb shows no names */
	bool takes_instances; /* those of regions without any sample are something to show */
	bool takes_fleets;    /* the verb can show a server's sums: input_fleet_by() */
	unsigned fleet_labels;
	const char *hosts[INPUT_MAX]; /* of a server's database */
	size_t n_hosts;
	const char *credentials; /* file, or NULL */
	bool is_whole; /* times choose recordings, of which all is read: see input_each() */
	struct profile_filter filter; /* made of the above, which it points to: do not copy */
};

extern const struct argp input_argp;
extern const struct argp input_recordings_argp; /* whole recordings */
extern const struct argp input_store_argp;

/* The store's path: the option's or the default; malloc()ed, NULL for lack of memory. */
char *input_path(const struct input *input);

/* Parts FILE@ID or FILE@ID..ID, or without FILE of the default store, unless there is a file of the
 * whole name: *ret_path is malloc()ed, and the numbers go to *input if there are any. A cmd_status;
 * a message has been given if it is not CMD_DONE. */
int input_part(const char *name, char **ret_path, struct input *input);

/* Opens the recording or the range that is asked for; see store_reader_open_range(). Recordings
 * that were left out have been reported. */
struct store_reader;
int input_open_reader(const struct input *input, const char *path, struct store_reader **ret_reader,
		      char **ret_error);

/* Reports why a store cannot be read and returns the exit status. `error` is the reader's
 * sentence (freed here) or NULL. */
int input_explain(const struct input *input, const char *path, int error_number, char *error);

/* Parses what --metric gives; an unknown name is a usage error, which lists those that are known.
 * "help" shows all of them, and does not return. */
void input_metric(struct argp_state *state, const char *arg, enum metric *ret_metric);

/* Whether a recording has what the metric adds up: of one of samples and waits, waits, and samples
 * that are times. Else says what is missing, and how to record it. */
struct store_reader;
bool input_has_times(enum metric metric, const char *path, struct store_reader *reader);

/* Whether samples are asked for, as `what` shows alone. CMD_DONE; CMD_USAGE, with a message. */
int input_only_samples(const struct input *input, const char *what);

/* Says which regions --region-limit took off: for what has no place to say it in. */
void input_regions_off(const struct profile *profile);

/* Reports that no path goes through a function, and suggests a similar name. */
void input_no_function(const struct profile *profile, const char *name);

/* Names for recordings that have not all of their own yet (sym/reader_names.h). 0 or -ENOMEM. */
struct reader_names;
int input_reader_names(struct reader_names **ret_names);

/* An opened recording, summed up. */
struct input_open {
	struct reader_names *late; /* or NULL */
	struct store_reader *reader;
	struct profile *profile;
};

/* Finds the names that an opened recording has not yet. 0 or -ENOMEM. */
int input_find_names(const struct input *input, struct input_open *open);

/* What to do with each of several recordings. What a function returns other than CMD_DONE ends it,
 * and has been reported. */
struct input_each {
	/* With all recordings of a range, before any is opened; or NULL. */
	int (*begin)(void *arg, const struct store_recording *recordings, size_t n);
	/* Whether one is to be opened; NULL: all are. */
	bool (*wants)(void *arg, const struct store_recording *recording);
	int (*each)(void *arg, const struct input_open *open); /* also without samples */
	void *arg;
};

/* Whether a recording is one of those that input_each() opens. */
bool input_has(const struct input *input, const struct store_recording *recording);

/* Opens all recordings that are asked for, one after the other by itself, whatever their targets
 * and events. A cmd_status; a message has been given if it is not CMD_DONE. */
int input_each(const struct input *input, const struct input_each *each);

/* Opens and sums up. CMD_DONE; CMD_NO_SAMPLES with all of it open; else nothing is open. On
 * anything but CMD_DONE a message has been given. */
int input_open(const struct input *input, struct input_open *ret_open);
void input_close(struct input_open *open);

#endif
