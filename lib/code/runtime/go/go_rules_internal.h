/* SPDX-License-Identifier: MIT */
/*
 * Shared by go_rules.c and go_rules_switch.c. A reader goes through a program's functions in order
 * of address, makes rows (a rule from an address on) from them, and gives the rows to `take`.
 */
#ifndef GO_GO_RULES_INTERNAL_H
#define GO_GO_RULES_INTERNAL_H

#include "runtime/go/go_rules.h"
#include "runtime/go/go_stack.h"
#include "arch/go_switch.h"

/* bytes of code that are read at a time, since functions come in order of address */
#define WINDOW 65536

struct go_reader {
	const struct pclntab *table;
	const struct elf_file *file;
	runtime_take_rule *take;
	void *arg;
	const Elf64_Phdr *load;	       /* program header of the current function */
	uint64_t end;		       /* vaddr of the previous function's end, where a row
					* without a rule is due; 0: none is due */
	struct go_goroutine goroutine; /* offsets in systemstack's code */
	bool has_goroutine;
	struct runtime_rule last;
	bool has_last;
	uint64_t window_at; /* file offset */
	size_t window_bytes;
	uint8_t window[WINDOW];
};

/* How the stack deltas of a function become rules between two addresses. */
struct go_layer {
	uint64_t from, end; /* vaddr */
	uint8_t cfa;	    /* kind of the rules: STACKD_CFA_REG, or a kind with the same members */
	bool is_special;
};

/* Returns the file offset of a vaddr in the current function's program header. */
uint64_t go_reader_offset(const struct go_reader *r, uint64_t vaddr);

/* Gives a row to r->take, unless the last row has the same rule or a higher offset. Returns 0 or
 * the result of `take`. */
int go_reader_put(struct go_reader *r, uint64_t vaddr, const struct stackd_rule *rule,
		  bool is_special);

/* Returns the rule at an instruction where the stack pointer is `delta` bytes below its value at
 * the function's entry. `is_saved`: the frame pointer is saved in its usual slot. */
struct stackd_rule go_rule_of(int32_t delta, bool is_saved);

/* Gives rows for the stack deltas of a function within a layer. Returns 0 or the result of
 * `take`. */
int go_reader_deltas(struct go_reader *r, const struct pclntab_function *f, struct go_layer layer);

/* Gives rows for a function with a usual frame, as rules of the kind `cfa`. Returns as
 * go_reader_deltas(). */
int go_reader_telling(struct go_reader *r, const struct pclntab_function *f, enum stackd_cfa cfa);

/* Gives rows for a function that switches stacks; it has an ordinary frame up to the instruction
 * that sets the stack pointer. Returns as go_reader_deltas(). */
int go_reader_switch(struct go_reader *r, const struct pclntab_function *f, enum go_stack stack);

/* Gives rows for a function that borrows the thread's stack: it has an ordinary frame at first;
 * then the rule uses the register in which it keeps its stack pointer. Returns as
 * go_reader_deltas(). */
int go_reader_borrowing(struct go_reader *r, const struct pclntab_function *f);

/* Gives the row of sigreturn, which begins a byte before the function, since walks look up the byte
 * before a return address. Returns as go_reader_deltas(). */
int go_reader_signal(struct go_reader *r, const struct pclntab_function *f);

#endif
