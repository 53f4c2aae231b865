/* SPDX-License-Identifier: MIT */
/* The names and numbers of this processor in files: ELF headers and relocations, folders of
 * libraries, and perf's recordings. */
#ifndef ARCH_TARGET_H
#define ARCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* e_machine of ELF files with 64-bit code for this processor, and of those with 32-bit code, whose
 * functions are only named, not unwound. */
extern const uint16_t target_elf_machine, target_elf_machine_32;

/* The value that a relocation writes. */
enum target_relocation {
	TARGET_RELOCATION_OTHER,
	TARGET_RELOCATION_RELATIVE,  /* an address in the file: the addend */
	TARGET_RELOCATION_IRELATIVE, /* the result of the function at the addend */
	TARGET_RELOCATION_JUMP_SLOT, /* a symbol's address, only for calls */
	TARGET_RELOCATION_GLOB_DAT,  /* a symbol's address, in the global offset table */
	TARGET_RELOCATION_ADDRESS,   /* a symbol's address, with an addend, in data */
};

/* Returns the kind of a relocation, by its number in ELF files. */
enum target_relocation target_relocation(uint32_t type);

/* The default folders of the dynamic linker, which it searches last; NULL ends the list. */
extern const char *const target_library_folders[];

/* The flags that libraries of this processor and its usual C library have in ld.so.cache. */
extern const uint32_t target_library_cache_flags;

/* Returns whether a machine's name, as uname -m prints it, is this processor's, so that its code
 * can be decoded here. */
bool target_is_machine(const char *name);

/* Returns whether a property of a file's note (NT_GNU_PROPERTY_TYPE_0) says that the file's code
 * works with a shadow stack of return addresses. `type` is the property's, `word` the first word of
 * its data. */
bool target_has_shadow_stack(uint32_t type, uint32_t word);

/* Returns the register (in DWARF's numbers) that a bit of perf's sample_regs_user means; -1: a walk
 * does not use it. */
int target_perf_register(unsigned bit);

#endif
