/* SPDX-License-Identifier: MIT */
/*
 * A batch holds everything that is new since the batch before, as rows of the store. The main loop
 * fills it (recorder/outbox.h) and the archive's thread writes it (archive.h); it has one owner at
 * a time.
 */
#ifndef ARCHIVE_BATCH_H
#define ARCHIVE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "proc/object.h"
#include "stack/metric.h"
#include "store/store.h"

struct batch_counter {
	char name[128];
	uint64_t value;
};

/* The cgroup of a thread. */
struct batch_cgroup {
	uint32_t thread; /* number */
	char *path;
};

/* The labels of a thread (stack/label_set.h). */
struct batch_labels {
	uint32_t thread; /* number */
	char *text;
};

struct batch_record {
	enum metric_series series;
	struct store_sample row; /* the record's value is row.period */
};

/* The batch owns all its arrays, and what they point to, except for the objects, which belong to
 * the object table and live as long as that does. */
struct batch {
	const struct object **objects;
	struct store_location *locations;
	const struct object **located;	 /* for each location its object, which awaits its name
					  * (object_await_names()) as long as the batch lives */
	struct store_line *lines;	 /* of managed code, with strings of their own */
	struct store_process *processes; /* with strings of their own */
	struct store_thread *threads;	 /* with strings of their own */
	struct batch_cgroup *cgroups;
	struct batch_labels *labels;
	struct store_node *nodes;
	uint32_t *sizes;	/* for each node, the bytes of stack of its frame; NULL: not
				 * measured */
	struct origin *origins; /* with runs of their own */
	struct store_sample *samples;
	struct batch_record *records; /* records of other series than samples */
	size_t n_objects, n_locations, n_processes, n_threads, n_nodes, n_origins, n_samples;
	size_t n_cgroups, n_labels, n_records, n_lines;
	struct batch_counter *counters;
	size_t n_counters;
	struct store_recording totals; /* see store_writer_commit(); its strings are borrowed, and
					* must outlive the archive */
	bool ends_window;	       /* the recording of a window ends with this batch, and
					* another begins */
	struct store_recording after;  /* row of the recording that begins; strings as those of
					* totals */
	struct batch *next;	       /* used by the archive's queue */
};

/* Returns an empty batch, which the caller frees by batch_free(); NULL without memory. */
struct batch *batch_new(void);

/* Frees all rows and counters of a batch. It keeps its totals, and whether it ends its window. */
void batch_empty(struct batch *batch);

/* Frees a batch and all that it owns. NULL is fine. */
void batch_free(struct batch *batch);

#endif
