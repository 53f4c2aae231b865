/* SPDX-License-Identifier: MIT */
/*
 * The profile of a recording, on which all views and exports work: its samples, filtered, summed up
 * by thread and call path, with names.
 *
 * The profile decides how frames are shown: a location becomes one frame for its function and one
 * more for each function inlined there; a location without a name becomes "libfoo.so+0x1a2b";
 * functions of one name in one object are kept apart ("parse (lexer.c)", "parse (reader.c)",
 * model/namesakes.h); a path whose walk did not reach the thread's entry gets a root mark, a frame
 * that names the reason:
 * "[incomplete: no_recipe]". Frames that were inferred rather than observed (stack/origin.h) are
 * flagged, or left out when the filter asks for that.
 *
 * A sample of a clock can stand for several periods, because the clock was late, or its rate was
 * lowered meanwhile. So views add up periods, in whole numbers: a sample that stands for five
 * periods counts as five. If the event has no period, or recordings of several rates are added up,
 * each sample counts as one.
 *
 * Functions that take a const profile only read it, so two threads may call them at once. The other
 * functions can add names, so only one thread may call them.
 */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/lasting.h"
#include "stack/metric.h"
#include "store/store_reader.h"

struct sample_log;

#define PROFILE_MAX_FOCUS 14 /* functions in profile_filter.focus */

/* Names or patterns (model/pattern.h). */
struct profile_patterns {
	const char *const *items;
	size_t n;
};

/* Selects samples and changes their paths. A zeroed filter selects all samples and changes no path.
 * A sample must meet every condition; it meets a list if it meets one item of it, except for
 * `focus` and `labels`, all of whose items it must meet. The caller owns all arrays and strings. */
struct profile_filter {
	/* the quantity that is summed up; the "samples" of the conditions below are the records of
	 * this metric */
	enum metric metric;
	const int32_t *pids;
	size_t n_pids;
	const int32_t *tids;
	size_t n_tids;
	const char *const *comms; /* names or patterns (model/pattern.h) of threads */
	size_t n_comms;
	struct profile_patterns units;	/* folders of the path of the thread's cgroup */
	struct profile_patterns labels; /* "NAME=PATTERN" (model/labels.h), all of which it meets */
	/* by number of a thread in the reader's tables: whether it is selected; NULL: all are */
	const bool *threads;
	uint64_t from_ns,
		/* since the recording's start; to_ns is exclusive, and 0 stands for the recording's
		 * end */
		to_ns;
	struct profile_patterns dsos;	 /* objects in which samples hit */
	struct profile_patterns symbols; /* functions in which samples hit */
	struct profile_patterns focus;	 /* functions that are all somewhere in the path */
	struct profile_patterns ignore;	 /* functions that are nowhere in the path */
	uint32_t max_depth;   /* frames shown of a path, from the root on; 0: all. A sample that hit
			       * deeper counts for the last frame that is shown. */
	bool fold_recursion;  /* A function that calls itself directly is one frame. */
	bool no_inlined;      /* Leaves out inlined frames; their time is their caller's. */
	bool by_cpu;	      /* Gives each CPU entries of its own. */
	const char *by_label; /* the label by which views divide (PARTITION_BY_LABEL); else NULL */
	bool no_reconstructed; /* Leaves out inferred frames; such paths are then incomplete. */
	/* NULL, or the samples of the reader (model/sample_log.h), which are then not read again.
	 * It must outlive the profile. */
	struct sample_log *log;
	/* NULL, or what another thread sets to make profile_new() return -ECANCELED */
	const atomic_bool *stop;
};

/* A function as views show it. Symbols are interned: equal names in one object have one address.
 * They are owned by the profile and live as long as it does. */
