/* SPDX-License-Identifier: MIT */
/*
 * Metrics: what is measured by call path.
 * Samples of time, instances of regions and their quantities are all records of one form (time,
 * thread, call path, value), which share the trie, the store and every view. A source of records
 * writes a series; a metric is one way to read a series: the sum of its values, or the number of
 * its records.
 */
#ifndef STACK_METRIC_H
#define STACK_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "stack/metric_list.h"

#define METRIC_COUNTERS	  8	   /* most that a recording has readings of */
#define METRIC_COUNTED	  1000000u /* of SERIES_COUNTED: it counted all the time */
#define METRIC_AMOUNT_MAX 40	   /* bytes of what metric_amount() writes */

/* The series of a recording. The numbers stand in stores: new ones go to the end. */
enum metric_series {
	SERIES_CPU,	     /* samples of an event; the value is the period */
	SERIES_REGION_TIME,  /* an instance of a region at its end; ns of wall time, without that
			      * of instances within it */
	SERIES_REGION_CPU,   /* the same; ns of CPU time */
	SERIES_MPI_SENT,     /* bytes that an MPI call sent */
	SERIES_MPI_RECEIVED, /* bytes that one received */
	SERIES_REGION_NESTED_TIME, /* of an instance that had some within it: their time */
	SERIES_REGION_NESTED_CPU,
	SERIES_ALLOC_BYTES,   /* a sampled allocation; the bytes that it stands for */
	SERIES_ALLOC_OBJECTS, /* the same; the blocks that it stands for */
	SERIES_CPU_OUTSIDE, /* a sample outside of regions; the ns of CPU time that it stands for */
	SERIES_FREED_BYTES, /* the end of a sampled allocation, under the path and thread that it
			     * came from; the bytes that it stands for */
	SERIES_FREED_OBJECTS,  /* the same; the blocks */
	SERIES_MPI_UNKNOWN,    /* an MPI call that sent or received bytes that could not be told */
	SERIES_ALLOC_ERROR,    /* beside each one of SERIES_ALLOC_BYTES: its standard error */
	SERIES_FREED_ERROR,    /* beside each one of SERIES_FREED_BYTES: that of the allocation */
	SERIES_FREED_AGE,      /* the same; ns since the allocation */
	SERIES_MEMORY_TOUCHED, /* a sampled page fault; the bytes that it stands for */
	SERIES_MEMORY_ERROR,   /* beside each one of these: its standard error */
	SERIES_MEMORY_MAPPED,  /* bytes that a process has asked the kernel for */
	SERIES_MPI_RANK, /* no quantity: of each process of an MPI job, its rank + 1, and the size
			  * of the job (0: not known) in the upper 32 bits */
	SERIES_WAIT_BLOCKED,  /* a sampled wait when its thread was woken (in older stores when it
			       * ran);  the ns blocked that it stands for */
	SERIES_WAIT_RUNNABLE, /* the same when it ran; the ns that it was runnable, without a CPU */
	SERIES_WAIT_WAKER, /* no quantity: when a thread's sampled wait was ended, under the path of
			    * the waker, which the value tells */
	/* Of each counter of the recording, its reading: by how much it is more than the one before
	 * in the thread; a difference below 0 has its two's complement. */
	SERIES_READING,
	/* The same at the end of an instance: by how much it is more than at its start. */
	SERIES_PASSED = SERIES_READING + METRIC_COUNTERS,
	/* Beside each one of SERIES_READING of a counter that has to share the processor's with
	 * others: for how much of the time since the one before it counted, in millionths. 0: it is
	 * not known by how much it is more. */
	SERIES_COUNTED = SERIES_PASSED + METRIC_COUNTERS,
	SERIES_WAIT_MEAN = SERIES_COUNTED + METRIC_COUNTERS, /* no quantity: the mean in ns by
							      * which waits are sampled from then
							      * on; 0: all are kept */
	SERIES_THREAD_END,   /* no quantity: when a thread ended; of several the last */
	SERIES_THREAD_BEGIN, /* no quantity: since when its waits are measured, where no wait of it
			      * begins then */
	SERIES_MPI_READ,     /* bytes that an MPI call read from a file */
	SERIES_MPI_WRITTEN,  /* bytes that one wrote */
	SERIES_MPI_AT_MOST,  /* of the bytes that one received or read, those that are the size of
			      * its buffer: nothing told how much there was */
	SERIES_COUNT
};

/* The values of SERIES_WAIT_WAKER: an interrupt, or a thread by its id. */
#define WAKER_OF_INTERRUPT   1u
#define WAKER_OF_THREAD(tid) ((uint64_t)(tid) + 1)

enum metric { /* metric_list.h; METRIC_CPU is the default */
#define METRIC_X(e, ...) METRIC_##e,
	      METRICS(METRIC_X)
#undef METRIC_X
		      METRIC_COUNT
};

enum metric_unit {
	METRIC_EVENTS, /* of the recording's event: ns if it is a clock */
	METRIC_NS,
	METRIC_BYTES,
	METRIC_TIMES, /* how often */
};

struct metric_info {
	const char *name; /* "region.time" */
	enum metric_series series;
	enum metric_series also; /* whose values are added to it; SERIES_CPU: none */
	bool has_samples;	 /* so are the periods of the samples, if they are times */
	bool is_union;		 /* all that it adds up is in other metrics, too */
	enum metric_series less; /* whose values are taken off again; SERIES_CPU: none */
	/* Series beside those two that have the standard errors of their records; SERIES_CPU: there
	 * is none. Of objects they are known from the records themselves. */
	enum metric_series error, error_less;
	bool is_peak; /* each process's when the sum of the values was largest, rather than last */
	enum metric_unit unit;
	bool is_count;	 /* each record counts 1, whatever its value */
	bool is_sampled; /* the records are a sample of what there was, else they are all of it */
	const char *records; /* what a record of the series is, in the plural: "samples" */
	const char *options; /* of stackd, that have it measured */
	const char *meaning;
};

/* Returns the description of a metric, which must be below METRIC_COUNT. */
const struct metric_info *metric_info(enum metric metric);

/* Returns the metric that adds up the values of the records which a metric counts; the metric
 * itself if it counts none. */
enum metric metric_summed(enum metric metric);

/* Returns whether a metric is about instances of regions, including calls of MPI. */
bool metric_is_of_regions(enum metric metric);

/* Returns the name of a metric's unit as JSON and pprof have it: "nanoseconds", "bytes", "count".
 */
const char *metric_unit_name(enum metric metric);

/* Writes an amount as views show it, "123 samples" or "1.234 s", and returns ret_text. */
const char *metric_amount(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX]);

/* The same without the noun: "123", "1.234 s". */
const char *metric_number(enum metric metric, uint64_t value,
			  char ret_text[static METRIC_AMOUNT_MAX]);

/* Returns whether a recording with these series (bit 1 << number) has records of the metric.
 * `is_timed`: its samples are times, without which there are no sums of both. */
bool metric_is_of(enum metric metric, uint64_t series, bool is_timed);

/* Appends the names of the metrics for which metric_is_of() is true, with commas between them. */
void metric_put_names(uint64_t series, bool is_timed, struct buf *b);

/* Appends a table of all metrics, with the options of stackd that have each measured: a line each.
 */
void metric_put_all(struct buf *b);

/* Returns the unit of a metric in words: "time", "bytes", or what is counted: "blocks". */
const char *metric_unit_words(enum metric metric);

/* Finds a metric by its name. Returns false if there is none. */
bool metric_find(const char *name, enum metric *ret_metric);

#endif
