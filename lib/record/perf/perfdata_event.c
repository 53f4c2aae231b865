/* SPDX-License-Identifier: MIT */
/*
 * The events' attributes, and the event of each record.
 *
 * If there are several events, a record has an id. The layout of a record depends on its event, so
 * the id must be at the same position in the records of all events: it is the first and last field
 * if PERF_SAMPLE_IDENTIFIER is set, else it is at a fixed distance from start and end. Without ids
 * all events must have the same layout, and their samples cannot be distinguished.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "perf/perfdata_reader.h"

#define IDS_MAX ((size_t)4 << 20)

/* perf's names of the generic events, by PERF_COUNT_HW_... and PERF_COUNT_SW_... */
static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};
static const char *const software_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *default_name(const struct perf_event_attr *attr)
{
	/* Hybrid machines have the PMU's number in the upper half. */
	uint32_t config = (uint32_t)attr->config;

	if (attr->type == PERF_TYPE_HARDWARE && config < COUNT(hardware_names))
		return hardware_names[config];
	if (attr->type == PERF_TYPE_SOFTWARE && config < COUNT(software_names))
		return software_names[config];
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return "tracepoint";
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return "breakpoint";
	return attr->type == PERF_TYPE_RAW ? "raw" : "";
}

void perfdata_event_fini(struct perfdata_events *events)
{
	free(events->items);
	free(events->read_formats);
	free(events->has_sample_id);
	free(events->ids);
}

void perfdata_event_name(struct perfdata *p, uint32_t event, const char *name)
{
	p->events.items[event].name = name;
}

/* --- attributes ------------------------------------------------------------------------------ */

static int reserve(struct perfdata_events *e)
{
	size_t need = (size_t)e->count + 1;

	if (VEC_GROW(e->items, e->cap, need) < 0 ||
	    VEC_GROW(e->read_formats, e->cap_read_formats, need) < 0)
		return -ENOMEM;
	return VEC_GROW(e->has_sample_id, e->cap_has_sample_id, need);
}

int perfdata_event_add(struct perfdata *p, const void *bytes, size_t size, uint64_t offset,
		       uint32_t *ret_index)
{
	struct perfdata_events *e = &p->events;
	struct perf_event_attr attr = {0};

	if (size < PERF_ATTR_SIZE_VER0)
		return perfdata_fail(p, -EBADMSG, offset, "an event's attribute has %zu bytes",
				     size);
	if (e->count >= PERFDATA_EVENTS_MAX)
		return perfdata_fail(p, -EBADMSG, offset, "more than %d events",
				     PERFDATA_EVENTS_MAX);
	if (reserve(e))
		return perfdata_fail(p, -ENOMEM, offset, "out of memory");
	memcpy(&attr, bytes, size < sizeof(attr) ? size : sizeof(attr));
	e->items[e->count] = (struct perfdata_event){
		.name = default_name(&attr),
		.type = attr.type,
		.config = attr.config,
		.period_or_hz = attr.sample_period,
		.is_frequency = attr.freq,
		.exclude_kernel = attr.exclude_kernel,
		.exclude_user = attr.exclude_user,
		.exclude_user_chain = attr.exclude_callchain_user,
		.sample_type = attr.sample_type,
		.branch_type = attr.branch_sample_type,
		.user_regs = attr.sample_regs_user,
		.user_stack = attr.sample_stack_user,
		.max_stack = attr.sample_max_stack,
	};
	e->read_formats[e->count] = attr.read_format;
	e->has_sample_id[e->count] = attr.sample_id_all;
	e->has_build_ids |= attr.build_id;
	if (attr.use_clockid && !e->count)
		p->info.clock_id = attr.clockid;
	e->is_checked = false;
	*ret_index = e->count++;
	return 0;
}

int perfdata_event_add_record(struct perfdata *p, const struct perfdata_raw *raw)
{
	const uint8_t *bytes = (const uint8_t *)(raw->header + 1);
	size_t have = raw->header->size - sizeof(*raw->header);
	uint32_t size = 0, event;
	int err;

	if (have >= 8)
		memcpy(&size, bytes + 4, sizeof(size));
	if (size < PERF_ATTR_SIZE_VER0 || size > have)
		return perfdata_fail(p, -EBADMSG, raw->offset,
				     "invalid size of an event's attribute: %u of %zu bytes", size,
				     have);
	err = perfdata_event_add(p, bytes, size, raw->offset, &event);
	return err ? err : perfdata_event_add_ids(p, event, bytes + size, (have - size) / 8);
}

