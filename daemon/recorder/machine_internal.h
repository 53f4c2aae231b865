/* SPDX-License-Identifier: MIT */
/*
 * The inside of machine.h: what a machine keeps, and how it is looked up at the time of a sample.
 * Only the files that are named machine include it: machine_note.c reads, machine_step.c and
 * machine_find.c answer.
 */
#ifndef RECORDER_MACHINE_INTERNAL_H
#define RECORDER_MACHINE_INTERNAL_H

#include "base/int_map.h"
#include "base/vec.h"
#include "daemon/recorder/machine.h"
#include "daemon/recorder/process_memory.h"

#define NONE	      UINT32_MAX
#define MOST_VERSIONS (1u << 17) /* of each kind; a machine with so many is full */
#define MOST_FRAMES   (1u << 20)
#define MOST_BYTES    (UINT64_C(32) << 20) /* of lines; as for versions */

/* The time in which something was so. A new version has none (UNPROVEN) until the end of the record
 * with which it was read: then it is read again, and must be the same (prove()). */
struct span {
	uint64_t first_ns, last_ns;
};

#define UNPROVEN                                                                                   \
	(struct span)                                                                              \
	{                                                                                          \
		UINT64_MAX, 0                                                                      \
	}

struct piece {
	struct span span;
	struct runtime_code_piece is;
	uint32_t name; /* STUB: its number in managed.h; NONE: it has none */
	bool is_there; /* false: there was no code of the runtime */
};

#define AROUND	     9 /* blocks around an address, */
#define AROUND_MID   4 /* with it in the middle */
#define MOST_OTHER   1 /* of them that may differ all the same: calls are patched */
#define MOST_PATCHED 6 /* likewise, if nothing was unloaded */

struct address {
	uint32_t piece, older;
	uint32_t frames; /* index of the first one */
	uint32_t count;
	bool is_call;	     /* the runtime has frames for a call that returns here */
	bool calls_function; /* runtime_machine.calls_function() */
	bool begins_thread;  /* of a return address: its function runs another thread */
	bool parts;	     /* of a return address: the callers are not on the stack */
	uint8_t interrupted; /* of the interpreter: enum runtime_interrupted */
	uint8_t sender; /* of the interpreter, interrupted: runtime_machine.sender_register() */
	bool is_passed; /* COMPILED, interrupted: it calls, or is called, without a frame */
	struct runtime_depth depth; /* .bytes 0: not known */
	uint16_t pushed;	    /* COMPILED: bytes of arguments of the call that returns here */
	uint64_t calls;		 /* of a return address: what was called directly; 0: not known */
	uint32_t hashes[AROUND]; /* of the blocks of code around it; 0: not read, or other code */
	uint64_t again_ns;	 /* if there are no frames: when they are to be looked for again */
};

#define MOMENTS 128

/* What was known at a time. */
struct moment {
	uint64_t read_ns;
	uint64_t unloads;      /* runtime_machine.unloads() */
	uint64_t newest_class; /* the highest number of a class that was met */
};

struct frame {
	uint32_t function; /* number in managed.h */
	uint32_t line;
};

struct function {
	struct span span;
	uint32_t older;
	uint64_t identity; /* 0: there was no function */
	uint64_t said;	   /* hash of all that was read of it */
	uint64_t class_number;
	uint64_t code, constants;
	uint32_t code_size, number;
	bool begins_thread;
	struct runtime_line *lines;
	size_t n_lines;
};

/* A version whose time is to begin, or to be lengthened back to the sample, at the end of a record.
 */
struct pending {
	bool is_function;
	bool is_return;
	uint32_t index; /* of the function, or else of the address */
	uint64_t address;
	struct runtime_activation frame; /* of an interpreter; .function 0: there is none */
	bool is_new;			 /* the address was just read */
	bool is_entered; /* the frame has no words yet: frame.instruction is where it begins */
};

#define IN_VAIN 256

/* An address that was looked for, and no code was found. */
struct in_vain {
	uint64_t key;
	uint64_t record; /* the number of the record for which it was */
};

struct machine {
	const struct runtime *runtime;
	const struct runtime_machine *is;
	struct process_memory *memory;
	struct managed *managed;
	void *at; /* the runtime's own */
	uint64_t low, high;
	uint64_t biases[MACHINE_BIASES]; /* is_anywhere: of the file's mappings */
	size_t n_biases, next_bias;
	VEC(struct piece) pieces;
	VEC(struct address) addresses;
	VEC(struct frame) frames;
	VEC(struct function) functions;
	VEC(struct pending) pending;
	uint64_t line_bytes;
	uint64_t n_records;
	struct in_vain in_vain[IN_VAIN]; /* by the hash of the key */
	uint64_t partly; /* the number of the record for which a function was read in part */
	struct moment moments[MOMENTS]; /* the oldest one is at n_moments % MOMENTS */
	uint64_t n_moments, newest_class;
	uint64_t now_ns, since_ns; /* all that is read is of since_ns or later */
	struct int_map by_start, by_address, by_function; /* newest versions */
};

/* Returns whether a time is in the span. */
static inline bool machine_span_has(const struct span *span, uint64_t time_ns)
{
	return span->first_ns <= time_ns && time_ns <= span->last_ns;
}

/* Returns whether the span has begun. */
static inline bool machine_is_proven(const struct span *span)
{
	return span->first_ns != UINT64_MAX;
}

/* Returns the key of an address in by_address. */
static inline uint64_t machine_key(uint64_t address, bool is_return)
{
	return address << 1 | is_return;
}

/* Returns whether an interpreter's frame can run a function. A native function has no bytecode, and
 * an instruction of 0 or right behind it. */
bool machine_can_run(const struct function *f, const struct runtime_activation *frame);

/* Returns the hash of the block of code with the byte at an address, as it was at the sample; 0: it
 * is not known. */
uint32_t machine_hash_then(const struct machine_stack *stack, uint64_t address);

/* Returns whether a sample hit the code that was read at an address: nearly all blocks around it
 * have the same hashes. One alone could be in other code as well. */
bool machine_was_same(const struct address *a, const struct machine_stack *stack, uint64_t address,
		      unsigned most_other);

/* Finds what was at an address at a sample; NULL: it is not known. If nothing was read since the
 * sample, it is what was read last before, if all of its code has the same hashes. Where code is
 * never that of other functions with the same bytes, the hashes prove any version. */
const struct address *machine_address_at(const struct machine *m, const struct machine_stack *stack,
					 uint64_t address, bool is_return);

/* Finds the function at an address at a sample. NULL: it is not known. */
const struct function *machine_function_at(const struct machine *m, uint64_t address,
					   uint64_t time_ns);

/* Returns the line of an instruction: the first one that the table has for it, or else the last one
 * of those before; 0: none. */
uint32_t machine_line_of(const struct function *f, int64_t instruction);

#endif
