/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds where interpreters of managed code have the state of the current thread.
 *
 * _PyRuntime leads to the list of interpreters, and each of them to a list of its threads' states.
 * A state is the thread's if it has its thread pointer, as pthread_self() gives it. What was found
 * is remembered, and tried first, but not believed: where a state leads to must lie on the thread's
 * stack.
 */
#ifndef MANAGED_THREAD_BPF_H
#define MANAGED_THREAD_BPF_H

#include "managed_code.bpf.h"
#include "scratch.bpf.h"
#include "thread_state.bpf.h"

#define MANAGED_THREADS 4096 /* of a process that are searched at most */
#define MANAGED_TRIES	6    /* 63 samples are left out between two searches at most */

/* A thread has a state for each interpreter of the process that it has run code of (PEP 684). */
#define MANAGED_STATES 8 /* of a thread that are known, if it has several */

struct managed_thread {
	__u64 start_time;
	__u32 tid;
	__u32 number; /* 0: the state that was used last; 1 to MANAGED_STATES: one that was in use
		       * when all were searched */
};

/* Where interpreters have the states of a thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct managed_thread);
	__type(value, __u64);
} managed_threads SEC(".maps");

/* Where a process has its interpreter. */
struct managed_home {
	__u64 base; /* s->managed.base */
	__u32 file; /* its number */
	__u32 pad;
};

/* By the kernel half's key of the process. Of a process with several interpreters' files, the one
 * that a thread was last found in. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct managed_home);
} managed_homes SEC(".maps");

/* Reads the state of a thread at an address. Returns whether it is the current thread's, and its
 * last activation on the stack that is walked. */
__noinline int managed_thread_fits(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cframe, bytes = 184;

	if (!s || !address)
		return 0;
	if (s->managed.is.thread_stack)
		bytes = s->managed.is.thread_stack + 8;
	FORGET(bytes);
	if (bytes > sizeof(s->managed.words) ||
	    bpf_probe_read_user(s->managed.words, BOUNDED(bytes, 8 * 2 * MANAGED_WORDS),
				(const void *)address))
		return 0;
	cframe = managed_word(s, s->managed.is.thread_frame);
	if (managed_word(s, s->managed.is.thread_id) != ARCH_THREAD_POINTER(task))
		return 0;
	s->managed.interpreter_of_thread = managed_word(s, s->managed.is.thread_interpreter);
	s->managed.chunk =
		s->managed.is.thread_stack ? managed_word(s, s->managed.is.thread_stack) : 0;
	s->managed.cframe = s->managed.frame = cframe;
	if (s->managed.is.form >= STACKD_INTERPRETER_OWNER)
		return cframe != 0;
	return cframe - s->managed.low < s->stack_end - s->managed.low;
}

/* Notes the address of a state that was read and fits. */
static __always_inline void managed_note_state(struct scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct managed_thread key = {.tid = task->pid, .start_time = task->start_time};
	__u64 address = s->managed.thread;

	if (s->managed.n_states >= MANAGED_STATES)
		return;
	key.number = ++s->managed.n_states;
	bpf_map_update_elem(&managed_threads, &key, &address, BPF_ANY);
}

/* Looks at the next thread's state. Returns 1 to end the search; s->managed.thread is then the
 * current thread's, or 0. A search for all states goes on to the end. */
static long managed_search_some(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	__u64 next;

	(void)turn;
	if (!s->managed.thread) { /* the next interpreter's first */
		if (!s->managed.interpreter ||
		    bpf_probe_read_user(
			    &s->managed.thread, 8,
			    (const void *)(s->managed.interpreter + s->managed.is.threads)) ||
		    bpf_probe_read_user(&next, 8,
					(const void *)(s->managed.interpreter +
						       s->managed.is.interpreter_next))) {
			s->managed.thread = 0;
			return 1;
		}
		s->managed.interpreter = next;
		return 0;
	}
	if (managed_thread_fits(s, s->managed.thread)) {
		if (!s->managed.wants_all)
			return 1;
		managed_note_state(s);
	}
	s->managed.thread = managed_word(s, s->managed.is.thread_next);
	return 0;
}

/* Reads the address of the process's first interpreter. Returns whether there is one. */
static __always_inline bool managed_first_interpreter(struct scratch *s)
{
	__u64 runtime = s->managed.base + s->managed.is.runtime;

	return !bpf_probe_read_user(&s->managed.interpreter, 8,
				    (const void *)(runtime + s->managed.is.interpreters));
}

/* Returns whether the current thread's state is one of those that the interpreters list; if so,
 * s->managed.thread is its address. A global function, so that the BPF verifier checks it once. */
__noinline int managed_search(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->managed.thread = 0;
	s->managed.n_states = 0;
	if (!managed_first_interpreter(s))
		return 0;
	bpf_loop(MANAGED_THREADS, managed_search_some, &s, 0);
	return s->managed.thread && managed_thread_fits(s, s->managed.thread);
}

