/* SPDX-License-Identifier: MIT */
/* What stackd asks its workers: calls of lib, made in another process. */
#ifndef WORKER_ASK_WORKER_H
#define WORKER_ASK_WORKER_H

#include "daemon/worker/worker.h"
#include "unwind/recipe.h"

/* Opens files by their identity, and remembers what a worker has said of them besides. */
struct ask_files;

/* `worker` is borrowed. `wants_tags`: it is asked as well whether functions of a file keep a tag. 0
 * or -ENOMEM. */
int ask_files_new(struct worker *worker, bool wants_tags, struct ask_files **ret_files);
void ask_files_free(struct ask_files *files); /* NULL is fine */
struct worker *ask_files_worker(const struct ask_files *files);

/* What was said of a file's tags: bits of walk_wire.h's TAGS_HAS_..., and the word. false: nothing.
 */
bool ask_files_tags(const struct ask_files *files, uint64_t file_id, uint32_t *ret_has,
		    uint64_t *ret_word);

/* Opens a file, for struct elf_opener; `files` is the argument. Errors as elf_file_open(), and
 * -EOWNERDEAD: the worker failed. */
int ask_files_open(void *files, int fd, const char *path, struct elf_file **ret_file);

/* Has an object's table compiled, with `is_quick` by recipe_compile_quick(). `is_cancelled` is
 * asked now and then, with the CPU time that was spent. Returns 0, an error of recipe_compile() or
 * worker_call(); the caller frees *ret_table. */
int ask_worker_table(struct worker *worker, const struct object *object, bool is_quick,
		     bool (*is_cancelled)(void *arg, uint64_t cpu_ns), void *arg,
		     struct recipe_table **ret_table);

/* Asks about a file (service_file.h), whose debug files the worker may have. Returns the status of
 * the reply, or an error of worker_call(). */
int ask_worker_file(struct worker *worker, const struct elf_file *file, const char *path,
		    const struct buf *request, struct buf *ret_reply);

/* The reply to that made no sense: see worker_refuse_reply(). */
void ask_worker_refuse(struct worker *worker, const struct elf_file *file, const char *path);

#endif
