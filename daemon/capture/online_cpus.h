/* SPDX-License-Identifier: MIT */
/*
 * Finds CPUs that come on line. The kernel removes the events of a CPU when that goes off line, and
 * does not bring them back, so they have to be opened again.
 *
 * The list of CPUs that are on line does not show a CPU that went off line and came back between
 * two looks. So this also reads the kernel's messages on devices (uevents): the kernel sends one
 * for each CPU that comes on line. The kernel sends the message a while after the list has the CPU,
 * so one look can find the CPU by the list, and the next look its message. That message is ignored:
 * to open the events again would drop what they have recorded since.
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
 * whether any was not on line at the previous look, or has come on line since; `is_new` has these.
 * A list that cannot be read changes nothing. */
bool online_cpus_look(struct online_cpus *cpus, const char *path);

/* Closes the list, and the socket. */
void online_cpus_close(struct online_cpus *cpus);

#endif
