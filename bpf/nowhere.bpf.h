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
 * A return to a bad address leaves any word on top, also the return address of an earlier call. So
 * that word is believed if the word below it shows that no return has led here, or if the call
 * before it, evaluated by the registers, leads here. (For a call of 0 the word below is often 0,
 * too, since nothing has used that part of the stack yet.)
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

/* Returns whether the call before the return address s->nowhere.words[1] has this form and leads to
 * the walk's program counter. A global function, so that the BPF verifier checks it once. */
__noinline int calls_nowhere(struct scratch *given, __u32 form)
{
	struct scratch *s = CHECKED(given);
	bool is_address = false;
	__u64 value = 0, word;

	if (!s || form >= CALL_SOURCE_FORMS ||
	    !call_source(s->nowhere.code, form, s->walk.slot ? s->walk.r : s->record.regs.r,
			 s->nowhere.words[1], &value, &is_address))
		return 0;
	if (is_address) {
		if (bpf_probe_read_user(&word, sizeof(word), (const void *)value))
			return 0;
		value = word;
	}
	return value == s->walk.pc;
}

/* Sets s->switching to the rule by which a walk leaves an address without a mapping, where a bad
 * pointer was called. Returns 1, or 0 if nothing shows that. A global function, so that the BPF
 * verifier checks it once. */
__noinline int leave_nowhere(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 pc, sp;
	int is_called = 0;

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
	is_called = s->nowhere.words[0] != pc;
	for (__u32 form = 0; form < CALL_SOURCE_FORMS && !is_called; form++)
		is_called = calls_nowhere(s, form);
	if (!is_called)
		return 0;
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
	if (s->end != STACKD_END_NO_MAPPING || !s->walk.is_exact || !leave_nowhere(s))
		return NULL;
	return &s->switching;
}

#endif
