/* SPDX-License-Identifier: MIT */
/*
 * What go_rules.c and go_rules_switch.c share: a reader goes through a program's functions in order
 * of address and gives their rows out.
 */
#ifndef GO_GO_RULES_INTERNAL_H
#define GO_GO_RULES_INTERNAL_H

#include "runtime/go/go_rules.h"
#include "runtime/go/go_stack.h"
#include "arch/go_switch.h"

#define WINDOW 65536 /* bytes of code that are kept: functions come in order of address */

struct go_reader {
	const struct pclntab *table;
	const struct elf_file *file;
	runtime_take_rule *take;
	void *arg;
	const Elf64_Phdr *load;	       /* the program header of the function at hand */
	uint64_t end;		       /* vaddr where the function before ends; 0: nothing to end */
	struct go_goroutine goroutine; /* as systemstack has it */
	bool has_goroutine;
	struct runtime_rule last;
	bool has_last;
	uint64_t window_at; /* file offset */
	size_t window_bytes;
	uint8_t window[WINDOW];
};

/* Which rules stack deltas come to. */
struct go_layer {
	uint64_t from, end; /* vaddr */
	uint8_t cfa;	    /* of kind STACKD_CFA_REG, or one like it */
	bool is_special;
};

/* The offset in the file of a vaddr in the program header at hand. */
uint64_t go_reader_offset(const struct go_reader *r, uint64_t vaddr);

/* Gives a row out, unless the one before says the same or is behind it. What the caller returns. */
int go_reader_put(struct go_reader *r, uint64_t vaddr, const struct stackd_rule *rule,
		  bool is_special);

/* The rule of a function whose stack pointer is `delta` below its value at entry, with the frame
 * pointer saved as usual. */
struct stackd_rule go_rule_of(int32_t delta, bool is_saved);

/* Rows of a function's deltas within a layer. */
int go_reader_deltas(struct go_reader *r, const struct pclntab_function *f, struct go_layer layer);

/* A function whose frame is as others, but tells something of its callers. */
int go_reader_telling(struct go_reader *r, const struct pclntab_function *f, enum stackd_cfa cfa);

/* Rows of a function that switches stacks: it has its own frame up to where it sets the stack
 * pointer. */
int go_reader_switch(struct go_reader *r, const struct pclntab_function *f, enum go_stack stack);

/* Rows of a function that borrows the thread's stack: its own frame before it takes that, and by
 * the register that it keeps its stack pointer in from then on. */
int go_reader_borrowing(struct go_reader *r, const struct pclntab_function *f);

/* The row of sigreturn, whose rule is found by the byte before it. */
int go_reader_signal(struct go_reader *r, const struct pclntab_function *f);

#endif
