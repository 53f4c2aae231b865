/* SPDX-License-Identifier: MIT */
/*
 * The user-space walk: makes frames from registers and a copy of the stack.
 *
 * The rules for an address come from the same reader of call frame information as the kernel half's
 * tables, and are applied to the copy. An object's CFI is kept once for all processes that map it.
 * Rules are cached by (object, offset), since return addresses are few and repeat, so that a frame
 * costs one look-up in the cache. This walk completes samples for which the kernel half's walk ends
 * early; tests/agree compares both with libdw.
 *
 * If an object has no CFI for an address, the walk derives a rule from its instructions. If that
 * fails, it tries a step by the frame pointer, and accepts it only if the return address found
 * follows a call instruction. heuristic_step.h declares such steps, and the steps out of JIT code.
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

/* limit of the frames of a walk, as of those in the kernel half */
#define DWARF_WALK_MAX_FRAMES STACKD_DEEP_MOST

/* One walked frame, leaf first. */
struct walk_frame {
	uint64_t address;	     /* the program counter, or the return address */
	const struct object *object; /* NULL: no mapping is known */
	/* file offset of the byte whose rule and name are looked up: of the program counter, or of
	 * the return address - 1; without an object, that address itself */
	uint64_t offset;
	uint64_t slot;	    /* address of the stack slot that held the return address;
			     * 0 for the leaf */
	bool is_return;	    /* the address is a return address (see stack/location.h) */
	bool is_guess;	    /* found by a step by the frame pointer, not by a rule */
	uint8_t provenance; /* of the rule that led to the caller; NONE: there was no step to a
			     * caller */
	uint8_t root;	    /* enum stackd_root, of the outermost frame of a walk that has reached
			     * an entry */
};

struct walk_input {
	struct stackd_regs regs;
	const uint8_t *stack; /* the bytes from regs.r[STACKD_REG_SP] upwards; borrowed */
	size_t stack_bytes;
	uint64_t below;	    /* the word right below the stack pointer; 0: not known */
	bool stack_cut;	    /* there is more stack above than was copied */
	uint64_t stack_end; /* address where the stack ends; 0: not known */
	/* bit i: page i of the stack, counted from the stack pointer's page, was not in memory, so
	 * its bytes are not known */
	uint64_t stack_holes;
	const uint64_t *stack_more_holes; /* likewise for further pages, 64 in each element;
					   * borrowed */
	size_t n_stack_more_holes;	  /* number of elements; the pages after them were in
					   * memory */

	/* process whose code without a file can be read (dwarf_walk_options.code); 0: none */
	pid_t pid;

	/* The JIT code of the process at the time of the sample, around the addresses of these
	 * marks; borrowed. A rule of JIT code is used only if the code is still the same. */
	bool has_code; /* `code` is known; false: the code is used as it is now */
	const struct stackd_code_mark *code;
	size_t code_count;

	/* The kernel half has found that no call has led to the bad address at which its walk has
	 * ended. */
	bool is_uncalled;

	/* A runtime of the process makes code whose frames are known by their words
	 * (runtime.is_pointed in runtime/runtime.h). */
	bool has_words;

	enum stackd_leaf leaf; /* how much of its frame the leaf has set up; used if the leaf has
				* no rule */

	/* For a walk that begins at a caller's frame, of whose registers only some are known. All
	 * three 0: it begins at the leaf. */
	uint32_t known;	      /* bit i: regs.r[i] is the frame's value; 0: all are */
	bool is_return;	      /* the program counter in `regs` is a return address */
	uint64_t stack_start; /* address of stack[0], the leaf's stack pointer; 0: it is the one in
			       * `regs` */

	/* Gives the object and the file offset at an address. Returns false if no object is mapped
	 * there. */
	bool (*find)(void *arg, uint64_t address, const struct object **ret_object,
		     uint64_t *ret_offset);
	void *arg;
};

struct dwarf_walk;
struct runtime_code;

/* Looks up the rule at an object's file offset in tables that were made before; its cfa is
 * STACKD_CFA_NONE if they have none. Returns 0; -EAGAIN: the tables are still being made; or
 * -ENOMEM. */
typedef int dwarf_walk_rule_fn(void *arg, const struct object *object, uint64_t offset,
			       struct stackd_rule *ret_rule);

struct dwarf_walk_options { /* zeroed: all rules are from the objects' files */
	/* Looks up rules of code that no CFI covers; NULL: the walk analyses that code itself
	 * (analysed_rules.h). */
	dwarf_walk_rule_fn *find_rule;
	void *rules;		   /* its argument; borrowed */
	struct runtime_code *code; /* reads code without a file; borrowed. NULL: it is not read */
};

/* Makes a walker, for one thread at a time. It serves all processes of one object table: it keeps
 * rules and CFI by the objects' numbers. A file is read when a rule is made, and not referred to
 * between calls. Returns 0 or -ENOMEM; the caller frees *ret_walk with dwarf_walk_free(). */
int dwarf_walk_new(const struct dwarf_walk_options *options, struct dwarf_walk **ret_walk);
void dwarf_walk_free(struct dwarf_walk *walk); /* NULL is fine */

/* Drops the CFI of objects that were not used since the call of this function before the last. To
 * be called now and then. */
void dwarf_walk_trim(struct dwarf_walk *walk);

/* Walks from `in`, which is borrowed for the call; `frames` has room for `max_frames`. Writes
 * *ret_count frames, at least the leaf, and returns the reason for which it stopped. The frames'
 * objects are those that in->find() gave. */
enum stackd_end_reason dwarf_walk_stack(struct dwarf_walk *walk, const struct walk_input *in,
					struct walk_frame *frames, size_t max_frames,
					size_t *ret_count);

/* Finds the range, in file offsets, of the entry of call frame information (FDE) that covers an
 * offset. Nearly always it is a function; or a file's whole PLT. Returns false if no entry covers
 * it. */
bool dwarf_walk_function(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
			 uint64_t *ret_start, uint64_t *ret_end);

/* Returns whether a frame at this offset is the outermost of its thread, by the code's rule or
 * because it is in the file's entry function. For stacks that were walked elsewhere, as by perf. */
bool dwarf_walk_is_entry(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
			 bool is_return);

struct dwarf_walk_stats {
	uint64_t frames, cache_hits, cache_misses, frame_pointer_steps;
};

/* Gives the counts since dwarf_walk_new(). */
void dwarf_walk_get_stats(const struct dwarf_walk *walk, struct dwarf_walk_stats *ret_stats);

#endif
