/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The bytes of JIT code at the moment of a sample.
 *
 * A JIT compiler can write new code over old code, and the daemon reads code later than a sample
 * hits it. So the kernel half sends hashes of the blocks around each address of such code on the
 * stack, and the daemon uses a rule only if it was made from bytes with the same hashes. The bytes
 * around an address are sent only once, as long as their hashes stay the same.
 */
#ifndef STACKD_CODE_H
#define STACKD_CODE_H

#define STACKD_CODE_BLOCK  64 /* bytes of a block, which begins at a multiple of this */
#define STACKD_CODE_BLOCKS 16 /* number of blocks around an address, */
#define STACKD_CODE_BEFORE 7  /* of which so many are before the block with the address */
#define STACKD_MAX_CODE	   96 /* limit of the addresses for a stack */
#define STACKD_CODE_BYTES  (STACKD_CODE_BLOCKS * STACKD_CODE_BLOCK)

/* An address in JIT code, and the hashes of the blocks around it. A hash of 0: the block could not
 * be read, or is in another mapping. Address 0: the word was no address of JIT code. */
struct stackd_code_mark {
	__u64 address;
	__u32 hashes[STACKD_CODE_BLOCKS];
};

/* Precedes a STACK record of the same thread and time. It is no sample. */
struct stackd_code_record {
	struct stackd_header header;
	__u32 pid;	   /* process (thread group) id, in the initial pid namespace */
	__u32 n;	   /* number of struct stackd_code_mark, which follow */
	__u64 start, size; /* the mapping in which the kernel half's walk has ended; 0: it has
			    * not ended in JIT code */
};

/* The bytes around an address, of the blocks for which the mark has hashes. It precedes a CODE
 * record with that mark, and is no sample. */
struct stackd_code_bytes {
	struct stackd_header header;
	__u32 pid; /* process (thread group) id, in the initial pid namespace */
	__u32 pad;
	struct stackd_code_mark mark;
	__u64 words[STACKD_CODE_BYTES / 8]; /* from the first block on */
};

#define STACKD_MADE_RANGES 4

/* The ranges of JIT code of a process (map `jit_ranges`); size 0: no more. */
struct stackd_jit_ranges {
	__u64 start[STACKD_MADE_RANGES], size[STACKD_MADE_RANGES];
};

/* What an executable mapped file is that never gets a table of rules (map `made_files`). */
enum stackd_made_file {
	STACKD_MADE_JIT = 1, /* it holds JIT code */
	STACKD_MADE_OTHER,   /* it is no ELF file */
};

/* Returns the hash of a block of eight words; never 0. */
static __attribute__((always_inline)) inline __u32 stackd_code_hash(const __u64 *words)
{
	__u64 hash = 0;

	for (int i = 0; i < STACKD_CODE_BLOCK / 8; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return (__u32)(hash >> 16) | 1;
}

/* Returns a key of the bytes around an address of a process. The same blocks with the same hashes
 * have the same key. */
static __attribute__((always_inline)) inline __u64
stackd_code_key(__u32 pid, const struct stackd_code_mark *mark)
{
	__u64 hash = mark->address / STACKD_CODE_BLOCK ^ (__u64)pid << 40;

	for (int i = 0; i < STACKD_CODE_BLOCKS; i++) {
		hash = (hash ^ mark->hashes[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

#endif
