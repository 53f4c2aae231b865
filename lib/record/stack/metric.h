/* SPDX-License-Identifier: MIT */
/*
 * Metrics: what is measured by call path. Samples, instances of regions (a region is a marked part
 * of a program; an instance is one pass through it) and quantities such as bytes are all records of
 * one form (time, thread, call path, value), so they share the trie, the store and every view. A
 * source of records writes a series; a metric is one way to read a series: the sum of its values,
 * or the number of its records.
 */
#ifndef STACK_METRIC_H
#define STACK_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "stack/metric_list.h"

#define METRIC_COUNTERS 8 /* counters of the processor that a recording reads at most */
/* value of SERIES_COUNTED if the counter counted all the time */
#define METRIC_COUNTED	  1000000u
#define METRIC_AMOUNT_MAX 40 /* size of metric_amount()'s text */

/* The series of a recording. The numbers stand in stores: new ones go to the end. */
enum metric_series {
	SERIES_CPU, /* samples of an event; the value is the period */
	/* an instance of a region, at its end; the value is ns of wall time, without the time of
	 * the instances nested in it */
	SERIES_REGION_TIME,
	/* an instance of a region, at its end; the value is ns of CPU time, without the time of
	 * the instances nested in it */
	SERIES_REGION_CPU,
	SERIES_MPI_SENT,     /* bytes that an MPI call sent */
	SERIES_MPI_RECEIVED, /* bytes that an MPI call received */
	/* an instance that had nested ones; the value is the ns of wall time of the nested ones */
	SERIES_REGION_NESTED_TIME,
	/* an instance that had nested ones; the value is the ns of CPU time of the nested ones */
	SERIES_REGION_NESTED_CPU,
	SERIES_ALLOC_BYTES,   /* a sampled allocation; the bytes that it stands for */
	SERIES_ALLOC_OBJECTS, /* a sampled allocation; the blocks that it stands for */
	/* a sample outside of regions; the value is the ns of CPU time that it stands for */
	SERIES_CPU_OUTSIDE,
	/* the end of a sampled allocation, under the path and thread that allocated the block; the
	 * value is the bytes that it stands for */
	SERIES_FREED_BYTES,
	/* for each record of SERIES_FREED_BYTES: the blocks that it stands for */
	SERIES_FREED_OBJECTS,
	/* an MPI call that sent or received a number of bytes that is not known */
	SERIES_MPI_UNKNOWN,
	SERIES_ALLOC_ERROR, /* for each record of SERIES_ALLOC_BYTES: its standard error */
	/* for each record of SERIES_FREED_BYTES: the standard error of its allocation */
	SERIES_FREED_ERROR,
	/* for each record of SERIES_FREED_BYTES: the ns from the allocation to its end */
	SERIES_FREED_AGE,
	SERIES_MEMORY_TOUCHED, /* a sampled page fault; the bytes that it stands for */
	SERIES_MEMORY_ERROR,   /* for each record of SERIES_MEMORY_TOUCHED: its standard error */
	SERIES_MEMORY_MAPPED,  /* bytes that a call of mmap() or brk() asked for */
	/* no quantity: for each process of an MPI job, its rank + 1, and in the upper 32 bits the
	 * number of ranks of the job (0: unknown) */
	SERIES_MPI_RANK,
	/* a sampled wait, at the time when its thread was woken (in older stores: when it ran
	 * again); the value is the ns blocked that it stands for */
	SERIES_WAIT_BLOCKED,
	/* a sampled wait, at the time when its thread ran again; the value is the ns from wake-up
	 * to running that it stands for */
	SERIES_WAIT_RUNNABLE,
	/* no quantity: the end of a sampled wait, under the path of the waker; the value is
	 * WAKER_OF_... */
	SERIES_WAIT_WAKER,
	/* For each counter of the recording: by how much the thread's counter has grown since it
	 * was read for the thread's previous record. A negative difference is in two's
	 * complement. */
	SERIES_READING,
	/* For each counter: by how much it grew from the start to the end of an instance. */
	SERIES_PASSED = SERIES_READING + METRIC_COUNTERS,
	/* For each record of SERIES_READING of a multiplexed counter: in how much of the time since
	 * the previous record it counted, in millionths. 0: the difference is not known. */
	SERIES_COUNTED = SERIES_PASSED + METRIC_COUNTERS,
	/* no quantity: from this time on, waits are sampled with this mean distance in ns; 0: every
	 * wait is recorded */
	SERIES_WAIT_MEAN = SERIES_COUNTED + METRIC_COUNTERS,
	/* no quantity: the time when a thread ended; of several records, the last one is valid */
	SERIES_THREAD_END,
	/* no quantity: the time when waits of a thread began to be measured, unless a wait began
	 * then */
	SERIES_THREAD_BEGIN,
	SERIES_MPI_READ,    /* bytes that an MPI call read from a file */
	SERIES_MPI_WRITTEN, /* bytes that an MPI call wrote to a file */
	/* the part of MPI_RECEIVED and MPI_READ that is only an upper limit: the true number is
	 * unknown, so the size of the buffer was taken */
	SERIES_MPI_AT_MOST,
	/* Of calls that libstackmpi has counted, each record stands for all calls of a path in some
	 * time, and its value is the sum: ns of wall time, ns of CPU time, calls. */
	SERIES_CALL_TIME,
	SERIES_CALL_CPU,
	SERIES_CALL_VISITS,
	SERIES_COUNT
};

