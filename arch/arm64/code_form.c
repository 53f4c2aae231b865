/* SPDX-License-Identifier: MIT */
/*
 * Sequences of instructions of arm64 that a few words prove; see ../code_form.h. What the analysis
 * of instructions would look for is not found, since no instruction is decoded yet (insn.c).
 */
#include "arch/code_form.h"

#include "arch/arm64/words.h"

size_t code_form_mark(const uint8_t *code, size_t len)
{
	return len >= WORD_BYTES && word_is_mark(word_at(code)) ? WORD_BYTES : 0;
}

/* No return has one byte, nor two. */
bool code_form_is_plain_return(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_form_pops_raise(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_form_is_return(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_form_may_have_return(const uint8_t *code, size_t len)
{
	for (size_t i = 0; i + WORD_BYTES <= len; i++)
		if (word_is_return(word_at(code + i)))
			return true;
	return false;
}

size_t code_form_last_release(const uint8_t *code, size_t len, bool restores_fp)
{
	(void)code, (void)len, (void)restores_fp;
	return 0;
}

bool code_form_stores_target(const uint8_t *code)
{
	(void)code;
	return false;
}

int code_form_realigned_return(const uint8_t *code)
{
	(void)code;
	return -1;
}

bool code_form_is_thunk_end(const uint8_t *code)
{
	(void)code;
	return false;
}

/* The system call's number is among the first two bytes of svc #0 of no other instruction's. */
bool code_form_is_syscall(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_form_is_halt(const uint8_t *code)
{
	(void)code;
	return false;
}

int32_t code_form_return_removes(const uint8_t *code)
{
	(void)code;
	return 0;
}

bool code_form_is_far_return(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_form_number(const struct insn *insn, const uint8_t *code, uint8_t *ret_reg,
		      uint64_t *ret_number)
{
	(void)insn, (void)code, (void)ret_reg, (void)ret_number;
	return false;
}

bool code_form_may_save_fp(const uint8_t *code)
{
	(void)code;
	return false;
}

bool code_form_sets_fp(const uint8_t *code, size_t len)
{
	return len >= WORD_BYTES && word_at(code) == 0x910003fdu; /* mov x29, sp */
}

bool code_form_makes_frame(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return false;
}

bool code_form_may_begin_function(const uint8_t *code)
{
	const uint32_t word = word_at(code);

	return word_is_mark(word) || (word & 0xffc003e0) == 0xa98003e0 || /* stp ..., [sp, #..]! */
	       (word & 0xff0003ff) == 0xd10003ff;			  /* sub sp, sp, #.. */
}

bool code_form_is_eh_return(const uint8_t *code, size_t at, size_t len)
{
	(void)code, (void)at, (void)len;
	return false;
}

bool code_form_may_be_call(const uint8_t *code, size_t len)
{
	uint32_t word;

	if (len < WORD_BYTES)
		return false;
	word = word_at(code);
	return word_is_direct_call(word) || word_is_indirect_call(word);
}

bool code_form_call_target(const uint8_t *call, uint64_t address, uint64_t *ret_target)
{
	const uint32_t word = word_at(call + CODE_FORM_CALL - WORD_BYTES);

	if (!word_is_direct_call(word))
		return false;
	*ret_target = word_target(word, address - WORD_BYTES);
	return true;
}

bool code_form_is_stub_jump(const uint8_t *code)
{
	(void)code;
	return false;
}

/* A stub of the linkage table is adrp x16; ldr x17, [x16, ..]; add x16, ..; br x17, which `len`
 * bytes need not have completely: see CODE_FORM_STUB. */
bool code_form_stub_slot(const uint8_t *code, size_t len, uint64_t vaddr, uint64_t *ret_slot)
{
	uint32_t page, load;
	uint64_t distance;

	if (len < 2 * WORD_BYTES)
		return false;
	page = word_at(code);
	load = word_at(code + WORD_BYTES);
	if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
		return false;
	distance = (uint64_t)((int64_t)((uint64_t)((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3))
					<< 43) >>
			      31);
	*ret_slot = (vaddr & ~UINT64_C(0xfff)) + distance + (load >> 10 & 0xfff) * 8;
	return true;
}

bool code_form_stub_index(const uint8_t *code, size_t len, uint32_t *ret_index)
{
	(void)code, (void)len, (void)ret_index;
	return false;
}

int code_form_trampoline_slot(uint64_t pc)
{
	(void)pc;
	return -1;
}

bool code_form_gives_up_stack(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return false;
}

size_t code_form_loads_stack(const uint8_t *code)
{
	(void)code;
	return 0;
}

size_t code_form_sets_stack(const uint8_t *code)
{
	(void)code;
	return 0;
}

bool code_form_may_load_stack(const uint8_t *code)
{
	(void)code;
	return false;
}

const uint8_t *code_form_find_call(const uint8_t *code, size_t starts)
{
	(void)code, (void)starts;
	return NULL;
}

const uint8_t *code_form_find_detour(const uint8_t *code, size_t starts)
{
	(void)code, (void)starts;
	return NULL;
}

const uint8_t *code_form_find_address(const uint8_t *code, size_t starts, int32_t *ret_distance)
{
	(void)code, (void)starts, (void)ret_distance;
	return NULL;
}

const uint8_t *code_form_find_number(const uint8_t *code, size_t starts, uint32_t *ret_number)
{
	(void)code, (void)starts, (void)ret_number;
	return NULL;
}

bool code_form_is_last_call(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return false;
}
