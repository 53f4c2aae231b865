/* SPDX-License-Identifier: MIT */
/*
 * Takes rights from a process for good. sandbox_fork_server() takes the rights that it can take,
 * and returns which it could not take, because a container may not be allowed to change the user,
 * and a kernel may lack seccomp.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a process could not give up; bits. */
enum sandbox_gap {
	SANDBOX_SAME_USER = 1,	  /* it still has the user of stackd */
	SANDBOX_SAME_ROOT = 2,	  /* it sees the machine's file systems (and can open no file) */
	SANDBOX_CAPABILITIES = 4, /* it still has capabilities */
	SANDBOX_NO_FILTER = 8,	  /* seccomp does not limit its system calls */
};

/* Leaves the calling process no rights but to fork: it gets a user of its own, no groups, an empty
 * root, no capabilities, and only the system calls to make and end children, and those of
 * sandbox_worker(). Returns the bits of enum sandbox_gap. */
unsigned sandbox_fork_server(void);

/* Limits a worker, which the fork server has forked, further: memory, files, no new processes. It
 * can only read descriptors, ask for memory, and use its socket; any other system call kills it.
 * Returns 0 or -errno. */
int sandbox_worker(void);

/* Limits the copier (copier.h): of its rights it keeps that to read any file. It can make
 * processes, open files for reading, and write to descriptors that it is given. What it cannot give
 * up, it keeps. */
void sandbox_copier(void);

/* Limits the fetcher (fetcher.h): it becomes the owner of the folder of debug files, which it makes
 * if it is missing, and has no capabilities. (Where it may not change its user, and the folder is
 * another's, it keeps CAP_DAC_OVERRIDE.) It can read what that user can read; change files in that
 * folder alone, where the kernel has Landlock, else what that user can change; open sockets of IP;
 * and make threads. It can make no process, execute no file, act on no other process, change no
 * file's owner or mode, and use no socket of AF_UNIX but the one it has. What it cannot give up, it
 * keeps. NULL: no folder. */
void sandbox_fetcher(const char *folder);

/* Limits stackd itself to the capabilities that it needs while it runs, for the calling thread and
 * those that it starts from now on; neither it nor a program that it executes can get more. Works
 * without capabilities, too. `puts_probes`: it needs the capabilities for uprobes. */
void sandbox_daemon_capabilities(bool puts_probes);

/* Limits all threads of stackd to the system calls that it makes while it records. All others fail
 * with EPERM from now on: it can execute no program, start no process, trace nothing, become no
 * other user, mount nothing, load no module, and open no network socket. Returns 0 or -errno. */
int sandbox_daemon_calls(void);

#endif
