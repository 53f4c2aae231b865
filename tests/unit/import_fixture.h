/* SPDX-License-Identifier: MIT */
/* A perf.data file that a test has written, imported into a store, and the contents of that. */
#ifndef IMPORT_FIXTURE_H
#define IMPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf/import.h"
#include "perfdata_make.h"
#include "store/store_reader.h"

#define PID    4711
#define SAMPLE (MAKE_PLAIN | PERF_SAMPLE_CALLCHAIN)

/* A generated perf.data file, and the store that it was imported into. */
struct fixture {
	struct make make;
	char folder[32], path[64];
	const char *events[2];
	size_t n_events;
	struct import_result result;
	char *error;
	struct store_reader *reader;
	struct store_sample samples[16];
	size_t n_samples;
};

static inline void set_up(struct fixture *f)
{
	*f = (struct fixture){0};
	strcpy(f->folder, "/tmp/test_import.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/s.db", f->folder);
}

static inline void tear_down(struct fixture *f)
{
	char command[64];

	store_reader_close(f->reader);
	make_free(&f->make);
	free(f->error);
	snprintf(command, sizeof(command), "rm -r %s", f->folder);
	assert_int_equal(system(command), 0);
}

static inline int keep_sample(void *arg, const struct store_sample *sample)
{
	struct fixture *f = arg;

	assert_true(f->n_samples < 16);
	f->samples[f->n_samples++] = *sample;
	return 0;
}

static inline int import(struct fixture *f)
{
	struct utsname machine;
	const struct import_options options = {
		.store = f->path,
		.target = "perf.data",
		.events = f->events,
		.n_events = f->n_events,
		.machine = &machine,
		.unix_ns = 5000000000,
	};
	struct perfdata *reader;
	struct buf bytes = {0};
	int fd, err;

	uname(&machine);
	make_file(&f->make, &bytes);
	fd = make_fd(bytes.data, bytes.len);
	buf_free(&bytes);
	assert_int_equal(perfdata_open(fd, &reader, &f->error), 0);
	f->result.missing = NULL;
	err = import_run(reader, &options, &f->result, &f->error);
	free(f->result.missing);
	perfdata_free(reader);
	close(fd);
	return err;
}

static inline void import_and_read(struct fixture *f)
{
	char *error;

	if (import(f))
		fail_msg("not imported: %s", f->error ? f->error : "");
	if (store_reader_open(f->path, 0, &f->reader, &error))
		fail_msg("not read: %s", error);
	assert_int_equal(store_reader_samples(f->reader, keep_sample, f), 0);
}

/* The location of a sample's frame, 0 the leaf. */
static inline const struct store_location *frame_of(const struct fixture *f, size_t sample,
						    size_t depth)
{
	const struct store_tables *t = store_reader_tables(f->reader);
	uint32_t node = f->samples[sample].node;

	for (; depth && node; depth--)
		node = t->nodes[node].parent;
	assert_true(node);
	return &t->locations[t->nodes[node].location];
}

static inline size_t depth_of(const struct fixture *f, size_t sample)
{
	const struct store_tables *t = store_reader_tables(f->reader);
	size_t depth = 0;

	for (uint32_t node = f->samples[sample].node; node; node = t->nodes[node].parent)
		depth++;
	return depth;
}

static inline const char *name_of(const struct fixture *f, const struct store_location *l)
{
	const struct store_tables *t = store_reader_tables(f->reader);
	uint32_t first = t->line_first[l->number];

	return first < t->line_first[l->number + 1] ? t->lines[first].function : NULL;
}

static inline const struct store_object *object_of(const struct fixture *f,
						   const struct store_location *l)
{
	return &store_reader_tables(f->reader)->objects[l->object];
}

static inline const char *note_of(const struct fixture *f)
{
	return store_reader_tables(f->reader)->recording.note;
}

static inline void add_chain(struct make *m, uint16_t mode, uint64_t time, size_t n, ...)
{
	struct buf b = {0};
	uint64_t ip = 0;
	va_list args;

	make_u64(&b, n);
	va_start(args, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t word = va_arg(args, uint64_t);

		if (i == 1)
			ip = word;
		make_u64(&b, word);
	}
	va_end(args);
	make_sample(m, mode, ip, PID, time, &b);
}

#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)

#endif
