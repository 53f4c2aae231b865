/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables of processes, which the kernel half walks to read a page that is in memory:
 *
 *   ARCH_MEMORY_STEP_SHIFT   the kernel maps all memory at a multiple of so many bits
 *   struct arch_page_tables  how this machine's tables are read: `base`, the kernel's address of
 *                            physical address 0, and others
 *   arch_page_at(how, table, address)   the kernel's address of the page at an address; 0: none
 */
#ifndef ARCH_PAGE_TABLE_H
#define ARCH_PAGE_TABLE_H

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "x86_64/page_table.bpf.h"
#elif defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#include "arm64/page_table.bpf.h"
#endif

#endif
