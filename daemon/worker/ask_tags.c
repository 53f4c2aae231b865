/* SPDX-License-Identifier: MIT */
/* One question a call; see ask_tags.h. */
#include "daemon/worker/ask_tags.h"

#include <errno.h>

#include "daemon/worker/walk_wire.h"
#include "daemon/worker/wire.h"

struct call {
	struct worker *worker;
	const struct object *object;
};

static int answer(void *arg, uint32_t kind, struct buf_reader *question, struct buf *ret_answer,
		  int *ret_fd, bool *ret_is_owned)
{
	const struct call *call = arg;
	uint32_t number;

	(void)ret_is_owned;
	if (kind != WIRE_ASK_OBJECT || !BUF_GET(question, number) || number != call->object->number)
		return -EPERM;
	return worker_answer_object(call->worker, call->object, ret_answer, ret_fd);
}

static int ask(struct worker *worker, const struct object *object, enum walk_wire_tags what,
	       uint64_t vaddr, struct buf *reply)
{
	struct call call = {worker, object};
	const struct worker_call request = {
		.kind = WIRE_TAGS, .fd = -1, .object = object, .answer = answer, .arg = &call};
	const struct walk_wire_tag_question question = {vaddr, object->number, what};
	struct buf bytes = {0};
	int status;

	BUF_PUT(&bytes, question);
	status = worker_call(worker, &request, &bytes, reply);
	buf_free(&bytes);
	return status < 0 ? 0 : status;
}

void ask_tags_info(struct worker *worker, const struct object *object, bool *ret_has_note,
		   uint64_t *ret_word, bool *ret_has_functions)
{
	struct buf reply = {0};
	int has = ask(worker, object, TAGS_INFO, 0, &reply);
	struct buf_reader r = buf_reader(reply.data, reply.len);

	BUF_GET(&r, *ret_word);
	*ret_has_note = has & TAGS_HAS_NOTE && !r.failed;
	*ret_has_functions = has & TAGS_HAS_FUNCTIONS;
	buf_free(&reply);
}

bool ask_tags_find(struct worker *worker, const struct object *object, uint64_t vaddr,
		   struct tagged_code *ret_code)
{
	struct buf reply = {0};
	int found = ask(worker, object, TAGS_FIND, vaddr, &reply);
	struct buf_reader r = buf_reader(reply.data, reply.len);
	struct tagged_code code = {.is_root = found == 2};

	BUF_GET(&r, code.id);
	BUF_GET(&r, code.start);
	BUF_GET(&r, code.end);
	BUF_GET(&r, code.entry);
	buf_free(&reply);
	if (found && !r.failed)
		*ret_code = code;
	return found && !r.failed;
}

static bool is(struct worker *worker, const struct object *object, enum walk_wire_tags what,
	       uint64_t vaddr)
{
	struct buf reply = {0};
	int answer = ask(worker, object, what, vaddr, &reply);

	buf_free(&reply);
	return answer == 1;
}

bool ask_tags_is_runtime(struct worker *worker, const struct object *object, uint64_t vaddr)
{
	return is(worker, object, TAGS_IS_RUNTIME, vaddr);
}

bool ask_tags_is_window(struct worker *worker, const struct object *object, uint64_t vaddr)
{
	return is(worker, object, TAGS_IS_WINDOW, vaddr);
}
