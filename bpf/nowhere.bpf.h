/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps out of an address that is no code: a bad pointer was called, and the thread's fault is
 * being handled, by the kernel or by a signal's handler. The handler may be on an alternate stack,
 * so the copy that the daemon gets has not the words of this one.
 *
 *      the caller's frame
 *      return address        <- stack pointer, if a call has led here
 *      whatever was there    <- the bad address itself, if a return has led here
 *
 * After a return or a jump to a bad address, any word can be on top, such as the return address of
 * an earlier call. So the walk takes that word for a return address only after one of these calls:
 *
 *   an indirect call whose operand is the bad address: the registers still have the values that
 *   they had at the call, since no instruction was executed after it;
 *   a direct call of a function that has an indirect jump near its start (a tail call, or a PLT
 *   stub), if the jump's operand is the bad address.
 *
 * The walk refuses a call through memory that has changed since, and a tail call farther from the
 * start of its function. The word below the stack pointer cannot replace this check: it shows
 * whether a return has led here, but does not tell a jump from a call.
 */
#ifndef NOWHERE_BPF_H
#define NOWHERE_BPF_H

#include "mapping.bpf.h"
#include "scratch.bpf.h"
#include "stack_window.bpf.h"

#include "../arch/code.bpf.h"

#define LEAST_MAPPED 65536ull	  /* nothing is mapped below by default; */
#define MOST_MAPPED  (1ull << 47) /* nor is anything mapped above */

/* Returns whether the thread could not execute the code at its program counter, according to the
 * signal's frame, or because the kernel is handling its fault. */
static __always_inline bool could_not_execute(struct scratch *s)
{
	__u64 error, trap, at, slot = s->walk.slot;

	if (!slot)
		return (s->record.header.flags & STACKD_IN_KERNEL) && ARCH_IS_FAULT(&s->saved);
	return !walk_read(&s->walk, slot + ARCH_FAULT_ERROR, &error) &&
	       !walk_read(&s->walk, slot + ARCH_FAULT_TRAP, &trap) &&
	       !walk_read(&s->walk, slot + ARCH_FAULT_AT, &at) && trap == ARCH_FAULT_PAGE &&
	       (error & ARCH_FAULT_EXECUTION) && at == s->walk.pc;
}

/* Returns whether the code in s->nowhere ends in a call, or a jump, of this form that leads to the
 * walk's program counter. `next`: the address behind it. A global function, so that the BPF
 * verifier checks it once. */
__noinline int leads_nowhere(struct scratch *given, __u32 form, __u64 next, __u32 is_jump)
{
	struct scratch *s = CHECKED(given);
	bool is_address = false;
	__u64 value = 0, word;
	const __u64 *r;

	if (!s || form >= CALL_SOURCE_FORMS)
		return 0;
	r = s->walk.slot ? s->walk.r : s->record.regs.r;
	if (is_jump ? !jump_source(s->nowhere.code, form, r, next, &value, &is_address)
		    : !call_source(s->nowhere.code, form, r, next, &value, &is_address))
		return 0;
	if (is_address) {
		if (bpf_probe_read_user(&word, sizeof(word), (const void *)value))
			return 0;
		value = word;
	}
	return value == s->walk.pc;
}

struct jump_search {
	struct scratch *s;
	__u32 is_found;
};

/* Looks for a jump to the walk's program counter that ends i + 2 bytes behind s->nowhere.target. */
static long look_for_jump(__u32 i, struct jump_search *search)
{
	struct scratch *s = CHECKED(search->s);
	__u32 size = i + 2;
	__u64 end;

	if (!s)
		return 1;
	end = s->nowhere.target + size;
	if (bpf_probe_read_user(s->nowhere.code, CALL_SOURCE_BYTES,
				(const void *)(end - CALL_SOURCE_BYTES)))
		return 0;
	if (jump_source_is_behind(s->nowhere.code))
		return 1;
	for (__u32 form = 0; form < CALL_SOURCE_FORMS; form++) {
		if (2 + form / 2 + form % 2 <= size && leads_nowhere(s, form, end, 1)) {
			search->is_found = 1;
			return 1;
		}
	}
	return 0;
}

/* Returns whether the call before the return address s->nowhere.words[1] has led to the walk's
 * program counter. */
static __always_inline bool has_called_nowhere(struct scratch *s)
{
	struct jump_search search = {.s = s};

	for (__u32 form = 0; form < CALL_SOURCE_FORMS; form++) {
		if (leads_nowhere(s, form, s->nowhere.words[1], 0))
			return true;
	}
	if (!call_target(s->nowhere.code, s->nowhere.words[1], &s->nowhere.target))
		return false;
	if (s->nowhere.target == s->walk.pc)
		return true;
	bpf_loop(JUMP_BYTES - 1, look_for_jump, &search, 0);
	return search.is_found;
}

/* Sets s->switching to the rule by which a walk leaves an address without a mapping, where a bad
 * pointer was called. Returns 1, or 0 if nothing shows that. A global function, so that the BPF
 * verifier checks it once. */
__noinline int leave_nowhere(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 pc, sp;

	if (!s)
		return 0;
	pc = s->walk.pc;
	sp = s->walk.r[STACKD_REG_SP];
	if (pc >= MOST_MAPPED || (pc >= LEAST_MAPPED && !could_not_execute(s)) ||
	    bpf_probe_read_user(s->nowhere.words, sizeof(s->nowhere.words),
				(const void *)(sp - 8)) ||
	    bpf_probe_read_user(s->nowhere.code, CALL_SOURCE_BYTES,
				(const void *)(s->nowhere.words[1] - CALL_SOURCE_BYTES)) ||
	    !follows_call(s->nowhere.words[1]))
		return 0;
	if (!has_called_nowhere(s)) {
		s->nowhere.refused_ns = s->record.header.time_ns;
		return 0;
	}
	s->location = pc & STACKD_LOCATION_MASK;
	s->walk.is_once = 1;
	__builtin_memset(&s->switching, 0, sizeof(s->switching));
	s->switching.cfa = STACKD_CFA_REG;
	s->switching.reg = STACKD_REG_SP;
	s->switching.cfa_offset = ARCH_CALL_PUSHES;
	s->switching.ra_offset = ARCH_RETURN_SLOT;
	return 1;
}

/* Returns the rule of the walk's frame if it is at such an address, else NULL. */
static __always_inline const struct stackd_rule *rule_of_nowhere(struct scratch *s)
{
	if (!CALL_SOURCE_KNOWN || s->end != STACKD_END_NO_MAPPING || !s->walk.is_exact ||
	    !leave_nowhere(s))
		return NULL;
	return &s->switching;
}

#endif
