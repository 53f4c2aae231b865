/* SPDX-License-Identifier: MIT */
/*
 * Explains why the kernel refused the BPF program. The errno alone does not determine the reason,
 * because the verifier's refusal, missing capabilities and maps that are too large can all be
 * "Permission denied". So this module also looks at capabilities, at whether the kernel has BTF, at
 * the kernel's release, and at the BPF verifier's log.
 */
#ifndef CAPTURE_LOAD_ERROR_H
#define CAPTURE_LOAD_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Of libbpf's messages, the last LOAD_LOG_BYTES bytes are kept, because a verifier's log can have
 * megabytes, and has the error in its last lines. */
#define LOAD_LOG_BYTES 8192

/* An explanation shows this many lines of the log, the last ones. */
#define LOAD_ERROR_LINES      8
#define LOAD_ERROR_LINE_BYTES 160 /* longer lines, such as those with all registers, are cut */

struct load_log {
	char text[LOAD_LOG_BYTES]; /* NUL-terminated */
	size_t length;
};

/* Appends a message of libbpf's. */
void load_log_add(struct load_log *log, const char *format, va_list args);

struct load_failure {
	int err;	      /* negative errno */
	const char *btf_path; /* path of the kernel's type information, if that cannot be read; else
			       * NULL */
	bool may_load;	      /* this process can load programs of this kind */
	const char *release;  /* the kernel's release, by uname() */
	const char *compiler; /* compiler of the BPF program, with its version; or NULL */
	const struct load_log *log;
};

enum load_reason {
	LOAD_NO_TYPES,	  /* a kernel without BTF */
	LOAD_NO_RIGHT,	  /* the process lacks capabilities */
	LOAD_OLD_KERNEL,  /* older than Linux 6.1 */
	LOAD_INTERRUPTED, /* by signals, as often as libbpf tries */
	LOAD_REFUSED,	  /* the verifier refused the program; its log has the reason */
	LOAD_NO_MEMORY,
	LOAD_OTHER,
};

/* Determines the reason of a failure. */
enum load_reason load_error_reason(const struct load_failure *failure);

/* Explains a failure to the user: *ret_error is a malloc()ed sentence, followed by the verifier's
 * last lines if there are any; NULL without memory. Returns the error for exit_status_of(): -EPERM,
 * -EAGAIN, -ENOMEM or -EOPNOTSUPP. */
int load_error_explain(const struct load_failure *failure, char **ret_error);

#endif