/* The values of SERIES_WAIT_WAKER: the waker is an interrupt, or the thread with this id. */
#define WAKER_OF_INTERRUPT   1u
#define WAKER_OF_THREAD(tid) ((uint64_t)(tid) + 1)

enum metric { /* metric_list.h; METRIC_CPU is the default */
#define METRIC_X(e, ...) METRIC_##e,
	      METRICS(METRIC_X)
#undef METRIC_X
		      METRIC_COUNT
};

enum metric_unit {
	METRIC_EVENTS, /* the unit of the recording's event: ns if the event is a clock */
	METRIC_NS,
	METRIC_BYTES,
	METRIC_TIMES, /* a number of times */
};

struct metric_info {
	const char *name; /* "region.time" */
	enum metric_series series;
	enum metric_series also; /* a second series, whose values are added; SERIES_CPU: none */
	/* the periods of the samples are added as well, if they are times */
	bool has_samples;
	bool is_union; /* all that this metric adds up is in other metrics as well */
	/* a series with sums over many instances, whose values are added; SERIES_CPU: none */
	enum metric_series sums;
	enum metric_series less; /* a series whose values are subtracted; SERIES_CPU: none */
	/* The series with the standard errors of the records of `series`, and of `less`;
	 * SERIES_CPU: there is none. Metrics that count objects have none, since their errors
	 * follow from the records themselves. */
	enum metric_series error, error_less;
	/* the metric is the sum over processes of each one's maximum over time, not the sum at the
	 * end */
	bool is_peak;
	enum metric_unit unit;
	bool is_count; /* each record of `series` counts 1, whatever its value */
	/* the records are only a sample of what happened; false: they are all of it */
	bool is_sampled;
	const char *records; /* what a record of the series is, in the plural: "samples" */
	const char *options; /* options of stackd that make it measure this */
	const char *meaning;
};

/* Returns the description of a metric, which must be below METRIC_COUNT. */
const struct metric_info *metric_info(enum metric metric);

/* Returns the metric that adds up the values of the records that `metric` counts; `metric` itself
 * if it does not count records. */
enum metric metric_summed(enum metric metric);

/* Returns whether a metric is about instances of regions, including calls of MPI. */
bool metric_is_of_regions(enum metric metric);

/* Returns the name of a metric's unit as JSON and pprof have it: "nanoseconds", "bytes", "count".
 */
const char *metric_unit_name(enum metric metric);

/* Appends a number of a metric's records: "1 sample", "123 samples". */
void metric_put_records(enum metric metric, uint64_t n, struct buf *b);

/* Writes an amount as views show it, "123 samples" or "1.234 s", and returns ret_text. */
const char *metric_amount(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX]);

/* Writes the same without the noun: "123", "1.234 s". */
const char *metric_number(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX]);

/* Returns whether a recording that has these series (bits 1 << enum metric_series) has records of
 * the metric. `is_timed`: the periods of its samples are times, which metrics with `has_samples`
 * need. */
bool metric_is_of(enum metric metric, uint64_t series, bool is_timed);

/* Appends the names of the metrics for which metric_is_of() is true, with commas between them. */
void metric_put_names(uint64_t series, bool is_timed, struct buf *b);

/* Appends a table of all metrics to `b`: a line each, with the options of stackd that make it
 * measured. */
void metric_put_all(struct buf *b);

/* Returns the unit of a metric in words: "time", "bytes", or the noun of what it counts: "blocks".
 */
const char *metric_unit_words(enum metric metric);

/* Finds a metric by its name. Returns false if there is none. */
bool metric_find(const char *name, enum metric *ret_metric);

#endif
