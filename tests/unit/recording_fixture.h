/* SPDX-License-Identifier: MIT */
/*
 * A test's recording: its entries in memory, and calls that add to them. write_recording() hands it
 * to the real writer; fake_store.h reads it from memory, also if no writer would take it.
 *
 * put_X() adds a copy of an entry as it is, but for its number, which is the next one; add_X()
 * makes an entry of the usual kind. Both return its number. Strings are copied. Out of memory ends
 * the program.
 */
#ifndef RECORDING_FIXTURE_H
#define RECORDING_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "proc/object.h"
#include "store/store_reader.h"
#include "store/store_writer.h"

#define RECORDING_PERIOD 1003009 /* ns from a sample to the next one, as for 997 Hz */

struct recording_record {
	enum metric_series series;
	struct store_sample record;
};

struct recording {
	struct store_recording info;
	struct store_object *objects;
	struct store_location *locations;
	struct store_line *lines;
	struct store_process *processes;
	struct store_thread *threads;
	struct store_node *nodes; /* [0] is the empty path */
	uint32_t *sizes;	  /* of nodes; [0] is not used */
	struct origin *origins;	  /* [0] is not used */
	struct store_sample *samples;
	struct recording_record *records; /* of other series */
	struct store_counter *counters;
	uint32_t n_objects, n_locations, n_lines, n_processes, n_threads, n_nodes, n_sizes;
	uint32_t n_origins, n_samples, n_records, n_counters;
	/* So many of each have been written. */
	struct {
		uint32_t objects, locations, lines, processes, threads, cgroups, nodes, sizes;
		uint32_t origins, samples, records, counters;
	} written;
	void **copies; /* strings and the like */
	uint32_t n_copies;
};

static inline void *recording_realloc(void *array, size_t size)
{
	void *grown = realloc(array, size);

	if (!grown)
		abort();
	return grown;
}

/* Makes room for entry `n`: by doubling whenever n is a power of two. */
static __attribute__((noinline, unused)) void *recording_room(void *array, uint32_t n, size_t size)
{
	return n & (n - 1) ? array : recording_realloc(array, size * (n ? 2 * (size_t)n : 1));
}

#define RECORDING_GROW(array, n) ((array) = recording_room((array), (n), sizeof(*(array))))

/* Copies bytes, if there are any; the recording frees them. */
static inline void *recording_copy(struct recording *r, const void *bytes, size_t size)
{
	void *copy;

	if (!bytes || !size)
		return NULL;
	copy = memcpy(recording_realloc(NULL, size), bytes, size);
	RECORDING_GROW(r->copies, r->n_copies);
	r->copies[r->n_copies++] = copy;
	return copy;
}

static inline const char *recording_string(struct recording *r, const char *string)
{
	return recording_copy(r, string, string ? strlen(string) + 1 : 0);
}

static inline uint32_t put_object(struct recording *r, const struct store_object *like)
{
	struct store_object object = *like;

	object.number = r->n_objects;
	object.path = recording_string(r, like->path);
	object.problem = recording_string(r, like->problem);
	object.build_id = recording_copy(r, like->build_id, like->build_id_len);
	RECORDING_GROW(r->objects, r->n_objects);
	r->objects[r->n_objects] = object;
	return r->n_objects++;
}

static inline uint32_t put_location(struct recording *r, const struct store_location *like)
{
	struct store_location location = *like;

	location.number = r->n_locations;
	RECORDING_GROW(r->locations, r->n_locations);
	r->locations[r->n_locations] = location;
	return r->n_locations++;
}

/* A line as it is: its location and its depth, too. */
static inline uint32_t put_line(struct recording *r, const struct store_line *like)
{
	struct store_line line = *like;

	line.function = recording_string(r, like->function);
	line.file = recording_string(r, like->file);
	RECORDING_GROW(r->lines, r->n_lines);
	r->lines[r->n_lines] = line;
	return r->n_lines++;
}

static inline uint32_t put_process(struct recording *r, const struct store_process *like)
{
	struct store_process process = *like;

	process.number = r->n_processes;
	process.comm = recording_string(r, like->comm);
	process.exe = recording_string(r, like->exe);
	RECORDING_GROW(r->processes, r->n_processes);
	r->processes[r->n_processes] = process;
	return r->n_processes++;
}

static inline uint32_t put_thread(struct recording *r, const struct store_thread *like)
{
	struct store_thread thread = *like;

	thread.number = r->n_threads;
	thread.comm = recording_string(r, like->comm);
	thread.cgroup = recording_string(r, like->cgroup);
	RECORDING_GROW(r->threads, r->n_threads);
	r->threads[r->n_threads] = thread;
	return r->n_threads++;
}

