/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends most of the stack in parts before the STACK record, for samples whose walk needs a file's
 * table of rules that is not loaded yet.
 *
 * The copy in a record ends at stack_limit, so a path that the daemon finds from it may lack its
 * root. Once a file's table is loaded, the kernel half walks any stack. Until then stacks of
 * numerical code and of compilers, whose frames take megabytes, are sent whole, in MORE_STACK
 * records before the STACK record. This is not done for files that never get a table
 * (mapping.bpf.h), since then each sample of their code would be expensive. Pages that are not in
 * memory are not sent.
 *
 *     sp                    a multiple of the size of parts             the stack's end
 *     | copy in the record  | part     | part     | part     | part     |
 *
 * Of successive stacks, all but the leaf's end is the same. So parts begin at multiples of their
 * size, and of a part that the daemon has, only the hash is sent. Without that, rustc's samples
 * carry 130 KB each, and the ring is full if the daemon gets no CPU for 60 ms. The daemon may lack
 * a part all the same: two CPUs can change a slot in another order than their records have. Then
 * the stack is cut, and for that case a part is sent again now and then.
 *
 * This takes time in an interrupt, and the daemon has to keep up. So beyond stack_limit it is
 * limited by bytes a second, of all CPUs together, and by the room in the ring buffer, of which a
 * quarter is left for other records. As much of a stack as the limits allow is sent, from the leaf
 * on.
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
#define MORE_OF_SAME  4 /* and so many of parts that are left out, which are copied and hashed */
#define MORE_HEAD     sizeof(struct stackd_more_stack)
#define MORE_AGAIN    64 /* a part that stays the same is sent again after so many records */
#define MORE_FRESH_NS (STACKD_MORE_KEPT_NS / 3) /* a part that was used since then is kept */
#define MORE_HASHED   512			/* bytes that are hashed in each iteration */
#define MORE_FACTOR   0x1e3779b1		/* odd */

/* The part that was last sent in each slot. */
struct more_part {
	__u64 start, hash, used_ns;
	__u32 tid;
	__u32 times; /* records in which it was the same */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACKD_MORE_SLOTS);
	__type(key, __u32);
	__type(value, struct more_part);
} more_parts SEC(".maps");

/* Bytes that were sent beyond the rate, as of the time more_ns. If two CPUs update this at once,
 * the same time may be subtracted twice. */
__s64 more_debt;
__u64 more_ns;
__u64 more_seed; /* of the hashes, so that no program has two parts with one hash beforehand; 0: not
		  * set. One that finds two changes only its own paths, since parts are compared
		  * with those of the same thread. */

