/* SPDX-License-Identifier: MIT */
/*
 * Recognises sequences of instructions that compilers and linkers emit, by their bytes. `len` bytes
 * are there; a sequence that does not fit into them is not found.
 */
#ifndef ARCH_CODE_FORM_H
#define ARCH_CODE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"

#define CODE_FORM_CALL	    5  /* bytes of a direct call */
#define CODE_FORM_JUMP	    6  /* bytes of a linkage stub's jump */
#define CODE_FORM_STUB	    11 /* bytes in which a linkage stub's jump is */
#define CODE_FORM_MARK	    4  /* bytes of the mark at which indirect calls may enter a function */
#define CODE_FORM_SYSCALL   2  /* bytes of a system call */
#define CODE_FORM_TARGET    4  /* bytes of what code_form_stores_target() tells */
#define CODE_FORM_REALIGNED 6  /* bytes of what code_form_realigned_return() tells */
#define CODE_FORM_THUNK_END 6  /* bytes of what code_form_is_thunk_end() tells */
#define CODE_FORM_ADDRESS   7  /* bytes of what code_form_find_address() finds */
#define CODE_FORM_NUMBER    6  /* bytes of what code_form_find_number() finds, at most */
#define CODE_FORM_BLOCK	    256

/* Returns the bytes of the instruction that marks a target of indirect calls (endbr), if code
 * begins with it; else 0. */
size_t code_form_mark(const uint8_t *code, size_t len);

/* Returns whether code begins with a return that removes only the return address, one byte long. */
bool code_form_is_plain_return(const uint8_t *code);

/* Returns whether code begins with a return of any form; 2 bytes are enough. */
bool code_form_is_return(const uint8_t *code);

/* Returns whether a return can be among the bytes of code. */
bool code_form_may_have_return(const uint8_t *code, size_t len);

/* Returns whether code puts a register in place of the return address on top of the stack: a return
 * behind it goes where that says. */
bool code_form_stores_target(const uint8_t *code);

/* Returns whether code gives up the frame of a function that has realigned its stack, right before
 * it returns. Returns the register (in DWARF's numbers) that has the CFA; -1: it is something else.
 */
int code_form_realigned_return(const uint8_t *code);

/* Returns whether code is the end of gcc's thunk for returns (-mfunction-return=thunk): it removes
 * the return address of its caller's call, and returns. The return is the last byte. */
bool code_form_is_thunk_end(const uint8_t *code);

/* Returns whether code begins with a system call. */
bool code_form_is_syscall(const uint8_t *code);

/* Returns whether code begins with an instruction that no program executes: it stands behind calls
 * that do not return. */
bool code_form_is_halt(const uint8_t *code);

/* Returns the bytes that the return at `code` removes from the stack besides the return address. */
int32_t code_form_return_removes(const uint8_t *code);

/* Returns whether code begins with a far return. No program has one, but data can look like it. */
bool code_form_is_far_return(const uint8_t *code);

/* Gives the 64-bit number that an instruction puts into a register, which insn_decode() leaves out,
 * and the register. false: it is another instruction. */
bool code_form_number(const struct insn *insn, const uint8_t *code, uint8_t *ret_reg,
		      uint64_t *ret_number);

/* Returns whether code may begin by saving the frame pointer, by its first byte: that of the push,
 * or that of an endbr, which comes before the push. */
bool code_form_may_save_fp(const uint8_t *code);

/* Returns whether code begins by setting the frame pointer to the stack pointer; 3 bytes suffice.
 */
bool code_form_sets_fp(const uint8_t *code, size_t len);

/* Returns whether code begins by setting up a frame with a frame pointer, as hardly anything but
 * functions does. */
bool code_form_makes_frame(const uint8_t *code, size_t len);

/* Returns whether an instruction with which functions begin is at `code`, which has four bytes: an
 * endbr, a push, or a move of the stack pointer. */
bool code_form_may_begin_function(const uint8_t *code);

/* Returns whether the jump at code[at] is gcc's __builtin_eh_return(): it goes to an address that
 * the function got as an argument, with a stack pointer that it got as well. */
bool code_form_is_eh_return(const uint8_t *code, size_t at, size_t len);

/* Returns whether code may begin with a call, by its first bytes. */
bool code_form_may_be_call(const uint8_t *code, size_t len);

/* Gives the target of the direct call right before an address, whose CODE_FORM_CALL bytes are
 * given; false: it is no such call. */
bool code_form_call_target(const uint8_t *call, uint64_t address, uint64_t *ret_target);

/* Returns whether code begins with the jump of a linkage stub; 3 bytes are enough. */
bool code_form_is_stub_jump(const uint8_t *code);

/* Gives the address of the word through which the first jump of the linkage stub at `vaddr` goes.
 * `code` has `len` bytes of the stub, mostly CODE_FORM_STUB; false: there is none. */
bool code_form_stub_slot(const uint8_t *code, size_t len, uint64_t vaddr, uint64_t *ret_slot);

/* Gives the index that a linkage stub's lazy half passes to the dynamic linker; false: it is no
 * such code. */
bool code_form_stub_index(const uint8_t *code, size_t len, uint32_t *ret_index);

/* Returns how far above the stack pointer the slot is into which the system call in the trampoline
 * of uretprobes has put the return address, for an address in that page; -1: `pc` is elsewhere. */
int code_form_trampoline_slot(uint64_t pc);

/* Returns whether code begins to give up its stack for one that a preserved register has: the
 * function that a coroutine returns to (makecontext()). */
bool code_form_gives_up_stack(const uint8_t *code, size_t len);

/* The length of the instruction that code begins with, if it loads the stack pointer from memory by
 * another register than the stack pointer and the frame pointer, from which functions restore their
 * own; else 0. 7 bytes are looked at. */
size_t code_form_loads_stack(const uint8_t *code);

/* The same, if it sets the stack pointer to what another register than these has, or to a sum of
 * that and a number. */
size_t code_form_sets_stack(const uint8_t *code);

/* Returns whether a load as above may begin in the CODE_FORM_BLOCK bytes of a block, with two more
 * behind it. Files have megabytes of code and hardly any load, so this is made of comparisons that
 * compilers do for many bytes at a time. */
bool code_form_may_load_stack(const uint8_t *code);

/* The next functions search code for instructions that begin in its first `starts` bytes, and are
 * there as a whole. The bytes of one may be a part of something else. NULL: there is none. */

/* Finds what may be a direct call; code_form_call_target() gives its target. */
const uint8_t *code_form_find_call(const uint8_t *code, size_t starts);

/* Finds an instruction that gives a register an address, and the distance of that from the
 * instruction's end. */
const uint8_t *code_form_find_address(const uint8_t *code, size_t starts, int32_t *ret_distance);

/* Finds an instruction that gives a register a number, as code of a file at a fixed address has
 * addresses. */
const uint8_t *code_form_find_number(const uint8_t *code, size_t starts, uint32_t *ret_number);

/* Returns whether code is a call that does not return, followed by an instruction that no program
 * executes. */
bool code_form_is_last_call(const uint8_t *code, size_t len);

#endif
