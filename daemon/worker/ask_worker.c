/* SPDX-License-Identifier: MIT */
/* Makes requests, and checks the replies; see ask_worker.h. */
#include "daemon/worker/ask_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/int_map.h"
#include "base/mount_kind.h"
#include "base/vec.h"
#include "daemon/worker/debug_path.h"
#include "daemon/worker/wire.h"
#include "proc/proc_fs.h"
#include "unwind/recipe_wire.h"

/* Refuses the file if the worker's reply was invalid (`err` is -EBADMSG). Returns the result of the
 * call. */
static int check(struct worker *worker, const struct worker_call *call, int err)
{
	return err == -EBADMSG ? worker_refuse_reply(worker, call) : err;
}

/* Returns a hash of a file and its state: device, inode and change time. */
static uint64_t key_of(int fd)
{
	struct stat st;
	uint64_t hash;

	if (mount_stat(fd, &st))
		return 0;
	hash = hash_mix64(hash_mix64(st.st_dev) + st.st_ino);
	hash = hash_mix64(hash + (uint64_t)st.st_ctim.tv_sec);
	return hash_mix64(hash + (uint64_t)st.st_ctim.tv_nsec) | 1;
}

struct known_tags {
	uint64_t word;
	uint32_t has;
};

struct ask_files {
	struct worker *worker;
	struct slow_files *slow;
	bool wants_tags;
	struct int_map index; /* key: file id; value: index in `tags` */
	VEC(struct known_tags) tags;
};

int ask_files_new(struct worker *worker, struct slow_files *slow, bool wants_tags,
		  struct ask_files **ret_files)
{
	struct ask_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->worker = worker;
	files->slow = slow;
	files->wants_tags = wants_tags;
	*ret_files = files;
	return 0;
}

void ask_files_free(struct ask_files *files)
{
	if (!files)
		return;
	int_map_fini(&files->index);
	free(files->tags.items);
	free(files);
}

struct worker *ask_files_worker(const struct ask_files *files)
{
	return files->worker;
}

bool ask_files_tags(const struct ask_files *files, uint64_t file_id, uint32_t *ret_has,
		    uint64_t *ret_word)
{
	uint32_t number = int_map_find(&files->index, file_id);

	if (number == INT_MAP_NONE)
		return false;
	*ret_has = files->tags.items[number].has;
	*ret_word = files->tags.items[number].word;
	return true;
}

/* Remembers what the worker said about a file's tags. Without memory, the worker is asked again
 * later. */
static void take_tags(struct ask_files *files, uint64_t file_id, struct buf_reader *r)
{
	struct known_tags tags;

	BUF_GET(r, tags.has);
	BUF_GET(r, tags.word);
	if (r->failed || int_map_find(&files->index, file_id) != INT_MAP_NONE ||
	    VEC_RESERVE(&files->tags, 1) ||
	    int_map_set(&files->index, file_id, (uint32_t)files->tags.count))
		return;
	files->tags.items[files->tags.count++] = tags;
}

int ask_files_open(void *arg, int fd, const char *path, struct elf_file **ret_file)
{
	struct ask_files *files = arg;
	const struct worker_call call = {
		.kind = WIRE_IDENTIFY, .fd = fd, .path = path, .key = key_of(fd)};
	const uint8_t wants_tags = files->wants_tags;
	struct buf request = {0}, reply = {0};
	struct buf_reader reader;
	int err;

	BUF_PUT(&request, wants_tags);
	err = worker_call(files->worker, &call, &request, &reply);
	reader = buf_reader(reply.data, reply.len);
	if (!err)
		err = check(files->worker, &call, elf_file_of_identity(fd, &reader, ret_file));
	if (!err && wants_tags)
		take_tags(files, elf_file_id(*ret_file), &reader);
	buf_free(&request);
	buf_free(&reply);
	return err > 0 ? -EIO : err;
}

