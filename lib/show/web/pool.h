/* SPDX-License-Identifier: MIT */
/* Pools of threads: the threads of a process whose names differ in digits only: worker-1, worker-2.
 */
#ifndef WEB_POOL_H
#define WEB_POOL_H

#include <stddef.h>

#define POOL_NAME 64 /* size of a pool's name */

/* Writes the name of a thread's pool, in which '*' stands for each run of digits: "worker-*". */
static inline void pool_name(const char *comm, char ret_name[static POOL_NAME])
{
	size_t n = 0;

	for (const char *at = comm; *at && n < POOL_NAME - 1; at++) {
		const int is_digit = *at >= '0' && *at <= '9';

		if (!is_digit)
			ret_name[n++] = *at;
		else if (!n || ret_name[n - 1] != '*')
			ret_name[n++] = '*';
	}
	ret_name[n] = '\0';
}

#endif
