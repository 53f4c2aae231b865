/* SPDX-License-Identifier: MIT */
/*
 * libstacktag-decode: from a tag of this program to the names of its functions, within the program
 * itself, and with nothing but its own files: no profiler, no dictionary.
 *
 *	struct stacktag_decoder *decoder;
 *	const char *const *names;
 *	size_t n;
 *
 *	if (!stacktag_decoder_new(&decoder) && !stacktag_decode(decoder, tag, 10, &names, &n))
 *		for (size_t i = 0; i < n; i++)
 *			puts(names[i]);		root first
 *	stacktag_decoder_free(decoder);
 *
 * A library of its own, so that programs that only keep a tag load nothing more. Link with
 * -lstacktag-decode (pkg-config stacktag-decode). Not for signal handlers; a decoder is used by one
 * thread at a time.
 */
#ifndef STACKTAG_DECODE_H
#define STACKTAG_DECODE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct stacktag_decoder;

/* A decoder for tags of the files that the program consists of now; after dlopen() make another.
 * Reads their sections .btloc and .btedge, or, where they are compiled with
 * -finstrument-functions, their code. 0; -ENODATA: none of them keeps a tag; -ENOMEM; -E2BIG: more
 * calls than a model holds. *ret_decoder is untouched on failure. */
int stacktag_decoder_new(struct stacktag_decoder **ret_decoder);
void stacktag_decoder_free(struct stacktag_decoder *decoder); /* NULL is fine */

/* The likeliest call path of a tag: *ret_count names of functions as linkers know them, root
 * first; both live until the next call with this decoder. Tag 0 is the empty path. What one call
 * has learned makes the next ones quicker.
 * 0; -ENOENT: no path of this program has the tag; -ETIMEDOUT: none was found in the budget, of
 * milliseconds; -ENOMEM. */
int stacktag_decode(struct stacktag_decoder *decoder, uint64_t tag, unsigned budget_ms,
		    const char *const **ret_names, size_t *ret_count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
