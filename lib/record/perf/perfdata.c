/* SPDX-License-Identifier: MIT */
/*
 * The reader's loop; see perfdata.h.
 *
 * A raw record is either perf's own (attributes, features, ends of rounds) or the kernel's. perf's
 * own records are processed at once and never returned. The kernel's records go through a queue
 * that restores their order: perf reads its ring buffers one after another in rounds, and no record
 * that comes after the end of a round is older than the youngest record of the round before. A
 * record without a time, which perf made from /proc before it began, is returned in file order.
 */
#include "perf/perfdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "perf/perfdata_reader.h"

int perfdata_fail(struct perfdata *p, int error, uint64_t offset, const char *format, ...)
{
	char *reason = NULL;
	va_list args;

	if (p->error)
		return p->error;
	p->error = error;
	va_start(args, format);
	if (vasprintf(&reason, format, args) < 0)
		reason = NULL;
	va_end(args);
	if (!reason || asprintf(&p->error_text, "at offset %" PRIu64 ": %s", offset, reason) < 0)
		p->error_text = NULL;
	free(reason);
	return error;
}

const char *perfdata_keep(struct perfdata *p, const void *bytes, size_t max)
{
	char *copy;

	if (vec_reserve((void **)&p->strings, &p->strings_cap, p->n_strings + 1,
			sizeof(*p->strings)))
		return NULL;
	copy = strndup(bytes, max);
	if (copy)
		p->strings[p->n_strings++] = copy;
	return copy;
}

/* --- opening --------------------------------------------------------------------------------- */

int perfdata_open(int fd, struct perfdata **ret_reader, char **ret_error)
{
	struct perfdata *p = calloc(1, sizeof(*p));
	int err;

	*ret_error = NULL;
	if (!p)
		return -ENOMEM;
	p->info = (struct perfdata_info){
		.host = "",
		.kernel = "",
		.perf_version = "",
		.arch = "",
		.cpu = "",
		.cpu_id = "",
		.command = "",
		.cpu_caps = "",
		.clock_id = -1,
	};
	err = perfdata_input_init(&p->input, fd);
	if (!err)
		err = perfdata_header_read(p);
	if (err) {
		*ret_error = p->error_text;
		p->error_text = NULL;
		perfdata_free(p);
		return err;
	}
	*ret_reader = p;
	return 0;
}

void perfdata_free(struct perfdata *p)
{
	if (!p)
		return;
	perfdata_input_fini(&p->input);
	perfdata_event_fini(&p->events);
	perfdata_order_fini(&p->order);
	for (size_t i = 0; i < p->n_strings; i++)
		free(p->strings[i]);
	free(p->strings);
	free(p->build_ids);
	free(p->error_text);
	free(p);
}

/* --- perf's own records ---------------------------------------------------------------------- */

static int take_feature(struct perfdata *p, const struct perfdata_raw *raw)
{
	const uint8_t *bytes = (const uint8_t *)(raw->header + 1);
	size_t size = raw->header->size - sizeof(*raw->header);
	uint64_t feature;

	if (size < sizeof(feature))
		return perfdata_fail(p, -EBADMSG, raw->offset, "a header feature without a number");
	memcpy(&feature, bytes, sizeof(feature));
	return perfdata_feature_read(p, feature, bytes + sizeof(feature), size - sizeof(feature),
				     raw->offset);
}

/* Skips the data that follows a record without being included in the record's size. Returns 0 or an
 * error, reported. */
static int skip_payload(struct perfdata *p, const struct perfdata_raw *raw)
{
	const uint8_t *bytes = (const uint8_t *)(raw->header + 1);
	size_t have = raw->header->size - sizeof(*raw->header);
	bool is_trace = raw->header->type == PERFDATA_RECORD_AUXTRACE;
	size_t want = is_trace ? 8 : 4;
	uint64_t size = 0;

	if (have < want)
		return perfdata_fail(p, -EBADMSG, raw->offset,
				     "a record of trace data without a size");
	memcpy(&size, bytes, want);
	if (is_trace) {
		p->counts.aux_records++;
		p->counts.aux_bytes += size;
	} else {
		p->counts.other_records++;
	}
	return perfdata_input_skip(p, size);
}

