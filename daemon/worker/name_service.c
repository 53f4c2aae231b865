/* SPDX-License-Identifier: MIT */
/*
 * Names in a worker: lib/code/sym's naming, with files that stackd opens.
 *
 *   WIRE_NAME_LINES   u32 object, u32 n, u64 offsets
 *                     ─► for each: u32 bytes, lines (name_wire.h); then the name of a debug file
 *                     that they have lacked, or an empty one; status -ESTALE: the file is not the
 *                     object any more
 *   WIRE_NAME_ASK     u32 question, u32 object, u64 number
 *                     ─► status is the answer; to NAMING_TRIM, how many objects' symbols were
 *                     dropped since the last time
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "daemon/worker/fault_injection.h"
#include "daemon/worker/name_wire.h"
#include "daemon/worker/service.h"
#include "sym/naming.h"

#define NAMES_BYTES (12u << 20) /* most memory for symbols of files */

static int fetch_debug(void *arg)
{
	struct buf_reader answer;
	int fd, status = service_ask(arg, WIRE_ASK_DEBUGINFOD, &answer, &fd);

	return status ? status : fd < 0 ? -ENOENT : fd;
}

static int open_jit_map(void *arg, const struct object *object)
{
	struct service *s = arg;
	struct buf_reader answer;
	int fd, status;

	BUF_PUT(&s->question, object->number);
	status = service_ask(s, WIRE_ASK_JIT_MAP, &answer, &fd);
	return status ? status : fd < 0 ? -ENOENT : fd;
}

static int prepare(struct service *s)
{
	const struct naming_files files = {
		.debug = {.open = service_open_debug, .fetch = fetch_debug, .arg = s},
		.open_jit_map = open_jit_map,
	};
	int err = s->names ? 0 : naming_new_elsewhere(&files, &s->names);

	if (!err)
		naming_limit(s->names, NAMES_BYTES);
	return err;
}

static int put_line(void *arg, const struct store_line *line)
{
	name_wire_put(line, arg);
	return 0;
}

/* Appends the lines of a location to the reply, with their length before them. */
static int put_lines(struct service *s, const struct object *object, uint64_t offset,
		     struct buf *lines, struct buf *reply)
{
	const struct store_location location = {.object = object->number, .offset = offset};
	uint32_t len;
	int err;

	buf_clear(lines);
	err = naming_resolve(s->names, object, &location, put_line, lines);
	if (err || lines->failed)
		return err ? err : -ENOMEM;
	len = (uint32_t)lines->len;
	BUF_PUT(reply, len);
	buf_put(reply, lines->data, lines->len);
	return 0;
}

/* Appends the lines of all locations of the request. 0; -ESTALE: meanwhile the path came to lead to
 * another file, or the file was changed; or another -errno. */
static int put_all(struct service *s, uint32_t number, uint32_t count, struct buf_reader offsets,
		   struct buf *reply)
{
	const struct object *object = service_object(s, number);
	uint64_t offset, changed = naming_changed(s->names);
	struct buf lines = {0};
	int err = 0;

	if (!object)
		return -ENOMEM;
	if (object->elf)
		fault_at(object->elf, FAULT_NAMES);
	else if (object->error == -ESTALE)
		return -ESTALE;
	for (uint32_t i = 0; i < count && !err && BUF_GET(&offsets, offset); i++)
		err = put_lines(s, object, offset, &lines, reply);
	buf_clear(&lines);
	naming_missing(s->names, object, &lines);
	buf_put_u8(&lines, 0);
	buf_put_string(reply, lines.failed ? "" : (const char *)lines.data);
	buf_free(&lines);
	return err || changed == naming_changed(s->names) ? err : -ESTALE;
}

/* Serves WIRE_NAME_LINES. On -ESTALE it tries once more, since renaming or removing a file also
 * changes the time by which a changed file is recognised. */
static int resolve(struct service *s, struct buf_reader *request, struct buf *reply)
{
	uint32_t number, count;
	int err;

	BUF_GET(request, number);
	BUF_GET(request, count);
	err = put_all(s, number, count, *request, reply);
	if (err == -ESTALE) {
		buf_clear(reply);
		err = put_all(s, number, count, *request, reply);
	}
	return err;
}

/* Returns how many objects had their symbols dropped since the last call. */
static int newly_forgotten(struct service *s)
{
	uint64_t all = naming_forgotten(s->names), n = all - s->symbols_told;

	s->symbols_told = all;
	return n < INT_MAX ? (int)n : INT_MAX;
}

static int ask(struct service *s, struct buf_reader *request)
{
	const struct object *object = NULL;
	uint32_t question, number;

	BUF_GET(request, question);
	BUF_GET(request, number);
	if (question == NAMING_IS_EXPENSIVE || question == NAMING_WANTS_ORDER) {
		object = service_object(s, number);
		if (!object)
			return -ENOMEM;
	}
	switch ((enum naming_question)question) {
	case NAMING_IS_EXPENSIVE:
		return naming_is_expensive(s->names, object);
	case NAMING_WANTS_ORDER:
		return naming_wants_order(s->names, object);
	case NAMING_TRIM:
		naming_trim(s->names);
		return newly_forgotten(s);
	default:
		return -EINVAL;
	}
}

int name_service(struct service *s, enum wire_kind kind, struct buf_reader *request,
		 struct buf *reply)
{
	int err = prepare(s);

	if (err)
		return err;
	return kind == WIRE_NAME_LINES ? resolve(s, request, reply) : ask(s, request);
}
