/* SPDX-License-Identifier: MIT */
/* The interface by which other parts of stackd (daemon/regions) answer questions about a file in a
 * worker. */
#ifndef WORKER_SERVICE_FILE_H
#define WORKER_SERVICE_FILE_H

#include "base/buf.h"
#include "elf/elf_file.h"
#include "sym/debug_file.h"

struct service_file {
	struct elf_file *elf;
	const char *path;
	const struct debug_source *debug;
};

/* Answers a question: reads `request`, and fills `reply`. Returns the status: 0 or negative errno.
 */
typedef int service_file_fn(const struct service_file *file, struct buf_reader *request,
			    struct buf *reply);

#endif
