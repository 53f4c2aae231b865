/* SPDX-License-Identifier: MIT */
/*
 * Takes rights from a process, for ever. Each call takes what the machine lets it take, and says
 * what it could not: a container may lack the right to change the user, a kernel may lack seccomp.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a process could not give up; bits. */
enum sandbox_gap {
	SANDBOX_SAME_USER = 1,	  /* it has the user of stackd still */
	SANDBOX_SAME_ROOT = 2,	  /* it sees the machine's file systems (and can open no file) */
	SANDBOX_CAPABILITIES = 4, /* it has capabilities still */
	SANDBOX_NO_FILTER = 8,	  /* seccomp does not limit its system calls */
};

/* Makes the calling process one without rights that can still fork: a user of its own, no groups,
 * an empty root, no capabilities, and system calls for making and ending children, and for those of
 * sandbox_worker(). Returns the bits of enum sandbox_gap. */
unsigned sandbox_fork_server(void);

/* Limits a child of that process further: memory, files, no new processes; what is left is to read
 * descriptors, to ask for memory, and to use its socket. A system call beyond that kills it.
 * Returns 0 or -errno. */
int sandbox_worker(void);

/* Limits stackd itself to the capabilities that it needs while it runs, for the calling thread and
 * those that it starts from now on; neither it nor what it might execute gets any more. Without
 * capabilities it is fine, too. `puts_probes`: it needs those for uprobes. */
void sandbox_daemon_capabilities(bool puts_probes);

/* Leaves to all threads of stackd the system calls that it makes once it records; all others fail
 * with EPERM from now on: it can execute no program, start no process, trace nothing, become no
 * other user, mount nothing, load no module, and open no network socket (unless DEBUGINFOD_URLS
 * names servers). Returns 0 or -errno. */
int sandbox_daemon_calls(void);

#endif
