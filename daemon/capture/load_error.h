/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel did not take the BPF program, told from what can be known after it has failed: its
 * errors alone tell little, as the verifier's refusal, missing rights and maps that are too large
 * can all be "Permission denied".
 */
#ifndef CAPTURE_LOAD_ERROR_H
#define CAPTURE_LOAD_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The end of what libbpf says, as it says it. A verifier's log can have megabytes; what is wrong
 * stands in its last lines. */
#define LOAD_LOG_BYTES 8192

/* The part of it that an explanation shows. */
#define LOAD_ERROR_LINES      8
#define LOAD_ERROR_LINE_BYTES 160 /* longer lines, such as those with all registers, are cut */

struct load_log {
	char text[LOAD_LOG_BYTES]; /* NUL-terminated */
	size_t length;
};

/* Appends a message of libbpf's. */
void load_log_add(struct load_log *log, const char *format, va_list args);

struct load_failure {
	int err; /* negative errno */
	const char
		*btf_path;   /* of the kernel's type information, if that cannot be read; or NULL */
	bool may_load;	     /* this process can load programs of this kind */
	const char *release; /* of the kernel, as uname tells it */
	const char *compiler; /* of the program, with its version; or NULL */
	const struct load_log *log;
};

enum load_reason {
	LOAD_NO_TYPES,	 /* a kernel without BTF */
	LOAD_NO_RIGHT,	 /* the process lacks capabilities */
	LOAD_OLD_KERNEL, /* before 6.1 */
	LOAD_REFUSED,	 /* by the verifier: its log says why */
	LOAD_NO_MEMORY,
	LOAD_OTHER,
};

enum load_reason load_error_reason(const struct load_failure *failure);

/* The same for the user: *ret_error is a malloc()ed sentence, with the verifier's last lines below
 * it if there are any; NULL without memory. The error that the exit status goes by: -EPERM, -ENOMEM
 * or -EOPNOTSUPP. */
int load_error_explain(const struct load_failure *failure, char **ret_error);

#endif
