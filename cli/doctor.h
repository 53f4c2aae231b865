/* SPDX-License-Identifier: MIT */
/*
 * The checks of stackctl doctor. A check has an id that never changes, because scripts refer to it.
 * It examines one thing, and fills in its finding and, unless that is good, a remedy of one line.
 * If a check fails, nothing can be recorded; if it warns, something will be missing in recordings.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_status { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

/* The roots of the file systems that the checks read, other than "/proc" and "/sys" to simulate
 * another machine. */
struct doctor_machine {
	const char *proc_root;
	const char *sys_root;
};

struct doctor_finding {
	enum doctor_status status;
	char found[400];
	char remedy[300]; /* empty: nothing to do */
};

struct doctor_check {
	const char *id;
	void (*run)(const struct doctor_machine *machine, struct doctor_finding *finding);
};

const struct doctor_check *doctor_checks(size_t *ret_count);

#endif
