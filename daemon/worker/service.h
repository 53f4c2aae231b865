/* SPDX-License-Identifier: MIT */
/*
 * The inside of a worker's process. It serves one request of stackd at a time, and meanwhile asks
 * stackd for the files and facts that it needs. Everything that it keeps it can ask for again, so
 * stackd can end it at any moment.
 */
#ifndef WORKER_SERVICE_H
#define WORKER_SERVICE_H

#include "base/buf.h"
#include "base/vec.h"
#include "daemon/worker/service_file.h"
#include "daemon/worker/wire.h"
#include "daemon/worker/worker_page.h"
#include "proc/object.h"

#define SERVICE_TAGS 64 /* files whose tagged functions are kept */

struct naming;
struct service_tags;
struct walk_service;

struct service {
	struct wire wire;
	service_file_fn *answer_file;
	struct worker_page *page;
	VEC(struct object *)
	objects; /* by number; NULL: not asked for yet. Owned, with their
		  * files */
	size_t n_open;
	struct buf question, answer; /* buffers of service_ask() */
	VEC(uint32_t)
	asked;		      /* by object number: the round in which stackd was last asked
			       * for the object */
	VEC(uint32_t) looked; /* by object number: the last request that has used the object */
	uint32_t requests;
	uint32_t round;	       /* stackd is asked once in each round for an object without a file */
	uint64_t symbols_told; /* the value of naming_forgotten() when stackd was last told of it */
	struct naming *names;  /* this and the next two are NULL until they are first needed */
	struct walk_service *walks;
	struct service_tags *tags; /* array of SERVICE_TAGS */
};

/* Serves requests until stackd's end of the socket is closed: the work of a fork_server_run_fn.
 * `answer_file` answers questions about a file. */
void service_run(int socket, void *page, service_file_fn *answer_file);

/* Reads the vDSO, which all processes have in common. To be called before the sandbox. */
void service_prepare(void);

/* Sends the question in s->question to stackd, and waits for the answer. Returns its status;
 * *ret_answer reads its bytes in s->answer. *ret_fd: the descriptor that came with the answer, or
 * -1; NULL: no descriptor is expected. */
int service_ask(struct service *s, enum wire_kind kind, struct buf_reader *ret_answer, int *ret_fd);

/* Returns the object with a number; its file is open, or its `error` says why not. NULL: stackd has
 * no such object, or there is no memory. The object lives until the next request. */
const struct object *service_object(struct service *s, uint32_t number);

/* Asks for a debug file by its path, for struct debug_source; `service` is the argument. */
int service_open_debug(void *service, const char *path);

/* Begins a part of a request: objects of the previous part may be freed now, and no object counts
 * as being read yet. */
void service_begin_part(struct service *s);

/* Sends the result of a part of the request, its status and bytes, to stackd. */
void service_part(struct service *s, int status, const struct buf *bytes);

/* Serve one kind of request each: read `request`, fill `reply`, and return the status. */
int table_service(struct service *s, struct buf_reader *request, struct buf *reply);
int name_service(struct service *s, enum wire_kind kind, struct buf_reader *request,
		 struct buf *reply);
int walk_service(struct service *s, enum wire_kind kind, struct buf_reader *request,
		 struct buf *reply);
int walk_service_many(struct service *s, struct buf_reader *request, struct buf *reply);

/* Appends a u32 with the bits TAGS_HAS_... (walk_wire.h), which tell how a file keeps tags, and a
 * u64, the vaddr of libstacktag's word. */
void tag_service_put(const struct elf_file *elf, struct buf *reply);

/* Answers questions about functions that keep a tag; as the functions above. */
int tag_service(struct service *s, struct buf_reader *request, struct buf *reply);

#endif
