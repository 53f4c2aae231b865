/* SPDX-License-Identifier: GPL-2.0-only */
/* Code of the BEAM's JIT compiler for arm64 is not known yet: ../beam_code.h finds no BEAM, so that
 * none of this is ever asked. See ../beam.bpf.h. */
#ifndef ARCH_ARM64_BEAM_BPF_H
#define ARCH_ARM64_BEAM_BPF_H

#define BEAM_REGISTERS_REG 19
#define BEAM_PROCESS_REG   20

static __always_inline bool begins_main(__u32 code)
{
	(void)code;
	return false;
}

static __always_inline int frame_ahead(struct scratch *s, __u64 pc)
{
	(void)s, (void)pc;
	return 0;
}

static __always_inline __u64 last_change(struct scratch *s)
{
	(void)s;
	return 0;
}

static __always_inline int leaves_frame(struct scratch *s, __u64 pc)
{
	(void)s, (void)pc;
	return 0;
}

static __always_inline int is_frameless(struct scratch *s, __u64 pc)
{
	(void)s, (void)pc;
	return 0;
}

static __always_inline enum way_back way_back(struct scratch *s)
{
	(void)s;
	return BACK_NOT;
}

#endif
