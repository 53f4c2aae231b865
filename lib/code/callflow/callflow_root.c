/* SPDX-License-Identifier: MIT */
/* Looks for returns in a function, and for direct calls of it in its file; see callflow_root.h. */
#include "callflow/callflow_root.h"

#include <stdlib.h>

#include "arch/call_site.h"
#include "arch/code_form.h"
#include "arch/flow_insn.h"
#include "unwind/stack_switch.h"

#define MOST_THREAD 512	  /* bytes of a function that is searched for system calls */
#define MOST_RETURN 65536 /* bytes of a function that is searched for returns */
#define MOST_CODE   (64u << 20)
#define CHUNK	    65536

/* Returns whether a direct call in some code, of which the first byte is at `vaddr`, leads to
 * `target`. */
static bool calls(const uint8_t *code, size_t len, uint64_t vaddr, uint64_t target)
{
	for (size_t end = CALL_SITE_BYTES; end <= len; end++) {
		if (call_site_target(code + end, vaddr + end) == target &&
		    call_site_kinds(code + end - CALL_SITE_BYTES, CALL_SITE_BYTES) &
			    CALL_SITE_DIRECT)
			return true;
	}
	return false;
}

/* Searches the code of a program header. `*budget`: bytes that may still be read. Returns CALLED;
 * FREE: no call in it leads to `target`; UNKNOWN: not all of it was read. */
static enum callflow_root calls_in(const struct elf_file *elf, const Elf64_Phdr *header,
				   uint64_t target, uint8_t *bytes, uint64_t *budget)
{
	for (uint64_t at = 0; at < header->p_filesz; at += CHUNK) {
		const uint64_t left = header->p_filesz - at;
		const size_t want = left < CHUNK + CALL_SITE_BYTES ? left : CHUNK + CALL_SITE_BYTES;

		if (*budget < CHUNK ||
		    !elf_file_read_whole(elf, header->p_offset + at, bytes, want))
			return CALLFLOW_ROOT_UNKNOWN;
		*budget -= CHUNK;
		if (calls(bytes, want, header->p_vaddr + at, target))
			return CALLFLOW_ROOT_CALLED;
	}
	return CALLFLOW_ROOT_FREE;
}

/* Searches all code of a file. Returns as calls_in(). */
static enum callflow_root find_call(const struct elf_file *elf, uint64_t target)
{
	size_t count;
	const Elf64_Phdr *headers = elf_file_program_headers(elf, &count);
	uint8_t *bytes = malloc(CHUNK + CALL_SITE_BYTES);
	uint64_t budget = MOST_CODE;
	enum callflow_root found = bytes ? CALLFLOW_ROOT_FREE : CALLFLOW_ROOT_UNKNOWN;

	for (size_t i = 0; bytes && i < count && found == CALLFLOW_ROOT_FREE; i++) {
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X)
			found = calls_in(elf, &headers[i], target, bytes, &budget);
	}
	free(bytes);
	return found;
}

static bool makes_system_calls(const struct elf_file *elf, uint64_t start, uint64_t end)
{
	uint8_t code[MOST_THREAD + CALL_SITE_BYTES] = {0};
	const size_t size = end - start < MOST_THREAD ? end - start : MOST_THREAD;

	if (!elf_file_read_whole(elf, start, code, size))
		return false;
	for (size_t i = 0; i < size; i++)
		if (code_form_is_syscall(code + i))
			return true;
	return false;
}

/* Returns whether some code, a whole function, has a return or a jump out of it. The part of a
 * function that hardly runs is elsewhere, and is reached by branches. */
static bool may_leave(const uint8_t *code, size_t size)
{
	struct insn_decoder decoder;
	struct flow_insn i;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < size; at += i.length) {
		if (!flow_insn_decode(&decoder, code + at, size - at, &i))
			return false;
		if (i.kind == FLOW_RETURN ||
		    (i.kind == FLOW_JUMP && i.is_direct && flow_insn_target(&i, at) >= size))
			return true;
	}
	return false;
}

static bool returns(const struct elf_file *elf, uint64_t start, uint64_t end)
{
	const size_t size = end - start < MOST_RETURN ? end - start : MOST_RETURN;
	uint8_t *code = malloc(size);
	const bool may =
		code && elf_file_read_whole(elf, start, code, size) && may_leave(code, size);

	free(code);
	return may;
}

enum callflow_root callflow_root_of(const struct elf_file *elf, uint64_t start, uint64_t end)
{
	enum callflow_root found;
	uint64_t vaddr;

	if (start >= end || !elf_file_offset_to_vaddr(elf, start, &vaddr))
		return CALLFLOW_ROOT_UNKNOWN;
	if (elf_file_entry_vaddr(elf) - vaddr < end - start)
		return CALLFLOW_ROOT_ENTRY;
	if (makes_system_calls(elf, start, end))
		return CALLFLOW_ROOT_THREAD;
	found = find_call(elf, vaddr);
	return found == CALLFLOW_ROOT_FREE && returns(elf, start, end) ? CALLFLOW_ROOT_RETURNS
								       : found;
}

bool callflow_root_switches(const struct elf_file *elf, uint64_t start, uint64_t offset)
{
	return stack_switch_may_precede(elf, start, offset);
}
