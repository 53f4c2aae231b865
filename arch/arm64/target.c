/* SPDX-License-Identifier: MIT */
/* The names and numbers of arm64 in files; see ../target.h. */
#include "arch/target.h"

#include <elf.h>
#include <string.h>

#include "arch/arch.h"

const uint16_t target_elf_machine = EM_AARCH64, target_elf_machine_32 = EM_ARM;

enum target_relocation target_relocation(uint32_t type)
{
	switch (type) {
	case R_AARCH64_RELATIVE:
		return TARGET_RELOCATION_RELATIVE;
	case R_AARCH64_IRELATIVE:
		return TARGET_RELOCATION_IRELATIVE;
	case R_AARCH64_JUMP_SLOT:
		return TARGET_RELOCATION_JUMP_SLOT;
	case R_AARCH64_GLOB_DAT:
		return TARGET_RELOCATION_GLOB_DAT;
	case R_AARCH64_ABS64:
		return TARGET_RELOCATION_ADDRESS;
	default:
		return TARGET_RELOCATION_OTHER;
	}
}

const char *const target_library_folders[] = {"/lib/aarch64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/lib64",
					      "/usr/lib64",
					      "/lib",
					      "/usr/lib",
					      NULL};

/* FLAG_ELF_LIBC6 | FLAG_AARCH64_LIB64 of glibc's ldconfig. */
const uint32_t target_library_cache_flags = 0x0a03;

bool target_is_machine(const char *name)
{
	return !strcmp(name, "aarch64");
}

/* A guarded control stack (GCS), the third bit of the property, is one. */
bool target_has_shadow_stack(uint32_t type, uint32_t word)
{
	return type == GNU_PROPERTY_AARCH64_FEATURE_1_AND && word & 4;
}

/* enum perf_event_arm_regs: x0 to x29, lr, sp, pc. */
int target_perf_register(unsigned bit)
{
	return bit < STACKD_REG_COUNT ? (int)bit : -1;
}
