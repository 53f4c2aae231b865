/* SPDX-License-Identifier: MIT */
/*
 * libstacktag-decode: finds the names of functions for a tag of this program, within the program,
 * and only from its files: no profiler, no dictionary.
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
 * It is a separate library, so that programs that only keep a tag load nothing more. Link with
 * -lstacktag-decode (pkg-config stacktag-decode). Not for signal handlers; only one thread may use
 * a decoder at a time.
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

/* Makes a decoder for tags of the files that are loaded now; after dlopen(), make another one.
 * Reads their sections .btloc and .btedge or, if they are compiled with -finstrument-functions,
 * their code. Returns 0, -ENODATA if no file keeps a tag, -ENOMEM, or -E2BIG if there are more
 * calls than a model can have. *ret_decoder is untouched on failure. */
int stacktag_decoder_new(struct stacktag_decoder **ret_decoder);
void stacktag_decoder_free(struct stacktag_decoder *decoder); /* NULL is fine */

/* Finds the most likely call path of a tag: *ret_count names of functions as linkers know them,
 * root first. Both are valid until the next call with this decoder. Tag 0 is the empty path. What a
 * call learns makes later calls faster. Returns 0, -ENOENT if no path of this program has the tag,
 * -ETIMEDOUT if no path was found within the budget (in milliseconds), or -ENOMEM. */
int stacktag_decode(struct stacktag_decoder *decoder, uint64_t tag, unsigned budget_ms,
		    const char *const **ret_names, size_t *ret_count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
