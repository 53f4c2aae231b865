/* SPDX-License-Identifier: MIT */
/*
 * The inside of a worker's process: it takes requests, one at a time, and asks stackd for what it
 * needs. It can ask again for all that it keeps, so it can be ended at any moment.
 */
#ifndef WORKER_SERVICE_H
#define WORKER_SERVICE_H

#include "base/buf.h"
#include "base/vec.h"
#include "daemon/worker/service_file.h"
#include "daemon/worker/wire.h"
#include "daemon/worker/worker_page.h"
#include "proc/object.h"

#define SERVICE_TAGS 64 /* files whose functions with tags are kept */

struct naming;
struct service_tags;
struct walk_service;

struct service {
	struct wire wire;
	service_file_fn *answer_file;
	struct worker_page *page;
	VEC(struct object *) objects; /* by number; NULL: not known. Owned, with their files */
	size_t n_open;
	struct buf question, answer; /* of service_ask() */
	VEC(uint32_t) asked;	     /* by number: the round in which it was asked for */
	VEC(uint32_t) looked; /* by number: the last request in which its file was looked at */
	uint32_t requests;
	uint32_t round;	       /* an object without a file is asked for once in each */
	uint64_t symbols_told; /* of naming_forgotten() */
	struct naming *names;  /* NULL: not asked for yet, as the next two */
	struct walk_service *walks;
	struct service_tags *tags; /* SERVICE_TAGS of them */
};

/* Serves requests until stackd's end of the socket is closed: what a fork_server_run_fn is to do.
 * `answer_file` answers questions about a file. */
void service_run(int socket, void *page, service_file_fn *answer_file);

/* Reads the vDSO, which all processes have in common. To be called before the sandbox. */
void service_prepare(void);

/* Asks stackd the question in s->question. Returns the status of the answer, which is in s->answer.
 * `ret_fd`: its descriptor, or -1; NULL: none is expected. */
int service_ask(struct service *s, enum wire_kind kind, struct buf_reader *ret_answer, int *ret_fd);

/* Returns the object of a number, with its file open if it can be read (else its `error` says why).
 * NULL: there is none, or no memory. It lives until the next request. */
const struct object *service_object(struct service *s, uint32_t number);

/* Asks for a debug file by its path, for struct debug_source; `service` is the argument. */
int service_open_debug(void *service, const char *path);

/* Begins a part of a request, in which objects live as in a request of its own: none is read yet,
 * and objects of the previous part may be freed. */
void service_begin_part(struct service *s);

/* Sends the result of a part. */
void service_part(struct service *s, int status, const struct buf *bytes);

/* Serve one kind of request each: read `request`, fill `reply`, and return the status. */
int table_service(struct service *s, struct buf_reader *request, struct buf *reply);
int name_service(struct service *s, enum wire_kind kind, struct buf_reader *request,
		 struct buf *reply);
int walk_service(struct service *s, enum wire_kind kind, struct buf_reader *request,
		 struct buf *reply);
int walk_service_many(struct service *s, struct buf_reader *request, struct buf *reply);

/* Writes whether a file keeps tags: bits, u32, and the word, u64. */
void tag_service_put(const struct elf_file *elf, struct buf *reply);

/* Finds functions that keep a tag. As the above. */
int tag_service(struct service *s, struct buf_reader *request, struct buf *reply);

#endif
