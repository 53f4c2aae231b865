/* SPDX-License-Identifier: MIT */
/*
 * The processor's branch records as they behave, and the true call path that they are compared
 * with. No library is used: the emulator lives inside valgrind, where there is none.
 *
 * In call-stack mode (Intel SDM volume 3, 18.9; kernel: arch/x86/events/intel/lbr.c) the ring has
 * `size` slots, one of which is the top. A call advances the top and overwrites it with (from, to);
 * a return clears the top and moves it back, whichever call it is of. The kernel reads from the top
 * back to the first empty slot. Hence
 *   - more calls than slots lose the oldest; after as many returns nothing is left;
 *   - a return without its call (signal handlers) removes another call's entry;
 *   - a call to the next instruction stays until some other return removes it.
 * In the mode that records any branch, no entry is ever removed.
 */
#ifndef EMULATOR_RING_H
#define EMULATOR_RING_H

#define RING_MAX 32

struct ring_entry {
	unsigned long from, to;
};

struct ring {
	struct ring_entry at[RING_MAX];
	unsigned size, top;
};

static inline void ring_init(struct ring *r, unsigned size)
{
	*r = (struct ring){.size = size};
}

static inline void ring_push(struct ring *r, unsigned long from, unsigned long to)
{
	r->top = (r->top + 1) % r->size;
	r->at[r->top] = (struct ring_entry){from, to};
}

static inline void ring_pop(struct ring *r)
{
	r->at[r->top] = (struct ring_entry){0, 0};
	r->top = (r->top + r->size - 1) % r->size;
}

/* Newest first; how many. */
static inline unsigned ring_read(const struct ring *r, struct ring_entry *entries)
{
	unsigned n = 0;

	for (; n < r->size; n++) {
		const struct ring_entry *e = &r->at[(r->top + r->size - n) % r->size];

		if (!e->from)
			break;
		entries[n] = *e;
	}
	return n;
}

/*
 * The true path: one entry for each call that has not returned, known by the address of the slot
 * of its return address. It ends with its slot: when the stack pointer is above that, however it
 * came there (return, longjmp, an exception). Signals enter two: the handler's return address,
 * and what was interrupted, which is there as long as the signal's frame.
 */
enum truth_kind { TRUTH_CALL, TRUTH_TRAMPOLINE, TRUTH_SIGNAL };

struct truth_entry {
	unsigned long slot;
	unsigned long from;    /* the call; TRUTH_SIGNAL: what was interrupted */
	unsigned long address; /* the return address; TRUTH_SIGNAL: the same as `from` */
	unsigned long below;   /* TRUTH_SIGNAL: the stack pointer before the signal */
	enum truth_kind kind;
};

#define TRUTH_MAX   65536
#define TRUTH_FRAME 65536    /* a signal's frame is smaller than that */
#define TRUTH_FAR   0x100000 /* a stack pointer so far below is on another stack */

struct truth {
	struct truth_entry *stack; /* TRUTH_MAX */
	unsigned n;
	unsigned lost; /* calls beyond the capacity */
};

/* A signal's frame on a stack of its own, when the stack pointer is on another, far below. */
static inline int truth_left(const struct truth_entry *e, unsigned long sp)
{
	if (e->kind != TRUTH_SIGNAL || e->below - e->slot < TRUTH_FRAME)
		return 0;
	return sp < e->slot && e->slot - sp > TRUTH_FAR;
}

/* Removes the entries that have ended; returns their number. */
static inline unsigned truth_prune(struct truth *t, unsigned long sp)
{
	unsigned i, before = t->n;

	while (t->n && t->stack[t->n - 1].slot < sp)
		t->n--;
	for (i = t->n; i > 0 && t->stack[i - 1].slot > sp + TRUTH_FAR; i--) {
		if (truth_left(&t->stack[i - 1], sp))
			t->n = i - 1;
	}
	return before - t->n;
}

static inline void truth_push(struct truth *t, struct truth_entry entry)
{
	/* A call's slot is the stack pointer: nothing below or at it is alive. */
	truth_prune(t, entry.slot + 1);
	if (t->n < TRUTH_MAX)
		t->stack[t->n++] = entry;
	else
		t->lost++;
}

#endif
