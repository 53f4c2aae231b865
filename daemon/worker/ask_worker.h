/* SPDX-License-Identifier: MIT */
/* Asks a worker to identify files, compile tables, and answer other questions about a file. */
#ifndef WORKER_ASK_WORKER_H
#define WORKER_ASK_WORKER_H

#include "daemon/worker/slow_files.h"
#include "daemon/worker/worker.h"
#include "unwind/recipe.h"

/* Opens files by the identity that a worker finds, and remembers what the worker has found out
 * about their tags. */
struct ask_files;

/* `worker` and `slow` are borrowed; `slow` NULL: files on mounts that may not answer are not read.
 * `wants_tags`: also ask whether functions of a file keep a tag. 0 or -ENOMEM. */
int ask_files_new(struct worker *worker, struct slow_files *slow, bool wants_tags,
		  struct ask_files **ret_files);
void ask_files_free(struct ask_files *files); /* NULL is fine */
struct worker *ask_files_worker(const struct ask_files *files);

/* Gives what a worker has found about a file's tags: bits TAGS_HAS_... (walk_wire.h), and the vaddr
 * of libstacktag's word in the file (recorder/tagger.h). false: no worker was asked about the
 * file. */
bool ask_files_tags(const struct ask_files *files, uint64_t file_id, uint32_t *ret_has,
		    uint64_t *ret_word);

/* Opens a file, for struct elf_opener; `files` is the argument. Errors as elf_file_open(), and
 * -EOWNERDEAD: the worker failed. */
int ask_files_open(void *files, int fd, const char *path, struct elf_file **ret_file);

/* Gives a copy of a file on a mount that may not answer, for struct elf_opener. */
int ask_files_fetch(void *files, int path_fd, const struct stat *st, pid_t pid, bool may_open);

/* Compiles an object's table in the worker, with `is_quick` by recipe_compile_quick(). Calls
 * `is_cancelled` now and then, with the CPU time that was spent. Returns 0, an error of
 * recipe_compile() or worker_call(); the caller frees *ret_table. */
int ask_worker_table(struct worker *worker, const struct object *object, bool is_quick,
		     bool (*is_cancelled)(void *arg, uint64_t cpu_ns), void *arg,
		     struct recipe_table **ret_table);

/* Asks the worker's service_file_fn (service_file.h) a question about a file; the worker may read
 * the file's debug files. Returns the status of the reply, or an error of worker_call(). */
int ask_worker_file(struct worker *worker, const struct elf_file *file, const char *path,
		    const struct buf *request, struct buf *ret_reply);

/* Refuses a file after an invalid reply to ask_worker_file(): see worker_refuse_reply(). */
void ask_worker_refuse(struct worker *worker, const struct elf_file *file, const char *path);

#endif