/* Returns when the state of a thread is searched for what is done now. */
static __always_inline struct managed_pause *managed_pause_of(const struct scratch *s,
							      struct thread_state *state)
{
	return &state->managed_pauses[BOUNDED(s->managed.is_for_daemon, 2)];
}

/* Returns whether the state of a thread is to be searched now. */
static __always_inline bool managed_is_due(const struct scratch *s, struct thread_state *state)
{
	struct managed_pause *pause = managed_pause_of(s, state);

	if (!pause->wait)
		return true;
	pause->wait--;
	return false;
}

/* Notes whether a search has found the thread's state. */
static __always_inline void managed_note_search(const struct scratch *s, struct thread_state *state,
						__u64 found)
{
	struct managed_pause *pause = managed_pause_of(s, state);

	state->managed_thread = found;
	if (found)
		pause->tries = 0;
	else if (pause->tries < MANAGED_TRIES)
		pause->tries++;
	pause->wait = found ? 0 : (1u << (pause->tries & 7)) - 1;
}

/* Begins a thread's state anew, if it is another thread's. */
static __always_inline void managed_begin_thread(struct thread_state *state, __u64 start_time)
{
	if (state->managed_of == start_time)
		return;
	state->managed_of = start_time;
	state->managed_thread = state->managed_low = 0;
	state->managed_mixed = 0;
	state->managed_rest = state->managed_broken = 0;
	state->managed_pauses[0].wait = state->managed_pauses[0].tries = 0;
	state->managed_pauses[1].wait = state->managed_pauses[1].tries = 0;
}

/* Notes where the process has its interpreter. A function of its own, whose stack is not in use
 * when states are searched. */
__noinline int managed_note_home(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct managed_home home = {0};
	__u64 space;

	if (!s)
		return 0;
	space = s->space;
	home.base = s->managed.base;
	home.file = s->managed.file;
	bpf_map_update_elem(&managed_homes, &space, &home, BPF_ANY);
	return 0;
}

/* Returns whether the state of the current thread, whose walk is at an activation, is where it was
 * with the last walk, which is usual; and reads it. */
static __always_inline bool managed_has_thread(struct scratch *s)
{
	struct thread_state *state = state_at(s);

	return state && state->managed_of == state->start_time &&
	       managed_thread_fits(s, state->managed_thread);
}

/* Finds the state of the current thread, whose walk is at an activation. Returns whether it has
 * found one. */
__noinline int managed_find_thread(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct managed_thread key = {.tid = task->pid, .start_time = task->start_time};
	struct thread_state *state = s ? state_at(s) : NULL;
	__u64 found, *known;

	if (!s)
		return 0;
	if (state)
		managed_begin_thread(state, key.start_time);
	if (state && managed_thread_fits(s, state->managed_thread))
		return 1;
	known = CHECKED(bpf_map_lookup_elem(&managed_threads, &key));
	if (known && managed_thread_fits(s, *known)) {
		if (state)
			managed_note_search(s, state, *known);
		managed_note_home(s);
		return 1;
	}
	if (state && !managed_is_due(s, state))
		return 0;
	s->managed.wants_all = 0;
	found = managed_search(s) ? s->managed.thread : 0;
	if (state)
		managed_note_search(s, state, found);
	if (!found)
		return 0;
	/* before 6.4, a value must be on the stack */
	bpf_map_update_elem(&managed_threads, &key, &found, BPF_ANY);
	managed_note_home(s);
	return 1;
}

/* --- several interpreters --------------------------------------------------------------------- */

/* Returns whether the process has more than one interpreter. A global function, so that the BPF
 * verifier checks it once. */
__noinline int managed_has_several(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 next;

	return s && managed_first_interpreter(s) &&
	       !bpf_probe_read_user(
		       &next, 8,
		       (const void *)(s->managed.interpreter + s->managed.is.interpreter_next)) &&
	       next;
}

/* Reads one of the thread's states that the last search for all has found. Returns whether it is in
 * use. A global function, whose stack is not in use when frames are read. */
__noinline int managed_take_state(struct scratch *given, __u32 number)
{
	struct scratch *s = CHECKED(given);
	struct task_struct *task = bpf_get_current_task_btf();
	struct managed_thread key = {
		.tid = task->pid, .start_time = task->start_time, .number = number};
	__u64 *known = CHECKED(bpf_map_lookup_elem(&managed_threads, &key));

	return s && known && managed_thread_fits(s, *known);
}

/* Searches all states of the thread that are in use. Returns 0 if no search is due. */
__noinline int managed_search_all(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;

	if (!s || (state && !managed_is_due(s, state)))
		return 0;
	s->managed.wants_all = 1;
	managed_search(s);
	return 1;
}

/* Notes whether such a search has found what was looked for. */
static __always_inline void managed_note_switch(struct scratch *s, bool has_found)
{
	struct thread_state *state = state_at(s);

	if (!state)
		return;
	if (has_found)
		managed_pause_of(s, state)->tries = 0;
	else if (!managed_pause_of(s, state)->wait)
		managed_note_search(s, state, 0);
}

#endif
