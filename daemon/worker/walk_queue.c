/* SPDX-License-Identifier: MIT */
/*
 * Keeps the walks in slots. `row` lists the slots of walks that are not made yet, the oldest first;
 * its first `n_sent` entries are the batch that the worker is making, in the order of its results.
 * See walk_queue.h.
 *
 * When the worker fails, the file that it was reading is refused. The walk in which it failed is
 * tried again a few times, now without that file, and the other walks of the batch are sent again.
 */
#include "daemon/worker/walk_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "daemon/worker/wire.h"

#define MOST_SENT  32		/* most walks in a batch */
#define SENT_BYTES (256u << 10) /* no walk is added to a batch that has this many bytes already */

enum state {
	FREE,
	ASKED,
	MADE,
	DROPPED
}; /* DROPPED: the caller does not want the result any
    * more */

struct slot {
	enum state state;
	bool is_sent, has_failed; /* is_sent: it is in the worker's batch; has_failed: no worker can
				   * make it */
	unsigned tries;
	const void *key;
	struct walk_input in;
	struct walk_wire_head head; /* head of the request that was sent; before that, only
				     * mappings[0] is set */
	enum stackd_end_reason reason;
	VEC(struct walk_frame) frames;
};

struct walk_queue {
	struct ask_walks *walks;
	struct worker *worker;
	struct slot slots[WALK_QUEUE_MOST];
	uint8_t row[WALK_QUEUE_MOST]; /* slots */
	size_t n_row, n_sent;
	struct buf request;
	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
};

_Static_assert(WALK_QUEUE_MOST <= UINT8_MAX + 1, "a slot's number is a byte");

int walk_queue_new(struct ask_walks *walks, struct worker *worker, struct walk_queue **ret_queue)
{
	struct walk_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->walks = walks;
	q->worker = worker;
	*ret_queue = q;
	return 0;
}

void walk_queue_free(struct walk_queue *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < WALK_QUEUE_MOST; i++)
		free(q->slots[i].frames.items);
	buf_free(&q->request);
	free(q);
}

/* --- slots ----------------------------------------------------------------------------------- */

static struct slot *find(struct walk_queue *q, const void *key)
{
	for (struct slot *s = q->slots; s < q->slots + WALK_QUEUE_MOST; s++)
		if (s->key == key && (s->state == ASKED || s->state == MADE))
			return s;
	return NULL;
}

static struct slot *find_free(struct walk_queue *q)
{
	for (struct slot *s = q->slots; s < q->slots + WALK_QUEUE_MOST; s++)
		if (s->state == FREE)
			return s;
	return NULL;
}

static void take_out_of_row(struct walk_queue *q, size_t at)
{
	memmove(&q->row[at], &q->row[at + 1], q->n_row - at - 1);
	q->n_row--;
}

/* Frees a slot. If the worker is making the walk, the slot becomes free when the result comes. */
static void drop(struct walk_queue *q, struct slot *slot)
{
	if (slot->state == ASKED && slot->is_sent) {
		slot->state = DROPPED;
		return;
	}
	for (size_t i = q->n_sent; i < q->n_row; i++) {
		if (&q->slots[q->row[i]] == slot) {
			take_out_of_row(q, i);
			break;
		}
	}
	slot->state = FREE;
}

/* Frees a slot for the walk that is needed next. All other walks are needed later, so this drops
 * the one in the last slot that is made or waits; it does not drop walks that the worker is making.
 * NULL: there is no such slot. */
static struct slot *make_room(struct walk_queue *q)
{
	for (size_t i = WALK_QUEUE_MOST; i-- > 0;) {
		struct slot *slot = &q->slots[i];

		if (slot->state == MADE || (slot->state == ASKED && !slot->is_sent)) {
			drop(q, slot);
			return slot;
		}
	}
	return NULL;
}

int walk_queue_ask(struct walk_queue *q, const void *key, const struct walk_input *in,
		   bool is_urgent)
{
	struct slot *slot;

	if (find(q, key))
		return -EEXIST;
	slot = find_free(q);
	if (!slot && is_urgent)
		slot = make_room(q);
	if (!slot)
		return -EAGAIN;
	slot->state = ASKED;
	slot->is_sent = slot->has_failed = false;
	slot->tries = 0;
	slot->key = key;
	slot->in = *in;
	slot->head.mappings[0] = ask_walks_version(q->walks, in->pid);
	slot->frames.count = 0;
	q->row[q->n_row++] = (uint8_t)(slot - q->slots);
	return 0;
}

bool walk_queue_has(struct walk_queue *q, const void *key)
{
	return find(q, key) != NULL;
}

/* Returns whether the mappings of a walk's process have changed since the walk was sent. A walk
 * that waits will be sent with the mappings of that later moment, so it is never outdated. */
static bool is_outdated(const struct walk_queue *q, const struct slot *slot)
{
	return (slot->is_sent || slot->state == MADE) &&
	       slot->head.mappings[0] != ask_walks_version(q->walks, slot->in.pid);
}

enum walk_queue_state walk_queue_state(struct walk_queue *q, const void *key)
{
	struct slot *slot = find(q, key);

	if (slot && is_outdated(q, slot)) {
		drop(q, slot);
		return WALK_QUEUE_NONE;
	}
	return !slot ? WALK_QUEUE_NONE : slot->state == MADE ? WALK_QUEUE_MADE : WALK_QUEUE_ASKED;
}

