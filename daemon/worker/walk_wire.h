/* SPDX-License-Identifier: MIT */
/* What stackd and a worker say to each other of walks, steps and tags: structures of fixed width,
 * the same on both ends, which are one program. */
#ifndef WORKER_WALK_WIRE_H
#define WORKER_WALK_WIRE_H

#include <stdint.h>

#include "stackd_abi.h"

/* Begins each of these requests. */
struct walk_wire_head {
	uint64_t mappings;  /* the number of changes of mappings so far: what is kept of them is of
			     * that many */
	uint32_t ticks;	    /* of runtime_code_tick() and dwarf_walk_trim() so far */
	uint32_t has_rules; /* WIRE_ASK_RULE has an answer */
	int32_t pids[2];    /* processes whose mappings and code may be asked for; 0: none */
};

/* WIRE_WALK: struct walk_input, followed by the stack. */
struct walk_wire_input {
	struct stackd_regs regs;
	uint64_t stack_start, stack_holes;
	uint32_t known, leaf, max_frames;
	uint8_t stack_cut, is_return, padding[2];
};

/* Its reply: how it ended, then `count` frames. The counts are those of this walk. */
struct walk_wire_result {
	uint32_t reason, count;
	uint64_t frames, cache_hits, cache_misses, frame_pointer_steps;
};

#define WALK_WIRE_NO_OBJECT UINT32_MAX

struct walk_wire_frame {
	uint64_t address, offset, slot;
	uint32_t object; /* number; WALK_WIRE_NO_OBJECT */
	uint8_t is_return, is_guess, provenance, padding;
};

/* WIRE_STEP: a pair of locations. Its reply is the verdict (enum lbr_step); WALK_WIRE_BARE is
 * added where the callee's process keeps no frame pointers in such code. */
struct walk_wire_step {
	uint64_t caller_offset, callee_offset;
	uint32_t caller, callee; /* numbers of objects */
	uint8_t is_entry, may_be_bare, is_return, padding[5];
};

#define WALK_WIRE_BARE 256

/* WIRE_ASK_MAPPING, _CODE and _CODE_START: an address of a process; and the answer to the first. */
struct walk_wire_address {
	uint64_t address, before, after;
	int32_t pid;
	uint32_t padding;
};

struct walk_wire_mapping {
	uint64_t start, end, offset;
	uint32_t object, padding;
};

/* WIRE_ASK_RULE. */
struct walk_wire_location {
	uint64_t offset;
	uint32_t object, padding;
};

/* WIRE_TAGS: a question about a file's functions that keep a tag (callgraph/tagged_functions.h).
 * The status of the reply is the answer; of FIND it is followed by struct tagged_code, of INFO by
 * the word's vaddr. */
enum walk_wire_tags { TAGS_INFO, TAGS_FIND, TAGS_IS_RUNTIME, TAGS_IS_WINDOW };

#define TAGS_HAS_NOTE	   1
#define TAGS_HAS_FUNCTIONS 2

struct walk_wire_tag_question {
	uint64_t vaddr;
	uint32_t object, what; /* enum walk_wire_tags */
};

#endif
