/* SPDX-License-Identifier: MIT */
/*
 * The state of a reader, which the perfdata files share.
 *
 *   perfdata_input   splits the file, decompressed, into raw records
 *   perfdata_header  reads the file's header, attributes and feature sections
 *   perfdata_feature decodes a feature
 *   perfdata_event   keeps the attributes, and finds the event of a record
 *   perfdata_order   queues raw records to restore the order of time
 *   perfdata_decode  decodes a raw record to a struct perfdata_record
 *   perfdata         runs the loop around them
 *
 * Every failure is reported once, by perfdata_fail(), with the offset and the reason. "An error,
 * reported" below means a negative errno for which that has been done.
 */
#ifndef PERF_PERFDATA_READER_H
#define PERF_PERFDATA_READER_H

#include <sys/types.h>
#include <zstd.h>

#include "perf/perfdata.h"
#include "perf/perfdata_format.h"

/* A complete record of the file, not yet decoded. */
struct perfdata_raw {
	const struct perf_event_header *header; /* 8-aligned */
	/* offset of the record in the file; if it was compressed, offset of the compressed record
	 * that has it */
	uint64_t offset;
	uint64_t time_ns; /* 0: unknown */
	uint32_t event;
};

struct perfdata_input {
	int fd; /* borrowed */
	bool is_pipe;
	uint64_t at;	/* offset of buf[start] */
	uint64_t limit; /* offset at which the records end; UINT64_MAX: at the end of the pipe */
	uint8_t *buf;
	size_t start, end;
	size_t record; /* size of the record at buf[start], which the next call drops */

	/* For decompression. The compressed record stays in `buf` until all of it has been
	 * decompressed. */
	ZSTD_DCtx *zstd; /* NULL until the first compressed record */
	ZSTD_inBuffer packed;
	uint8_t *plain;
	size_t plain_start, plain_end, plain_record;
	uint64_t packed_bytes, plain_bytes; /* totals of compressed and of decompressed bytes */
	bool is_in_packed;

	uint64_t scratch[65536 / 8]; /* an aligned copy of an unaligned record */
};

struct perfdata_id {
	uint64_t id;
	uint32_t event_plus_1; /* 0: free */
};

struct perfdata_events {
	struct perfdata_event *items;
	uint64_t *read_formats; /* by event */
	bool *has_sample_id;	/* by event: sample_id_all */
	uint32_t count;
	size_t cap, cap_read_formats, cap_has_sample_id;
	struct perfdata_id *ids; /* open addressing */
	size_t id_mask, n_ids;
	/* the id that was looked up last; last_event is its event */
	uint64_t last_id;
	uint32_t last_event;
	bool has_build_ids; /* MMAP2 records may have build-ids, because an event requests them */
	/* Position of the event's id: in samples, in words after the header; in other records, in
	 * words before the end. 0: records have no id, and all events have the same layout. */
	unsigned id_from_start, id_from_end;
	bool is_checked;
};

struct perfdata_block;

struct perfdata_waiting {
	uint64_t time_ns, order; /* number of arrival */
	uint64_t offset;
	struct perfdata_block *block;
	uint32_t at; /* offset in the block */
	uint32_t event;
};

struct perfdata_order {
	struct perfdata_waiting *items;
	size_t count, cap, head, ready; /* items[head..ready) can be returned */
	struct perfdata_block *open, *spare, *lent;
	size_t bytes;
	uint64_t arrivals, round_max_ns, max_ns, returned_ns;
};

struct perfdata_build_id {
	const char *path; /* owned */
	uint8_t bytes[20];
	uint8_t len;
};

struct perfdata {
	struct perfdata_input input;
	struct perfdata_events events;
	struct perfdata_order order;
	struct perfdata_info info;
	struct perfdata_counts counts;
	struct perfdata_build_id *build_ids; /* sorted by path when `build_ids_sorted` */
	size_t n_build_ids, build_ids_cap;
	bool build_ids_sorted;
	char **strings; /* the strings of `info` and of the events; owned */
	size_t n_strings, strings_cap;
	int error;
	char *error_text;
};

