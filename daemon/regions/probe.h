/* SPDX-License-Identifier: MIT */
/*
 * Attaches the kernel half's programs to instructions of files.
 *
 * A probe is on the file, once for all processes that map it, now or later; the programs decide
 * whose instances count. (A set of probes for each process would make every process pay for the
 * others': the kernel asks each set's filter at each hit.) Probes end with their descriptors, so
 * the kernel removes them even after kill -9.
 */
#ifndef REGIONS_PROBE_H
#define REGIONS_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct probe {
	int event, link; /* descriptors; -1: none */
};

/* Attaches a program at an offset of the file at `path`, with a cookie. The kernel counts the probe
 * in the 16 bits at the offset `semaphore` of each process that maps them; 0: there are none. 0;
 * -ENODEV: the kernel has no uprobes; or the -errno of perf_event_open() (-EINVAL, -EIO,
 * -EOPNOTSUPP: no probe can be there) or of the link. */
int probe_attach(int program, const char *path, uint64_t offset, uint64_t semaphore,
		 uint64_t cookie, struct probe *ret_probe);

/* The same for one process alone, its later children not among them. */
int probe_attach_to(int program, const char *path, uint64_t offset, uint64_t cookie, pid_t pid,
		    struct probe *ret_probe);

/* The same where the function that begins there returns: a uretprobe, for which the kernel replaces
 * the return address. A function must not have one if an exception can pass through it, or if it
 * returns twice. `pid` may be 0, which is all processes. */
int probe_attach_return(int program, const char *path, uint64_t offset, pid_t pid,
			struct probe *ret_probe);

/* Attaches a program to a function of the kernel. 0; -ENODEV: the kernel has no kprobes; or an
 * error as above (-ENOENT: it has no such function). */
int probe_attach_kernel(int program, const char *function, struct probe *ret_probe);

/* Whether this kernel's uretprobes leave each process alone. From Linux 6.11 on the trampoline
 * makes a system call, and up to 6.14 processes with a filter of seccomp's may be killed for that;
 * before it, from 6.6 on, those with a shadow stack are. */
bool probe_returns_are_safe(void);

/* Returns whether an error says that no probe can be at the instruction. */
bool probe_is_no_place(int err);

/* Returns what to tell the user about an error. */
const char *probe_reason(int err);

/* Detaches; one that is not attached (-1) is fine. */
void probe_detach(struct probe *probe);

#endif
