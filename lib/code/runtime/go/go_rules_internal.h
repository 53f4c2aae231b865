/* SPDX-License-Identifier: MIT */
/*
 * Shared by go_rules.c and go_rules_switch.c: a reader goes through a program's functions in order
 * of address, and gives their rows to `take`.
 */
#ifndef GO_GO_RULES_INTERNAL_H
#define GO_GO_RULES_INTERNAL_H

#include "runtime/go/go_rules.h"
#include "runtime/go/go_stack.h"
#include "arch/go_switch.h"

#define WINDOW 65536 /* bytes of code that are read at once: functions come in order of address */

struct go_reader {
	const struct pclntab *table;
	const struct elf_file *file;
	runtime_take_rule *take;
	void *arg;
	const Elf64_Phdr *load;	       /* program header of the present function */
	uint64_t end;		       /* vaddr of the previous function's end; 0: nothing to end */
	struct go_goroutine goroutine; /* offsets in systemstack's code */
	bool has_goroutine;
	struct runtime_rule last;
	bool has_last;
	uint64_t window_at; /* file offset */
	size_t window_bytes;
	uint8_t window[WINDOW];
};

/* The kind of rules that stack deltas become. */
struct go_layer {
	uint64_t from, end; /* vaddr */
	uint8_t cfa;	    /* STACKD_CFA_REG, or a kind with the same members */
	bool is_special;
};

/* Returns the file offset of a vaddr in the present program header. */
uint64_t go_reader_offset(const struct go_reader *r, uint64_t vaddr);

/* Adds a row, unless the last row has the same rule or a higher offset. Its result is passed on. */
int go_reader_put(struct go_reader *r, uint64_t vaddr, const struct stackd_rule *rule,
		  bool is_special);

/* Returns the rule of a function whose stack pointer is `delta` below its value at entry, with the
 * frame pointer saved as usual. */
struct stackd_rule go_rule_of(int32_t delta, bool is_saved);

/* Adds rows of a function's deltas within a layer. */
int go_reader_deltas(struct go_reader *r, const struct pclntab_function *f, struct go_layer layer);

/* Adds rows of a function with a usual frame, as rules of the kind `cfa`. */
int go_reader_telling(struct go_reader *r, const struct pclntab_function *f, enum stackd_cfa cfa);

/* Adds rows of a function that switches stacks: it has an ordinary frame up to where it sets the
 * stack pointer. */
int go_reader_switch(struct go_reader *r, const struct pclntab_function *f, enum go_stack stack);

/* Adds rows of a function that borrows the thread's stack: an ordinary frame before, and then by
 * the register in which it keeps its stack pointer. */
int go_reader_borrowing(struct go_reader *r, const struct pclntab_function *f);

/* Adds the row of sigreturn, whose rule is found by the byte before it. */
int go_reader_signal(struct go_reader *r, const struct pclntab_function *f);

#endif
