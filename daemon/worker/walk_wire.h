/* SPDX-License-Identifier: MIT */
/* Messages on walks, steps and tags between stackd and a worker: structures of fixed width, the
 * same on both ends, which are one program. */
#ifndef WORKER_WALK_WIRE_H
#define WORKER_WALK_WIRE_H

#include <stdint.h>

#include "stackd_abi.h"

/* The header of each request about walks and steps. */
struct walk_wire_head {
	uint64_t mappings[2]; /* versions of the mappings of `pids`; 0: there are none */
	int32_t pids[2];      /* processes whose mappings and code may be asked for; 0: none */
	uint32_t ticks;	      /* how often ask_walks_tick() was called so far */
	uint32_t late_files; /* value of object_table_late_files(); when it changes, the worker asks
			      * again for objects that had no file */
	uint32_t has_rules;  /* WIRE_ASK_RULE has an answer */
	uint32_t padding;
};

/* WIRE_WALK: struct walk_input, followed by u64 [more_holes], at most STACKD_MAX_MORE_HOLES, struct
 * stackd_code_mark [code_count], at most STACKD_MAX_CODE, and the stack, none of them aligned. */
struct walk_wire_input {
	struct stackd_regs regs;
	uint64_t stack_start, stack_end, stack_holes, below;
	uint32_t known, leaf, max_frames;
	uint32_t code_count, more_holes;
	uint8_t stack_cut, is_return, has_code, is_uncalled, has_words, padding[7];
};
_Static_assert(sizeof(struct walk_wire_input) == sizeof(struct stackd_regs) + 64,
	       "no hidden padding");

/* WIRE_WALKS: many requests of WIRE_WALK, each behind its length, u32. For each, in this order, a
 * part (WIRE_PART) comes, which is what the reply to WIRE_WALK would be. */

/* The reply of WIRE_WALK: the end reason, then `count` frames. The counters are of this walk
 * alone. */
struct walk_wire_result {
	uint32_t reason, count;
	uint64_t frames, cache_hits, cache_misses, frame_pointer_steps;
};

#define WALK_WIRE_NO_OBJECT UINT32_MAX

struct walk_wire_frame {
	uint64_t address, offset, slot;
	uint32_t object; /* number; WALK_WIRE_NO_OBJECT */
	uint8_t is_return, is_guess, provenance, root;
};

/* WIRE_STEP: a budget of CPU time, u64 ns, and steps: pairs of a caller's and a callee's location,
 * of which is checked whether the first calls the second. The reply has verdicts on the first
 * steps, as many as the budget allowed, and at least on one. */
struct walk_wire_step {
	uint64_t caller_offset, callee_offset;
	uint32_t caller, callee; /* numbers of objects */
	uint8_t is_entry, may_be_bare, is_return, question, is_doubted, padding[3];
};

struct walk_wire_verdict {
	uint32_t step;	      /* enum callflow_step */
	uint32_t frame;	      /* enum runtime_code_frame, if may_be_bare */
	uint32_t root;	      /* enum callflow_root */
	uint16_t switches;    /* 0 or 1 */
	uint16_t is_noreturn; /* 0 or 1 */
};

/* WIRE_ASK_CODE: executable memory around an address of a process. */
struct walk_wire_address {
	uint64_t address, before, after;
	int32_t pid;
	uint32_t padding;
};

/* WIRE_ASK_WINDOW: the STACKD_CODE_BYTES bytes of JIT code at the address of a mark (struct
 * stackd_code_mark) in the request, as they were at the sample. */
struct walk_wire_window {
	struct stackd_code_mark mark;
	int32_t pid;
	uint32_t padding;
};

/* WIRE_ASK_MAPPINGS: a process, i32. The answer has a struct walk_wire_mapping for each of its
 * mappings, by rising address, if they still have the version in the head of the request. */
struct walk_wire_mapping {
	uint64_t start, end, offset;
	uint32_t object, padding;
};

/* WIRE_ASK_RULE: the unwind rule at a file offset of an object. */
struct walk_wire_location {
	uint64_t offset;
	uint32_t object, padding;
};

/* WIRE_TAGS: a question about a file's functions that keep a tag (callgraph/tagged_functions.h).
 * The status of the reply is the answer. For FIND, struct tagged_code follows; for INFO, the word's
 * vaddr. */
enum walk_wire_tags { TAGS_INFO, TAGS_FIND, TAGS_IS_RUNTIME, TAGS_IS_WINDOW };

#define TAGS_HAS_NOTE	   1
#define TAGS_HAS_FUNCTIONS 2

struct walk_wire_tag_question {
	uint64_t vaddr;
	uint32_t object, what; /* enum walk_wire_tags */
};

#endif
