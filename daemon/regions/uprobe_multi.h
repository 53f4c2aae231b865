/* SPDX-License-Identifier: MIT */
/*
 * Attaches a program to many instructions of a file by one link (uprobe_multi), which Linux 6.6 and
 * later have. Detaching waits some 20 ms for the kernel: with such a link once for all
 * instructions, instead of once for each.
 *
 * This calls bpf() directly, since older versions of libbpf (before 1.3) and of the kernel's
 * headers (before 6.6) do not have such links.
 */
#ifndef REGIONS_UPROBE_MULTI_H
#define REGIONS_UPROBE_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether the kernel has such links. */
bool uprobe_multi_is_there(void);

/* Returns whether such links can be limited to one process. On kernels before 6.11, such a link may
 * work for the process's first thread alone. */
bool uprobe_multi_is_by_process(void);

/* Attaches `program`, which was loaded for such links (SAMPLER_UPROBE_MULTI), at all offsets of the
 * file at `path`, each with its cookie; for one process, or 0 for all. Returns the link's
 * descriptor, which detaches when it is closed; or -errno, and then nothing is attached. */
int uprobe_multi_attach(int program, const char *path, const uint64_t *offsets,
			const uint64_t *cookies, size_t count, pid_t pid);

/* Attaches uretprobes to the functions that begin at these offsets, without cookies; see
 * probe_returns_are_safe(). */
int uprobe_multi_attach_returns(int program, const char *path, const uint64_t *offsets,
				size_t count, pid_t pid);

#endif