/* The size of the next node; see struct store_tables. */
static inline void put_size(struct recording *r, uint32_t size)
{
	RECORDING_GROW(r->sizes, r->n_sizes);
	r->sizes[r->n_sizes++] = size;
}

static inline uint32_t put_origin(struct recording *r, const struct origin *like)
{
	struct origin origin = *like;

	origin.runs = recording_copy(r, like->runs, sizeof(*like->runs) * like->n_runs);
	RECORDING_GROW(r->origins, r->n_origins);
	r->origins[r->n_origins] = origin;
	return r->n_origins++;
}

static inline uint32_t put_sample(struct recording *r, const struct store_sample *like)
{
	const struct store_sample sample = *like;

	RECORDING_GROW(r->samples, r->n_samples);
	r->samples[r->n_samples] = sample;
	return r->n_samples++;
}

/* A record of a series; of SERIES_CPU, a sample. */
static inline void put_record(struct recording *r, enum metric_series series,
			      const struct store_sample *like)
{
	const struct recording_record record = {series, *like};

	if (series == SERIES_CPU) {
		put_sample(r, like);
		return;
	}
	RECORDING_GROW(r->records, r->n_records);
	r->records[r->n_records++] = record;
}

static inline uint32_t add_object(struct recording *r, enum object_kind kind, const char *path)
{
	return put_object(
		r, &(struct store_object){.kind = kind,
					  .path = path,
					  .file_id = 0x1111111111111111ull * (r->n_objects + 1)});
}

static inline uint32_t add_location(struct recording *r, uint32_t object, uint64_t offset,
				    bool is_return)
{
	return put_location(r, &(struct store_location){
				       .object = object, .offset = offset, .is_return = is_return});
}

/* The next line of the newest location, whose innermost function comes first. */
static inline void add_line_of(struct recording *r, const char *file, uint32_t line,
			       const char *function, uint64_t start, bool is_inlined)
{
	const uint32_t location = r->n_locations - 1;
	uint32_t depth = 0;

	while (depth < r->n_lines && r->lines[r->n_lines - 1 - depth].location == location)
		depth++;
	put_line(r, &(struct store_line){.location = location,
					 .depth = depth,
					 .function = function,
					 .file = file,
					 .line = line,
					 .function_start = start,
					 .is_inlined = is_inlined});
}

/* The same in prog.cc, each location in a line of its own; of an inlined function, in prog.h. */
static inline void add_line(struct recording *r, const char *function, uint64_t start,
			    bool is_inlined)
{
	if (is_inlined)
		add_line_of(r, "prog.h", 7, function, start, true);
	else
		add_line_of(r, "prog.cc", 10 + r->n_locations, function, start, false);
}

/* A location in one function, which starts at a multiple of 256. */
static inline uint32_t add_function(struct recording *r, uint32_t object, uint64_t offset,
				    bool is_return, const char *function)
{
	const uint32_t number = add_location(r, object, offset, is_return);

	add_line(r, function, offset & ~UINT64_C(0xff), false);
	return number;
}

static inline uint32_t add_node(struct recording *r, uint32_t parent, uint32_t location)
{
	RECORDING_GROW(r->nodes, r->n_nodes);
	r->nodes[r->n_nodes] = (struct store_node){parent, location};
	return r->n_nodes++;
}

static inline uint32_t add_process(struct recording *r, int32_t pid, const char *comm)
{
	return put_process(r, &(struct store_process){
				      .pid = pid, .parent = 1, .comm = comm, .exe = "/bin/prog"});
}

static inline uint32_t add_thread(struct recording *r, uint32_t process, int32_t tid,
				  const char *comm)
{
	return put_thread(r, &(struct store_thread){.process = process, .tid = tid, .comm = comm});
}

/* An origin of which the rest, if `is_complete`, is as the walk found it. */
static inline uint32_t add_origin(struct recording *r, const struct origin_run *runs,
				  uint32_t n_runs, bool is_complete)
{
	return put_origin(
		r, &(struct origin){.is_complete = is_complete, .n_runs = n_runs, .runs = runs});
}

/* The next samples in time, all like one; of one period if it has none. */
static inline void add_samples_like(struct recording *r, const struct store_sample *like,
				    uint32_t count)
{
	struct store_sample sample = *like;

	if (!sample.period)
		sample.period = RECORDING_PERIOD;
	while (count--) {
		sample.time_ns = r->info.start_ns + (uint64_t)RECORDING_PERIOD * r->n_samples;
		sample.cpu = (uint16_t)(r->n_samples & 1);
		if (sample.time_ns > r->info.end_ns)
			r->info.end_ns = sample.time_ns;
		put_sample(r, &sample);
		r->info.samples++;
	}
}

