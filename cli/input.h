/* SPDX-License-Identifier: MIT */
/*
 * The options that verbs share to choose their input: which store, which recording, and which part
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

#define INPUT_MAX 64 /* the most pids, tids, and names of one kind */

struct input {
	const char *path;	       /* NULL: the default store */
	int64_t recording;	       /* 0: the latest */
	const char *since, *from, *to; /* the arguments of these options, or NULL */
	bool is_range;		       /* read all recordings of `range` instead of a single one */
	struct store_range range;
	int32_t pids[INPUT_MAX], tids[INPUT_MAX];
	const char *comms[INPUT_MAX], *dsos[INPUT_MAX], *symbols[INPUT_MAX], *focus[INPUT_MAX],
		*ignore[INPUT_MAX], *units[INPUT_MAX], *labels[INPUT_MAX];
	bool shows_interpreter; /* --interpreter=show was given */
	bool is_unfolded;	/* --no-fold-recursion was given */
	/* the verb accepts --from with a metric of one moment, as another moment to compare with */
	bool takes_moments;
	bool is_nameless; /* the verb shows no names */
	/* a bit for each series: the verb can show a recording that has it and no samples */
	uint64_t takes_series;
	bool takes_fleets; /* the verb can show a server's sums: input_fleet_by() */
	unsigned fleet_labels;
	const char *fleet_label; /* the label by which a server keeps sums apart, or NULL */
	/* the most paths that a server keeps apart, if frames do not choose; 0: all */
	uint32_t most_paths;
	const char *event;	      /* of a server's recordings; NULL: that of the newest */
	const char *hosts[INPUT_MAX]; /* hosts of a server's database */
	size_t n_hosts;
	const char *credentials;      /* the file with a server's password, or NULL */
	bool is_whole;		      /* times choose whole recordings: see input_each() */
	struct profile_filter filter; /* points to the fields above: do not copy the struct */
};

extern const struct argp input_argp;
extern const struct argp input_recordings_argp; /* the options that choose whole recordings */
extern const struct argp input_sources_argp;	/* the options that choose stores and sums */
extern const struct argp input_store_argp;

/* Returns the store's path, from the option or the default one, which the caller frees; NULL:
 * memory is short. */
char *input_path(const struct input *input);

/* Splits FILE@ID or FILE@ID..ID (@ID alone means the default store), unless a file with the whole
 * name exists. *ret_path receives the path, which the caller frees; *input receives the numbers, if
 * there are any. Returns a cmd_status; a message has been printed if it is not CMD_DONE. */
int input_part(const char *name, char **ret_path, struct input *input);

/* Opens the recording or the range that the options choose; see store_reader_open_range(). Prints a
 * message if recordings are left out. */
struct store_reader;
int input_open_reader(const struct input *input, const char *path, struct store_reader **ret_reader,
		      char **ret_error);

/* Prints why a store cannot be read, and returns the exit status. `error` is the reader's sentence,
 * which is freed here, or NULL. */
int input_explain(const struct input *input, const char *path, int error_number, char *error);

/* Returns whether a recording has the records that a metric needs. METRIC_WALL, which adds up
 * samples and waits, needs both, and the samples must be of a clock. If not, prints what is missing
 * and how to record it. */
struct store_reader;
bool input_has_times(enum metric metric, const char *path, struct store_reader *reader);

/* Checks that the input's metric is samples, because `what` can show no other. Returns CMD_DONE, or
 * CMD_USAGE after a message. */
int input_only_samples(const struct input *input, const char *what);

/* Prints which regions' probes were taken off (--region-limit), for outputs that have no place for
 * that. */
void input_regions_off(const struct profile *profile);

/* Makes the source of names for recordings that lack names (sym/reader_names.h). Returns 0 or
 * -ENOMEM. */
struct reader_names;
int input_reader_names(struct reader_names **ret_names);

/* An opened recording and the sums of its samples. */
struct input_open {
	struct reader_names *late; /* source of the names that the recording lacks, or NULL */
	struct store_reader *reader;
	struct profile *profile;
};

/* Looks up the names that an opened recording lacks. Returns 0 or -ENOMEM. */
int input_find_names(const struct input *input, struct input_open *open);

/* What input_each() does with recordings. A function that returns another status than CMD_DONE must
 * have printed a message, and ends input_each(). */
struct input_each {
	/* called with all recordings of the range before any is opened; or NULL */
	int (*begin)(void *arg, const struct store_recording *recordings, size_t n);
	/* Returns whether to open a recording; NULL: all are opened. */
	bool (*wants)(void *arg, const struct store_recording *recording);
	/* Is also called for recordings without samples. */
	int (*each)(void *arg, const struct input_open *open);
	void *arg;
};

/* Returns whether input_each() opens a recording. */
bool input_has(const struct input *input, const struct store_recording *recording);

/* Opens all recordings that the options choose, one after the other, whatever their targets and
 * events. Returns a cmd_status; a message has been printed if it is not CMD_DONE. */
int input_each(const struct input *input, const struct input_each *each);

/* Opens the input and sums it up. Returns CMD_DONE; CMD_NO_SAMPLES, with everything open; or
 * another cmd_status, with nothing open. A message has been printed unless it is CMD_DONE. */
int input_open(const struct input *input, struct input_open *ret_open);
void input_close(struct input_open *open);

#endif
