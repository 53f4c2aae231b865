/* SPDX-License-Identifier: MIT */
/* Answers questions about functions that keep a tag, in a worker, for one file at a time. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "callgraph/tagged_functions.h"
#include "daemon/worker/service.h"
#include "daemon/worker/walk_wire.h"

/* The tagged functions of a file. `elf` is a copy of the object's handle, which `functions`
 * uses. */
struct service_tags {
	uint32_t object_plus_1;
	struct elf_file *elf;
	struct tagged_functions *functions; /* NULL: the file has none */
};

static void forget(struct service_tags *tags)
{
	tagged_functions_free(tags->functions);
	elf_file_free(tags->elf);
	*tags = (struct service_tags){0};
}

/* Returns the functions of an object, from the slot for its number. NULL: there is no file, or no
 * memory. */
static struct service_tags *tags_of(struct service *s, const struct object *object)
{
	struct service_tags *tags;

	if (!s->tags)
		s->tags = calloc(SERVICE_TAGS, sizeof(*s->tags));
	if (!s->tags || !object->elf)
		return NULL;
	tags = &s->tags[object->number % SERVICE_TAGS];
	if (tags->object_plus_1 == object->number + 1)
		return tags;
	forget(tags);
	if (elf_file_clone(object->elf, &tags->elf))
		return NULL;
	if (tagged_functions_new(tags->elf, &tags->functions))
		tags->functions = NULL;
	tags->object_plus_1 = object->number + 1;
	return tags;
}

void tag_service_put(const struct elf_file *elf, struct buf *reply)
{
	struct tagged_functions *functions = NULL;
	uint64_t word = 0;
	uint32_t has = tagged_functions_note(elf, &word) ? TAGS_HAS_NOTE : 0;

	if (!tagged_functions_new(elf, &functions))
		has |= TAGS_HAS_FUNCTIONS;
	tagged_functions_free(functions);
	BUF_PUT(reply, has);
	BUF_PUT(reply, word);
}

static int info(const struct service_tags *tags, struct buf *reply)
{
	uint64_t word = 0;
	bool has_note = tagged_functions_note(tags->elf, &word);

	BUF_PUT(reply, word);
	return (has_note ? TAGS_HAS_NOTE : 0) | (tags->functions ? TAGS_HAS_FUNCTIONS : 0);
}

static int find(const struct service_tags *tags, uint64_t vaddr, struct buf *reply)
{
	struct tagged_code code;

	if (!tagged_functions_find(tags->functions, vaddr, &code))
		return 0;
	BUF_PUT(reply, code.id);
	BUF_PUT(reply, code.start);
	BUF_PUT(reply, code.end);
	BUF_PUT(reply, code.entry);
	return code.is_root ? 2 : 1;
}

int tag_service(struct service *s, struct buf_reader *request, struct buf *reply)
{
	struct walk_wire_tag_question question;
	const struct object *object;
	struct service_tags *tags;

	BUF_GET(request, question);
	object = service_object(s, question.object);
	if (!object)
		return -ENOMEM;
	tags = tags_of(s, object);
	if (!tags)
		return 0;
	if (question.what == TAGS_INFO)
		return info(tags, reply);
	if (!tags->functions)
		return 0;
	if (question.what == TAGS_FIND)
		return find(tags, question.vaddr, reply);
	if (question.what == TAGS_IS_RUNTIME)
		return tagged_functions_is_runtime(tags->functions, question.vaddr);
	return tagged_functions_is_window(tags->functions, question.vaddr);
}
