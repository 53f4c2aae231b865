/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes of arm64 are not undone yet: a thread within one has a path that ends with a mark. See
 * ../probes.bpf.h. A return probe replaces the link register, not a word on the stack. */
#ifndef ARCH_ARM64_PROBES_BPF_H
#define ARCH_ARM64_PROBES_BPF_H

#define ARCH_UNDOES_PROBES 0
#define CALL_CODE	   0x100 /* no byte */

static __always_inline __u64 slot_above(__u64 at)
{
	(void)at;
	return 0;
}

static __always_inline __u64 find_left(struct scratch *s, struct uprobe_task *probed, __u64 at,
				       __u64 slot)
{
	(void)s, (void)probed, (void)at, (void)slot;
	return 0;
}

static __always_inline int leave_call(struct scratch *s, struct uprobe_task *probed,
				      __u64 trampoline)
{
	(void)s, (void)probed, (void)trampoline;
	return 0;
}

static __always_inline int leave_call_instruction(struct stackd_regs *regs)
{
	(void)regs;
	return 0;
}

static __always_inline bool is_pushed_register(const struct stackd_regs *regs, __u64 word)
{
	(void)regs, (void)word;
	return false;
}

static __always_inline bool leave_probe_call(struct task_struct *task, __u64 *pc, __u64 *sp)
{
	(void)task, (void)pc, (void)sp;
	return false;
}

static __always_inline bool leave_half_called(struct stackd_regs *regs)
{
	(void)regs;
	return false;
}

#endif
