/* SPDX-License-Identifier: MIT */
/*
 * Records as they come from the ring: made sure that their sizes add up, and made whole again.
 *
 * A WALKED record has a packed header there (struct stackd_walked). It is read into one with a
 * stackd_header like the others': what follows it is header.bytes, padding to 8, kernel frames.
 *
 * The kernel half leaves out of a STACK record what the same CPU's record before had already (see
 * stackd_abi.h). A ring keeps the order of one CPU, so it is put back when the record is read.
 */
#ifndef CAPTURE_RECORD_H
#define CAPTURE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

struct record_reader;

int record_reader_new(struct record_reader **ret_reader); /* 0 or -ENOMEM */
void record_reader_free(struct record_reader *reader);

/* A copy of a record, whole, in *ret_record: for record_pool_give_back(). `now_ns`: a time less
 * than a day from the record's. 0; -EBADMSG: its sizes do not add up, or what it builds on was not
 * read; -ENOMEM. */
int record_read(struct record_reader *reader, const void *data, size_t size, uint64_t now_ns,
		struct stackd_header **ret_record);

/* Of a record that was read; `usual` is the period that goes without saying. */
uint32_t record_pid(const struct stackd_header *record);
uint32_t record_period(const struct stackd_header *record, uint32_t usual);

/* A user frame of a WALKED record. */
struct record_frame {
	bool has_segment; /* else `place` is a location as stackd_abi.h has it */
	bool is_exact;
	uint32_t segment;
	uint64_t place;	 /* offset in the segment */
	uint32_t height; /* 0: not known */
};

struct record_frames {
	const uint8_t *at, *end;
	uint32_t segment;
	uint32_t below; /* the height after the last frame, at the end; 0: not known */
	bool is_first, has_heights;
};

/* The frames of a record that was read, leaf first; *ret_frames refers into it. */
void record_frames(const struct stackd_header *record, bool has_heights,
		   struct record_frames *ret_frames);

/* The next one. 1; 0: there are no more; -EBADMSG: this is none. */
int record_frames_next(struct record_frames *frames, struct record_frame *ret_frame);

/* The header.n_kernel kernel frames of a record, leaf first. */
const uint64_t *record_kernel(const struct stackd_header *record);

#endif