int ask_files_fetch(void *arg, int path_fd, const struct stat *st, pid_t pid, bool may_open)
{
	struct ask_files *files = arg;
	struct proc_fs_status status = {.uid = (uid_t)-1};

	if (!files->slow)
		return -EREMOTE;
	if (proc_fs_status("/proc", pid, &status))
		status.uid = (uid_t)-1; /* nobody knows whose it was */
	return slow_files_fetch(files->slow, path_fd, st, status.uid, may_open,
				clock_ns(CLOCK_MONOTONIC));
}

struct table_call {
	struct worker *worker;
	const struct object *object;
	bool (*is_cancelled)(void *arg, uint64_t cpu_ns);
	void *arg;
};

static int answer_of_table(void *arg, uint32_t kind, struct buf_reader *question,
			   struct buf *answer, int *ret_fd, bool *ret_is_owned)
{
	const struct table_call *t = arg;
	uint32_t number;

	*ret_is_owned = true;
	if (kind != WIRE_ASK_OBJECT || !BUF_GET(question, number) || number != t->object->number)
		return -EPERM;
	return worker_answer_object(t->worker, t->object, answer, ret_fd);
}

static bool table_is_cancelled(void *arg, uint64_t cpu_ns)
{
	const struct table_call *t = arg;

	return t->is_cancelled(t->arg, cpu_ns);
}

int ask_worker_table(struct worker *worker, const struct object *object, bool is_quick,
		     bool (*is_cancelled)(void *arg, uint64_t cpu_ns), void *arg,
		     struct recipe_table **ret_table)
{
	struct table_call table = {worker, object, is_cancelled, arg};
	const struct worker_call call = {.kind = WIRE_TABLE,
					 .fd = -1,
					 .object = object,
					 .answer = answer_of_table,
					 .arg = &table,
					 .is_cancelled = table_is_cancelled};
	const uint64_t most_bytes = worker_most_analysed(worker);
	const uint32_t quick = is_quick;
	struct buf request = {0}, reply = {0};
	int err;

	BUF_PUT(&request, object->number);
	BUF_PUT(&request, quick);
	BUF_PUT(&request, most_bytes);
	err = worker_call(worker, &call, &request, &reply);
	if (!err)
		err = check(worker, &call, recipe_wire_take(&reply, ret_table));
	buf_free(&request);
	buf_free(&reply);
	return err > 0 ? -EIO : err;
}

/* --- other questions about a file ------------------------------------------------------------ */

struct file_question {
	const struct elf_file *file;
	const char *path;
};

static int answer_of_file(void *arg, uint32_t kind, struct buf_reader *question, struct buf *answer,
			  int *ret_fd, bool *ret_is_owned)
{
	const struct file_question *q = arg;
	char wanted[4200];
	int fd;

	(void)answer;
	if (kind != WIRE_ASK_DEBUG || !buf_get_string(question, wanted, sizeof(wanted)))
		return -EPERM;
	fd = debug_path_open(wanted, q->path, debug_path_owner(q->file));
	*ret_fd = fd < 0 ? -1 : fd;
	*ret_is_owned = true;
	return fd < 0 ? fd : 0;
}

static struct worker_call call_of_file(struct file_question *q)
{
	int fd = elf_file_descriptor(q->file);

	return (struct worker_call){.kind = WIRE_FILE,
				    .fd = fd,
				    .path = q->path,
				    .key = key_of(fd),
				    .answer = answer_of_file,
				    .arg = q};
}

int ask_worker_file(struct worker *worker, const struct elf_file *file, const char *path,
		    const struct buf *request, struct buf *ret_reply)
{
	struct file_question question = {file, path};
	const struct worker_call call = call_of_file(&question);
	struct buf whole = {0};
	int err;

	buf_put_string(&whole, path);
	buf_put(&whole, request->data, request->len);
	whole.failed |= request->failed;
	err = worker_call(worker, &call, &whole, ret_reply);
	buf_free(&whole);
	return err > 0 ? -EIO : err;
}

void ask_worker_refuse(struct worker *worker, const struct elf_file *file, const char *path)
{
	struct file_question question = {file, path};
	const struct worker_call call = call_of_file(&question);

	worker_refuse_reply(worker, &call);
}
