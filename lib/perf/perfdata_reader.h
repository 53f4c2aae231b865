/* SPDX-License-Identifier: MIT */
/*
 * The inside of a reader, which the files of this module share.
 *
 *   perfdata_input   bytes of the file, and of what was compressed in it, as raw records
 *   perfdata_header  the file's header, attributes and feature sections
 *   perfdata_feature what a feature says
 *   perfdata_event   attributes, and which record is of which
 *   perfdata_order   raw records that wait for their turn
 *   perfdata_decode  a raw record to a struct perfdata_record
 *   perfdata         the loop around them
 *
 * Whatever fails says so once, by perfdata_fail(), with the offset and the reason.
 */
#ifndef PERF_PERFDATA_READER_H
#define PERF_PERFDATA_READER_H

#include <sys/types.h>
#include <zstd.h>

#include "perf/perfdata.h"
#include "perf/perfdata_format.h"

/* A record as it stands in the file: checked to be whole, no more. */
struct perfdata_raw {
	const struct perf_event_header *header; /* 8-aligned */
	uint64_t offset;			/* of it, or of the compressed record around it */
	uint64_t time_ns;			/* 0: not known */
	uint32_t event;
};

struct perfdata_input {
	int fd; /* borrowed */
	bool is_pipe;
	uint64_t at;	/* offset of buf[start] */
	uint64_t limit; /* offset of the end of the records; UINT64_MAX: the end of the pipe */
	uint8_t *buf;
	size_t start, end;
	size_t record; /* bytes from buf[start] that the last record took: dropped at the next */

	/* What is being decompressed: the record's bytes stay in `buf` until they are used up. */
	ZSTD_DCtx *zstd; /* NULL: no compressed record was met yet */
	ZSTD_inBuffer packed;
	uint8_t *plain;
	size_t plain_start, plain_end, plain_record;
	uint64_t packed_bytes, plain_bytes; /* sums */
	bool is_in_packed;

	uint64_t scratch[65536 / 8]; /* a record that is not aligned */
};

struct perfdata_id {
	uint64_t id;
	uint32_t event_plus_1; /* 0: free */
};

struct perfdata_events {
	struct perfdata_event *items;
	uint64_t *read_formats; /* of each */
	bool *has_sample_id;	/* sample_id_all of each */
	uint32_t count;
	size_t cap, cap_read_formats, cap_has_sample_id;
	struct perfdata_id *ids; /* open addressing */
	size_t id_mask, n_ids;
	uint64_t last_id; /* and what it was found to be */
	uint32_t last_event;
	bool has_build_ids; /* one asked for them in MMAP2 records */
	/* Where an event's id stands, in words behind the header and before the end; 0: nowhere,
	 * and then all events have one layout. */
	unsigned id_from_start, id_from_end;
	bool is_checked;
};

struct perfdata_block;

struct perfdata_waiting {
	uint64_t time_ns, order; /* of arrival */
	uint64_t offset;
	struct perfdata_block *block;
	uint32_t at; /* in the block */
	uint32_t event;
};

struct perfdata_order {
	struct perfdata_waiting *items;
	size_t count, cap, head, ready; /* items[head..ready) can be handed out */
	struct perfdata_block *open, *spare, *lent;
	size_t bytes;
	uint64_t arrivals, round_max_ns, max_ns, handed_out_ns;
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
	char **strings; /* owned: all that info and events point to */
	size_t n_strings, strings_cap;
	int error;
	char *error_text;
};

/* Notes the first failure with a sentence "at offset N: ..." and returns `error`. */
int perfdata_fail(struct perfdata *p, int error, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A copy that lives as long as the reader, of at most `max` bytes and up to a NUL. Control
 * characters stay: whoever shows them escapes them. NULL for lack of memory. */
const char *perfdata_keep(struct perfdata *p, const void *bytes, size_t max);

/* --- perfdata_input -------------------------------------------------------------------------- */

int perfdata_input_init(struct perfdata_input *in, int fd); /* 0 or -ENOMEM */
void perfdata_input_fini(struct perfdata_input *in);

/* Reads exactly `size` bytes at an offset of a regular file. 0; -EBADMSG: the file ends before. */
int perfdata_input_read_at(const struct perfdata_input *in, uint64_t offset, void *buf,
			   size_t size);

/* Reads the next `size` bytes of a pipe, before the first record. Errors as above. */
int perfdata_input_read(struct perfdata_input *in, void *buf, size_t size);

/* The next raw record, from within a compressed one or not. 1; 0: the end; or an error, noted. The
 * bytes live until the next call. Its time and event are not filled. */
int perfdata_input_next(struct perfdata *p, struct perfdata_raw *ret_raw);

/* The bytes that follow the last record and do not count in its size. 0 or an error, noted. */
int perfdata_input_skip(struct perfdata *p, uint64_t bytes);

/* --- perfdata_header, perfdata_feature ------------------------------------------------------- */

int perfdata_header_read(struct perfdata *p); /* 0 or an error, noted */

/* The bytes of a feature. `offset` is theirs. 0 or an error, noted. */
int perfdata_feature_read(struct perfdata *p, uint64_t feature, const uint8_t *bytes, size_t size,
			  uint64_t offset);
int perfdata_feature_build_id(struct perfdata *p, const struct perf_event_header *header,
			      uint64_t offset);

/* --- perfdata_event -------------------------------------------------------------------------- */

/* Enters an attribute of `size` bytes. 0 or an error, noted. */
int perfdata_event_add(struct perfdata *p, const void *attr, size_t size, uint64_t offset,
		       uint32_t *ret_index);
int perfdata_event_add_ids(struct perfdata *p, uint32_t event, const void *ids, size_t count);
int perfdata_event_add_record(struct perfdata *p, const struct perfdata_raw *raw); /* of a pipe */
int perfdata_event_update(struct perfdata *p, const struct perfdata_raw *raw);
uint32_t perfdata_event_by_id(struct perfdata_events *events, uint64_t id); /* or NO_EVENT */
void perfdata_event_name(struct perfdata *p, uint32_t event, const char *name);
void perfdata_event_fini(struct perfdata_events *events);

/* Finds event and time of a record of the kernel's. 1; 0: it is of an event that the file does
 * not describe; or an error, noted. */
int perfdata_event_identify(struct perfdata *p, struct perfdata_raw *raw);

/* Bytes of the sample_id at the end of records that are no samples. */
size_t perfdata_event_trailer(const struct perfdata_events *events, uint32_t event);

/* --- perfdata_order -------------------------------------------------------------------------- */

int perfdata_order_push(struct perfdata_order *o, const struct perfdata_raw *raw); /* or -ENOMEM */
void perfdata_order_round(struct perfdata_order *o); /* perf has emptied all its rings once */
void perfdata_order_end(struct perfdata_order *o);   /* nothing more comes */
bool perfdata_order_pop(struct perfdata_order *o, struct perfdata_raw *ret_raw);
void perfdata_order_fini(struct perfdata_order *o);

/* --- perfdata_decode ------------------------------------------------------------------------- */

/* 1; 0: of a kind that is not handed out (counted); or an error, noted. */
int perfdata_decode(struct perfdata *p, const struct perfdata_raw *raw,
		    struct perfdata_record *ret_record);

#endif
