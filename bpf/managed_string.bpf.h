/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Strings of bytes in a process's memory, with their lengths: the names of Ruby's, PHP's
 * and Perl's functions. At most STACKD_MANAGED_TEXT bytes of one are ever sent, or looked at.
 */
#ifndef MANAGED_STRING_BPF_H
#define MANAGED_STRING_BPF_H

#include "managed_code.bpf.h"
#include "scratch.bpf.h"

/* Mixes a string's length, and as much of it as is ever sent, into a hash. Returns 0 if it cannot
 * be read. */
static __always_inline __u64 string_hash(struct scratch *s, __u64 hash, __u64 data, __u64 length)
{
	__u64 bytes = length < STACKD_MANAGED_TEXT ? length : STACKD_MANAGED_TEXT;

	FORGET(bytes);
	if (bytes > STACKD_MANAGED_TEXT ||
	    bpf_probe_read_user(s->managed.text, BOUNDED(bytes, 2 * STACKD_MANAGED_TEXT),
				(const void *)data))
		return 0;
	hash = mix(hash ^ length);
	for (__u32 i = 0; i < STACKD_MANAGED_TEXT / 8 && i * 8 < bytes; i++) {
		__u64 word = s->managed.text[BOUNDED(i, MANAGED_WORDS)];

		FORGET(i);
		if (bytes - i * 8 < 8)
			word &= (1ull << (bytes - i * 8) * 8) - 1;
		hash = mix(hash ^ word);
	}
	return hash | 1;
}

/* Makes a text that could not be read. */
static __always_inline void string_none(struct stackd_managed_text *text)
{
	text->width = 0;
	text->bytes = 0;
	text->length = 0;
}

/* Copies a string, as far as there is room. */
static __always_inline void string_copy(struct stackd_managed_text *text, __u64 data, __u64 length)
{
	__u64 bytes = length < STACKD_MANAGED_TEXT ? length : STACKD_MANAGED_TEXT;

	text->length = length;
	FORGET(bytes);
	if (bytes > STACKD_MANAGED_TEXT ||
	    bpf_probe_read_user(text->data, BOUNDED(bytes, 2 * STACKD_MANAGED_TEXT),
				(const void *)data))
		return;
	text->width = STACKD_MANAGED_UTF8;
	text->bytes = bytes;
}

/* Copies a string that ends at a NUL, as far as there is room. */
static __always_inline void string_copy_to_nul(struct stackd_managed_text *text, __u64 data)
{
	long got = bpf_probe_read_user_str(text->data, STACKD_MANAGED_TEXT, (const void *)data);

	if (got < 1)
		return;
	text->width = STACKD_MANAGED_UTF8;
	text->bytes = text->length = got - 1;
}

/* Puts "::" behind `at` bytes of the last text of a record. Returns the bytes then. */
static __always_inline __u64 string_put_colons(struct stackd_managed_text *text, __u64 at)
{
	text->data[BOUNDED(at, 2 * STACKD_MANAGED_TEXT)] = ':';
	text->data[BOUNDED(at + 1, 2 * STACKD_MANAGED_TEXT)] = ':';
	return at + 2;
}

/* Copies a string behind `at` bytes of the last text of a record, which has the only room behind
 * it. */
static __always_inline void string_append(struct stackd_managed_text *text, __u64 at, __u64 data,
					  __u64 length)
{
	__u64 bytes = length < STACKD_MANAGED_TEXT ? length : STACKD_MANAGED_TEXT;

	FORGET(bytes);
	if (bytes > STACKD_MANAGED_TEXT || length >> 32 ||
	    bpf_probe_read_user(&text->data[BOUNDED(at, 2 * STACKD_MANAGED_TEXT)],
				BOUNDED(bytes, 2 * STACKD_MANAGED_TEXT), (const void *)data))
		return;
	at += bytes;
	text->width = STACKD_MANAGED_UTF8;
	text->length = at - bytes + length;
	text->bytes = at < STACKD_MANAGED_TEXT ? at : STACKD_MANAGED_TEXT;
}

#endif