int perfdata_event_update(struct perfdata *p, const struct perfdata_raw *raw)
{
	const uint8_t *bytes = (const uint8_t *)(raw->header + 1);
	size_t have = raw->header->size - sizeof(*raw->header);
	uint64_t kind, id;
	uint32_t event;
	const char *name;

	if (have < 16)
		return perfdata_fail(p, -EBADMSG, raw->offset, "an update of no event");
	memcpy(&kind, bytes, sizeof(kind));
	memcpy(&id, bytes + 8, sizeof(id));
	event = perfdata_event_by_id(&p->events, id);
	if (kind != 2 || event == PERFDATA_NO_EVENT) /* the other kinds: units, scales, CPUs */
		return 0;
	name = perfdata_keep(p, bytes + 16, have - 16);
	if (!name)
		return perfdata_fail(p, -ENOMEM, raw->offset, "out of memory");
	if (*name)
		perfdata_event_name(p, event, name);
	return 0;
}

/* --- ids ------------------------------------------------------------------------------------- */

static struct perfdata_id *slot_of(struct perfdata_id *ids, size_t mask, uint64_t id)
{
	size_t i = (size_t)hash_mix64(id) & mask;

	while (ids[i].event_plus_1 && ids[i].id != id)
		i = (i + 1) & mask;
	return &ids[i];
}

static int grow_ids(struct perfdata_events *e)
{
	size_t room = e->ids ? (e->id_mask + 1) * 2 : 64;
	struct perfdata_id *grown = calloc(room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; e->ids && i <= e->id_mask; i++)
		if (e->ids[i].event_plus_1)
			*slot_of(grown, room - 1, e->ids[i].id) = e->ids[i];
	free(e->ids);
	e->ids = grown;
	e->id_mask = room - 1;
	return 0;
}

int perfdata_event_add_ids(struct perfdata *p, uint32_t event, const void *ids, size_t count)
{
	struct perfdata_events *e = &p->events;

	for (size_t i = 0; i < count; i++) {
		struct perfdata_id *slot;
		uint64_t id;

		memcpy(&id, (const uint8_t *)ids + i * 8, sizeof(id));
		if (e->n_ids >= IDS_MAX)
			return perfdata_fail(p, -EBADMSG, p->input.at,
					     "more than %zu ids of events", IDS_MAX);
		if ((!e->ids || e->n_ids * 2 > e->id_mask) && grow_ids(e))
			return perfdata_fail(p, -ENOMEM, p->input.at, "out of memory");
		slot = slot_of(e->ids, e->id_mask, id);
		if (slot->event_plus_1)
			continue; /* the first event with an id keeps it */
		*slot = (struct perfdata_id){.id = id, .event_plus_1 = event + 1};
		e->n_ids++;
	}
	e->last_id = 0;
	e->last_event = PERFDATA_NO_EVENT;
	return 0;
}

uint32_t perfdata_event_by_id(struct perfdata_events *e, uint64_t id)
{
	if (e->last_id == id && id)
		return e->last_event;
	if (!e->ids)
		return PERFDATA_NO_EVENT;
	e->last_id = id;
	e->last_event = slot_of(e->ids, e->id_mask, id)->event_plus_1 - 1;
	return e->last_event;
}

/* --- the position of the id ------------------------------------------------------------------ */

static unsigned count_bits(uint64_t sample_type, uint64_t mask)
{
	return (unsigned)__builtin_popcountll(sample_type & mask);
}

/* Returns the position of the id in a sample, in words after the header, plus 1; 0: the sample has
 * no id. */
static unsigned id_from_start(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	return 1 + count_bits(type, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					    PERF_SAMPLE_ADDR);
}

/* Returns the distance of the id from the end of a record other than a sample, in words; 0: it has
 * no id. */
static unsigned id_from_end(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	return 1 + count_bits(type, PERF_SAMPLE_CPU | PERF_SAMPLE_STREAM_ID);
}

