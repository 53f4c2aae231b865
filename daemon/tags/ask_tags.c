/* SPDX-License-Identifier: MIT */
/* Asks the worker one question in each call, and keeps the answers in a direct-mapped table; see
 * ask_tags.h. */
#include "daemon/tags/ask_tags.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "daemon/worker/walk_wire.h"
#include "daemon/worker/wire.h"

#define ANSWERS 8192 /* most answers that are kept */

struct answer {
	uint64_t vaddr;
	uint32_t object_plus_1; /* 0: the entry is empty */
	uint8_t what;
	bool is_it;
	struct tagged_code code;
};

struct ask_tags {
	struct tag_files tag_files;
	const struct ask_files *files;
	struct worker *worker;
	struct answer answers[ANSWERS];
};

struct call {
	struct worker *worker;
	const struct object *object;
};

static int answer_question(void *arg, uint32_t kind, struct buf_reader *question,
			   struct buf *ret_answer, int *ret_fd, bool *ret_is_owned)
{
	const struct call *call = arg;
	uint32_t number;

	*ret_is_owned = true;
	if (kind != WIRE_ASK_OBJECT || !BUF_GET(question, number) || number != call->object->number)
		return -EPERM;
	return worker_answer_object(call->worker, call->object, ret_answer, ret_fd);
}

static int ask(struct worker *worker, const struct object *object, enum walk_wire_tags what,
	       uint64_t vaddr, struct buf *reply)
{
	struct call call = {worker, object};
	const struct worker_call request = {.kind = WIRE_TAGS,
					    .fd = -1,
					    .object = object,
					    .answer = answer_question,
					    .arg = &call};
	const struct walk_wire_tag_question question = {vaddr, object->number, what};
	struct buf bytes = {0};
	int status;

	BUF_PUT(&bytes, question);
	status = worker_call(worker, &request, &bytes, reply);
	buf_free(&bytes);
	return status < 0 ? 0 : status;
}

static void info(struct tag_files *files, const struct object *object,
		 struct tag_file_info *ret_info)
{
	struct ask_tags *tags = (struct ask_tags *)files;
	struct buf reply = {0};
	struct buf_reader r;
	uint32_t has;

	if (!ask_files_tags(tags->files, object->file_id, &has, &ret_info->word)) {
		has = (uint32_t)ask(tags->worker, object, TAGS_INFO, 0, &reply);
		r = buf_reader(reply.data, reply.len);
		if (!BUF_GET(&r, ret_info->word))
			has = 0;
	}
	ret_info->has_note = has & TAGS_HAS_NOTE;
	ret_info->has_functions = has & TAGS_HAS_FUNCTIONS;
	buf_free(&reply);
}

static void fill(struct ask_tags *tags, const struct object *object, struct answer *answer)
{
	struct buf reply = {0};
	int status =
		ask(tags->worker, object, (enum walk_wire_tags)answer->what, answer->vaddr, &reply);
	struct buf_reader r = buf_reader(reply.data, reply.len);
	struct tagged_code code = {.is_root = status == 2};

	answer->is_it = status > 0;
	if (answer->what == TAGS_FIND && status) {
		BUF_GET(&r, code.id);
		BUF_GET(&r, code.start);
		BUF_GET(&r, code.end);
		BUF_GET(&r, code.entry);
		answer->is_it = !r.failed;
		answer->code = code;
	}
	buf_free(&reply);
}

static const struct answer *answer_to(struct tag_files *files, const struct object *object,
				      enum walk_wire_tags what, uint64_t vaddr)
{
	struct ask_tags *tags = (struct ask_tags *)files;
	uint64_t hash = hash_mix64(vaddr ^ (uint64_t)object->number << 40 ^ (uint64_t)what << 36);
	struct answer *answer = &tags->answers[hash % ANSWERS];

	if (answer->vaddr == vaddr && answer->object_plus_1 == object->number + 1 &&
	    answer->what == what)
		return answer;
	*answer = (struct answer){
		.vaddr = vaddr, .object_plus_1 = object->number + 1, .what = (uint8_t)what};
	fill(tags, object, answer);
	return answer;
}

static bool find(struct tag_files *files, const struct object *object, uint64_t vaddr,
		 struct tagged_code *ret_code)
{
	const struct answer *answer = answer_to(files, object, TAGS_FIND, vaddr);

	if (answer->is_it)
		*ret_code = answer->code;
	return answer->is_it;
}

static bool is_runtime(struct tag_files *files, const struct object *object, uint64_t vaddr)
{
	return answer_to(files, object, TAGS_IS_RUNTIME, vaddr)->is_it;
}

static bool is_window(struct tag_files *files, const struct object *object, uint64_t vaddr)
{
	return answer_to(files, object, TAGS_IS_WINDOW, vaddr)->is_it;
}

static void free_tags(struct tag_files *files)
{
	free(files);
}

int ask_tags_new(const struct ask_files *files, struct tag_files **ret_files)
{
	struct ask_tags *tags = calloc(1, sizeof(*tags));

	if (!tags)
		return -ENOMEM;
	tags->tag_files = (struct tag_files){free_tags, info, find, is_runtime, is_window};
	tags->files = files;
	tags->worker = ask_files_worker(files);
	*ret_files = &tags->tag_files;
	return 0;
}
