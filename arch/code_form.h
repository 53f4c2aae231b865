/* SPDX-License-Identifier: MIT */
/*
 * Recognises sequences of instructions that compilers and linkers emit, by their bytes. `len` bytes
 * can be read; a sequence that does not fit into them is not found.
 */
#ifndef ARCH_CODE_FORM_H
#define ARCH_CODE_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"

#define CODE_FORM_CALL	    5  /* bytes of a direct call */
#define CODE_FORM_JUMP	    6  /* bytes of a linkage stub's jump */
#define CODE_FORM_STUB	    11 /* bytes within which a linkage stub has its jump */
#define CODE_FORM_MARK	    4  /* bytes of the mark of a target of indirect calls */
#define CODE_FORM_SYSCALL   2  /* bytes of a system call */
#define CODE_FORM_TARGET    4  /* bytes that code_form_stores_target() reads */
#define CODE_FORM_FRAME	    4  /* bytes of what code_form_makes_frame() finds */
#define CODE_FORM_REALIGNED 6  /* bytes that code_form_realigned_return() reads */
#define CODE_FORM_THUNK_END 6  /* bytes that code_form_is_thunk_end() reads */
#define CODE_FORM_ADDRESS   7  /* bytes of what code_form_find_address() finds */
#define CODE_FORM_NUMBER    6  /* bytes of what code_form_find_number() finds, at most */
#define CODE_FORM_BLOCK	    256

/* Returns the bytes of the instruction that marks a target of indirect calls (endbr), if code
 * begins with it; else 0. */
size_t code_form_mark(const uint8_t *code, size_t len);

/* Returns whether code begins with a return of one byte, which removes only the return address. */
bool code_form_is_plain_return(const uint8_t *code);

/* Returns whether code begins with a pop into the register in which Java's code gives the handler
 * of an exception the address at which it was raised. */
bool code_form_pops_raise(const uint8_t *code);

/* Returns whether code begins with a return of any form; 2 bytes are enough. */
bool code_form_is_return(const uint8_t *code);

/* Returns whether a return can be among the bytes of code. */
bool code_form_may_have_return(const uint8_t *code, size_t len);

/* Returns where the last return, or jump out of the code, ends that can be among its bytes right
 * behind an instruction that releases a part of the frame, or, with `restores_fp`, behind one that
 * restores the caller's frame pointer. 0: there is none. */
size_t code_form_last_release(const uint8_t *code, size_t len, bool restores_fp);

/* Returns whether code overwrites the return address on top of the stack with a register, so that a
 * return after it jumps to that register's value. Reads CODE_FORM_TARGET bytes. */
bool code_form_stores_target(const uint8_t *code);

/* Returns the register (in DWARF's numbers) that has the CFA, if code begins with the instruction
 * with which a function that has realigned its stack releases its frame, right before the return;
 * else -1. */
int code_form_realigned_return(const uint8_t *code);

/* Returns whether code is the end of gcc's thunk for returns (-mfunction-return=thunk). It removes
 * the return address that the call within the thunk has pushed, and returns. The return is the last
 * byte. */
bool code_form_is_thunk_end(const uint8_t *code);

/* Returns whether code begins with a system call. */
bool code_form_is_syscall(const uint8_t *code);

/* Returns whether code begins with an instruction that no program executes: compilers put it behind
 * calls that do not return. */
bool code_form_is_halt(const uint8_t *code);

/* Returns the bytes that the return at `code` removes from the stack besides the return address. */
int32_t code_form_return_removes(const uint8_t *code);

/* Returns whether code begins with a far return. No program has a far return, but data can look
 * like one. */
bool code_form_is_far_return(const uint8_t *code);

/* Gives the 64-bit number that an instruction loads into a register, and the register;
 * insn_decode() does not give the number. Returns false if it is another instruction. */
bool code_form_number(const struct insn *insn, const uint8_t *code, uint8_t *ret_reg,
		      uint64_t *ret_number);

/* Returns whether code may begin by saving the frame pointer, judged by its first byte alone: that
 * of the push, or of an endbr, which precedes the push. */
bool code_form_may_save_fp(const uint8_t *code);

/* Returns whether code begins by setting the frame pointer to the stack pointer; 3 bytes suffice.
 */