static int check_layouts(struct perfdata *p, uint64_t offset)
{
	struct perfdata_events *e = &p->events;
	const uint64_t type = e->items[0].sample_type;

	e->id_from_start = id_from_start(type);
	e->id_from_end = id_from_end(type);
	for (uint32_t i = 1; i < e->count; i++) {
		uint64_t other = e->items[i].sample_type;

		if (id_from_start(other) != e->id_from_start ||
		    id_from_end(other) != e->id_from_end ||
		    e->has_sample_id[i] != e->has_sample_id[0] ||
		    (!e->id_from_start && other != type))
			return perfdata_fail(p, -EBADMSG, offset,
					     "events 0 and %u have different layouts, and their "
					     "records have no ids",
					     i);
	}
	if (e->count == 1)
		e->id_from_start = e->id_from_end = 0;
	e->is_checked = true;
	return 0;
}

/* --- event and time of a record -------------------------------------------------------------- */

static uint64_t word_at(const struct perfdata_raw *raw, size_t byte)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)raw->header + byte, sizeof(word));
	return word;
}

size_t perfdata_event_trailer(const struct perfdata_events *e, uint32_t event)
{
	const uint64_t trailing = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	if (!e->has_sample_id[event])
		return 0;
	return 8u * count_bits(e->items[event].sample_type, trailing);
}

static int too_short(struct perfdata *p, const struct perfdata_raw *raw)
{
	return perfdata_fail(p, -EBADMSG, raw->offset,
			     "a record of type %u has %u bytes: too short for its event",
			     raw->header->type, raw->header->size);
}

static int identify_sample(struct perfdata *p, struct perfdata_raw *raw)
{
	struct perfdata_events *e = &p->events;
	size_t at = sizeof(*raw->header);
	uint64_t type;

	raw->event = 0;
	if (e->id_from_start) {
		at += 8u * (e->id_from_start - 1);
		if (at + 8 > raw->header->size)
			return too_short(p, raw);
		raw->event = perfdata_event_by_id(e, word_at(raw, at));
		if (raw->event == PERFDATA_NO_EVENT)
			return 0;
	}
	type = e->items[raw->event].sample_type;
	at = sizeof(*raw->header) +
	     8u * count_bits(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	if (!(type & PERF_SAMPLE_TIME))
		return 1;
	if (at + 8 > raw->header->size)
		return too_short(p, raw);
	raw->time_ns = word_at(raw, at);
	return 1;
}

/* Finds the event of a record other than a sample. Records that perf made from /proc have the id 0
 * and the layout of the first event. Returns 1; 0: the event is unknown; or an error, reported. */
static int identify_other(struct perfdata *p, struct perfdata_raw *raw)
{
	struct perfdata_events *e = &p->events;
	size_t size = raw->header->size;
	uint64_t type;

	raw->event = 0;
	if (!e->has_sample_id[0])
		return 1;
	if (e->id_from_end) {
		if (size < sizeof(*raw->header) + 8u * e->id_from_end)
			return too_short(p, raw);
		raw->event = perfdata_event_by_id(e, word_at(raw, size - 8u * e->id_from_end));
		if (raw->event == PERFDATA_NO_EVENT)
			raw->event = 0;
	}
	if (size < sizeof(*raw->header) + perfdata_event_trailer(e, raw->event))
		return too_short(p, raw);
	type = e->items[raw->event].sample_type;
	if (type & PERF_SAMPLE_TIME)
		raw->time_ns = word_at(
			raw,
			size - 8u * (1 + count_bits(type, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
								  PERF_SAMPLE_CPU |
								  PERF_SAMPLE_IDENTIFIER)));
	return 1;
}

int perfdata_event_identify(struct perfdata *p, struct perfdata_raw *raw)
{
	int err;

	if (!p->events.count)
		return perfdata_fail(p, -EBADMSG, raw->offset,
				     "a record of type %u before any event is described",
				     raw->header->type);
	if (!p->events.is_checked && check_layouts(p, raw->offset))
		return p->error;
	err = raw->header->type == PERF_RECORD_SAMPLE ? identify_sample(p, raw)
						      : identify_other(p, raw);
	if (raw->time_ns == UINT64_MAX)
		raw->time_ns = 0;
	return err;
}
