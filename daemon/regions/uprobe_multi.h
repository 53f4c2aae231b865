/* SPDX-License-Identifier: MIT */
/*
 * Attaches a program to many instructions of a file by one link (uprobe_multi), which Linux 6.6 and
 * later have. Detaching waits once for all of them rather than once for each, which takes some
 * 20 ms.
 *
 * The call is made here since libbpf has it from 1.3 on, and the headers from Linux 6.6 on.
 */
#ifndef REGIONS_UPROBE_MULTI_H
#define REGIONS_UPROBE_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns whether the kernel has such links. */
bool uprobe_multi_is_there(void);

/* Returns whether such links can be for one process. Those of kernels before 6.11 may be for its
 * first thread alone. */
bool uprobe_multi_is_by_process(void);

/* Attaches `program`, which was loaded for it (SAMPLER_UPROBE_MULTI), at all offsets of the file at
 * `path`, each with its cookie; for one process, or 0 for all. Returns the link's descriptor, whose
 * close detaches; or -errno, and then nothing is attached. */
int uprobe_multi_attach(int program, const char *path, const uint64_t *offsets,
			const uint64_t *cookies, size_t count, pid_t pid);

/* The same at the returns of the functions that begin at these offsets (uretprobes), without
 * cookies; see probe_returns_are_safe(). */
int uprobe_multi_attach_returns(int program, const char *path, const uint64_t *offsets,
				size_t count, pid_t pid);

#endif
