/* SPDX-License-Identifier: MIT */
/*
 * Instructions as text, in the forms that assemblers read.
 *
 * On x86-64 Zydis makes the text, which decodes instructions for the other headers, too. Rejected:
 * binutils' objdump through a pipe, which is another program at run time, and whose output would
 * have to be parsed.
 */
#ifndef ARCH_DISASSEMBLER_H
#define ARCH_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disassembler;

/* Makes a disassembler; the caller frees it. `intel`: it writes Intel's syntax, if the processor
 * has two. Returns 0 or -ENOMEM. */
int disassembler_new(bool intel, struct disassembler **ret_disassembler);
void disassembler_free(struct disassembler *disassembler); /* NULL is fine */

struct disassembled {
	uint8_t length; /* bytes */
	bool has_target;
	uint64_t target; /* vaddr of the target of a direct call or jump */
	char text[256];
};

/* Disassembles the instruction at `vaddr`; `code` has `size` bytes. Returns false if they are no
 * instruction. */
bool disassemble(const struct disassembler *disassembler, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct disassembled *ret_insn);

#endif
