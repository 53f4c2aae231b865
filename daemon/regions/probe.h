/* SPDX-License-Identifier: MIT */
/*
 * Attaches the kernel half's programs to instructions of files.
 *
 * A probe is attached to the file, once for all processes that map it, now or later; the BPF
 * programs ignore processes that are not recorded. (Rejected: probes for each process by itself.
 * Each hit in any process would cost more, since the kernel calls the filter of every process's
 * probes.) The kernel removes a probe when its descriptor is closed, so also after kill -9.
 */
#ifndef REGIONS_PROBE_H
#define REGIONS_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct probe {
	int event, link; /* descriptors; -1: none */
};

/* Checks the instructions at offsets of the file at `path`, before probes are put there. Returns 0,
 * or an error as of named_file_open() or probe_places_check(). */
int probe_check_places(const char *path, const uint64_t *offsets, size_t count);

/* Makes a BPF program run when a thread comes to the instruction at an offset of the file at
 * `path`. The program gets the cookie. `semaphore` is the file offset of a 16 bit counter, which
 * the kernel raises in each process that maps it while the probe is attached; 0: there is none. 0;
 * -ENODEV: the kernel has no uprobes; or the -errno of perf_event_open() (-EINVAL, -EIO,
 * -EOPNOTSUPP: no probe can be there) or of the link. */
int probe_attach(int program, const char *path, uint64_t offset, uint64_t semaphore,
		 uint64_t cookie, struct probe *ret_probe);

/* Does what probe_attach() does, for one process alone, without its later children. */
int probe_attach_to(int program, const char *path, uint64_t offset, uint64_t cookie, pid_t pid,
		    struct probe *ret_probe);

/* Attaches a uretprobe: the program runs at returns of the function that begins at `offset`. Must
 * not be used for a function through which an exception can pass, or that returns twice, because
 * the kernel replaces the return address on the stack. `pid`: the process; 0: all processes. */
int probe_attach_return(int program, const char *path, uint64_t offset, pid_t pid,
			struct probe *ret_probe);

/* Makes a BPF program run at the entry of a function of the kernel. 0; -ENODEV: the kernel has no
 * kprobes; -ENOENT: it has no such function; or another error as of probe_attach(). */
int probe_attach_kernel(int program, const char *function, struct probe *ret_probe);

/* Returns whether this kernel's uretprobes do no harm to processes. From Linux 6.11 on their
 * trampoline makes a system call, for which up to 6.14 a seccomp filter may kill the process; from
 * 6.6 to 6.10 they kill processes with a shadow stack. */
bool probe_returns_are_safe(void);

/* Returns whether an error of probe_attach() means that the kernel can put no probe on that
 * instruction. */
bool probe_is_no_place(int err);

/* Returns a message for the user about an error of probe_attach(). */
const char *probe_reason(int err);

/* Detaches a probe; one that is not attached (-1) is fine. */
void probe_detach(struct probe *probe);

#endif
