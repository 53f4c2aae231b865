/* SPDX-License-Identifier: MIT */
/*
 * Reads records from the ring: checks that their sizes add up, and expands them.
 *
 * A WALKED record has a packed header in the ring (struct stackd_walked). The reader expands it to
 * a record with a stackd_header, like those of other kinds, followed by header.bytes of frames,
 * padding to 8, and the kernel frames.
 *
 * The kernel half omits from a STACK record the bytes that equal those of the previous record of
 * the same CPU (see stackd_abi.h). A ring keeps the order of one CPU, so the reader restores them.
 * The part of the stack above that copy comes before, in MORE_STACK records, and is added to it:
 * the resulting record has one stack, however large.
 *
 * The reader enters the kind of its event (stackd_events.h) into each record's header; event.h
 * decodes the rest.
 */
#ifndef CAPTURE_RECORD_H
#define CAPTURE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

struct record_reader;

int record_reader_new(struct record_reader **ret_reader); /* 0 or -ENOMEM */

/* Frees the reader; records that it has returned stay valid. NULL is fine. */
void record_reader_free(struct record_reader *reader);

/* Copies and expands a record. *ret_record is from a record_pool: the caller's, for
 * record_pool_give_back(). `now_ns`: a time less than a day from the record's. 0; 1: it is a part
 * of a walk or a stack in several records, which the last one returns; -EBADMSG: its sizes do not
 * add up, or the record that it builds on was not read; -ENOMEM. */
int record_read(struct record_reader *reader, const void *data, size_t size, uint64_t now_ns,
		struct stackd_header **ret_record);

/* Returns how many stacks were dropped to make room for later ones before their records came. Such
 * a record, if it still comes, has a stack that stays cut. */
uint64_t record_reader_evicted(const struct record_reader *reader);

/* Returns the size in bytes of a record that was read. */
size_t record_size(const struct stackd_header *record);

/* Returns the stack->code_count marks of a STACK record that has been read: those of the CODE
 * record before it, which had the same thread and time. */
const struct stackd_code_mark *record_code(const struct stackd_stack_record *stack);

/* Returns the process id of a record that was read. */
uint32_t record_pid(const struct stackd_header *record);

/* Returns the events that a record represents: its own period, or else `usual`. */
uint32_t record_period(const struct stackd_header *record, uint32_t usual);

/* Returns the id of the cgroup that the thread is in; 0: that of its previous record. */
uint64_t record_cgroup(const struct stackd_header *record);

/* Gives what the kernel half has measured for a record's event; nothing, if it is a sample or its
 * kind has a record of its own. */
void record_measurement(const struct stackd_header *record, union stackd_measurement *ret_measured);

/* A user frame of a WALKED record (stackd_abi.h). */
struct record_frame {
	bool has_slice; /* else `location` is a location as stackd_abi.h defines it */
	bool is_exact;
	uint32_t slice;
	uint64_t location; /* has_slice: offset in the slice of the file */
	uint32_t height;   /* 0: not known */
};

struct record_frames {
	const uint8_t *at, *end;
	uint32_t slice; /* of the previous frame */
	uint32_t below; /* the height after the last frame, at the end; 0: not known */
	bool is_first, has_heights;
};

/* Starts to iterate over the user frames of a record, leaf first; *ret_frames refers to the record.
 */
void record_frames(const struct stackd_header *record, bool has_heights,
		   struct record_frames *ret_frames);

/* Gives the next frame. 1; 0: there are no more; -EBADMSG: the bytes are no frame. */
int record_frames_next(struct record_frames *frames, struct record_frame *ret_frame);

/* Ends the iteration after the first `bytes` bytes of the record; more: after all of them. */
void record_frames_until(const struct stackd_header *record, size_t bytes,
			 struct record_frames *frames);

/* Gives what the record of a deep stack says about the whole walk. If it joins an open walk,
 * ret_part->number is how many bytes of the record, for record_frames_until(), are the frames
 * before it. false: it is of no deep stack. */
bool record_part(const struct stackd_header *record, struct stackd_part *ret_part);

/* Returns the words that continue the record's `holes`, with a bit for each page of the stack, and
 * their number: 0 unless parts were added to the stack. They belong to the record. */
const uint64_t *record_more_holes(const struct stackd_stack_record *record, size_t *ret_count);

/* Returns the header.n_kernel kernel frames of a record, leaf first; they belong to the record. */
const uint64_t *record_kernel(const struct stackd_header *record);

#endif