bool walk_queue_take(struct walk_queue *q, const void *key, struct walk_frame *frames,
		     size_t max_frames, size_t *ret_count, enum stackd_end_reason *ret_reason)
{
	struct slot *slot = find(q, key);

	if (!slot || slot->state != MADE || is_outdated(q, slot) || slot->frames.count > max_frames)
		return false;
	if (slot->has_failed) {
		*ret_reason = ask_walks_leaf(q->walks, &slot->in, frames, ret_count);
	} else {
		*ret_reason = slot->reason;
		*ret_count = slot->frames.count;
		memcpy(frames, slot->frames.items, slot->frames.count * sizeof(*frames));
	}
	drop(q, slot);
	return true;
}

void walk_queue_drop(struct walk_queue *q, const void *key)
{
	struct slot *slot = find(q, key);

	if (slot)
		drop(q, slot);
}

/* --- batches --------------------------------------------------------------------------------- */

/* Takes the first walk out of the row, since its result has come. Returns its slot. */
static struct slot *finish_first(struct walk_queue *q)
{
	struct slot *slot = &q->slots[q->row[0]];

	take_out_of_row(q, 0);
	q->n_sent--;
	slot->is_sent = false;
	slot->state = slot->state == DROPPED ? FREE : MADE;
	return slot;
}

static int answer(void *arg, uint32_t kind, struct buf_reader *question, struct buf *ret_answer,
		  int *ret_fd, bool *ret_is_owned)
{
	struct walk_queue *q = arg;

	*ret_is_owned = true;
	if (!q->n_sent)
		return -EPERM;
	return ask_walks_answer(q->walks, &q->slots[q->row[0]].head, kind, question, ret_answer,
				ret_fd);
}

static int take_part(void *arg, int status, struct buf_reader *bytes)
{
	struct walk_queue *q = arg;
	enum stackd_end_reason reason;
	struct slot *slot;
	size_t count = 0;

	if (!q->n_sent || (!status && ask_walks_get(q->walks, bytes, q->frames,
						    DWARF_WALK_MAX_FRAMES, &count, &reason)))
		return -EBADMSG;
	slot = finish_first(q);
	slot->has_failed = status != 0;
	if (slot->state != MADE || status)
		return 0;
	slot->has_failed = VEC_RESERVE(&slot->frames, count) != 0;
	if (slot->has_failed)
		return 0;
	memcpy(slot->frames.items, q->frames, count * sizeof(*q->frames));
	slot->frames.count = count;
	slot->reason = reason;
	return 0;
}

static struct worker_call call_of(struct walk_queue *q)
{
	return (struct worker_call){.kind = WIRE_WALKS,
				    .fd = -1,
				    .objects = ask_walks_objects(q->walks),
				    .answer = answer,
				    .part = take_part,
				    .arg = q};
}

/* Puts the walks of the batch, which will not be made, back into the state of waiting; frees the
 * slots of those that were dropped. */
static void take_back(struct walk_queue *q)
{
	size_t kept = 0;

	for (size_t i = 0; i < q->n_row; i++) {
		struct slot *slot = &q->slots[q->row[i]];

		slot->is_sent = false;
		if (slot->state == DROPPED)
			slot->state = FREE;
		else
			q->row[kept++] = q->row[i];
	}
	q->n_row = kept;
	q->n_sent = 0;
}

/* Marks the first walk of the row as one that no worker can make. */
static void give_up_first(struct walk_queue *q)
{
	q->n_sent++;
	finish_first(q)->has_failed = true;
}

/* Handles the end of a call that has not made all walks of its batch. `status`: its result. */
static void recover(struct walk_queue *q, int status)
{
	bool was_at_first = q->n_sent && q->slots[q->row[0]].state != DROPPED;
	struct slot *first = &q->slots[q->row[0]];

	take_back(q);
	if (status == -EOWNERDEAD || status == -EHOSTDOWN) {
		if (was_at_first && ++first->tries >= ASK_WALKS_TRIES)
			give_up_first(q);
		return;
	}
	while (q->n_row)
		give_up_first(q);
}

static void append(struct walk_queue *q, struct slot *slot)
{
	size_t at = q->request.len;
	uint32_t len = 0;

	BUF_PUT(&q->request, len);
	ask_walks_put(q->walks, &slot->in, DWARF_WALK_MAX_FRAMES, &q->request, &slot->head);
	if (q->request.failed)
		return;
	len = (uint32_t)(q->request.len - at - sizeof(len));
	memcpy(q->request.data + at, &len, sizeof(len));
	slot->is_sent = true;
	q->n_sent++;
}

static void begin(struct walk_queue *q)
{
	const struct worker_call call = call_of(q);
	int err;

	buf_clear(&q->request);
	while (q->n_sent < q->n_row && q->n_sent < MOST_SENT && q->request.len < SENT_BYTES &&
	       !q->request.failed)
		append(q, &q->slots[q->row[q->n_sent]]);
	err = worker_begin(q->worker, &call, &q->request);
	if (err)
		recover(q, err);
}

/* Continues the call of the batch. If the call ends with success before all walks were made, the
 * reply is invalid. */
static void advance(struct walk_queue *q)
{
	const struct worker_call call = call_of(q);
	int status = 0;

	if (!worker_is_busy(q->worker) || worker_go_on(q->worker, &status) || !q->n_sent)
		return;
	recover(q, status ? status : worker_refuse_reply(q->worker, &call));
}

void walk_queue_go_on(struct walk_queue *q)
{
	advance(q);
	if (worker_is_busy(q->worker) || !q->n_row)
		return;
	begin(q);
	advance(q);
}

int walk_queue_poll_fd(const struct walk_queue *q)
{
	return worker_poll_fd(q->worker);
}

bool walk_queue_is_busy(const struct walk_queue *q)
{
	return worker_is_busy(q->worker);
}

size_t walk_queue_count(const struct walk_queue *q)
{
	return q->n_row;
}