struct profile_symbol {
	uint32_t number;      /* dense, from 0 */
	uint32_t name_number; /* dense, from 0; symbols of equal name share it */
	const char *name;     /* demangled; "libfoo.so+0x1a2b"; "[incomplete: ...]" */
	const char *plain;    /* name without a namesake's suffix; NULL: the same */
	const char *object;   /* path, "[kernel.kallsyms]", "[vdso]", "" for marks */
	bool is_mark;	      /* not a function, but a note that frames are missing */
	bool is_kernel;
	bool is_unnamed;     /* name is object+offset */
	bool is_region;	     /* a region that the program names: not the function of that name */
	uint8_t kind;	     /* enum frame_kind, as of a frame that is not inlined */
	uint32_t first_line; /* of the function in its source file; 0: not known */
};

/* A frame as views show it. */
struct profile_frame {
	const struct profile_symbol *symbol;
	uint32_t location; /* UINT32_MAX for marks */
	const char *file;  /* or NULL */
	uint32_t line;	   /* or 0 */
	bool is_inlined;
	/* the frame's own source is an inference, or it was reached only through an inferred
	 * frame */
	bool is_inferred;
	uint8_t source;	    /* enum frame_source */
	uint8_t confidence; /* percent */
};

/* The samples with the same thread, call path, end reason and origin (stack/origin.h), and with the
 * same CPU if the filter has by_cpu. */
struct profile_entry {
	uint32_t thread; /* number in the store's tables */
	uint32_t node;
	uint32_t origin;       /* number in the store's tables */
	uint8_t end_reason;    /* enum stackd_end_reason; unknown ones share a number */
	uint8_t quality : 7;   /* enum profile_quality */
	uint8_t is_valued : 1; /* see profile_entry_amount() */
	uint16_t cpu;	       /* 0 without by_cpu */
	uint64_t samples;
	/* sum of the periods for which the samples stand: one or more for each sample */
	uint64_t periods;
	uint64_t weight; /* sum of the samples' events, or of the values of another metric */
};

/* Returns the amount that views add up: the periods for which samples stand, or the values of
 * another metric. */
static inline uint64_t profile_entry_amount(const struct profile_entry *entry)
{
	return entry->is_valued ? entry->weight : entry->periods;
}

/* COMPLETE: the walk reached the thread's entry. RECONSTRUCTED: alignment completed the path.
 * PARTIAL: neither. LOST: the sample was lost. Paths of the last two begin with a root mark. */
enum profile_quality { PROFILE_COMPLETE, PROFILE_RECONSTRUCTED, PROFILE_PARTIAL, PROFILE_LOST };

struct profile_totals {
	uint64_t samples, periods, weight;	   /* after the filter */
	uint64_t complete, reconstructed, partial; /* samples, after the filter */
	uint64_t estimated; /* part of `weight` that is an estimate; see profile_lasting() */
	double estimated_variance;
};

/* The kind of wait that a frame belongs to. In a wait's path, the leaf says what the thread waited
 * for. */
enum profile_wait { PROFILE_NO_WAIT, PROFILE_BLOCKED, PROFILE_RUNNABLE };

struct profile;

/* Sums up the reader's samples. The reader and the filter (NULL: none) are borrowed and must
 * outlive the profile. Returns 0; -ENODATA: the filter selects no sample (*ret_profile is made
 * nevertheless, and must be freed); -EINVAL: there are too many functions to focus on; -ECANCELED:
 * the filter's `stop` was set; -ENOMEM;
 * -EBADMSG: a sample refers to an entry that the tables lack; or an error of
 * store_reader_samples(). */
int profile_new(struct store_reader *reader, const struct profile_filter *filter,
		struct profile **ret_profile);
void profile_free(struct profile *profile); /* NULL is allowed */

/* Returns the reader that the profile was made from. */
struct store_reader *profile_reader(const struct profile *profile);

/* Returns the tables to which entries refer: the reader's, or a copy of them that the profile owns,
 * with additional nodes and origins for completed or shortened paths. */
const struct store_tables *profile_tables(const struct profile *profile);

/* Returns the tags of all nodes of profile_tables(), by number; tag [0] is 0. The array is owned by
 * the profile or its reader. Returns 0, -ENOMEM, or an error of store_reader_tags(). */
