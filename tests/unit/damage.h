/* SPDX-License-Identifier: MIT */
/* Helpers of tests of damaged files: a real file in memory that may be changed, and random numbers
 * that are the same in every run. */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of a file; the caller frees. */
static inline uint8_t *damage_load(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* This program's own file. */
static inline uint8_t *damage_load_self(size_t *ret_size)
{
	return damage_load("/proc/self/exe", ret_size);
}

/* Marsaglia's xorshift. */
static inline uint64_t damage_random(void)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

#endif
