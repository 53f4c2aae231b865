/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends the part of the stack beyond the copy in a STACK record, for samples with large stacks
 * whose walk needs a file's table of rules that is not loaded yet.
 *
 * The copy ends at stack_limit, so a path that the daemon finds from it may lack its root. Once a
 * file's table is loaded, the kernel half walks any stack. Until then stacks of numerical code and
 * of compilers, whose frames take megabytes, are sent whole, in MORE_STACK records before the STACK
 * record. This is not done for files that never get a table (mapping.bpf.h), since then each sample
 * of their code would be expensive. Pages that are not in memory are not sent.
 *
 * This takes time in an interrupt, and the daemon has to keep up. So it is limited by bytes a
 * second, of all CPUs together, and by the room in the ring buffer, of which a quarter is left for
 * other records. As much of a stack as the limits allow is sent, from the leaf on.
 */
#ifndef MORE_STACK_BPF_H
#define MORE_STACK_BPF_H

#include "probed.bpf.h"
#include "ring.bpf.h"
#include "scratch.bpf.h"
#include "stack_copy.bpf.h"
#include "stack_window.bpf.h"

#define MORE_AT_ONCE   (512ll << 20) /* bytes that all CPUs together may send in one burst */
#define MORE_NS_A_BYTE 30	     /* in the long run: 32 MiB a second */
/* this many bytes of pages that are not in memory cost as much as one byte that is sent */
#define MORE_OF_HOLES 16
#define MORE_HEAD     sizeof(struct stackd_more_stack)

/* Bytes that were sent beyond the rate, as of the time more_ns. If two CPUs update this at once,
 * the same time may be subtracted twice. */
__s64 more_debt;
__u64 more_ns;

/* Returns whether the rate allows to send another stack. */
static __always_inline bool may_send_more(void)
{
	__u64 now = bpf_ktime_get_ns(), made_up = (now - more_ns) / MORE_NS_A_BYTE;
	__s64 debt = more_debt;

	more_ns = now;
	debt = debt > (__s64)made_up ? debt - (__s64)made_up : 0;
	more_debt = debt;
	return debt < MORE_AT_ONCE;
}

static __always_inline bool has_room_for_more(__u32 bytes)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) + bytes <=
	       bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 4 * 3;
}

/* Copies a part of the stack into the payload, after the head of its record, and fills in the
 * head. */
static __always_inline void copy_more(struct scratch *s, __u64 from, __u32 len)
{
	struct stackd_more_stack *more = (struct stackd_more_stack *)s->payload;
	__u64 pages = ((from & (PAGE_SIZE - 1)) + len + PAGE_SIZE - 1) >> PAGE_SHIFT;

	s->record.holes = 0;
	if (bpf_probe_read_user(&s->payload[MORE_HEAD], BOUNDED(len, 2 * STACKD_MORE_PART),
				(const void *)from)) {
		s->copy = (struct page_copy){
			.from = from, .at = MORE_HEAD, .want = len, .is_bounded = 1};
		bpf_loop(STACKD_MORE_PART / PAGE_SIZE + 1, copy_page, &s, 0);
	}
	more->header = s->record.header;
	more->header.kind = STACKD_RECORD_MORE_STACK;
	more->header.n_kernel = 0;
	more->start = from;
	more->holes = s->record.holes;
	more->bytes = len;
	more->sent = more->holes == (1ull << (pages & 63)) - 1 ? 0 : len;
	more->is_last = from + len == s->stack_end;
	more->pad = 0;
	s->record.holes = 0;
}

/* Sends the next part. Returns 1 to end the loop. */
static long send_part_of_more(__u32 turn, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	struct stackd_more_stack *more = (struct stackd_more_stack *)s->payload;
	__u64 from = s->more_from, left = s->more_end - from;
	__u32 len = left > STACKD_MORE_PART ? STACKD_MORE_PART : left, sent;

	(void)turn;
	if (!len)
		return 1;
	copy_more(s, from, len);
	restore_copy(s, from, MORE_HEAD, len);
	sent = more->sent;
	FORGET(sent);
	if (sent > STACKD_MORE_PART || !has_room_for_more(sent))
		return 1;
	s->more_from = from + len;
	__sync_fetch_and_add(&more_debt, sent ? len : len / MORE_OF_HOLES);
	return bpf_ringbuf_output(&ring, s->payload, MORE_HEAD + sent, BPF_RB_NO_WAKEUP) != 0;
}

/* Sends the stack beyond the record's copy, if the walk needs a table that is not loaded yet. A
 * global function, so that the BPF verifier checks it once. */
__noinline int send_more(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 from;

	if (!s || (!s->record.wanted && !s->record.unknown.key.inode))
		return 0;
	forget_stack_end(s->record.header.tid);
	find_stack_end(s);
	from = s->record.regs.r[STACKD_REG_SP] + stack_limit;
	if (s->stack_end <= from || !may_send_more())
		return 0;
	s->more_from = from;
	s->more_end = s->stack_end;
	bpf_loop(STACKD_MORE_BYTES / STACKD_MORE_PART, send_part_of_more, &s, 0);
	return 0;
}

#endif
