/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of JIT code as they are at a sample: a CODE record (stackd_code.h), sent before the
 * sample's STACK record.
 *
 * The kernel half cannot know which words of the stack are return addresses into such code, and a
 * return address can also be in a register. So it takes all registers and words of the stack's copy
 * that point into JIT code: into the ranges that the daemon has entered into the map jit_ranges, or
 * into the mapping at which the kernel half's walk has ended. Each block of code is taken only
 * once. For a process that the daemon does not know yet, it takes only that mapping.
 */
#ifndef JIT_CODE_BPF_H
#define JIT_CODE_BPF_H

#include "mapping.bpf.h"
#include "ring.bpf.h"
#include "scratch.bpf.h"

/* Ranges of JIT code, by process id. (A new process with the id of an ended one costs a little more
 * until the daemon has updated the map.) */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct stackd_jit_ranges);
} jit_ranges SEC(".maps");

/* 1 if the map has entries; 0 saves the look-up. */
__u32 has_jit_ranges;

/* Keys (stackd_code_key()) of the bytes that were sent. If the daemon has dropped some of these
 * bytes, it reads the process's memory instead. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u32);
} code_sent SEC(".maps");

#define WORDS_A_TURN 8
/* limit of the CODE_BYTES records with one sample; each is for one address */
#define MOST_BYTES_SENT 24

/* Notes an address of code, unless an address in the same block was noted. A global function, so
 * that the BPF verifier checks it once. */
__noinline int note_code(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	__u64 block = address / STACKD_CODE_BLOCK;
	__u32 *noted;

	if (!s)
		return 0;
	noted = &s->code.noted[BOUNDED(mix(block) >> 32 & (CODE_NOTED - 1), CODE_NOTED)];
	if (*noted == (__u32)block || s->code.record.n >= STACKD_MAX_CODE)
		return 0;
	*noted = (__u32)block;
	s->code.marks[BOUNDED(s->code.record.n, CODE_MARKS)].address = address;
	s->code.record.n++;
	return 0;
}

static __always_inline bool is_made(const struct scratch *s, __u64 word)
{
	const struct stackd_jit_ranges *made = &s->code.made;

	for (int i = 0; i < STACKD_MADE_RANGES; i++) {
		if (word - made->start[i] < made->size[i])
			return true;
	}
	return word - s->code.here < s->code.here_size;
}

/* Notes the code at the address in a register. Returns 0, to continue the loop. */
static long find_in_register(__u32 reg, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	__u64 word = s->record.regs.r[BOUNDED(reg, 32)];

	if (is_made(s, word))
		note_code(s, word);
	return 0;
}

/* Searches some words of the copied stack for addresses of JIT code. Returns 1 to end the loop. */
static long find_code(__u32 turn, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	__u32 from = turn * WORDS_A_TURN * 8, at = s->code.at + from;

	if (from + WORDS_A_TURN * 8 > s->record.stack_bytes || s->code.record.n >= STACKD_MAX_CODE)
		return 1;
	FORGET(at);
	if (at > sizeof(s->payload) - WORDS_A_TURN * 8)
		return 1;
	for (int i = 0; i < WORDS_A_TURN; i++) {
		__u64 word = *(__u64 *)(s->payload + at + i * 8);

		if (is_made(s, word))
			note_code(s, word);
	}
	return 0;
}

/* Reads a block of the code around an address; called for each block if they cannot be read
 * together. Returns 0, to continue the loop. */
static long read_block(__u32 block, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	__u64 *words = &s->code.bytes.words[BOUNDED(block, STACKD_CODE_BLOCKS) * 8];

	if (bpf_probe_read_user(words, STACKD_CODE_BLOCK,
				(const void *)(s->code.from + block * STACKD_CODE_BLOCK)))
		s->code.holes |= 1u << (block & 31);
	return 0;
}

/* Sends the code around an address, unless it was sent before, or the ring buffer is more than half
 * full, since samples need the room. A global function, so that the BPF verifier checks it once. */
