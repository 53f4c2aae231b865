/* SPDX-License-Identifier: MIT */
/* The rights of the page's server: those of the user who runs it, and never root's. */
#ifndef CLI_WEB_RIGHTS_H
#define CLI_WEB_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

struct rights {
	uid_t user;
	gid_t group;
	bool is_nobody; /* `user` is the account "nobody", which other programs use as well */
	bool is_root;	/* root has started the program: `user` has called sudo or pkexec, or is
			 * "nobody" */
};

/* Finds out whose rights the server should have. */
struct rights rights_choose(void);

/* Becomes that user in the whole process, without capabilities. No other thread may run yet.
 * Returns 0 or a negative errno. */
int rights_become(const struct rights *rights);

/* Makes sure that no program which is executed from now on gets more rights. Returns 0 or a
 * negative errno. */
int rights_lock(void);

#endif
