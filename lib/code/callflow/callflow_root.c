/* SPDX-License-Identifier: MIT */
/* Looks for returns in a function, and for mentions of it in its file's code; see callflow_root.h.
 */
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

/* How a file's code mentions a function. */
struct mentions {
	bool calls; /* a direct call leads to it */
	bool takes; /* its address is loaded */
};

/* Returns whether some bytes are an instruction that loads an address. */
static bool loads_address(const struct insn_decoder *decoder,
			  const uint8_t bytes[static CALL_SITE_BYTES])
{
	struct flow_insn i;

	return flow_insn_decode(decoder, bytes, CALL_SITE_BYTES, &i) &&
	       i.length == CALL_SITE_BYTES && i.value == FLOW_VALUE_ADDRESS;
}

/* Searches some code, of which the first byte is at `vaddr`, for mentions of `target`. */
static void search(const struct insn_decoder *decoder, const uint8_t *code, size_t len,
		   uint64_t vaddr, uint64_t target, struct mentions *found)
{
	for (size_t end = CALL_SITE_BYTES; end <= len; end++) {
		if (call_site_target(code + end, vaddr + end) != target)
			continue;
		if (call_site_kinds(code + end - CALL_SITE_BYTES, CALL_SITE_BYTES) &
		    CALL_SITE_DIRECT)
			found->calls = true;
		else if (loads_address(decoder, code + end - CALL_SITE_BYTES))
			found->takes = true;
	}
}

/* Searches the code of a program header. `*budget`: bytes that may still be read. Returns false if
 * not all of it was read. */
static bool search_in(const struct elf_file *elf, const Elf64_Phdr *header, uint64_t target,
		      uint8_t *bytes, uint64_t *budget, struct mentions *found)
{
	struct insn_decoder decoder;

	insn_decoder_init(&decoder);
	for (uint64_t at = 0; at < header->p_filesz; at += CHUNK) {
		const uint64_t left = header->p_filesz - at;
		const size_t want = left < CHUNK + CALL_SITE_BYTES ? left : CHUNK + CALL_SITE_BYTES;

		if (*budget < CHUNK ||
		    !elf_file_read_whole(elf, header->p_offset + at, bytes, want))
			return false;
		*budget -= CHUNK;
		search(&decoder, bytes, want, header->p_vaddr + at, target, found);
	}
	return true;
}

/* Searches all code of a file. Returns false if not all of it was read. */
static bool search_all(const struct elf_file *elf, uint64_t target, struct mentions *found)
{
	size_t count;
	const Elf64_Phdr *headers = elf_file_program_headers(elf, &count);
	uint8_t *bytes = malloc(CHUNK + CALL_SITE_BYTES);
	uint64_t budget = MOST_CODE;
	bool is_all = bytes;

	for (size_t i = 0; i < count && is_all; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X)
			is_all = search_in(elf, &headers[i], target, bytes, &budget, found);
	free(bytes);
	return is_all;
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

/* Returns whether a stack may begin in a function with a return address of 0. */
static enum callflow_root weigh(const struct elf_file *elf, uint64_t start, uint64_t end,
				uint64_t vaddr)
{
	struct mentions found = {0};
	const bool is_all = search_all(elf, vaddr, &found);
	const bool may_return = returns(elf, start, end);

	if (!is_all)
		return CALLFLOW_ROOT_UNKNOWN;
	if (found.calls && (may_return || !found.takes))
		return CALLFLOW_ROOT_CALLED;
	return may_return ? CALLFLOW_ROOT_RETURNS : CALLFLOW_ROOT_FREE;
}

enum callflow_root callflow_root_of(const struct elf_file *elf, uint64_t start, uint64_t end)
{
	enum callflow_root root;
	uint64_t vaddr;

	if (start >= end || !elf_file_offset_to_vaddr(elf, start, &vaddr))
		return CALLFLOW_ROOT_UNKNOWN;
	if (elf_file_entry_vaddr(elf) - vaddr < end - start)
		return CALLFLOW_ROOT_ENTRY;
	root = weigh(elf, start, end, vaddr);
	if (!makes_system_calls(elf, start, end))
		return root;
	return root == CALLFLOW_ROOT_FREE ? CALLFLOW_ROOT_FREE_THREAD : CALLFLOW_ROOT_THREAD;
}

bool callflow_root_switches(const struct elf_file *elf, uint64_t start, uint64_t offset)
{
	return stack_switch_may_precede(elf, start, offset);
}