int profile_tags(struct profile *profile, const uint64_t **ret_tags);

/* Returns the numbers of samples that the filter selects; they belong to the profile. */
const struct profile_totals *profile_totals(const struct profile *profile);

/* Returns all entries, in the order of their first samples; owned by the profile. */
const struct profile_entry *profile_entries(const struct profile *profile, size_t *ret_count);

/* Returns the filter; never NULL. */
const struct profile_filter *profile_filter(const struct profile *profile);

/* Returns the first moment that the filter selects (CLOCK_MONOTONIC); 0 if it sets no begin. */
uint64_t profile_begin(const struct profile *profile);

/* Returns the last moment that the filter selects (CLOCK_MONOTONIC); UINT64_MAX if it sets no end.
 */
uint64_t profile_end(const struct profile *profile);

/* Returns the number of the metric's records, before the filter selects some. */
uint64_t profile_recorded(const struct profile *profile);

/* Calls `each` for every record of the profile's metric, also for those that the filter does not
 * select, as store_reader_records() does. profile_sample() then returns the record with the path
 * that the profile has for it. */
int profile_records(const struct profile *profile,
		    int (*each)(void *arg, const struct store_sample *record), void *arg);

/* Calls lasting_records() for the profile's reader. With METRIC_REGION_TIME and METRIC_REGION_CPU,
 * `each` also receives estimates of the own time of regions after their probes were taken off
 * (region_rest.h). */
int profile_lasting(struct profile *profile, enum metric metric, lasting_each each, void *arg);

struct region_rest;

/* Finds the regions whose probes were taken off. *ret_rest belongs to the profile; NULL: there are
 * no such regions. Errors as region_rest_new(). */
int profile_region_rest(struct profile *profile, struct region_rest **ret_rest);

/* Returns the sum of profile_entry_amount() over all entries. */
uint64_t profile_total(const struct profile *profile);

/* Returns the amount that views add up for a record that profile_sample() returned: the periods for
 * which a sample stands, or the value of a record of another metric. */
uint64_t profile_amount(const struct profile *profile, const struct store_sample *record);

/* Returns the number of periods, 1 or more, that a sample of `events` events stands for. */
uint64_t profile_periods(const struct profile *profile, uint64_t events);

/* Returns whether the filter left any sample out. */
bool profile_is_filtered(const struct profile *profile);

/* Returns whether the filter selects a sample of the reader. */
bool profile_includes(const struct profile *profile, const struct store_sample *sample);

/* Returns the standard error of profile_total(), from the reader's records. Negative: there is
 * none, because the metric is counted and no part of it is estimated, or because the recording has
 * no errors. */
double profile_error(const struct profile *profile);

/* Returns whether the filter selects a sample, as profile_includes() does, and gives the sample as
 * the profile has it: completed paths have other nodes and origins, and where inferred frames are
 * left out, the end reason differs as well; for a metric that counts records, the period is 1.
 * *ret_sample is untouched if the filter does not select the sample. */
bool profile_sample(const struct profile *profile, const struct store_sample *sample,
		    struct store_sample *ret_sample);

/* Does the same for the record with index `number` in its series: the series of records that are
 * added, or with `is_end` the series of records that are subtracted (freed blocks). *ret_share
 * receives the share of the record that was live at its process's peak if the metric is a peak,
 * else 1. */
bool profile_sample_numbered(const struct profile *profile, const struct store_sample *sample,
			     bool is_end, size_t number, struct store_sample *ret_sample,
			     double *ret_share);

/* Does as profile_sample(), but counts the sample whatever its time is. */
bool profile_sample_at_any_time(const struct profile *profile, const struct store_sample *sample,
				struct store_sample *ret_sample);

/* Does what profile_sample() does for a record that covers a time (lasting_records()): the period
 * of *ret_sample is the part of the record's value in the time that the filter selects. Returns
 * false if there is no such part. */
