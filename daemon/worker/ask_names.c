/* SPDX-License-Identifier: MIT */
/*
 * Asks the worker for names, and opens the files that the worker asks for; see ask_names.h.
 *
 * If a file was refused (worker.h), its locations have no names and are shown by offset, which is
 * no error.
 */
#include "daemon/worker/ask_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "daemon/worker/debug_path.h"
#include "daemon/worker/name_wire.h"
#include "daemon/worker/wire.h"
#include "proc/perf_map.h"

#define MISSING_BYTES 4400 /* longest text about a missing debug file, with its path */

struct ask_names {
	struct worker *worker;
	struct fetcher *fetcher; /* NULL: the user has named no debuginfod servers */
	bool hurries;		 /* accessed atomically: no server is asked any more */
	bool stops;		 /* accessed atomically: calls of the worker are ended */

	/* The reply of the last prefetch: for each location in `numbers`, the length in bytes of
	 * its lines, and the lines. */
	struct buf lines;
	struct buf_reader next;
	uint32_t numbers[NAMING_PREFETCH];
	size_t at, count;
	const struct object *unproven_of; /* the object whose path was found to lead to another file
					   * at the last prefetch; NULL: none */
	bool is_again;			  /* the locations were asked for before (NAMING_AGAIN) */
	const struct object *missing_of;  /* the object whose last lines lacked a debug file, named
					   * in `missing`; NULL: none */
	char missing[MISSING_BYTES];
	uint8_t *unfetched; /* by the object's number: the last fetch of its debug file did not tell
			     * whether a server has it */
	size_t n_unfetched; /* items; beyond, it is 0 */
};

struct question {
	struct ask_names *names;
	const struct object *object; /* the object of the request; the worker may ask about no other
				      * object */
};

/* --- what the worker asks -------------------------------------------------------------------- */

static bool must_hurry(void *arg)
{
	const struct ask_names *names = arg;

	return __atomic_load_n(&names->hurries, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&names->stops, __ATOMIC_RELAXED);
}

static int fetch(const struct question *q)
{
	struct ask_names *names = q->names;
	const size_t number = q->object->number;
	bool is_unfetched;
	int fd;

	if (!names->fetcher || !q->object->build_id_len)
		return -ENOENT;
	fd = must_hurry(names) ? -ECANCELED
			       : fetcher_fetch(names->fetcher, q->object->build_id,
					       q->object->build_id_len, must_hurry, names);
	is_unfetched = fd < 0 && fd != -ENOENT;
	if ((is_unfetched || number < names->n_unfetched) &&
	    VEC_GROW_ZEROED(names->unfetched, names->n_unfetched, number + 1) >= 0)
		names->unfetched[number] = is_unfetched;
	return fd;
}

static int open_debug(const struct question *q, struct buf_reader *text)
{
	char path[4200];

	if (!buf_get_string(text, path, sizeof(path)))
		return -EINVAL;
	return debug_path_open(path, q->object->path, debug_path_owner(q->object->elf));
}

