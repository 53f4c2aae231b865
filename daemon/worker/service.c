/* SPDX-License-Identifier: MIT */
/* Takes requests and keeps the objects that they are about; see service.h. */
#include "daemon/worker/service.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/worker/fault_injection.h"
#include "proc/object_open.h"

/* Most open files between requests. A worker may have many more descriptors (sandbox.c). */
#define MAX_OPEN 300

#define MAX_OBJECTS (1u << 24)

/* Opened by service_prepare() before the workers are forked, so that they inherit it. */
static struct elf_file *vdso;

void service_prepare(void)
{
	if (object_open_vdso(&vdso))
		vdso = NULL;
	fault_prepare();
}

/* --- questions ------------------------------------------------------------------------------- */

int service_ask(struct service *s, enum wire_kind kind, struct buf_reader *ret_answer, int *ret_fd)
{
	struct wire_header header = {.kind = kind, .len = (uint32_t)s->question.len};
	int err = s->question.failed ? -ENOMEM : wire_send(&s->wire, &header, s->question.data, -1);

	if (ret_fd)
		*ret_fd = -1;
	if (!err)
		err = wire_receive(&s->wire, WIRE_MAX_BYTES, &header, &s->answer, ret_fd);
	if (err)
		_exit(err == -EPIPE ? 0 : 1);
	*ret_answer = buf_reader(s->answer.data, s->answer.len);
	buf_clear(&s->question);
	return header.status;
}

int service_open_debug(void *service, const char *path)
{
	struct service *s = service;
	struct buf_reader answer;
	int fd, status;

	buf_put_string(&s->question, path);
	status = service_ask(s, WIRE_ASK_DEBUG, &answer, &fd);
	return status ? status : fd < 0 ? -ENOENT : fd;
}

/* --- objects --------------------------------------------------------------------------------- */

static void free_object(struct object *object)
{
	if (!object)
		return;
	elf_file_free(object->elf);
	free(object->path);
	free(object);
}

static void forget_objects(struct service *s)
{
	for (size_t i = 0; i < s->objects.count; i++) {
		free_object(s->objects.items[i]);
		s->objects.items[i] = NULL;
	}
	s->n_open = 0;
}

/* Opens an object's file. `identity`: the file's identity (elf_file_identity()) when stackd opened
 * it. If it is another now, or the file is no ELF file (it was truncated, and is not written yet),
 * the object gets no file, and the error -ESTALE: the file may have the object's code again. */
static void open_file(struct object *object, int fd, uint64_t identity)
{
	int err = -EBADF;

	if (object->kind == OBJECT_VDSO && vdso)
		err = elf_file_clone(vdso, &object->elf);
	else if (fd >= 0)
		err = elf_file_open_any(fd, &object->elf);
	if (!err && elf_file_identity(object->elf) != identity) {
		elf_file_free(object->elf);
		object->elf = NULL;
		err = -ESTALE;
	}
	if (err)
		object->error = err == -ENOEXEC ? -ESTALE : err;
	if (fd >= 0)
		close(fd);
}

/* Asks stackd for an object. NULL: there is none with that number. */
static struct object *ask_for(struct service *s, uint32_t number)
{
	struct object *object = calloc(1, sizeof(*object));
	struct buf_reader answer;
	char path[4200];
	uint64_t identity;
	uint32_t kind;
	int32_t error;
	int fd;

	if (!object)
		return NULL;
	BUF_PUT(&s->question, number);
	if (service_ask(s, WIRE_ASK_OBJECT, &answer, &fd)) {
		free(object);
		return NULL;
	}
	BUF_GET(&answer, kind);
	BUF_GET(&answer, error);
	BUF_GET(&answer, identity);
	BUF_GET(&answer, object->file_id);
	BUF_GET(&answer, object->owner.pid);
	buf_get_string(&answer, path, sizeof(path));
	object->number = number;
	object->kind = (enum object_kind)kind;
	object->error = error;
	object->path = strdup(path);
	if (!error && (object->kind == OBJECT_ELF || object->kind == OBJECT_VDSO))
		open_file(object, fd, identity);
	if (object->elf)
		fault_at(object->elf, FAULT_OBJECT);
	return object;
}

/* Returns whether stackd must be asked for an object, perhaps again. An object without a file may
 * have one by now, found in another process, so stackd is asked once in each round (service.round).
 * If an object's file was written to or renamed, stackd is asked when a request first uses the
 * object. */
static bool is_worth_asking(struct service *s, uint32_t number)
{
	const struct object *object = s->objects.items[number];
	bool is_first = s->looked.items[number] != s->requests;

	s->looked.items[number] = s->requests;
	if (object && object->elf)
		return is_first && elf_file_is_touched(object->elf);
	return !object ||
	       (object->kind == OBJECT_ELF && !object->elf && s->asked.items[number] != s->round);
}

/* Writes to the shared page which object is being read, so that stackd refuses its file if the
 * worker crashes. */
