/* SPDX-License-Identifier: MIT */
/*
 * The recorded kernel: the addresses of its text and modules, and whether it is the running one.
 *
 * The recorded kernel is the running one if their build-ids are equal or, where the file has none,
 * if host and release are. Then offsets count from the start of the running kernel's text, as in
 * stackd's own recordings, and /proc/kallsyms has the names. KASLR may have loaded the recorded
 * kernel at another address; the distance follows from the address of the reference symbol, which
 * perf records. For any other kernel offsets count from that symbol, and there are no names.
 *
 * BPF programs are loaded and unloaded at run time, so their addresses mean nothing later, and
 * their names come from the recording itself.
 */
#ifndef PERF_IMPORT_KERNEL_H
#define PERF_IMPORT_KERNEL_H

#include <stdbool.h>
#include <sys/utsname.h>

#include "perf/perfdata.h"
#include "proc/object.h"
#include "sym/kallsyms.h"

struct import_kernel;

/* Makes the kernel's part of an import. Borrows all three arguments until import_kernel_free().
 * Returns 0 or -ENOMEM. */
int import_kernel_new(struct perfdata *reader, const struct utsname *machine,
		      struct object_table *objects, struct import_kernel **ret_kernel);
void import_kernel_free(struct import_kernel *kernel); /* accepts NULL */

/* most records that the two functions below take in all */
#define IMPORT_KERNEL_MAX_MAPS (1u << 16)

/* Adds the mapping of the kernel's text or of a module. Returns 0; -ENOMEM; -E2BIG: there are more
 * than IMPORT_KERNEL_MAX_MAPS. */
int import_kernel_mmap(struct import_kernel *kernel, const struct perfdata_mmap *mmap);

/* Adds or removes a BPF program, as a PERF_RECORD_KSYMBOL reports it. Copies its name. Errors as
 * import_kernel_mmap(). */
int import_kernel_symbol(struct import_kernel *kernel, const struct perfdata_ksymbol *symbol);

/* Finds the object mapped at a kernel address, and the offset in it. The object belongs to the
 * object table. Returns false if nothing is mapped there. */
bool import_kernel_find(const struct import_kernel *kernel, uint64_t address,
			const struct object **ret_object, uint64_t *ret_offset);

/* Returns the name of the BPF program at `offset` of `object`, and the offset of its start, or NULL
 * if there is none. The name lives as long as `kernel`. */
const char *import_kernel_name(struct import_kernel *kernel, const struct object *object,
			       uint64_t offset, uint64_t *ret_start);

/* Returns the running kernel's symbols if it is the recorded kernel, else NULL. They live as long
 * as `kernel`. */
const struct kallsyms *import_kernel_kallsyms(const struct import_kernel *kernel);

#endif
