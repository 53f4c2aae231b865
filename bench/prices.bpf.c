// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the parts of a walk cost on this machine: each program does one thing REPEATS times, and
 * prices.c measures it against the one that does the same without that.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#define REPEATS	   64
#define LINES	   64 /* of a page */
#define LINE_WORDS 8
#define PAGES	   (1u << 14) /* 64 MiB: more than what a core has for itself */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PAGES);
	__uint(map_flags, BPF_F_MMAPABLE); /* whole pages */
	__type(key, __u32);
	__type(value, __u64[LINES * LINE_WORDS]);
} memory SEC(".maps");

__u64 user; /* the address of some KiB of prices' own memory */
__u32 turn;
__u64 sum;
__u8 copied[1024];

#define EACH _Pragma("unroll") for (int i = 0; i < REPEATS; i++)

SEC("tc")
int nothing(struct __sk_buff *ctx)
{
	(void)ctx;
	return 0;
}

#define FOUR "%0 += %1\n%1 <<= 1\n%1 ^= %0\n%0 += 3\n"

/* 32 each, of which most wait for the one before; all together are some 130 lines. */
SEC("tc")
int instructions(struct __sk_buff *ctx)
{
	__u64 a = ctx->len, b = 7;

	EACH asm volatile(FOUR FOUR FOUR FOUR FOUR FOUR FOUR FOUR : "+r"(a), "+r"(b));
	return 0;
}

static __attribute__((noinline)) int subprogram(__u64 n)
{
	asm volatile("" : "+r"(n));
	return (int)n;
}

SEC("tc")
int subprograms(struct __sk_buff *ctx)
{
	(void)ctx;
	EACH subprogram(i);
	return 0;
}

SEC("tc")
int helpers(struct __sk_buff *ctx)
{
	(void)ctx;
	EACH bpf_get_current_pid_tgid();
	return 0;
}

static long body(__u32 n, void *context)
{
	(void)n, (void)context;
	return 0;
}

SEC("tc")
int bodies(struct __sk_buff *ctx)
{
	(void)ctx;
	bpf_loop(REPEATS, body, NULL, 0);
	return 0;
}

SEC("tc")
int kibibytes(struct __sk_buff *ctx)
{
	(void)ctx;
	EACH bpf_probe_read_user(copied, sizeof(copied), (void *)user);
	return 0;
}

SEC("tc")
int copies(struct __sk_buff *ctx)
{
	(void)ctx;
	EACH bpf_probe_read_user(copied, 8, (void *)user);
	return 0;
}

/* Adds up a line each, of the pages from `page` on, `apart` pages from one to the next; which line
 * that is goes by `in_page`. Where it `leads`, what is in one (0) says where the next one is. */
static __always_inline int touch(__u32 page, __u32 apart, __u32 in_page, bool leads)
{
	__u64 all = 0;

	for (__u32 i = 0; i < REPEATS; i++) {
		__u32 key = (page + i * apart + (leads ? all : 0)) & (PAGES - 1);
		__u64 *words = bpf_map_lookup_elem(&memory, &key);

		if (words)
			all += words[((i * in_page + (leads ? all : 0)) & (LINES - 1)) *
				     LINE_WORDS];
	}
	sum = all;
	return 0;
}

#define NEXT_PAGE (turn++ * 4099)

/* The lines of a page that was touched just now. */
SEC("tc")
int warm(struct __sk_buff *ctx)
{
	(void)ctx;
	return touch(0, 0, 1, false);
}

SEC("tc")
int warm_chain(struct __sk_buff *ctx)
{
	(void)ctx;
	return touch(0, 0, 1, true);
}

/* The lines of a page, in order. */
SEC("tc")
int in_order(struct __sk_buff *ctx)
{
	(void)ctx;
	return touch(NEXT_PAGE, 0, 1, false);
}

/* The same in an order that no prefetcher follows. */
SEC("tc")
int scattered(struct __sk_buff *ctx)
{
	(void)ctx;
	return touch(NEXT_PAGE, 0, 37, false);
}

/* The same one after the other. */
SEC("tc")
int chain(struct __sk_buff *ctx)
{
	(void)ctx;
	return touch(NEXT_PAGE, 0, 37, true);
}

/* One line in each of as many pages. */
SEC("tc")
int in_pages(struct __sk_buff *ctx)
{
	(void)ctx;
	return touch(NEXT_PAGE, 257, 37, true);
}

char LICENSE[] SEC("license") = "GPL";