static void note_number(struct service *s, uint32_t number)
{
	__atomic_store_n(&s->page->object_plus_1, number + 1, __ATOMIC_RELAXED);
}

const struct object *service_object(struct service *s, uint32_t number)
{
	if (number >= MAX_OBJECTS ||
	    VEC_GROW_ZEROED(s->objects.items, s->objects.cap, (size_t)number + 1) ||
	    VEC_GROW_ZEROED(s->asked.items, s->asked.cap, (size_t)number + 1) ||
	    VEC_GROW_ZEROED(s->looked.items, s->looked.cap, (size_t)number + 1))
		return NULL;
	s->objects.count = s->objects.cap;
	note_number(s, number);
	if (is_worth_asking(s, number)) {
		s->n_open -= s->objects.items[number] && s->objects.items[number]->elf;
		free_object(s->objects.items[number]);
		s->objects.items[number] = ask_for(s, number);
		s->asked.items[number] = s->round;
		s->n_open += s->objects.items[number] && s->objects.items[number]->elf;
	}
	return s->objects.items[number];
}

/* --- requests -------------------------------------------------------------------------------- */

static int identify(int fd, struct buf_reader *request, struct buf *reply)
{
	uint8_t wants_tags;
	struct elf_file *elf;
	int err = elf_file_open_any(fd, &elf);

	if (err)
		return err;
	fault_at(elf, FAULT_IDENTITY);
	elf_file_put_identity(elf, reply);
	if (BUF_GET(request, wants_tags) && wants_tags)
		tag_service_put(elf, reply);
	elf_file_free(elf);
	return 0;
}

static int answer_about(struct service *s, int fd, struct buf_reader *request, struct buf *reply)
{
	const struct debug_source debug = {
		.root = "/usr/lib/debug", .open = service_open_debug, .arg = s};
	struct service_file file = {.debug = &debug};
	char path[4200];
	int err;

	if (!buf_get_string(request, path, sizeof(path)))
		return -EINVAL;
	err = elf_file_open_any(fd, &file.elf);
	if (err)
		return err;
	file.path = path;
	fault_at(file.elf, FAULT_FILE);
	err = s->answer_file(&file, request, reply);
	elf_file_free(file.elf);
	return err;
}

static int dispatch(struct service *s, enum wire_kind kind, struct buf_reader *request, int fd,
		    struct buf *reply)
{
	switch (kind) {
	case WIRE_IDENTIFY:
		return identify(fd, request, reply);
	case WIRE_TABLE:
		return table_service(s, request, reply);
	case WIRE_NAME_LINES:
	case WIRE_NAME_ASK:
		return name_service(s, kind, request, reply);
	case WIRE_WALK:
	case WIRE_STEP:
		return walk_service(s, kind, request, reply);
	case WIRE_WALKS:
		return walk_service_many(s, request, reply);
	case WIRE_FILE:
		return answer_about(s, fd, request, reply);
	case WIRE_TAGS:
		return tag_service(s, request, reply);
	default:
		return -ENOSYS;
	}
}

static void send_result(struct service *s, enum wire_kind kind, int status, const struct buf *reply)
{
	struct wire_header header = {.kind = kind, .status = status};

	if (reply->failed || reply->len > WIRE_MAX_BYTES)
		header.status = reply->failed ? -ENOMEM : -E2BIG;
	if (header.status >= 0)
		header.len = (uint32_t)reply->len;
	if (wire_send(&s->wire, &header, reply->data, -1))
		_exit(0);
}

void service_begin_part(struct service *s)
{
	if (s->n_open > MAX_OPEN)
		forget_objects(s);
	__atomic_store_n(&s->page->object_plus_1, 0, __ATOMIC_RELAXED);
}

void service_part(struct service *s, int status, const struct buf *bytes)
{
	send_result(s, WIRE_PART, status, bytes);
}

void service_run(int socket, void *page, service_file_fn *answer_file)
{
	struct service s = {.wire = {.socket = socket}, .answer_file = answer_file, .page = page};
	struct buf request = {0}, reply = {0};
	struct wire_header header;
	int fd;

	while (!wire_receive(&s.wire, WIRE_MAX_BYTES, &header, &request, &fd)) {
		struct buf_reader reader = buf_reader(request.data, request.len);
		int status;

		if (s.n_open > MAX_OPEN)
			forget_objects(&s);
		buf_clear(&reply);
		s.requests++;
		/* Requests of walks say themselves when another round has begun
		 * (walk_wire_head.late_files). */
		s.round += header.kind != WIRE_WALK && header.kind != WIRE_WALKS &&
			   header.kind != WIRE_STEP;
		status = dispatch(&s, (enum wire_kind)header.kind, &reader, fd, &reply);
		if (fd >= 0)
			close(fd);
		send_result(&s, WIRE_REPLY, status, &reply);
		if (reply.cap > (1u << 20))
			buf_free(&reply);
	}
}
