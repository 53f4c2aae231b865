/* SPDX-License-Identifier: MIT */
/*
 * The user-space walk: makes frames from registers and a copy of the stack.
 *
 * The rules for an address come from the same reader of call frame information as the kernel half's
 * tables, and are applied to the copy. An object's CFI is kept once for all processes that map it.
 * Rules are cached by (object, offset), since return addresses are few and repeat: a frame costs
 * one probe of the cache. The walk is the fallback for the kernel half's; tests/agree compares both
 * with libdw.
 *
 * If an object has no CFI for an address, the walk derives a rule from its instructions; failing
 * that, it tries a step by the frame pointer, and accepts it only if the return address that it
 * finds follows a call instruction. heuristic_step.h declares such steps, and those out of JIT
 * code.
 */
#ifndef UNWIND_DWARF_WALK_H
#define UNWIND_DWARF_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "stack/provenance.h"
#include "stackd_abi.h"

#define DWARF_WALK_MAX_FRAMES 16384 /* of 16 bytes each, 256 KiB of stack */

/* One walked frame, leaf first. */
struct walk_frame {
	uint64_t address;	     /* the program counter, or the return address */
	const struct object *object; /* NULL: no mapping is known */
	uint64_t offset;	     /* file offset of the byte to look up: pc, or return
				      * address - 1; the address itself without an object */
	uint64_t slot;		     /* address of the stack slot that held the return address;
				      * 0 for the leaf */
	bool is_return;		     /* the frame waits for a call to return (see
				      * stack/location.h) */
	bool is_guess;		     /* found by a validated frame-pointer step */
	uint8_t provenance; /* of the rule that led to the caller; NONE: the walk ended here */
};

struct walk_input {
	struct stackd_regs regs;
	const uint8_t *stack; /* the bytes from regs.r[STACKD_REG_SP] upwards; borrowed */
	size_t stack_bytes;
	uint64_t below;	      /* the word at the next lower address; 0: not known */
	bool stack_cut;	      /* there is more stack above than was copied */
	uint64_t stack_end;   /* address where the stack ends; 0: not known */
	uint64_t stack_holes; /* bit i: page i of the stack, counted from the stack pointer's, was
			       * not in memory; its bytes are not known */
	const uint64_t *stack_more_holes; /* the same for the next 64 pages each; borrowed */
	size_t n_stack_more_holes;	  /* pages beyond them are in memory */

	pid_t pid; /* process whose code without a file can be read (struct dwarf_walk_options); 0:
		    * none */

	/* The JIT code of the process around the addresses of these marks, as it was at the sample;
	 * borrowed. A rule of JIT code is used only if the code is still the same. */
	bool has_code; /* false: the code is used as it is now */
	const struct stackd_code_mark *code;
	size_t code_count;

	enum stackd_leaf leaf; /* if it has no rule: how much of its frame the leaf has set up */

	/* A walk that begins at a caller's frame, of whose registers only some are known. All 0: it
	 * begins at the leaf. */
	uint32_t known;	      /* bit i: regs.r[i] is the frame's value; 0: all are */
	bool is_return;	      /* regs' program counter is a return address */
	uint64_t stack_start; /* address of stack[0]; 0: regs' stack pointer */

	/* Resolves an address to an object and a file offset; false: it is in none. */
	bool (*find)(void *arg, uint64_t address, const struct object **ret_object,
		     uint64_t *ret_offset);
	void *arg;
};

struct dwarf_walk;
struct runtime_code;

/* Finds the rule at an object's file offset in tables that were made before; it is STACKD_CFA_NONE
 * if they have none. Returns 0; -EAGAIN: the tables are still being made; or -ENOMEM. */
typedef int dwarf_walk_rule_fn(void *arg, const struct object *object, uint64_t offset,
			       struct stackd_rule *ret_rule);

struct dwarf_walk_options { /* zeroed: all rules are from the objects' files */
	/* Finds rules of code that no CFI covers; NULL: the walk analyses it (analysed_rules.h). */
	dwarf_walk_rule_fn *find_rule;
	void *rules;		   /* its argument; borrowed */
	struct runtime_code *code; /* reads code without a file; borrowed. NULL: it is not read */
};

/* Makes a walker, for one thread at a time. It serves all processes of one object table: it keeps
 * rules and CFI by the objects' numbers. A file is read when a rule is made, and not referred to
 * between calls. Returns 0 or -ENOMEM; the caller frees *ret_walk with dwarf_walk_free(). */
int dwarf_walk_new(const struct dwarf_walk_options *options, struct dwarf_walk **ret_walk);
void dwarf_walk_free(struct dwarf_walk *walk); /* NULL is fine */

/* Drops the CFI that was not used since the call before the last. To be called now and then. */
void dwarf_walk_trim(struct dwarf_walk *walk);

/* Walks from `in`, which is borrowed for the call; `frames` has room for `max_frames`. Writes
 * *ret_count frames, at least the leaf, and returns the reason for which it stopped. The frames'
 * objects are those that in->find() gave. */
enum stackd_end_reason dwarf_walk_stack(struct dwarf_walk *walk, const struct walk_input *in,
					struct walk_frame *frames, size_t max_frames,
					size_t *ret_count);

/* Finds the range, in file offsets, of the entry of call frame information that covers an offset:
 * one function, nearly always, or a file's whole PLT. Returns false where nothing covers it. */
bool dwarf_walk_function(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
			 uint64_t *ret_start, uint64_t *ret_end);

/* Returns whether a frame at this offset begins its thread's stack, by the code's rule or because
 * it is the file's entry function. For stacks that something else has walked. */
bool dwarf_walk_is_entry(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
			 bool is_return);

struct dwarf_walk_stats {
	uint64_t frames, cache_hits, cache_misses, frame_pointer_steps;
};

/* Gives the counts since dwarf_walk_new(). */
void dwarf_walk_get_stats(const struct dwarf_walk *walk, struct dwarf_walk_stats *ret_stats);

#endif