__noinline int send_bytes(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	__u32 sent = 1;
	__u64 key;

	if (!s || s->code.sent >= MOST_BYTES_SENT)
		return 0;
	key = stackd_code_key(s->code.record.pid, &s->code.bytes.mark);
	if (CHECKED(bpf_map_lookup_elem(&code_sent, &key)) ||
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >
		    bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2)
		return 0;
	s->code.bytes.header = s->code.record.header;
	s->code.bytes.header.kind = STACKD_RECORD_CODE_BYTES;
	s->code.bytes.pid = s->code.record.pid;
	s->code.bytes.pad = 0;
	if (!bpf_ringbuf_output(&ring, &s->code.bytes, sizeof(s->code.bytes), BPF_RB_NO_WAKEUP))
		bpf_map_update_elem(&code_sent, &key, &sent, BPF_ANY);
	s->code.sent++;
	return 0;
}

/* Hashes the code around an address that was noted. Returns 1 to end the loop. */
static long hash_code(__u32 turn, struct scratch **at_scratch)
{
	struct scratch *s = *at_scratch;
	struct stackd_code_mark *mark;

	if (turn >= s->code.record.n)
		return 1;
	mark = &s->code.marks[BOUNDED(turn, CODE_MARKS)];
	if (mapping_find(s, mark->address) || seen_at(s)->location >> 48 != STACKD_FILE_NONE) {
		mark->address = 0;
		return 0;
	}
	s->code.here = seen_at(s)->start;
	s->code.here_size = seen_at(s)->size;
	s->code.from = (mark->address & ~(__u64)(STACKD_CODE_BLOCK - 1)) -
		       STACKD_CODE_BEFORE * STACKD_CODE_BLOCK;
	s->code.holes = 0;
	if (bpf_probe_read_user(s->code.bytes.words, STACKD_CODE_BYTES, (const void *)s->code.from))
		bpf_loop(STACKD_CODE_BLOCKS, read_block, &s, 0);
	for (int i = 0; i < STACKD_CODE_BLOCKS; i++) {
		__u32 hash = stackd_code_hash(&s->code.bytes.words[i * 8]);

		bool is_here =
			s->code.from + i * STACKD_CODE_BLOCK - s->code.here < s->code.here_size;

		mark->hashes[i] = s->code.holes >> i & 1 || !is_here ? 0 : hash;
	}
	s->code.bytes.mark = *mark;
	send_bytes(s);
	return 0;
}

/* Takes the ranges of JIT code in the process, and the mapping at which the walk has ended. Returns
 * false if none is known. */
static __always_inline bool take_ranges(struct scratch *s)
{
	const struct seen_mapping *m = seen_at(s);
	__u32 pid = s->record.pid;
	const struct stackd_jit_ranges *told =
		has_jit_ranges ? CHECKED(bpf_map_lookup_elem(&jit_ranges, &pid)) : NULL;

	if (told)
		s->code.made = *told;
	else
		__builtin_memset(&s->code.made, 0, sizeof(s->code.made));
	s->code.here = m->start;
	s->code.here_size = m->location >> 48 == STACKD_FILE_NONE ? m->size : 0;
	return told || s->code.here_size;
}

/* Sends the JIT code to which registers and words of the stack's copy, at payload[at], point. A
 * global function, so that the BPF verifier checks it once. */
__noinline int send_code(struct scratch *given, __u32 at)
{
	struct scratch *s = CHECKED(given);
	__u32 bytes;

	if (!s || !take_ranges(s))
		return 0;
	__builtin_memset(s->code.noted, 0, sizeof(s->code.noted));
	s->code.at = at;
	s->code.record.header = s->record.header;
	s->code.record.header.kind = STACKD_RECORD_CODE;
	s->code.record.header.n_kernel = 0;
	s->code.record.pid = s->record.pid;
	s->code.record.n = 0;
	s->code.sent = 0;
	s->code.record.start = s->code.here;
	s->code.record.size = s->code.here_size;
	bpf_loop(STACKD_REG_COUNT, find_in_register, &s, 0);
	bpf_loop(STACKD_MAX_STACK_BYTES / (WORDS_A_TURN * 8), find_code, &s, 0);
	bpf_loop(STACKD_MAX_CODE, hash_code, &s, 0);
	bytes = s->code.record.n;
	FORGET(bytes);
	if (!bytes || bytes > STACKD_MAX_CODE)
		return 0;
	bytes = sizeof(s->code.record) + bytes * sizeof(struct stackd_code_mark);
	bpf_ringbuf_output(&ring, &s->code.record, bytes, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