/* Keeps the first failure, with the sentence "at offset N: ...". Returns the kept error. */
int perfdata_fail(struct perfdata *p, int error, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Copies a string of at most `max` bytes, up to a NUL. The copy lives as long as the reader. It can
 * have control characters, so code that prints it must escape it. Returns NULL if memory is
 * short. */
const char *perfdata_keep(struct perfdata *p, const void *bytes, size_t max);

/* --- perfdata_input -------------------------------------------------------------------------- */

/* Initializes the input; `fd` is borrowed. Returns 0 or -ENOMEM. */
int perfdata_input_init(struct perfdata_input *in, int fd);
void perfdata_input_fini(struct perfdata_input *in); /* frees the buffers */

/* Reads exactly `size` bytes at an offset of a regular file. Returns 0; -EBADMSG: the file is
 * shorter; or an error of pread(2). */
int perfdata_input_read_at(const struct perfdata_input *in, uint64_t offset, void *buf,
			   size_t size);

/* Reads the next `size` bytes of a pipe; only before the first record. Errors as
 * perfdata_input_read_at(). */
int perfdata_input_read(struct perfdata_input *in, void *buf, size_t size);

/* Reads the next raw record, decompressed if it was compressed. Its bytes are valid until the next
 * call; time and event are not set. Returns 1; 0 at the end; or an error, reported. */
int perfdata_input_next(struct perfdata *p, struct perfdata_raw *ret_raw);

/* Skips the bytes that follow the last record without being included in its size. Returns 0 or an
 * error, reported. */
int perfdata_input_skip(struct perfdata *p, uint64_t bytes);

/* --- perfdata_header, perfdata_feature ------------------------------------------------------- */

/* Reads the header and its features. Returns 0 or an error, reported. */
int perfdata_header_read(struct perfdata *p);

/* Decodes a feature, whose bytes are at `offset` of the file. Returns 0 or an error, reported. */
int perfdata_feature_read(struct perfdata *p, uint64_t feature, const uint8_t *bytes, size_t size,
			  uint64_t offset);

/* Adds an entry to the build-id table. `header` is that of a struct perfdata_build_id_record in the
 * file. Returns 0 or an error, reported. */
int perfdata_feature_build_id(struct perfdata *p, const struct perf_event_header *header,
			      uint64_t offset);

/* --- perfdata_event -------------------------------------------------------------------------- */

/* Adds the event of an attribute (struct perf_event_attr of `size` bytes). Returns 0 or an error,
 * reported. */
int perfdata_event_add(struct perfdata *p, const void *attr, size_t size, uint64_t offset,
		       uint32_t *ret_index);

/* Adds ids of an event: `count` words of 8 bytes. Returns 0 or an error, reported. */
int perfdata_event_add_ids(struct perfdata *p, uint32_t event, const void *ids, size_t count);

/* Adds an event and its ids from a record of a pipe. Returns 0 or an error, reported. */
int perfdata_event_add_record(struct perfdata *p, const struct perfdata_raw *raw);

/* Sets an event's name from an EVENT_UPDATE record. Returns 0 or an error, reported. */
int perfdata_event_update(struct perfdata *p, const struct perfdata_raw *raw);

/* Returns the index of the event with an id, or PERFDATA_NO_EVENT. */
uint32_t perfdata_event_by_id(struct perfdata_events *events, uint64_t id);

/* Sets an event's name, which must live as long as the reader. */
void perfdata_event_name(struct perfdata *p, uint32_t event, const char *name);
void perfdata_event_fini(struct perfdata_events *events); /* frees the arrays */

/* Finds the event and the time of one of the kernel's records. Returns 1; 0: the file does not
 * describe its event; or an error, reported. */
int perfdata_event_identify(struct perfdata *p, struct perfdata_raw *raw);

/* Returns the size in bytes of the sample_id at the end of an event's records other than samples.
 */
size_t perfdata_event_trailer(const struct perfdata_events *events, uint32_t event);

/* --- perfdata_order -------------------------------------------------------------------------- */

/* Copies a record into the queue. Returns 0 or -ENOMEM. */
int perfdata_order_push(struct perfdata_order *o, const struct perfdata_raw *raw);

/* Ends a round, in which perf has read all its ring buffers once: records up to the time of the
 * youngest record of the round before become ready. */
void perfdata_order_round(struct perfdata_order *o);

/* Ends the input: all records become ready. */
void perfdata_order_end(struct perfdata_order *o);

/* Removes the oldest ready record from the queue and gives it; its bytes are valid until the next
 * call. If the queue has more than PERFDATA_QUEUE_MAX bytes, its older half counts as ready.
 * Returns false if no record is ready. */
bool perfdata_order_pop(struct perfdata_order *o, struct perfdata_raw *ret_raw);
void perfdata_order_fini(struct perfdata_order *o); /* frees the queue */

/* --- perfdata_decode ------------------------------------------------------------------------- */

/* Decodes a record; its arrays and strings point into `raw`. Returns 1; 0: records of this type are
 * only counted, not returned; or an error, reported. */
int perfdata_decode(struct perfdata *p, const struct perfdata_raw *raw,
		    struct perfdata_record *ret_record);

#endif
