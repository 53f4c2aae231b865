/* SPDX-License-Identifier: MIT */
/* The names and numbers of x86-64 in files; see ../target.h. */
#include "arch/target.h"

#include <elf.h>
#include <string.h>

const uint16_t target_elf_machine = EM_X86_64, target_elf_machine_32 = EM_386;

enum target_relocation target_relocation(uint32_t type)
{
	switch (type) {
	case R_X86_64_RELATIVE:
		return TARGET_RELOCATION_RELATIVE;
	case R_X86_64_IRELATIVE:
		return TARGET_RELOCATION_IRELATIVE;
	case R_X86_64_JUMP_SLOT:
		return TARGET_RELOCATION_JUMP_SLOT;
	case R_X86_64_GLOB_DAT:
		return TARGET_RELOCATION_GLOB_DAT;
	case R_X86_64_64:
		return TARGET_RELOCATION_ADDRESS;
	default:
		return TARGET_RELOCATION_OTHER;
	}
}

const char *const target_library_folders[] = {"/lib/x86_64-linux-gnu",
					      "/usr/lib/x86_64-linux-gnu",
					      "/lib64",
					      "/usr/lib64",
					      "/lib",
					      "/usr/lib",
					      NULL};

/* FLAG_ELF_LIBC6 | FLAG_X8664_LIB64 of glibc's ldconfig. */
const uint32_t target_library_cache_flags = 0x0303;

bool target_is_machine(const char *name)
{
	return !strcmp(name, "x86_64") || !strcmp(name, "i686");
}

bool target_has_shadow_stack(uint32_t type, uint32_t word)
{
	return type == GNU_PROPERTY_X86_FEATURE_1_AND && word & GNU_PROPERTY_X86_FEATURE_1_SHSTK;
}

int target_perf_register(unsigned bit)
{
	/* The order of enum perf_event_x86_regs: ax, bx, cx, dx, si, di, bp, sp, ip; then flags and
	 * segments, up to 15; then r8 to r15. */
	static const int8_t first[] = {0, 3, 2, 1, 4, 5, 6, 7, 16};

	if (bit < sizeof(first))
		return first[bit];
	return bit >= 16 && bit < 24 ? (int)bit - 8 : -1;
}
