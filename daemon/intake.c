/* SPDX-License-Identifier: MIT */
/* Keeps two queues, each in an array that is reused once it is empty; see intake.h. */
#include "daemon/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "daemon/capture/record.h"
#include "daemon/capture/record_pool.h"

struct intake {
	struct intake_source source;
	VEC(struct sideband_event *) events;
	VEC(struct stackd_header *) records;
	uint64_t events_out;		/* number of events that were handed out */
	size_t next_event, next_record; /* index of the oldest event and record; the items before
					 * them were handed out */
	uint64_t bytes;			/* bytes of the records that the intake holds */
	uint64_t most_bytes;		/* bytes of records at which intake_take_records() stops */
};

int intake_new(const struct intake_source *source, struct intake **ret_intake)
{
	struct intake *intake = calloc(1, sizeof(*intake));

	if (!intake)
		return -ENOMEM;
	intake->source = *source;
	*ret_intake = intake;
	return 0;
}

void intake_free(struct intake *intake)
{
	struct sideband_event *event;
	struct stackd_header *record;

	if (!intake)
		return;
	while ((event = intake_event(intake)))
		record_pool_give_back(event);
	while (intake_record(intake, &record))
		record_pool_give_back(record);
	free(intake->events.items);
	free(intake->records.items);
	free(intake);
}

static int keep_event(void *arg, struct sideband_event *event)
{
	struct intake *intake = arg;

	if (VEC_RESERVE(&intake->events, 1)) {
		record_pool_give_back(event);
		return -ENOMEM;
	}
	intake->events.items[intake->events.count++] = event;
	return 0;
}

int intake_take_events(struct intake *intake)
{
	return intake->source.events(intake->source.arg, keep_event, intake);
}

/* Keeps a record that sampler_drain() hands over. 0; -ENOBUFS: the intake holds `most_bytes` of
 * records now, so no more are to be taken; -ENOMEM. */
static int keep_record(void *arg, struct stackd_header *record)
{
	struct intake *intake = arg;

	if (VEC_RESERVE(&intake->records, 1)) {
		record_pool_give_back(record);
		return -ENOMEM;
	}
	intake->records.items[intake->records.count++] = record;
	intake->bytes += record ? record_size(record) : 0;
	return intake->bytes < intake->most_bytes ? 0 : -ENOBUFS;
}

int intake_take_records(struct intake *intake, uint64_t most_bytes)
{
	int err = 0;

	intake->most_bytes = most_bytes;
	if (intake->bytes < most_bytes)
		err = intake->source.records(intake->source.arg, keep_record, intake);
	return err < 0 && err != -ENOBUFS ? err : intake_has_records(intake);
}

struct sideband_event *intake_event(struct intake *intake)
{
	if (intake_has_events(intake)) {
		intake->events_out++;
		return intake->events.items[intake->next_event++];
	}
	intake->events.count = intake->next_event = 0;
	return NULL;
}

/* Gives the room of events that were handed out to further ones. */
static void drop_handed_out(struct intake *intake)
{
	struct sideband_event **items = intake->events.items;

	intake->events.count -= intake->next_event;
	if (intake->events.count && intake->next_event)
		memmove(items, items + intake->next_event, intake->events.count * sizeof(*items));
	intake->next_event = 0;
}

int intake_handle_events(struct intake *intake,
			 int (*each)(void *arg, struct sideband_event *event),
			 bool (*is_over)(void *arg), void *arg)
{
	int err = intake_take_events(intake);
	const uint64_t until = intake->events_out + intake->events.count - intake->next_event;
	struct sideband_event *event;

	while (!err && intake->events_out < until && !(is_over && is_over(arg)) &&
	       (event = intake_event(intake)))
		err = each(arg, event);
	drop_handed_out(intake);
	return err;
}

bool intake_record(struct intake *intake, struct stackd_header **ret_record)
{
	if (!intake_has_records(intake)) {
		intake->records.count = intake->next_record = 0;
		return false;
	}
	*ret_record = intake->records.items[intake->next_record++];
	intake->bytes -= *ret_record ? record_size(*ret_record) : 0;
	return true;
}

bool intake_has_events(const struct intake *intake)
{
	return intake->next_event < intake->events.count;
}

bool intake_has_records(const struct intake *intake)
{
	return intake->next_record < intake->records.count;
}
