/* SPDX-License-Identifier: MIT */
/* Opens a fuzzer's input as perf.data. A refused input must have an error with an offset. */
#ifndef TESTS_FUZZ_READER_H
#define TESTS_FUZZ_READER_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(int holds)
{
	if (!holds)
		abort();
}

/* Calls `read_all` with a reader of the input, unless that is refused. */
static inline int fuzz_read(const uint8_t *data, size_t size, void (*read_all)(struct perfdata *))
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perfdata *reader;
	char *error = NULL;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (perfdata_open(fd, &reader, &error)) {
		fuzz_check(error && !strncmp(error, "at offset ", 10));
		free(error);
	} else {
		read_all(reader);
		perfdata_free(reader);
	}
	close(fd);
	return 0;
}

#endif