bool code_form_sets_fp(const uint8_t *code, size_t len);

/* Returns whether code begins by setting up a frame with a frame pointer. Hardly any bytes do so
 * other than those at a function's start. */
bool code_form_makes_frame(const uint8_t *code, size_t len);

/* Returns whether `code`, of four bytes, is an instruction with which functions begin: an endbr, a
 * push, or a change of the stack pointer. */
bool code_form_may_begin_function(const uint8_t *code);

/* Returns whether the jump at code[at] is the one of gcc's __builtin_eh_return(), whose target and
 * new stack pointer are arguments of the function. */
bool code_form_is_eh_return(const uint8_t *code, size_t at, size_t len);

/* Returns whether code may begin with a call, judged by its first bytes. */
bool code_form_may_be_call(const uint8_t *code, size_t len);

/* Gives the target of a direct call, from the call's CODE_FORM_CALL bytes and its return address.
 * Returns false if the bytes are not a direct call. */
bool code_form_call_target(const uint8_t *call, uint64_t address, uint64_t *ret_target);

/* Returns whether code begins with the jump of a linkage stub; 3 bytes are enough. */
bool code_form_is_stub_jump(const uint8_t *code);

/* Gives the address of the word (in .got or .got.plt) through which the first jump of the linkage
 * stub at `vaddr` goes. `code` has `len` bytes of the stub, usually CODE_FORM_STUB. Returns false
 * if there is no such jump. */
bool code_form_stub_slot(const uint8_t *code, size_t len, uint64_t vaddr, uint64_t *ret_slot);

/* Gives the relocation's index that the lazy half of a linkage stub passes to the dynamic linker.
 * Returns false if code is not the lazy half of a stub. */
bool code_form_stub_index(const uint8_t *code, size_t len, uint32_t *ret_index);

/* For a pc in the trampoline of uretprobes, returns the offset from the stack pointer to the slot
 * into which the trampoline's system call has put the return address. -1: at this pc the slot has
 * no return address yet, or the pc is elsewhere. */
int code_form_trampoline_slot(uint64_t pc);

/* Returns whether code begins by switching to a stack whose address is in a preserved register. The
 * function to which a coroutine of makecontext() returns does so. */
bool code_form_gives_up_stack(const uint8_t *code, size_t len);

/* If code begins with an instruction that loads the stack pointer from memory, at an address in
 * another register than the stack pointer and the frame pointer (with these, functions restore
 * their caller's), returns the instruction's length; else 0. Reads 7 bytes. */
size_t code_form_loads_stack(const uint8_t *code);

/* Like code_form_loads_stack(), for an instruction that sets the stack pointer to the value of
 * another register than these two, or to the sum of that value and a number. */
size_t code_form_sets_stack(const uint8_t *code);

/* Returns whether an instruction that code_form_loads_stack() finds may begin in the
 * CODE_FORM_BLOCK bytes of a block; two more bytes behind the block are read. Files have megabytes
 * of code and hardly any such load, so this consists of comparisons that compilers vectorise. */
bool code_form_may_load_stack(const uint8_t *code);

/* The next four functions return the first place at which their instruction may begin, among the
 * first `starts` bytes of code; NULL: there is none. The instruction must be readable completely.
 * What they find may be a part of another instruction. */

/* Finds what may be a direct call; code_form_call_target() gives its target. */
const uint8_t *code_form_find_call(const uint8_t *code, size_t starts);

/* Finds what may be a direct call with a direct jump right behind it; CODE_FORM_CALL bytes behind
 * the `starts` ones are read. */
const uint8_t *code_form_find_detour(const uint8_t *code, size_t starts);

/* Finds an instruction that loads an address into a register; gives the distance of the address
 * from the instruction's end. */
const uint8_t *code_form_find_address(const uint8_t *code, size_t starts, int32_t *ret_distance);

/* Finds an instruction that loads a number into a register. In a file with a fixed address, the
 * number can be an address. */
const uint8_t *code_form_find_number(const uint8_t *code, size_t starts, uint32_t *ret_number);

/* Returns whether code is a call that does not return, followed by an instruction that no program
 * executes. */
bool code_form_is_last_call(const uint8_t *code, size_t len);

#endif