static int take_own(struct perfdata *p, const struct perfdata_raw *raw)
{
	switch (raw->header->type) {
	case PERFDATA_RECORD_ATTR:
		return perfdata_event_add_record(p, raw);
	case PERFDATA_RECORD_EVENT_UPDATE:
		return perfdata_event_update(p, raw);
	case PERFDATA_RECORD_BUILD_ID:
		return perfdata_feature_build_id(p, raw->header, raw->offset);
	case PERFDATA_RECORD_FEATURE:
		return take_feature(p, raw);
	case PERFDATA_RECORD_FINISHED_ROUND:
		perfdata_order_round(&p->order);
		return 0;
	case PERFDATA_RECORD_TRACING_DATA:
	case PERFDATA_RECORD_AUXTRACE:
		return skip_payload(p, raw);
	case PERFDATA_RECORD_AUXTRACE_INFO:
	case PERFDATA_RECORD_AUXTRACE_ERROR:
		p->counts.aux_records++;
		return 0;
	default:
		if (raw->header->type < PERFDATA_RECORD_USER_COUNT)
			p->counts.other_records++;
		else
			p->counts.unknown_records++;
		return 0;
	}
}

/* --- records --------------------------------------------------------------------------------- */

/* Reads one record. Returns 1: it must be returned to the caller of perfdata_next() at once; 0: it
 * was processed or queued; -ENODATA: there are no more records; or an error, reported. */
static int read_one(struct perfdata *p, struct perfdata_raw *raw)
{
	int result = perfdata_input_next(p, raw);

	if (result <= 0)
		return result ? result : -ENODATA;
	p->counts.records++;
	if (raw->header->type >= PERFDATA_RECORD_USER)
		return take_own(p, raw);
	if (raw->header->type == 0 || raw->header->type > PERF_RECORD_AUX_OUTPUT_HW_ID) {
		p->counts.unknown_records++;
		return 0;
	}
	result = perfdata_event_identify(p, raw);
	if (result == 0)
		p->counts.unknown_records++;
	if (result <= 0)
		return result;
	if (!raw->time_ns)
		return 1;
	if (raw->time_ns < p->order.returned_ns)
		p->counts.out_of_order++;
	result = perfdata_order_push(&p->order, raw);
	return result ? perfdata_fail(p, result, raw->offset, "out of memory") : 0;
}

int perfdata_next(struct perfdata *p, struct perfdata_record *ret_record)
{
	struct perfdata_raw raw;
	bool is_end = false;
	int result = 0;

	while (result == 0) {
		if (p->error)
			return p->error;
		if (perfdata_order_pop(&p->order, &raw)) {
			result = perfdata_decode(p, &raw, ret_record);
			continue;
		}
		if (is_end)
			return 0;
		result = read_one(p, &raw);
		if (result == 1)
			result = perfdata_decode(p, &raw, ret_record);
		if (result == -ENODATA) {
			perfdata_order_end(&p->order);
			is_end = true;
			result = 0;
		}
	}
	return result;
}

/* --- accessors ------------------------------------------------------------------------------- */

const char *perfdata_error(const struct perfdata *p)
{
	if (p->error_text)
		return p->error_text;
	return p->error ? strerror(-p->error) : "";
}

uint32_t perfdata_event_count(const struct perfdata *p)
{
	return p->events.count;
}

const struct perfdata_event *perfdata_event(const struct perfdata *p, uint32_t index)
{
	return &p->events.items[index];
}

const struct perfdata_info *perfdata_info(const struct perfdata *p)
{
	return &p->info;
}

const struct perfdata_counts *perfdata_counts(const struct perfdata *p)
{
	return &p->counts;
}
