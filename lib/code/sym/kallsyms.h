/* SPDX-License-Identifier: MIT */
/*
 * Kernel symbols, from /proc/kallsyms, and the parts of the kernel as objects: the kernel itself
 * (build-id from /sys/kernel/notes, text start from _stext) and its modules (build-ids from
 * /sys/module/NAME/notes, starts from /proc/modules).
 */
#ifndef SYM_KALLSYMS_H
#define SYM_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/kernel_files.h"

struct kallsyms;

struct kallsyms_options {
	const char *proc_root;		  /* "/proc" */
	const char *sys_root;		  /* "/sys" */
	const struct kernel_files *files; /* read from their beginning; NULL: opens them */
	/* Called with `arg` again and again while symbols are read, which takes some 60 ms of CPU
	 * time; NULL: none. */
	void (*meanwhile)(void *arg);
	void *arg;
};

/* A part of the kernel with code. */
struct kallsyms_part {
	const char *name;    /* "[kernel.kallsyms]", "[ext4]", "[bpf]" */
	uint64_t start, end; /* Addresses; `end` is exclusive. The functions of pseudo modules
			      * ("[bpf]") are between those of other parts: `start` is the first
			      * function's, `end` is UINT64_MAX. */
	uint8_t build_id[20];
	uint8_t build_id_len; /* 0: none known */
};

/* Reads the kernel's symbols; the caller frees *ret_ksyms. Returns 0; -EACCES (addresses are
 * hidden: kernel.kptr_restrict), -ENOENT, -ENOMEM, -EIO, or -E2BIG (more than 65,535 modules or 2
 * GiB of names, so it is not from a kernel). */
int kallsyms_load(const struct kallsyms_options *options, struct kallsyms **ret_ksyms);
void kallsyms_free(struct kallsyms *ksyms);

/* Returns the function at an address; NULL: there is none. All strings live as long as `ksyms`. */
const char *kallsyms_find(const struct kallsyms *ksyms, uint64_t address, uint64_t *ret_start);

/* Finds a function by its name, among all functions one by one. Gives its addresses, [start, end).
 * Returns false if there is none. */
bool kallsyms_function(const struct kallsyms *ksyms, const char *name, uint64_t *ret_start,
		       uint64_t *ret_end);

/* Return the part that contains an address; the number of parts; and a part by its index. An
 * address below the kernel's half of the address space has no part: NULL. In that half, an address
 * of no known part is in "[kernel.other]", always the last part. Indexes are dense, so a caller can
 * have an array with an element for each part. */
const struct kallsyms_part *kallsyms_part(const struct kallsyms *ksyms, uint64_t address,
					  size_t *ret_index);
size_t kallsyms_part_count(const struct kallsyms *ksyms);
const struct kallsyms_part *kallsyms_part_at(const struct kallsyms *ksyms, size_t index);

#endif
