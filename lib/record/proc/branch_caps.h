/* SPDX-License-Identifier: MIT */
/*
 * The branch records of this machine's processor, as the kernel reports them in /sys and /proc.
 *
 * Intel's core PMUs report their number and have a call-stack mode. AMD's LbrExtV2 reports it in
 * the same file and records branches of every kind only. Without a PMU the kernel reports nothing.
 */
#ifndef PROC_BRANCH_CAPS_H
#define PROC_BRANCH_CAPS_H

#include <stdbool.h>

enum branch_caps_kind {
	BRANCH_CAPS_CALL_STACK, /* with a call-stack mode */
	BRANCH_CAPS_ANY,	/* branches of every kind only: AMD's LbrExtV2 */
	BRANCH_CAPS_NONE,	/* the PMU has none */
	BRANCH_CAPS_NO_PMU,	/* no PMU is visible, as in most virtual machines */
};

struct branch_caps {
	enum branch_caps_kind kind;
	unsigned entries; /* branch records of the PMU; 0: none, or not reported */
	char pmu[16];	  /* "cpu", "cpu_core", "cpu_atom"; "": there is no PMU */
	char vendor[32];  /* "GenuineIntel"; "" if not known */
};

/* Reads what the kernel reports. The roots are "/sys" and "/proc" but for tests. Never fails: what
 * cannot be read counts as missing. */
void branch_caps_read(const char *sys_root, const char *proc_root, struct branch_caps *ret_caps);

#endif
