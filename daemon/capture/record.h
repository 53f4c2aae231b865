/* SPDX-License-Identifier: MIT */
/*
 * Reads records from the ring: checks that their sizes add up, and expands them.
 *
 * A WALKED record has a packed header in the ring (struct stackd_walked). The reader expands it to
 * a record that begins with a struct stackd_header, as records of other kinds do, followed by
 * header.bytes bytes of frames, padding to a multiple of 8, and the kernel frames.
 *
 * The kernel half omits from a STACK record the bytes that equal those of the previous record of
 * the same CPU (see stackd_abi.h). The ring has the records of one CPU in order, so the reader can
 * restore these bytes. Parts of the stack above the copy come before the STACK record, in
 * MORE_STACK records, and are added to it: the resulting record has one stack, however large.
 *
 * The reader sets header.event of each record, the kind of its event (stackd_events.h); event.h
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

/* Copies and expands a record. *ret_record is from a record_pool; the caller owns it, and calls
 * record_pool_give_back(). `now_ns`: a time that is less than a day from the record's. 0; 1: no
 * record yet, because this is only a part of a walk or of a stack, and the call with the last part
 * returns the whole; -EBADMSG: sizes in the record do not add up, or an earlier record that it
 * refers to was not read; -ENOMEM. */
int record_read(struct record_reader *reader, const void *data, size_t size, uint64_t now_ns,
		struct stackd_header **ret_record);

/* Returns how many stacks, of which MORE_STACK records had come, were dropped to make room before
 * their STACK records came. Such a STACK record, if it still comes, is returned with its own part
 * of the stack alone. */
uint64_t record_reader_evicted(const struct record_reader *reader);

/* Returns the size in bytes of an expanded record. */
size_t record_size(const struct stackd_header *record);

/* Returns the stack->code_count marks of an expanded STACK record. A mark names the bytes of JIT
 * code at an address by their hashes. They come from the CODE record before it, which had the same
 * thread and time. */
const struct stackd_code_mark *record_code(const struct stackd_stack_record *stack);

/* Returns the words of the managed frames that an expanded STACK record has (stackd_managed.h), of
 * the CHAIN record before it, and their number; 0: it has none. */
const uint64_t *record_chain(const struct stackd_stack_record *stack, size_t *ret_count);

/* Returns the process id of a record that was read. */
uint32_t record_pid(const struct stackd_header *record);

/* Returns the period of a record: its own, or `usual` if the record does not have one. */
uint32_t record_period(const struct stackd_header *record, uint32_t usual);

/* Returns the id of the thread's cgroup; 0: unchanged since the thread's previous record. */
uint64_t record_cgroup(const struct stackd_header *record);

/* Gives what the kernel half has measured for a record's event; nothing, if it is a sample or its
 * kind has a record of its own. */
void record_measurement(const struct stackd_header *record, union stackd_measurement *ret_measured);

/* A user frame of a WALKED record (stackd_abi.h). */
struct record_frame {
	bool has_slice; /* false: `location` is as stackd_abi.h defines it */
	bool is_exact;
	uint32_t slice;
	uint64_t location; /* with has_slice: offset in the slice */
	uint32_t height;   /* bytes from the frame to the end of the stack; 0: not known */
};

struct record_frames {
	const uint8_t *at, *end;
	uint32_t slice; /* number of the slice of the previous frame */
	uint32_t below; /* valid when there are no more frames: the height of the frame that called
			 * the last one; 0: not known */
	bool is_first, has_heights;
};

/* Starts to iterate over the user frames of a record, leaf first; *ret_frames refers to the record.
 */
void record_frames(const struct stackd_header *record, bool has_heights,
		   struct record_frames *ret_frames);

/* Gives the next frame. 1; 0: there are no more; -EBADMSG: the bytes are no frame. */
int record_frames_next(struct record_frames *frames, struct record_frame *ret_frame);

/* Makes the iteration end after the first `bytes` bytes of the record's frames, or at their end. */
void record_frames_until(const struct stackd_header *record, size_t bytes,
			 struct record_frames *frames);

/* Gives the struct stackd_part of a deep stack's record (bpf/deep.bpf.h), which describes the whole
 * walk. If the walk has come to the frames of an earlier walk that did not reach the root, and goes
 * on from that walk's end, ret_part->number is the length in bytes of the frames before that point,
 * for record_frames_until(). false: the record is not of a deep stack. */
bool record_part(const struct stackd_header *record, struct stackd_part *ret_part);

/* Returns the words that continue the record's `holes`, which has a bit for each page of the stack
 * that could not be read. *ret_count: their number, which is 0 unless MORE_STACK parts were added.
 * They belong to the record. */
const uint64_t *record_more_holes(const struct stackd_stack_record *record, size_t *ret_count);

/* Returns the header.n_kernel kernel frames of a record, leaf first; they belong to the record. */
const uint64_t *record_kernel(const struct stackd_header *record);

#endif
