/* SPDX-License-Identifier: MIT */
/* What stackd asks its workers: calls of lib, made in another process. */
#ifndef WORKER_ASK_WORKER_H
#define WORKER_ASK_WORKER_H

#include "daemon/worker/worker.h"
#include "unwind/recipe.h"

/* Opens a file by its identity, for struct elf_opener; `worker` is the argument. Errors as
 * elf_file_open(), and -EOWNERDEAD: the worker failed. */
int ask_worker_identity(void *worker, int fd, const char *path, struct elf_file **ret_file);

/* Has an object's table compiled. `is_cancelled` is asked now and then, with the CPU time that was
 * spent. Returns 0, an error of recipe_compile() or worker_call(); the caller frees *ret_table. */
int ask_worker_table(struct worker *worker, const struct object *object,
		     bool (*is_cancelled)(void *arg, uint64_t cpu_ns), void *arg,
		     struct recipe_table **ret_table);

#endif