/* Returns whether the rate allows to send another stack. */
static __always_inline bool may_send_more(void)
{
	__u64 then = more_ns, now = bpf_ktime_get_ns();
	__u64 made_up = now > then ? (now - then) / MORE_NS_A_BYTE : 0;
	__s64 debt = more_debt;

	if (now > then) /* another CPU may have a later time */
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

/* Hashes the next MORE_HASHED bytes of a part. Returns 1 to end the loop. */
static long hash_more(__u32 turn, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	const __u8 *bytes = s->payload + MORE_HEAD + BOUNDED(turn * MORE_HASHED, STACKD_MORE_PART);
	__u64 a = s->more_hash[0], b = s->more_hash[1], c = s->more_hash[2], d = s->more_hash[3];

	/* Four hashes, which the processor computes at once; through pointers, as in
	 * compare_bytes(). */
	for (int i = 0; i < MORE_HASHED; i += 32) {
		a = (a + *(const __u64 *)(bytes + i)) * MORE_FACTOR;
		b = (b + *(const __u64 *)(bytes + i + 8)) * MORE_FACTOR;
		c = (c + *(const __u64 *)(bytes + i + 16)) * MORE_FACTOR;
		d = (d + *(const __u64 *)(bytes + i + 24)) * MORE_FACTOR;
		a ^= a >> 32;
		b ^= b >> 32;
		c ^= c >> 32;
		d ^= d >> 32;
	}
	s->more_hash[0] = a;
	s->more_hash[1] = b;
	s->more_hash[2] = c;
	s->more_hash[3] = d;
	return 0;
}

/* Returns the hash of the part in the payload; 0: it has none. */
static __always_inline __u64 hash_of_more(struct scratch *s)
{
	const struct stackd_more_stack *more = (const struct stackd_more_stack *)s->payload;
	__u64 hash = 0;

	if (!more->sent || more->bytes % MORE_HASHED || more->bytes > STACKD_MORE_PART)
		return 0;
	for (int i = 0; i < 4; i++)
		s->more_hash[i] = more_seed + i;
	bpf_loop(more->bytes / MORE_HASHED, hash_more, &s, 0);
	for (int i = 0; i < 4; i++) {
		hash = (hash ^ s->more_hash[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	hash = (hash ^ more->holes) * 0x9e3779b97f4a7c15ull;
	return hash | 1;
}

static __always_inline struct more_part *more_part_of(const struct stackd_more_stack *more)
{
	__u32 slot = stackd_more_slot(more->header.tid, more->start);

	return CHECKED(bpf_map_lookup_elem(&more_parts, &slot));
}

/* Leaves out the bytes of the part in the payload if the daemon has them. */
static __always_inline void leave_out_same(struct scratch *s)
{
	struct stackd_more_stack *more = (struct stackd_more_stack *)s->payload;
	struct more_part *part = more_part_of(more);

	if (!part || !more->hash || part->hash != more->hash || part->start != more->start ||
	    part->tid != more->header.tid || part->times >= MORE_AGAIN ||
	    more->header.time_ns - part->used_ns >= MORE_FRESH_NS)
		return;
	more->sent = 0;
	more->is_same = 1;
}

/* Called when the part in the payload is in the ring buffer: remembers it. */
static __always_inline void keep_more(struct scratch *s)
{
	const struct stackd_more_stack *more = (const struct stackd_more_stack *)s->payload;
	struct more_part *part = more_part_of(more);

	if (!part || !more->hash)
		return;
	if (more->is_same) {
		part->times++;
		part->used_ns = more->header.time_ns;
		return;
	}
	*part = (struct more_part){.start = more->start,
				   .hash = more->hash,
				   .used_ns = more->header.time_ns,
				   .tid = more->header.tid};
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
	more->is_same = 0;
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
	more->hash = hash_of_more(s);
	leave_out_same(s);
	sent = more->sent;
	FORGET(sent);
	if (sent > STACKD_MORE_PART ||
	    (from - s->record.regs.r[STACKD_REG_SP] >= stack_limit && !has_room_for_more(sent)))
		return 1;
	s->more_from = from + len;
	__sync_fetch_and_add(&more_debt, sent		 ? len
					 : more->is_same ? len / MORE_OF_SAME
							 : len / MORE_OF_HOLES);
	if (bpf_ringbuf_output(&ring, s->payload, MORE_HEAD + sent, BPF_RB_NO_WAKEUP))
		return 1;
	keep_more(s);
	return 0;
}

/* Returns how many bytes of the stack the record itself has, if the rest is sent in parts: as many
 * as the limit allows, or up to the second multiple of the size of parts. */
static __always_inline __u32 copied_before_more(__u64 sp)
{
	return stack_limit < 2 * STACKD_MORE_PART
		       ? stack_limit
		       : 2 * STACKD_MORE_PART - (sp & (STACKD_MORE_PART - 1));
}

/* Sends the stack beyond the record's copy, if the walk needs a table that is not loaded yet. A
 * global function, so that the BPF verifier checks it once. */
__noinline int send_more(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u64 sp, from;

	if (!s)
		return 0;
	s->copy_limit = stack_limit;
	if (!s->record.wanted && !s->record.unknown.key.inode)
		return 0;
	forget_stack_end(s->record.header.tid);
	find_stack_end(s);
	sp = s->record.regs.r[STACKD_REG_SP];
	from = sp + copied_before_more(sp);
	if (s->stack_end <= from)
		return 0;
	if (!more_seed)
		more_seed = bpf_ktime_get_ns() ^ (__u64)bpf_get_prandom_u32() << 32;
	s->copy_limit = from - sp;
	s->more_from = from;
	s->more_end = s->stack_end;
	if (s->more_end - from > STACKD_MORE_BYTES)
		s->more_end = from + STACKD_MORE_BYTES;
	if (!may_send_more() && s->more_end > sp + stack_limit)
		s->more_end = (sp + stack_limit) & ~(__u64)(STACKD_MORE_PART - 1);
	if (s->more_from < s->more_end)
		bpf_loop(STACKD_MORE_BYTES / STACKD_MORE_PART, send_part_of_more, &s, 0);
	return 0;
}

#endif