static int answer(void *arg, uint32_t kind, struct buf_reader *text, struct buf *ret_answer,
		  int *ret_fd, bool *ret_is_owned)
{
	const struct question *q = arg;
	uint32_t number = 0;
	int fd;

	if (!q->object)
		return -EPERM;
	*ret_is_owned = true;
	if (kind == WIRE_ASK_OBJECT)
		return BUF_GET(text, number) && number == q->object->number
			       ? worker_answer_object(q->names->worker, q->object, ret_answer,
						      ret_fd)
			       : -EPERM;
	if (kind == WIRE_ASK_DEBUG)
		fd = open_debug(q, text);
	else if (kind == WIRE_ASK_DEBUGINFOD)
		fd = fetch(q);
	else if (kind == WIRE_ASK_JIT_MAP && q->object->kind == OBJECT_JIT)
		fd = perf_map_open("/proc", &q->object->owner);
	else
		fd = -EPERM;
	*ret_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* --- what the worker is asked ---------------------------------------------------------------- */

static bool is_stopped(void *arg, uint64_t cpu_ns)
{
	const struct question *q = arg;

	(void)cpu_ns;
	return __atomic_load_n(&q->names->stops, __ATOMIC_RELAXED);
}

static struct worker_call call_of(struct question *q, uint32_t kind)
{
	return (struct worker_call){.kind = kind,
				    .fd = -1,
				    .object = q->object,
				    .answer = answer,
				    .arg = q,
				    .is_cancelled = is_stopped};
}

static int ask(void *arg, enum naming_question question, const struct object *object,
	       uint64_t number)
{
	struct question q = {arg, object};
	const struct worker_call call = call_of(&q, WIRE_NAME_ASK);
	const uint32_t words[] = {question, object ? object->number : 0};
	struct buf request = {0}, reply = {0};
	int result;

	if (question == NAMING_AGAIN)
		q.names->is_again = number;
	if (question == NAMING_AGAIN || question == NAMING_LIMIT) /* the worker's own naming decides
								   * these */
		return 0;
	BUF_PUT(&request, words);
	result = worker_call(q.names->worker, &call, &request, &reply);
	buf_free(&request);
	buf_free(&reply);
	if (question == NAMING_TRIM && result > 0)
		worker_count_forgotten(q.names->worker, WORKER_FORGOTTEN_SYMBOLS, (uint64_t)result);
	return result;
}

/* Asks the worker for the lines of some locations of an object. If the worker fails, its file is
 * refused, and the locations have no lines. */
static int prefetch(void *arg, const struct object *object, const struct store_location *locations,
		    size_t count)
{
	struct ask_names *names = arg;
	struct question q = {names, object};
	const struct worker_call call = call_of(&q, WIRE_NAME_LINES);
	const uint32_t n = (uint32_t)count;
	struct buf request = {0};
	int err;

	BUF_PUT(&request, object->number);
	BUF_PUT(&request, n);
	for (size_t i = 0; i < count && i < NAMING_PREFETCH; i++) {
		names->numbers[i] = locations[i].number;
		BUF_PUT(&request, locations[i].offset);
	}
	err = worker_call(names->worker, &call, &request, &names->lines);
	names->unproven_of = err == -ESTALE ? object : NULL;
	if (names->unproven_of && !names->is_again)
		worker_count_unproven(names->worker, count);
	if (err)
		buf_clear(&names->lines);
	names->next = buf_reader(names->lines.data, names->lines.len);
	names->at = 0;
	names->count = count;
	buf_free(&request);
	return err == -ENOMEM ? err : 0;
}

/* Passes the lines of the next location that was prefetched. 0, -EBADMSG, or the result of `each`.
 */
static int pass_next(struct ask_names *names, int (*each)(void *arg, const struct store_line *line),
		     void *each_arg)
{
	struct buf_reader lines;
	uint32_t len;

	if (!buf_left(&names->next)) /* the file was refused */
		return 0;
	if (!BUF_GET(&names->next, len) || len > buf_left(&names->next))
		return -EBADMSG;
	lines = buf_reader(names->next.at, len);
	names->next.at += len;
	return name_wire_get(&lines, names->numbers[names->at], each, each_arg);
}

/* Reads the name of the missing debug file, which follows the last lines. 0 or -EBADMSG. */
static int take_missing(struct ask_names *names, const struct object *object)
{
	if (!buf_left(&names->next)) /* the file was refused */
		return 0;
	if (!buf_get_string(&names->next, names->missing, sizeof(names->missing)))
		return -EBADMSG;
	names->missing_of = *names->missing ? object : NULL;
	return 0;
}

static bool missing(void *arg, const struct object *object, struct buf *text)
{
	const struct ask_names *names = arg;

	if (names->missing_of != object)
		return false;
	buf_put(text, names->missing, strlen(names->missing));
	return true;
}

static bool is_unproven(void *arg, const struct object *object)
{
	const struct ask_names *names = arg;

	return names->unproven_of == object;
}

static bool is_unfetched(void *arg, const struct object *object)
{
	const struct ask_names *names = arg;

	return object->number < names->n_unfetched && names->unfetched[object->number];
}

static int resolve(void *arg, const struct object *object, const struct store_location *location,
		   int (*each)(void *arg, const struct store_line *line), void *each_arg)
{
	struct ask_names *names = arg;
	struct question q = {names, object};
	const struct worker_call call = call_of(&q, WIRE_NAME_LINES);
	int err = 0;

	if (names->at >= names->count || names->numbers[names->at] != location->number)
		err = prefetch(names, object, location, 1);
	if (!err)
		err = pass_next(names, each, each_arg);
	names->at++;
	if (!err && names->at == names->count)
		err = take_missing(names, object);
	if (err == -EBADMSG) {
		worker_refuse_reply(names->worker, &call);
		names->count = 0;
		err = 0;
	}
	return err;
}

void ask_names_hurry(struct ask_names *names)
{
	__atomic_store_n(&names->hurries, true, __ATOMIC_RELAXED);
}

void ask_names_stop(struct ask_names *names, bool stops)
{
	__atomic_store_n(&names->stops, stops, __ATOMIC_RELAXED);
}

int ask_names_new(struct worker *worker, struct fetcher *fetcher, struct ask_names **ret_names)
{
	struct ask_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->worker = worker;
	names->fetcher = fetcher;
	*ret_names = names;
	return 0;
}

void ask_names_free(struct ask_names *names)
{
	if (!names)
		return;
	buf_free(&names->lines);
	free(names->unfetched);
	free(names);
}

int ask_names_naming(struct ask_names *names, struct naming **ret_naming)
{
	const struct naming_finder finder = {.ask = ask,
					     .resolve = resolve,
					     .prefetch = prefetch,
					     .missing = missing,
					     .is_unproven = is_unproven,
					     .is_unfetched = is_unfetched,
					     .arg = names};

	return naming_new_by(&finder, ret_naming);
}
