/* SPDX-License-Identifier: MIT */
/* Counts recordings that were deleted before they were sent; see unsent.h. */
#include "cli/servers/unsent.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/message.h"
#include "cli/servers/push_server.h"

/* Returns the index of a number in the sorted list, or the index at which it would be inserted. */
static size_t place_of(const struct unsent *w, int64_t id)
{
	size_t from = 0, to = w->ids.count;

	while (from < to) {
		const size_t at = from + (to - from) / 2;

		if (w->ids.items[at].id < id)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

int64_t unsent_look(struct unsent *w, const struct input *input,
		    const struct store_recording *recordings, size_t n)
{
	int64_t deleted = (int64_t)w->ids.count;
	int err;

	for (size_t i = 0; i < n; i++) {
		const size_t at = place_of(w, recordings[i].id);

		deleted -= at < w->ids.count && w->ids.items[at].id == recordings[i].id;
	}
	w->ids.count = 0;
	err = VEC_RESERVE(&w->ids, n);
	if (err < 0)
		return err;
	for (size_t i = 0; i < n; i++)
		if (input_has(input, &recordings[i]))
			w->ids.items[w->ids.count++] = (struct unsent_recording){
				recordings[i].id, push_has_ended(&recordings[i])
							  ? store_range_end(&recordings[i])
							  : 0};
	return deleted;
}

void unsent_done(struct unsent *w, int64_t id)
{
	const size_t at = place_of(w, id);

	if (at == w->ids.count || w->ids.items[at].id != id)
		return;
	w->ids.count--;
	for (size_t i = at; i < w->ids.count; i++)
		w->ids.items[i] = w->ids.items[i + 1];
}

uint64_t unsent_oldest(const struct unsent *w)
{
	uint64_t oldest = 0;

	for (size_t i = 0; i < w->ids.count; i++) {
		const uint64_t end = w->ids.items[i].end_unix_ns;

		if (end && (!oldest || end < oldest))
			oldest = end;
	}
	return oldest;
}

uint64_t unsent_ended(const struct unsent *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->ids.count; i++)
		n += w->ids.items[i].end_unix_ns > 0;
	return n;
}

void unsent_report(int64_t deleted)
{
	if (deleted > 0)
		message("%" PRId64 " recording%s deleted from the store before the server had "
			"taken %s: stackd's --keep-bytes and --keep-age must leave room for the "
			"time that a server may be away",
			deleted, text_plural((uint64_t)deleted, " was", "s were"),
			text_plural((uint64_t)deleted, "it", "them"));
}

void unsent_free(struct unsent *w)
{
	free(w->ids.items);
}
