/* SPDX-License-Identifier: MIT */
/* See expect.h. */
#include "expect.h"

#include <stacktag.h>
#include <stacktag_decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned expected, failed;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#ifdef COMPUTED
static uint64_t compute(const char *path)
{
	uint64_t tag = 0, id = 0;

	for (const char *c = path; *path; c++) {
		if (*c && *c != ';') {
			id = mix(id + (uint8_t)*c + 1);
			continue;
		}
		tag = tag * 11 ^ id;
		id = 0;
		if (!*c)
			break;
	}
	return tag;
}
#endif

static void fail(const char *path, const char *what)
{
	printf("expected '%s': %s\n", path, what);
	failed++;
}

static void join(const char *const *names, size_t n, char *ret_text, size_t size)
{
	*ret_text = 0;
	for (size_t i = 0; i < n; i++) {
		strncat(ret_text, i ? ";" : "", size - strlen(ret_text) - 1);
		strncat(ret_text, names[i], size - strlen(ret_text) - 1);
	}
}

void expect_tag(const char *path, uint64_t tag)
{
	static struct stacktag_decoder *decoder;
	const char *const *names;
	char text[1000];
	size_t n;
	int err;

	expected++;
#ifdef COMPUTED
	if (tag != compute(path))
		fail(path, "another tag");
#endif
	err = decoder ? 0 : stacktag_decoder_new(&decoder);
	if (!err)
		err = stacktag_decode(decoder, tag, 10000, &names, &n);
	if (err) {
		snprintf(text, sizeof(text), "not decoded: %s", strerror(-err));
		fail(path, text);
		return;
	}
	join(names, n, text, sizeof(text));
	if (strcmp(text, path) != 0)
		fail(path, text);
	/* no path has this tag, or so many that the budget ends */
	if (stacktag_decode(decoder, mix(tag + 1), 1, &names, &n) == 0)
		fail(path, "a tag of nothing was decoded");
}

void expect(const char *path)
{
	expect_tag(path, stacktag_get());
}
