/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The cookies of uprobes (bpf_get_attach_cookie()), by which the daemon passes facts about a probe
 * to the kernel half. This is a part of stackd_abi.h, which includes it. */
#ifndef STACKD_COOKIES_H
#define STACKD_COOKIES_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* The cookie of a region's probe: the region's number, with these at the function's entry... */
#define STACKD_REGION_NUMBER(cookie) ((__u32)(cookie))
/* the number of the probe's struct stackd_place; 0: none */
#define STACKD_PLACE(number)	    ((__u64)(number) << 40)
#define STACKD_PLACE_NUMBER(cookie) ((__u32)((cookie) >> 40 & 0xffff))
#define STACKD_ENTRY_LOOP	    ((__u64)1 << 32) /* the function can jump back to its entry */
/* no instance begins while another instance of a region with this bit is open */
#define STACKD_ENTRY_ONCE ((__u64)1 << 33)
/* The probe is `after` bytes behind the entry, where the stack has `frame` words below the return
 * address. */
#define STACKD_ENTRY_MOVED(after, frame) ((__u64)(after) << 56 | (__u64)(frame) << 34)
#define STACKD_ENTRY_AFTER(cookie)	 ((cookie) >> 56)
#define STACKD_ENTRY_FRAME(cookie)	 ((cookie) >> 34 & 63)
/* ...and one of these, << 32, at an instruction that leaves the function. */
#define STACKD_EXIT_RETURN 0x00
#define STACKD_EXIT_JUMP   0x10
/* | the number of the branch's condition, as in its machine code */
#define STACKD_EXIT_BRANCH 0x20
#define STACKD_EXIT_ONCE   0x40 /* | this, if the entry has STACKD_ENTRY_ONCE */
/* | this, for a jump or branch that leads to a return. The function has still to restore the
 * registers in `saved` (a bit for each, in their order on the stack, the last one next to the
 * return address), and to remove `frame` words from the stack, including those registers. */
#define STACKD_EXIT_EPILOGUE	       0x80
#define STACKD_EXIT_REST(saved, frame) ((__u64)(saved) << 40 | (__u64)(frame) << 46)
#define STACKD_EXIT_KIND(cookie)       ((__u32)((cookie) >> 32 & 0xff))
#define STACKD_EXIT_SAVED(cookie)      ((__u32)((cookie) >> 40 & 63))
#define STACKD_EXIT_FRAME(cookie)      ((cookie) >> 46 & 0xffff)

/* The cookie of a mark's probe: the mark's number, and what a hit does. */
#define STACKD_MARK_ENDS   ((__u64)1 << 32)
#define STACKD_MARK_BEGINS ((__u64)1 << 33)
#define STACKD_MARK_ENTRY  ((__u64)1 << 34) /* the location is a function's first instruction */
/* A hit begins and ends no instance, but increments the counter with this index. */
#define STACKD_MARK_COUNTS	   ((__u64)1 << 35)
#define STACKD_MARK_COUNTER(index) ((__u64)(index) << 36)
#define STACKD_MARK_INDEX(cookie)  ((__u32)((cookie) >> 36 & 7))

/* The cookie at the entry of an allocator's function: what the arguments are. */
enum stackd_alloc_kind {
	STACKD_ALLOC_FREE,	     /* (pointer) */
	STACKD_ALLOC_SIZE,	     /* (size) */
	STACKD_ALLOC_SECOND,	     /* (alignment, size) */
	STACKD_ALLOC_PRODUCT,	     /* (count, size) */
	STACKD_ALLOC_RESIZE,	     /* (pointer, size) */
	STACKD_ALLOC_RESIZE_PRODUCT, /* (pointer, count, size) */
	STACKD_ALLOC_INTO,	     /* (where to put the pointer, alignment, size); returns 0 */
};
#define STACKD_ALLOC_KIND(cookie) ((__u32)(cookie))
/* the function may end with a jump to another of these functions */
#define STACKD_ALLOC_TAIL ((__u64)1 << 32)

/* The cookie at a jump to memset() with which such a function (calloc()) ends: the block is
 * memset()'s first argument. */
#define STACKD_ALLOC_CLEARED 1

#endif