bool profile_part(const struct profile *profile, const struct store_sample *record,
		  const struct lasting *lasting, struct store_sample *ret_sample);

/* Returns the frames of a path, root first, with its root mark and inlined frames, shaped as the
 * filter says (max_depth, fold_recursion, no_inlined). The array is owned by the profile and lives
 * until the next call. NULL for lack of memory. */
const struct profile_frame *profile_frames(struct profile *profile, uint32_t node,
					   uint8_t end_reason, uint32_t origin, size_t *ret_count);

/* Returns the frames of a location, the enclosing function first, then those inlined into it; there
 * is at least one. They live as long as the profile. NULL for lack of memory. */
const struct profile_frame *profile_location_frames(struct profile *profile, uint32_t location,
						    size_t *ret_count);

/* Returns the same frames as keys, `symbol->number << 1 | is_inlined`, which is faster. Lifetime
 * and errors are those of profile_location_frames(). */
const uint32_t *profile_location_keys(struct profile *profile, uint32_t location,
				      size_t *ret_count);

/* Returns the root mark of paths with this end reason and origin, and makes it if no entry has it.
 * NULL: such paths have none, or memory is short. Making a mark adds a symbol to the profile, so no
 * other thread may use the profile meanwhile. */
const struct profile_symbol *profile_mark(struct profile *profile, uint8_t end_reason,
					  uint32_t origin);

/* Returns the root mark of an entry's path; NULL: it has none. profile_new() has made the marks of
 * all entries, so this only reads and cannot fail, and a second thread may call it at any time. */
const struct profile_symbol *profile_entry_mark(const struct profile *profile,
						const struct profile_entry *entry);

/* Returns whether paths with this end reason and origin begin with a root mark. */
bool profile_has_mark(const struct profile *profile, uint8_t end_reason, uint32_t origin);

/* Returns the origin with a number; for an unknown number, the one of walked paths. It lives as
 * long as the profile. */
const struct origin *profile_origin(const struct profile *profile, uint32_t origin);

/* Returns the symbol that is shown for a path without any frame. */
const struct profile_symbol *profile_no_frames(const struct profile *profile);

/* Returns whether a name or pattern (model/pattern.h) matches a symbol. A suffix for namesakes is
 * optional: "parse" also matches "parse (lexer.c)", and so all functions of that name. */
bool profile_symbol_matches(const struct profile_symbol *symbol, const char *pattern);

/* Returns a symbol's name without the suffix that distinguishes it from its namesakes. */
static inline const char *profile_symbol_plain(const struct profile_symbol *symbol)
{
	return symbol->plain ? symbol->plain : symbol->name;
}

/* Returns the kind of waits to which a symbol belongs, as the reason of a wait or as a frame below
 * the reason. */
enum profile_wait profile_symbol_wait(const struct profile_symbol *symbol);

/* Returns whether a symbol is below the reason of a wait: the object that threads waited for, or
 * the thread that held it. */
bool profile_symbol_is_awaited(const struct profile_symbol *symbol);

/* Returns how many of a path's `n` frames there are up to the reason of its wait, which is
 * included; 0 if the path is not of a wait. */
size_t profile_wait_depth(const struct profile_frame *frames, size_t n);

/* Returns the number of symbols so far; it grows as locations get names. */
size_t profile_symbol_count(const struct profile *profile);

/* Returns a symbol by its number, which must be below the count. */
const struct profile_symbol *profile_symbol_at(const struct profile *profile, uint32_t number);

/* Returns the quality of a path with this end reason and origin. */
enum profile_quality profile_quality(const struct profile *profile, uint8_t end_reason,
				     uint32_t origin);

/* Returns the name of a quality: "complete", "reconstructed" or "partial". PROFILE_LOST is
 * "partial" as well. */
const char *profile_quality_name(enum profile_quality quality);

/* Returns the quality of a walk with this end reason, if its path was not completed. */
enum profile_quality profile_quality_of(uint8_t end_reason);

#endif
