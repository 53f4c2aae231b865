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

/* Asks about a file (service_file.h), whose debug files the worker may have. Returns the status of
 * the reply, or an error of worker_call(). */
int ask_worker_file(struct worker *worker, const struct elf_file *file, const char *path,
		    const struct buf *request, struct buf *ret_reply);

/* The reply to that made no sense: see worker_refuse_reply(). */
void ask_worker_refuse(struct worker *worker, const struct elf_file *file, const char *path);

#endif
