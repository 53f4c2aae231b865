/* SPDX-License-Identifier: MIT */
/*
 * CPUs that come on line: the kernel takes the events of a CPU away when it goes off line, and does
 * not bring them back, so they have to be opened again.
 */
#ifndef CAPTURE_ONLINE_CPUS_H
#define CAPTURE_ONLINE_CPUS_H

#include <stdbool.h>

#define ONLINE_CPUS_MAX 8192

/* Zeroed to begin with. */
struct online_cpus {
	int fd; /* of the list, once is_open */
	bool is_open;
	bool is_known;	 /* it was looked at */
	char text[4096]; /* the list at the last look */
	bool online[ONLINE_CPUS_MAX];
	bool is_new[ONLINE_CPUS_MAX]; /* of the last look that returned true */
};

/* Looks which CPUs are on line, by a list such as "0-3,6" at `path`, which stays open. Returns
 * whether some are that were not at the look before; `is_new` has them. A list that cannot be read
 * changes nothing. */
bool online_cpus_look(struct online_cpus *cpus, const char *path);

/* Closes the list. */
void online_cpus_close(struct online_cpus *cpus);

#endif
