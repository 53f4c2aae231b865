/* SPDX-License-Identifier: MIT */
/*
 * The recorded kernel: where it and its modules lay, and whether it is the one that runs here.
 *
 * It is, if it has the build-id of ours, or, where the file does not say, if host and release are
 * ours. Then offsets are from our text start, as in recordings of our own, and /proc/kallsyms has
 * the names, though the recorded one may have lain elsewhere (KASLR): what is known of it is the
 * address of its reference symbol. Else offsets are from that symbol, and there are no names.
 *
 * BPF programs are code that comes and goes. Their addresses mean nothing on another day, so
 * their names are taken from the recording itself.
 */
#ifndef PERF_IMPORT_KERNEL_H
#define PERF_IMPORT_KERNEL_H

#include <stdbool.h>
#include <sys/utsname.h>

#include "perf/perfdata.h"
#include "proc/object.h"
#include "sym/kallsyms.h"

struct import_kernel;

/* Borrows all three. 0 or -ENOMEM. */
int import_kernel_new(const struct perfdata *reader, const struct utsname *machine,
		      struct object_table *objects, struct import_kernel **ret_kernel);
void import_kernel_free(struct import_kernel *kernel);

/* Records of the kernel's code. 0, -ENOMEM, or -E2BIG (more than IMPORT_KERNEL_MAX_MAPS). */
#define IMPORT_KERNEL_MAX_MAPS (1u << 16)

int import_kernel_mmap(struct import_kernel *kernel, const struct perfdata_mmap *mmap);
int import_kernel_symbol(struct import_kernel *kernel, const struct perfdata_ksymbol *symbol);

/* Where an address lies. false: nowhere. */
bool import_kernel_find(const struct import_kernel *kernel, uint64_t address,
			const struct object **ret_object, uint64_t *ret_offset);

/* Names of BPF programs: NULL if `offset` of `object` is of none. */
const char *import_kernel_name(struct import_kernel *kernel, const struct object *object,
			       uint64_t offset, uint64_t *ret_start);

/* Our own kernel's symbols, if they are the recorded one's; NULL. */
const struct kallsyms *import_kernel_kallsyms(const struct import_kernel *kernel);

#endif
