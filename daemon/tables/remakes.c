/* SPDX-License-Identifier: MIT */
/* Keeps the saved time, and a note on each file; see remakes.h. */
#include "daemon/tables/remakes.h"

#include <errno.h>
#include <stdlib.h>

struct note {
	struct room_size size; /* no rows: the table was never made */
	bool was_loaded;
	uint8_t refusals;  /* how often in a row its request was put off */
	uint64_t cost_ns;  /* time that making the table took the last time */
	uint64_t made_ns;  /* when it was last made */
	uint64_t waits_ns; /* until when the request is put off */
};

struct remakes {
	struct note *notes; /* owned; by file */
	int64_t saved_ns;   /* less than 0: a table took more than could be saved up */
	uint64_t as_of_ns;
};

int remakes_new(uint32_t n_files, struct remakes **ret_remakes)
{
	struct remakes *r = calloc(1, sizeof(*r));

	if (r)
		r->notes = calloc(n_files, sizeof(*r->notes));
	if (!r || !r->notes) {
		remakes_free(r);
		return -ENOMEM;
	}
	r->saved_ns = (int64_t)REMAKES_SAVED_NS;
	*ret_remakes = r;
	return 0;
}

void remakes_free(struct remakes *r)
{
	if (!r)
		return;
	free(r->notes);
	free(r);
}

/* Adds 1 / REMAKES_SHARE of the time that has passed to the saved time. */
static void save(struct remakes *r, uint64_t now_ns)
{
	if (now_ns <= r->as_of_ns)
		return;
	r->saved_ns += (int64_t)((now_ns - r->as_of_ns) / REMAKES_SHARE);
	if (r->saved_ns > (int64_t)REMAKES_SAVED_NS)
		r->saved_ns = (int64_t)REMAKES_SAVED_NS;
	r->as_of_ns = now_ns;
}

bool remakes_size(const struct remakes *r, uint32_t file, struct room_size *ret_size)
{
	if (!r->notes[file].size.rows)
		return false;
	*ret_size = r->notes[file].size;
	return true;
}

bool remakes_was_loaded(const struct remakes *r, uint32_t file)
{
	return r->notes[file].was_loaded;
}

bool remakes_may(struct remakes *r, uint32_t file, uint64_t now_ns)
{
	const struct note *n = &r->notes[file];
	uint64_t cost = n->cost_ns < REMAKES_SAVED_NS ? n->cost_ns : REMAKES_SAVED_NS;

	save(r, now_ns);
	return now_ns >= n->made_ns + REMAKES_PAUSE_NS && r->saved_ns >= (int64_t)cost;
}

void remakes_made(struct remakes *r, uint32_t file, struct room_size size, uint64_t spent_ns,
		  bool is_loaded, uint64_t now_ns)
{
	struct note *n = &r->notes[file];

	n->size = size;
	n->cost_ns = spent_ns;
	n->made_ns = now_ns;
	n->was_loaded |= is_loaded;
	n->refusals = 0;
}

void remakes_spend(struct remakes *r, uint32_t file, uint64_t spent_ns, uint64_t now_ns)
{
	save(r, now_ns);
	if (r->notes[file].was_loaded)
		r->saved_ns -= (int64_t)spent_ns;
}

void remakes_put_off(struct remakes *r, uint32_t file, uint64_t now_ns)
{
	struct note *n = &r->notes[file];
	uint64_t wait = REMAKES_PAUSE_NS << n->refusals;

	n->waits_ns = now_ns + wait;
	n->refusals += wait < REMAKES_MOST_WAIT;
}

bool remakes_is_put_off(const struct remakes *r, uint32_t file, uint64_t now_ns)
{
	return now_ns < r->notes[file].waits_ns;
}

void remakes_forget(struct remakes *r, uint32_t file)
{
	r->notes[file] = (struct note){0};
}
