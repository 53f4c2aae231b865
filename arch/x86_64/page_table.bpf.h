/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the page of a process at an address, without a fault: walks its page table as the processor
 * does (Intel SDM 3A, 4.5). Tables refer to one another by physical addresses, and the kernel has
 * all memory mapped in one piece, at `base`.
 */
#ifndef ARCH_X86_64_PAGE_TABLE_H
#define ARCH_X86_64_PAGE_TABLE_H

#define TABLE_PRESENT 1ull
#define TABLE_LARGE   0x80ull /* the entry is of a page of 1 GiB or 2 MiB */
#define TABLE_ADDRESS 0x000ffffffffff000ull
#define TABLE_INDEXES 511

/* The kernel maps all memory at a multiple of this. */
#define ARCH_MEMORY_STEP_SHIFT 30

/* How this machine's page tables are read. */
struct arch_page_tables {
	__u64 base;   /* address of physical address 0 */
	__u64 hidden; /* bits of entries that are no part of the address (memory encryption) */
	__u32 levels; /* 4 or 5 */
	__u32 reserved;
};

/* Goes down one level, of entries for 2^shift bytes. Returns the address of the next table, or of
 * the page, then with *is_page; 0: there is none. */
static __always_inline __u64 next_table(const struct arch_page_tables *how, __u64 table,
					__u64 address, __u32 shift, bool *is_page)
{
	__u64 entry = 0, at = table + ((address >> shift) & TABLE_INDEXES) * sizeof(entry), inner;

	if (bpf_probe_read_kernel(&entry, sizeof(entry), (void *)at) || !(entry & TABLE_PRESENT))
		return 0;
	inner = shift <= ARCH_MEMORY_STEP_SHIFT && (shift == PAGE_SHIFT || entry & TABLE_LARGE)
			? (1ull << shift) - 1
			: 0;
	*is_page = inner != 0;
	entry &= TABLE_ADDRESS & ~how->hidden & ~inner;
	return how->base + entry + (address & inner & ~(__u64)(PAGE_SIZE - 1));
}

/* Returns the kernel's address of the page that is mapped at `address` by the page table `table`;
 * 0: there is none, or the process may not touch it now. */
static __always_inline __u64 arch_page_at(const struct arch_page_tables *how, __u64 table,
					  __u64 address)
{
	bool is_page = false;

	if (how->levels == 5)
		table = next_table(how, table, address, 48, &is_page);
	if (table && !is_page)
		table = next_table(how, table, address, 39, &is_page);
	if (table && !is_page)
		table = next_table(how, table, address, 30, &is_page);
	if (table && !is_page)
		table = next_table(how, table, address, 21, &is_page);
	if (table && !is_page)
		table = next_table(how, table, address, PAGE_SHIFT, &is_page);
	return is_page ? table : 0;
}

#endif