static inline void add_samples(struct recording *r, uint32_t thread, uint32_t node,
			       uint8_t end_reason, uint32_t count)
{
	add_samples_like(
		r, &(struct store_sample){.thread = thread, .node = node, .end_reason = end_reason},
		count);
}

/* Samples whose frames have an origin. */
static inline void add_inferred(struct recording *r, uint32_t thread, uint32_t node,
				uint8_t end_reason, uint32_t origin, uint32_t count)
{
	add_samples_like(
		r,
		&(struct store_sample){
			.thread = thread, .node = node, .end_reason = end_reason, .origin = origin},
		count);
}

static inline void add_counter(struct recording *r, const char *name, uint64_t value)
{
	RECORDING_GROW(r->counters, r->n_counters);
	r->counters[r->n_counters++] = (struct store_counter){recording_string(r, name), value};
}

/* Has all entries written again, to another recording. */
static inline void rewind_recording(struct recording *r)
{
	memset(&r->written, 0, sizeof(r->written));
	r->written.nodes = r->written.sizes = r->written.origins = 1;
}

static inline void free_recording(struct recording *r)
{
	free(r->objects);
	free(r->locations);
	free(r->lines);
	free(r->processes);
	free(r->threads);
	free(r->nodes);
	free(r->sizes);
	free(r->origins);
	free(r->samples);
	free(r->records);
	free(r->counters);
	while (r->n_copies)
		free(r->copies[--r->n_copies]);
	free(r->copies);
}

/* A recording without entries. */
static inline struct recording new_recording(const struct store_recording *info)
{
	struct recording r = {.info = *info};

	add_node(&r, 0, UINT32_MAX);
	put_size(&r, 0);
	put_origin(&r, &(struct origin){0});
	rewind_recording(&r);
	return r;
}

/* What most tests say of their recording. */
static inline struct store_recording usual_recording(void)
{
	return (struct store_recording){
		.start_unix_ns = UINT64_C(1700000000000000000),
		.start_ns = 1000000000,
		.end_ns = 1000000000,
		.host = "box",
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "stackd --pid 12",
		.target = "pid 12",
		.event = "cpu-clock",
		.note = "",
		.frequency_hz = 997,
		.cpus = 2,
		.finished = true,
	};
}

#define RECORDING_WRITE(r, w, kind, kinds, upto)                                                   \
	while (!err && (r)->written.kinds < (upto))                                                \
	err = store_writer_##kind(w, &(r)->kinds[(r)->written.kinds++])

static inline int write_thread_cgroup(struct store_writer *w, const struct store_thread *thread)
{
	int err = thread->label_set ? store_writer_labels(w, thread->number, thread->label_set) : 0;

	if (err == 0 && thread->cgroup)
		err = store_writer_cgroup(w, thread->number, thread->cgroup);
	return err;
}

/* Hands the entries that are new to a writer: all, but of lines and samples only up to `share`
 * percent of all that there are. Returns its first error. */
static inline int write_recording_share(struct recording *r, struct store_writer *w, unsigned share)
{
	int err = 0;

	RECORDING_WRITE(r, w, object, objects, r->n_objects);
	RECORDING_WRITE(r, w, process, processes, r->n_processes);
	RECORDING_WRITE(r, w, thread, threads, r->n_threads);
	for (uint32_t *at = &r->written.cgroups; !err && *at < r->n_threads; ++*at)
		err = write_thread_cgroup(w, &r->threads[*at]);
	RECORDING_WRITE(r, w, location, locations, r->n_locations);
	RECORDING_WRITE(r, w, node, nodes, r->n_nodes);
	for (uint32_t *at = &r->written.sizes; !err && *at < r->n_sizes; ++*at)
		err = store_writer_size(w, *at, r->sizes[*at]);
	for (uint32_t *at = &r->written.origins; !err && *at < r->n_origins; ++*at)
		err = store_writer_origin(w, *at, &r->origins[*at]);
	RECORDING_WRITE(r, w, line, lines, (uint64_t)r->n_lines * share / 100);
	RECORDING_WRITE(r, w, sample, samples, (uint64_t)r->n_samples * share / 100);
	for (uint32_t *at = &r->written.records; !err && *at < r->n_records; ++*at)
		err = store_writer_record(w, r->records[*at].series, &r->records[*at].record);
	for (uint32_t *at = &r->written.counters; !err && *at < r->n_counters; ++*at)
		err = store_writer_counter(w, r->counters[*at].name, r->counters[*at].value);
	return err;
}

/* Hands all entries that are new to a writer. */
static inline int write_recording(struct recording *r, struct store_writer *w)
{
	return write_recording_share(r, w, 100);
}

#endif
