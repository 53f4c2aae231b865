/* SPDX-License-Identifier: MIT */
/*
 * Finds CPUs that come on line. When a CPU goes off line, the kernel removes the perf events on it,
 * and does not bring them back later, so stackd has to open them again.
 *
 * The list of CPUs that are on line does not show a CPU that went off line and came back between
 * two looks. So this module also reads the kernel's messages about devices (uevents): the kernel
 * sends one for each CPU that comes on line, a while after the list has the CPU. So one look can
 * find the CPU in the list, and the next look can find its message. Such a message is ignored,
 * because opening the events again would drop what they have recorded since.
 */
#ifndef CAPTURE_ONLINE_CPUS_H
#define CAPTURE_ONLINE_CPUS_H

#include <stdbool.h>

#define ONLINE_CPUS_MAX	 8192
#define ONLINE_CPUS_LIST "/sys/devices/system/cpu/online" /* the kernel's list */

/* Zeroed to begin with. */
struct online_cpus {
	int fd; /* descriptor of the list, valid if is_open */
	bool is_open;
	bool is_known; /* `online` is valid */
	int messages;  /* socket for uevents, valid if has_messages */
	bool has_messages;
	char text[4096]; /* the list at the last look */
	bool online[ONLINE_CPUS_MAX];
	bool is_new[ONLINE_CPUS_MAX];	/* CPUs that came on line, by the last look that returned
					 * true */
	bool is_ahead[ONLINE_CPUS_MAX]; /* the list has shown that the CPU came on line; its message
					 * is still to come */
};

/* Reads the kernel's messages from now on. If it does not give them, the list alone is read. */
void online_cpus_listen(struct online_cpus *cpus);

/* Reads which CPUs are on line, from a list such as "0-3,6" at `path`, which stays open. Returns
 * whether any CPU has come on line since the previous look, even if it was on line then and has
 * been off line in between; `is_new` has these CPUs. Returns false if the list cannot be read. */
bool online_cpus_look(struct online_cpus *cpus, const char *path);

/* Closes the list, and the socket. */
void online_cpus_close(struct online_cpus *cpus);

#endif
